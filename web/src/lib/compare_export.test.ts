import { describe, expect, it } from 'vitest';
import { cost_rows, csv_cell, differs, to_csv, to_html, to_markdown } from './compare_export';
import type { Comparison } from './types';

const value = (v: number, shown: string) => ({ value: v, low: v, high: v, shown });
const cost = {
  name: 'all',
  usd_per_year: 3,
  assumed: false,
  reference: '',
  children: [{ name: 'staff', usd_per_year: 3, assumed: true, reference: 'rule', children: [] }],
};
const design = (name: string, passes: boolean) => ({
  name,
  design: name,
  digest: '',
  passes,
  summary: '',
  errors: passes ? 0 : 2,
  warnings: 0,
  cost_usd_per_year: 2e6,
  goodput_ratio: 0.97,
  unit_cost_usd_per_hour: 2.5,
  cost,
  tornado: { value: 1, unit: 'usd', bars: [] },
});
const comparison = {
  designs: [design('a|b', true), design('<c>', false)],
  figures: [
    {
      layer: 'cost',
      section: '',
      key: 'x_usd',
      label: 'x',
      unit: 'usd',
      values: [value(1, '1 USD'), value(2, '2 USD')],
    },
    {
      layer: 'cost',
      section: '',
      key: 'y_usd',
      label: 'y',
      unit: 'usd',
      values: [value(1, '1 USD'), value(1, '1 USD')],
    },
    { layer: 'cost', section: '', key: 'z_usd', label: 'z', unit: 'usd', values: [value(1, '1 USD'), null] },
  ],
  differences: [
    {
      after_index: 1,
      verdict: 'costs more',
      passed_before: true,
      passes_after: false,
      effects: [
        { section: 'fleet', cost_usd_per_year: 1e6, goodput_ratio: -0.01, unit_cost_usd_per_hour: 0.5 },
      ],
      figures: [],
      broken: [],
      fixed: [],
      lines: [],
    },
  ],
  schema_version: 1,
  kind: 'comparison',
} as Comparison;

describe('exports of a comparison', () => {
  it('keeps what differs, also where one has no such figure', () => {
    expect(comparison.figures.map(differs)).toEqual([true, false, true]);
  });

  it('writes Markdown with the attributed effects', () => {
    const text = to_markdown(comparison);
    expect(text).toContain('| fleet | +1 MUSD/y | −1 pp | +0.5 USD/h |');
    expect(text).toContain('a\\|b');
    expect(text).toContain('| cost · z | 1 USD | – |');
  });

  it('writes CSV with a cell for every value', () => {
    const lines = to_csv(comparison).trim().split('\n');
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line.split(',')).toHaveLength(10);
    expect(csv_cell('a,"b"')).toBe('"a,""b"""');
  });

  it('writes HTML that stands alone and escapes names', () => {
    const html = to_html(comparison, [{ title: 'Tornado', svg: '<svg></svg>' }]);
    expect(html).toContain('&lt;c&gt;');
    expect(html).not.toMatch(/src=|href=|<script/);
    expect(html).toContain('staff *');
  });

  it('walks the cost tree depth first', () => {
    expect(cost_rows(cost).map((r) => [r.node.name, r.depth])).toEqual([
      ['all', 0],
      ['staff', 1],
    ]);
  });
});
