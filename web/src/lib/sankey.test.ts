import { describe, expect, it } from 'vitest';
import { sankey } from './sankey';
import type { ChainNode } from './types';

const node = (id: string, power_w: number, kind: ChainNode['kind'] = 'stage') => ({
  id,
  label: id,
  kind,
  power_w,
});

describe('sankey', () => {
  const nodes = [
    node('utility', 100, 'source'),
    node('ups', 90),
    node('it', 80, 'load'),
    node('loss', 20, 'loss'),
  ];
  const links = [
    { from: 'utility', to: 'ups', power_w: 90 },
    { from: 'utility', to: 'loss', power_w: 10 },
    { from: 'ups', to: 'it', power_w: 80 },
    { from: 'ups', to: 'loss', power_w: 10 },
  ];
  const size = { width: 400, height: 200, node_width: 10, gap: 10 };
  const { nodes: placed, bands } = sankey(nodes, links, size);
  const at = (id: string) => placed.find((n) => n.node.id === id)!;

  it('puts a node after everything that feeds it', () => {
    expect(['utility', 'ups', 'it', 'loss'].map((id) => at(id).column)).toEqual([0, 1, 2, 2]);
    expect(at('it').x).toBe(390);
  });

  it('draws heights in proportion to power and stays inside', () => {
    expect(at('utility').h / at('it').h).toBeCloseTo(100 / 80);
    for (const n of placed) expect(n.y + n.h).toBeLessThanOrEqual(200.001);
  });

  it('puts losses below loads', () => {
    expect(at('loss').y).toBeGreaterThan(at('it').y + at('it').h);
  });

  it('fills a node with the bands that leave it, without overlap', () => {
    const out = bands.filter((b) => b.from === at('utility')).sort((a, b) => a.y_from - b.y_from);
    expect(out.reduce((sum, b) => sum + b.h, 0)).toBeCloseTo(at('utility').h);
    expect(out[1].y_from - out[0].y_from).toBeCloseTo((out[0].h + out[1].h) / 2);
  });

  it('survives an empty chain', () => {
    expect(sankey([], [], size).nodes).toEqual([]);
  });
});
