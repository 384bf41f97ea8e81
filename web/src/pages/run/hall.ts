// Places the hosts of a run: in the racks of the hall, or in rows of eight if they are rented.
import type { Hall, Rack, RunTimeline } from '../../lib/types';

export interface HostRack {
  id: string;
  fleet: number;
  firstHost: number;
  hosts: number;
  row: number; // counted from the top
  position: number; // counted from the left
}

const kRentedPerRack = 8;
const kRentedPerRow = 20;

// Fills the racks of the hall with the hosts of their fleet, in order, spares last.
export function racksOf(timeline: RunTimeline, hall: Hall | null): HostRack[] {
  const next = timeline.fleets.map(() => 0);
  const racks: HostRack[] = [];
  let row = 0;
  for (const site of hall?.sites ?? []) {
    const base = row;
    const rows = [...new Set(site.racks.map((r) => r.row))].sort((a, b) => a - b);
    for (const rack of site.racks) {
      const made = rackOf(timeline, next, rack, base + rows.indexOf(rack.row));
      if (made) racks.push(made);
    }
    row = base + rows.length;
  }
  timeline.fleets.forEach((fleet, f) => {
    const all = fleet.hosts + fleet.spares;
    for (let n = 0; next[f] < all; ++n) {
      const hosts = Math.min(kRentedPerRack, all - next[f]);
      racks.push({
        id: `${fleet.name} ${next[f]}–${next[f] + hosts - 1}`,
        fleet: f,
        firstHost: next[f],
        hosts,
        row: row + Math.floor(n / kRentedPerRow),
        position: n % kRentedPerRow,
      });
      next[f] += hosts;
      if (next[f] >= all) row += Math.floor(n / kRentedPerRow) + 1;
    }
  });
  return racks;
}

function rackOf(timeline: RunTimeline, next: number[], rack: Rack, row: number): HostRack | null {
  const fleet = timeline.fleets.findIndex((f) => f.name === rack.fleet);
  if (rack.kind !== 'fleet' || fleet < 0) return null;
  const all = timeline.fleets[fleet].hosts + timeline.fleets[fleet].spares;
  const hosts = Math.min(rack.nodes, all - next[fleet]);
  if (hosts <= 0) return null;
  const firstHost = next[fleet];
  next[fleet] += hosts;
  return { id: rack.id, fleet, firstHost, hosts, row, position: rack.position - 1 };
}
