import { describe, expect, it } from 'vitest';
import type { Hall, RunTimeline } from '../../lib/types';
import { racksOf } from './hall';

const timeline = (fleets: [string, number, number][]) =>
  ({
    fleets: fleets.map(([name, hosts, spares]) => ({ name, hosts, spares, accelerators_per_host: 8 })),
  }) as RunTimeline;

const hall = (racks: [string, string, number, number, number][]) =>
  ({
    sites: [
      {
        racks: racks.map(([kind, fleet, row, position, nodes]) => ({
          id: `${row}-${position}`,
          kind,
          fleet,
          row,
          position,
          nodes,
        })),
      },
    ],
  }) as unknown as Hall;

describe('hosts in racks', () => {
  it('are numbered from rack to rack, fleet by fleet, spares last', () => {
    const racks = racksOf(
      timeline([
        ['a', 5, 1],
        ['b', 2, 0],
      ]),
      hall([
        ['fleet', 'a', 1, 1, 4],
        ['fleet', 'a', 1, 2, 2],
        ['fleet', 'b', 2, 1, 4],
        ['fabric', 'compute', 2, 2, 4],
      ]),
    );
    expect(racks.map((r) => [r.fleet, r.firstHost, r.hosts, r.row, r.position])).toEqual([
      [0, 0, 4, 0, 0],
      [0, 4, 2, 0, 1],
      [1, 0, 2, 1, 0],
    ]);
  });

  it('get their own rows if they are rented or the hall is not known', () => {
    const racks = racksOf(timeline([['cloud', 10, 0]]), null);
    expect(racks.map((r) => [r.firstHost, r.hosts, r.row, r.position])).toEqual([
      [0, 8, 0, 0],
      [8, 2, 0, 1],
    ]);
    expect(racksOf(timeline([['cloud', 200, 0]]), null).at(-1)!.row).toBe(1);
  });

  it('are never more than the fleet has', () => {
    const racks = racksOf(
      timeline([['a', 3, 0]]),
      hall([
        ['fleet', 'a', 1, 1, 4],
        ['fleet', 'a', 1, 2, 4],
      ]),
    );
    expect(racks).toHaveLength(1);
    expect(racks[0].hosts).toBe(3);
  });
});
