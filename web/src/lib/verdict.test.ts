import { describe, expect, it } from 'vitest';
import type { Finding, Verdict } from './types';
import { catalogReference, figureAt, findingKeys, headlinesOf, layersOf, spread } from './verdict';

const figure = (value: number, low = value, high = value) =>
  ({ label: 'l', unit: 's', value, low, high, basis: 'derived', reference: '', shown: '' }) as const;

const verdict = {
  sections: [
    { layer: 'cost', name: '', summary: '', limit: '', figures: { annual_usd_per_year: figure(1) } },
    { layer: 'training', name: 'a', summary: '', limit: '', figures: { step_time_s: figure(2) } },
    { layer: 'training', name: 'b', summary: '', limit: '', figures: { step_time_s: figure(3) } },
  ],
  findings: [{ layer: 'facility', severity: 'warning' }],
} as unknown as Verdict;

describe('verdict', () => {
  it('orders layers by the work and gives each its state', () => {
    expect(layersOf(verdict).map((l) => [l.layer, l.state])).toEqual([
      ['training', 'good'],
      ['facility', 'warn'],
      ['cost', 'good'],
    ]);
  });

  it('keys a finding alike whatever stands before it, and two alike apart', () => {
    const finding = (rule: string, path?: string) => ({ rule, edit: path && { path, value: '' } }) as Finding;
    const power = finding('facility.power', 'site.power');
    const spare = finding('cluster.spares');
    const after = findingKeys([spare, power, spare]);
    expect(findingKeys([power])[0]).toBe(after[1]);
    expect(new Set(after).size).toBe(3);
  });

  it('takes the first of each headline', () => {
    expect(headlinesOf(verdict).map((h) => [h.name, h.figure.value])).toEqual([
      ['Cost', 1],
      ['Step', 2],
    ]);
  });

  it('finds a figure by its address', () => {
    expect(figureAt(verdict, 'training/b/step_time_s')?.value).toBe(3);
    expect(figureAt(verdict, 'training/c/step_time_s')).toBeNull();
  });

  it('writes the interval shortly', () => {
    expect(spread(figure(100, 85, 115))).toBe('±15 %');
    expect(spread(figure(100, 75, 190))).toBe('−25 +90 %');
    expect(spread(figure(100))).toBe('');
    expect(spread(figure(0, 0, 1))).toBe('');
  });

  it('knows a catalog row from a page', () => {
    expect(catalogReference('nodes/dgx-h100')).toEqual({ table: 'nodes', id: 'dgx-h100' });
    expect(catalogReference('docs/models/training.md')).toBeNull();
    expect(catalogReference('docs/x')).toBeNull();
  });
});
