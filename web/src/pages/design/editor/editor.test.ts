import { Text } from '@codemirror/state';
import { describe, expect, it } from 'vitest';
import { keysBelow, optionsAt } from './completion';
import { lintRange, minimalChange } from './editor';

const fields = [
  { path: 'site', description: 'the site', values: [] },
  { path: 'site.cooling', description: 'method', values: [{ value: 'air', detail: '15 kW' }] },
  { path: 'fleet', description: 'the machines', values: [] },
  { path: 'fleet[].node', description: 'catalog id', values: [{ value: 'dgx-h100', detail: '' }] },
  { path: 'fleet[].count', description: 'how many', values: [] },
];

describe('completion', () => {
  it('lists the keys of a map', () => {
    expect([...keysBelow(fields, '').keys()]).toEqual(['site', 'fleet']);
    expect([...keysBelow(fields, 'fleet[]').keys()]).toEqual(['node', 'count']);
  });

  it('offers values of a field and keys that are not present yet', () => {
    const value = optionsAt(fields, { kind: 'value', path: 'fleet[].node', typed: '', present: [] });
    expect(value.map((o) => o.label)).toEqual(['dgx-h100']);
    const key = optionsAt(fields, { kind: 'key', path: 'fleet[]', typed: '', present: ['node'] });
    expect(key.map((o) => o.apply)).toEqual(['count: ']);
  });
});

describe('lint_range', () => {
  const doc = Text.of(['orrery: 1', 'site: { power: 2 }']);
  it('marks the word at the given place', () => {
    const { from, to } = lintRange(doc, 2, 16);
    expect(doc.sliceString(from, to)).toBe('2');
  });
  it('stays inside the text for any place', () => {
    expect(lintRange(doc, 0, 0)).toEqual({ from: 0, to: 7 });
    expect(lintRange(doc, 99, 99)).toEqual({ from: doc.length, to: doc.length });
  });
});

describe('minimal_change', () => {
  it.each([
    ['a: 1\nb: 2', 'a: 1\nb: 3'],
    ['aaa', 'aa'],
    ['', 'x'],
    ['same', 'same'],
  ])('%j to %j', (before, after) => {
    const change = minimalChange(before, after) as { from: number; to: number; insert: string };
    expect(before.slice(0, change.from) + change.insert + before.slice(change.to)).toBe(after);
  });
});
