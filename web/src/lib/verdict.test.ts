import { describe, expect, it } from 'vitest';
import type { Finding, Verdict } from './types';
import {
  accuracyReference,
  catalogReference,
  figureAt,
  findingKeys,
  headlinesOf,
  layersOf,
  numbersIn,
  spread,
  widestInput,
} from './verdict';

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
  it('orders layers and gives each its state', () => {
    expect(layersOf(verdict).map((l) => [l.layer, l.state])).toEqual([
      ['training', 'good'],
      ['facility', 'warn'],
      ['cost', 'good'],
    ]);
  });

  it('gives a finding the same key in any list, and equal findings different keys', () => {
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

  it('shortens the interval', () => {
    expect(spread(figure(100, 85, 115))).toBe('±15 %');
    expect(spread(figure(100, 75, 190))).toBe('−25 +90 %');
    expect(spread(figure(100))).toBe('');
    expect(spread(figure(0, 0, 1))).toBe('');
  });

  it('leads from a model page to its accuracy', () => {
    expect(accuracyReference('docs/models/training.md')).toBe('training');
    expect(accuracyReference('docs/models/fabric.md')).toBe('collectives');
    expect(accuracyReference('nodes/dgx-h100')).toBe('');
    expect(accuracyReference('docs/models/clock-power.md')).toBe('');
  });

  it('distinguishes a catalog row from a page', () => {
    expect(catalogReference('nodes/dgx-h100')).toEqual({ table: 'nodes', id: 'dgx-h100' });
    expect(catalogReference('docs/models/training.md')).toBeNull();
    expect(catalogReference('docs/x')).toBeNull();
  });

  it('links the numbers of a sentence to their figures', () => {
    const shown = (text: string, inputs: object[] = []) => ({ ...figure(1), shown: text, inputs });
    const v = {
      sections: [
        { layer: 'cost', name: '', figures: { annual: shown('20 MUSD/y') } },
        {
          layer: 'failure',
          name: 'a',
          figures: { goodput: shown('98.8 %', [{ name: 'restarts', value: '0.673 %', reference: '' }]) },
        },
      ],
    } as unknown as Verdict;
    const spans = numbersIn('2 of 3 met. Restarts take 0.673 % of 98.8 %.', v);
    expect(spans.map((s) => s.text).join('')).toBe('2 of 3 met. Restarts take 0.673 % of 98.8 %.');
    expect(spans.filter((s) => s.address)).toEqual([
      { text: '0.673 %', address: 'failure/a/goodput' },
      { text: '98.8 %', address: 'failure/a/goodput' },
    ]);
  });

  it('names the input with the widest interval', () => {
    const named = (label: string, low: number, high: number, inputs: object[] = []) => ({
      ...figure(100, low, high),
      label,
      shown: label,
      inputs,
    });
    const cost = named('cost', 75, 190, [
      { name: 'power', value: 'power', reference: '' },
      { name: 'purchase', value: 'purchase', reference: '' },
      { name: 'years', value: '4 y', reference: '' },
    ]);
    const v = {
      sections: [
        { layer: 'cost', name: '', figures: { cost, purchase: named('purchase', 70, 180) } },
        { layer: 'facility', name: '', figures: { power: named('power', 95, 105) } },
      ],
    } as unknown as Verdict;
    expect(widestInput(v, cost as never, 'cost//cost')).toEqual({
      name: 'purchase',
      address: 'cost//purchase',
      spread: '−30 +80 %',
    });
    expect(widestInput(v, figure(1) as never, 'x')).toBeNull();
  });
});
