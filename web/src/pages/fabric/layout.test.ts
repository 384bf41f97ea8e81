import { describe, expect, it } from 'vitest';
import { hit, isLink, layoutOf } from './layout';
import type { Fabric, FabricSwitch } from '../../lib/types';

const make = (id: string, tier: FabricSwitch['tier'], group = 0, rail: number | null = null) => ({
  id,
  tier,
  plane: 0,
  group,
  rail,
  count: 1,
  failed: false,
});

function fabric(switches: FabricSwitch[], links: [string, string][] = []): Fabric {
  return {
    switches,
    endpoint_groups: switches
      .filter((s) => s.tier === 'leaf' || s.tier === 'router')
      .map((s, i) => ({
        id: `nodes-${i}`,
        leaf: s.id,
        plane: 0,
        node_from: i * 4,
        nodes: 4,
        rail_from: 0,
        rails: 1,
        endpoints: 4,
      })),
    links: links.map(([from, to]) => ({
      id: `${from}:${to}`,
      from,
      to,
      count: 1,
      failed: 0,
      capacity_bytes_per_s: 1,
      load_up_ratio: 0.25,
      load_down_ratio: 0.5,
    })),
  } as unknown as Fabric;
}

describe('layout_of', () => {
  const twoTier = fabric(
    [make('leaf-1', 'leaf', 0, 1), make('leaf-0', 'leaf', 0, 0), make('spine-0', 'spine', -1)],
    [
      ['leaf-0', 'spine-0'],
      ['leaf-1', 'spine-0'],
      ['nodes-0', 'leaf-1'],
    ],
  );

  it('puts tiers above each other and orders leaves by rail', () => {
    const { nodes, rows } = layoutOf(twoTier);
    const at = (id: string) => nodes.find((n) => n.id === id)!;
    expect(at('leaf-0').x).toBeLessThan(at('leaf-1').x);
    expect(at('spine-0').y).toBeLessThan(at('leaf-0').y);
    expect(at('nodes-0').y).toBeGreaterThan(at('leaf-1').y);
    expect(at('nodes-0').x).toBeCloseTo(at('leaf-1').x);
    expect(rows.map((r) => r.label)).toEqual(['leaf', 'spine', 'endpoints']);
  });

  it('uses the larger direction as the load of a link', () => {
    expect(layoutOf(twoTier).links.map((l) => l.load)).toEqual([0.5, 0.5, 0.5]);
  });

  it('places the spines of a group above that group', () => {
    const pods = [0, 1].flatMap((g) => [
      make(`leaf-${2 * g}`, 'leaf', g),
      make(`leaf-${2 * g + 1}`, 'leaf', g),
      make(`spine-${2 * g}`, 'spine', g),
      make(`spine-${2 * g + 1}`, 'spine', g),
    ]);
    const { nodes } = layoutOf(fabric([...pods, make('core-0', 'core', -1)]));
    const x = (id: string) => nodes.find((n) => n.id === id)!.x;
    expect(x('spine-1')).toBeLessThan(x('leaf-2'));
    expect(x('spine-2')).toBeGreaterThan(x('leaf-1'));
  });

  it('keeps all nodes inside the bounds, also for routers on a circle', () => {
    const ring = fabric(Array.from({ length: 12 }, (_, i) => make(`router-${i}`, 'router', i % 3)));
    for (const f of [twoTier, ring]) {
      const { nodes, bounds } = layoutOf(f);
      for (const n of nodes) {
        expect(n.x).toBeGreaterThan(bounds.x);
        expect(n.x).toBeLessThan(bounds.x + bounds.w);
        expect(n.y).toBeGreaterThan(bounds.y);
        expect(n.y).toBeLessThan(bounds.y + bounds.h);
      }
    }
  });

  it('has bounds for an empty network', () => {
    expect(layoutOf(fabric([])).bounds.w).toBeGreaterThan(0);
  });
});

describe('hit', () => {
  const layout = layoutOf(
    fabric([make('leaf-0', 'leaf'), make('spine-0', 'spine', -1)], [['leaf-0', 'spine-0']]),
  );
  it('finds a switch, a link, or nothing', () => {
    const leaf = layout.nodes.find((n) => n.id === 'leaf-0')!;
    const spine = layout.nodes.find((n) => n.id === 'spine-0')!;
    expect((hit(layout, leaf.x, leaf.y, 6) as { id: string }).id).toBe('leaf-0');
    const between = hit(layout, leaf.x + 2, (leaf.y + spine.y) / 2, 6)!;
    expect(isLink(between) && between.link.id).toBe('leaf-0:spine-0');
    expect(hit(layout, leaf.x + 500, leaf.y, 6)).toBeNull();
  });
});
