import { describe, expect, it } from 'vitest';
import { drawChain } from './powerChain';
import type { ChainNode } from '../../lib/types';

const node = (id: string, powerW: number, kind: ChainNode['kind'] = 'stage') => ({
  id,
  label: id,
  kind,
  power_w: powerW,
  share_ratio: powerW / 100,
});

describe('draw_chain', () => {
  const nodes = [
    node('utility', 100, 'source'),
    node('ups', 90),
    node('loss', 20, 'loss'),
    node('it', 80, 'load'),
  ];
  const links = [
    { from: 'utility', to: 'loss', power_w: 10 },
    { from: 'utility', to: 'ups', power_w: 90 },
    { from: 'ups', to: 'it', power_w: 80 },
    { from: 'ups', to: 'loss', power_w: 10 },
  ];
  const size = { width: 400, height: 200, nodeWidth: 10, gap: 10 };
  const { nodes: placed, links: bands, columns } = drawChain({ nodes, links }, size);
  const at = (id: string) => placed.find((n) => n.id === id)!;
  const height = (id: string) => at(id).y1! - at(id).y0!;

  it('puts a node to the right of all nodes that feed it', () => {
    expect(['utility', 'ups', 'it', 'loss'].map((id) => at(id).depth)).toEqual([0, 1, 2, 2]);
    expect(at('it').x0).toBe(390);
    expect(columns).toBe(3);
  });

  it('draws heights in proportion to power and stays inside', () => {
    expect(height('utility') / height('it')).toBeCloseTo(100 / 80);
    for (const n of placed) expect(n.y1).toBeLessThanOrEqual(200.001);
  });

  it('starts every column at the top and puts losses below loads', () => {
    for (const id of ['utility', 'ups', 'it']) expect(at(id).y0).toBe(0);
    expect(at('loss').y0).toBeCloseTo(at('it').y1! + size.gap);
  });

  it('stacks the outgoing bands of a node without overlap, the upper target first', () => {
    const out = bands.filter((b) => b.source === at('utility')).sort((a, b) => a.y0! - b.y0!);
    expect(out.map((b) => b.target.id)).toEqual(['ups', 'loss']);
    expect(out.reduce((sum, b) => sum + b.width!, 0)).toBeCloseTo(height('utility'));
    expect(out[1].y0! - out[0].y0!).toBeCloseTo((out[0].width! + out[1].width!) / 2);
  });

  it('keeps the losses of one stage together', () => {
    const lost = (id: string, from: string, powerW: number) => ({
      node: node(id, powerW, 'loss'),
      link: { from, to: id, power_w: powerW },
    });
    const losses = [lost('a1', 'a', 1), lost('b1', 'b', 3), lost('b2', 'b', 2), lost('a2', 'a', 4)];
    const { nodes: drawn } = drawChain(
      {
        nodes: [node('utility', 10, 'source'), node('a', 5), node('b', 5), ...losses.map((l) => l.node)],
        links: [
          { from: 'utility', to: 'a', power_w: 5 },
          { from: 'utility', to: 'b', power_w: 5 },
          ...losses.map((l) => l.link),
        ],
      },
      size,
    );
    const order = drawn.filter((n) => n.kind === 'loss').sort((p, q) => p.y0! - q.y0!);
    expect(order.map((n) => n.id)).toEqual(['a2', 'a1', 'b1', 'b2']);
  });

  it('accepts an empty chain and does not change its input', () => {
    expect(drawChain({ nodes: [], links: [] }, size).nodes).toEqual([]);
    expect(Object.keys(nodes[0])).toEqual(['id', 'label', 'kind', 'power_w', 'share_ratio']);
  });
});
