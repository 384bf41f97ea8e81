// Answers questions about a run's timeline: what each job and host does at a moment, because of which
// fault, and where the time went.
//
// It bisects columns that the server has sorted by time, so that dragging the cursor is as fast in a
// run of a year as in a run of a day.
import type { RunTimeline } from '../../lib/types';

export const kFree = -1;
export const kReserve = -2;
export const kRepair = -3;
// Services, batches and queued jobs, which have no track.
export const kOtherWork = -4;

export interface Span {
  track: number;
  beginS: number;
  endS: number;
  word: number;
  why: number;
  savesEveryS: number;
}

export interface Point {
  tS: number;
  fleet: number;
  host: number;
  name: string;
  kind: 'fault' | 'repaired' | 'lemon';
}

// What a fault cost the jobs that it stopped.
export interface FaultCost {
  point: Point;
  jobs: string[]; // names of the jobs that it stopped; empty if the host was idle
  stoppedS: number; // time until the jobs train again, the longest of them
  redoneS: number; // work since the last checkpoint, the longest of them
  gpuS: number; // both times over all accelerators of the jobs
}

// Returns the number of sorted values at or below t.
export function countUntil(sorted: ArrayLike<number>, t: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The changes of one host: their times, and the holder of the host from then on.
interface HostChanges {
  tS: number[];
  holder: number[];
}

export class RunModel {
  readonly spans: Span[][]; // by track, in time order
  readonly begins: Float64Array[];
  readonly points: Point[];
  readonly pointTimes: number[];
  readonly faults: number[]; // times of the faults
  private readonly changes: HostChanges[][]; // by fleet and host

  constructor(readonly timeline: RunTimeline) {
    const { spans, points, point_names: pointNames, fleets, hosts, tracks } = timeline;
    this.spans = tracks.map(() => []);
    spans.track.forEach((track, i) =>
      this.spans[track].push({
        track,
        beginS: spans.begin_s[i],
        endS: spans.end_s[i],
        word: spans.word[i],
        why: spans.why[i],
        savesEveryS: spans.saves_every_s[i],
      }),
    );
    this.begins = this.spans.map((list) => Float64Array.from(list, (s) => s.beginS));
    this.points = points.t_s.map((tS, i) => ({
      tS,
      fleet: points.fleet[i],
      host: points.host[i],
      ...pointNames[points.name[i]],
    }));
    this.pointTimes = points.t_s;
    this.faults = this.points.filter((p) => p.kind === 'fault').map((p) => p.tS);
    this.changes = fleets.map((f) =>
      Array.from({ length: f.hosts + f.spares }, () => ({ tS: [], holder: [] })),
    );
    hosts.t_s.forEach((tS, i) => {
      const ofHost = this.changes[hosts.fleet[i]]?.[hosts.host[i]];
      ofHost?.tS.push(tS);
      ofHost?.holder.push(hosts.holder[i]);
    });
  }

  get endS(): number {
    return this.timeline.simulated_s;
  }

  spanAt(track: number, t: number): Span | null {
    const span = this.spans[track][countUntil(this.begins[track], t) - 1];
    return span && t < span.endS ? span : null;
  }

  // Returns the holder of a host: a track, kFree, kReserve, kRepair or kOtherWork.
  holderAt(fleet: number, host: number, t: number): number {
    const ofHost = this.changes[fleet][host];
    const past = countUntil(ofHost.tS, t);
    if (past > 0) return ofHost.holder[past - 1];
    return host < this.timeline.fleets[fleet].hosts ? kFree : kReserve;
  }

  // Returns the holder of a host and its activity as an index of `words`, or null if it has none.
  wordOfHost(fleet: number, host: number, t: number): { holder: number; word: number | null } {
    const holder = this.holderAt(fleet, host, t);
    return { holder, word: holder >= 0 ? (this.spanAt(holder, t)?.word ?? null) : null };
  }

  // Returns the last point at or before t, or null.
  pointBefore(t: number): Point | null {
    return this.points[countUntil(this.pointTimes, t) - 1] ?? null;
  }

  // Returns the time of the next (step 1) or previous (step -1) fault, or t if there is none.
  nextFault(t: number, step: 1 | -1): number {
    const at = countUntil(this.faults, t);
    if (step > 0) return this.faults[at] ?? t;
    const before = this.faults[at - 1] === t ? at - 2 : at - 1;
    return this.faults[before] ?? t;
  }

  // Returns the number of accelerators of a track at a moment.
  private acceleratorsOf(track: number, t: number): number {
    return this.timeline.fleets.reduce((sum, fleet, f) => {
      const held = this.changes[f].filter((_, host) => this.holderAt(f, host, t) === track).length;
      return sum + held * fleet.accelerators_per_host;
    }, 0);
  }

  // Returns the faults of the run with their costs, the most expensive first.
  faultCosts(): FaultCost[] {
    const stopped = new Map<number, Span[]>(); // by point
    for (const span of this.spans.flat()) {
      if (span.why >= 0) stopped.set(span.why, [...(stopped.get(span.why) ?? []), span]);
    }
    const costs = this.points.flatMap((point, i) =>
      point.kind === 'fault' ? [this.costOf(point, stopped.get(i) ?? [])] : [],
    );
    return costs.sort((a, b) => b.gpuS - a.gpuS || a.point.tS - b.point.tS);
  }

  private costOf(point: Point, outage: Span[]): FaultCost {
    const cost: FaultCost = { point, jobs: [], stoppedS: 0, redoneS: 0, gpuS: 0 };
    for (const track of new Set(outage.map((s) => s.track))) {
      const first = this.begins[track][this.spans[track].findIndex((s) => outage.includes(s))];
      const before = this.spanAt(track, Math.max(0, first - 1e-6));
      const saved = before && (this.savesAround(before, first).lastS ?? before.beginS);
      const redoneS = before && saved !== null ? Math.max(0, first - saved) : 0;
      const stoppedS = outage.filter((s) => s.track === track).reduce((sum, s) => sum + s.endS - s.beginS, 0);
      cost.jobs.push(this.timeline.tracks[track]);
      cost.stoppedS = Math.max(cost.stoppedS, stoppedS);
      cost.redoneS = Math.max(cost.redoneS, redoneS);
      cost.gpuS += (stoppedS + redoneS) * this.acceleratorsOf(track, Math.max(0, first - 1e-6));
    }
    return cost;
  }

  // Returns the times of the last checkpoint before t and the next one after it, within a span.
  savesAround(span: Span, t: number): { lastS: number | null; nextS: number | null } {
    if (!span.savesEveryS) return { lastS: null, nextS: null };
    const done = Math.floor((t - span.beginS) / span.savesEveryS);
    const nextS = span.beginS + (done + 1) * span.savesEveryS;
    return {
      lastS: done > 0 ? span.beginS + done * span.savesEveryS : null,
      nextS: nextS < span.endS ? nextS : null,
    };
  }

  // Returns a column's mean in the bin of t.
  levelAt(means: number[], t: number): number {
    const bin = Math.min(means.length - 1, Math.max(0, Math.floor(t / this.timeline.series.bin_s)));
    return means[bin] ?? 0;
  }

  // Returns the integral of a column between two moments.
  integral(means: number[], fromS: number, toS: number): number {
    const binS = this.timeline.series.bin_s;
    let sum = 0;
    const last = Math.min(means.length - 1, Math.floor(toS / binS));
    for (let bin = Math.max(0, Math.floor(fromS / binS)); bin <= last; ++bin) {
      const begin = Math.max(fromS, bin * binS);
      const end = Math.min(toS, (bin + 1) * binS, this.endS);
      if (end > begin) sum += means[bin] * (end - begin);
    }
    return sum;
  }

  // Returns the GPU-seconds by cause between two moments.
  shares(fromS: number, toS: number): Record<string, number> {
    const columns = this.timeline.series.columns.filter((c) => c.kind === 'share');
    return Object.fromEntries(columns.map((c) => [c.label, this.integral(c.means, fromS, toS)]));
  }
}

// Returns a moment of a run as "day 2, 04:01:01".
export function momentText(t: number): string {
  const s = Math.max(0, t);
  const days = Math.floor(s / 86_400);
  const h = Math.floor(s / 3600) % 24;
  const min = Math.floor(s / 60) % 60;
  const two = (n: number) => String(n).padStart(2, '0');
  return `day ${days + 1}, ${two(h)}:${two(min)}:${two(Math.floor(s % 60))}`;
}
