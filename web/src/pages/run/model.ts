// A timeline as the Run page asks it: who does what at a moment, why, and where the time went.
//
// Everything is looked up by bisection in columns that the server has sorted by time, so that a
// cursor that is dragged costs the same in a run of a day and in one of a year.
import type { RunTimeline } from '../../lib/types';

export const kFree = -1;
export const kReserve = -2;
export const kRepair = -3;
// Services, batches and jobs, which have no track of their own.
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

// How many of the sorted values are at or below t.
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

// The changes of one host: when, and who has it from then on.
interface HostLife {
  tS: number[];
  holder: number[];
}

export class RunModel {
  readonly spans: Span[][]; // by track, in the order of time
  readonly begins: Float64Array[];
  readonly points: Point[];
  readonly pointTimes: number[];
  readonly faults: number[]; // their times
  private readonly lives: HostLife[][]; // by fleet and host

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
    this.lives = fleets.map((f) =>
      Array.from({ length: f.hosts + f.spares }, () => ({ tS: [], holder: [] })),
    );
    hosts.t_s.forEach((tS, i) => {
      const life = this.lives[hosts.fleet[i]]?.[hosts.host[i]];
      life?.tS.push(tS);
      life?.holder.push(hosts.holder[i]);
    });
  }

  get endS(): number {
    return this.timeline.simulated_s;
  }

  spanAt(track: number, t: number): Span | null {
    const span = this.spans[track][countUntil(this.begins[track], t) - 1];
    return span && t < span.endS ? span : null;
  }

  // Who has a host: a track, or kFree, kReserve, kRepair, kOtherWork.
  holderAt(fleet: number, host: number, t: number): number {
    const life = this.lives[fleet][host];
    const changes = countUntil(life.tS, t);
    if (changes > 0) return life.holder[changes - 1];
    return host < this.timeline.fleets[fleet].hosts ? kFree : kReserve;
  }

  // What its host does, as a number of `words`; null: nothing that a word is for.
  wordOfHost(fleet: number, host: number, t: number): { holder: number; word: number | null } {
    const holder = this.holderAt(fleet, host, t);
    return { holder, word: holder >= 0 ? (this.spanAt(holder, t)?.word ?? null) : null };
  }

  // The last point at or before t, and the first after it.
  pointBefore(t: number): Point | null {
    return this.points[countUntil(this.pointTimes, t) - 1] ?? null;
  }

  // A fault on the other side of the cursor; t itself where there is none.
  nextFault(t: number, step: 1 | -1): number {
    const at = countUntil(this.faults, t);
    if (step > 0) return this.faults[at] ?? t;
    const before = this.faults[at - 1] === t ? at - 2 : at - 1;
    return this.faults[before] ?? t;
  }

  // The last save before t and the next one after it, of a span that saves.
  savesAround(span: Span, t: number): { lastS: number | null; nextS: number | null } {
    if (!span.savesEveryS) return { lastS: null, nextS: null };
    const done = Math.floor((t - span.beginS) / span.savesEveryS);
    const nextS = span.beginS + (done + 1) * span.savesEveryS;
    return {
      lastS: done > 0 ? span.beginS + done * span.savesEveryS : null,
      nextS: nextS < span.endS ? nextS : null,
    };
  }

  // A column's mean in the bin of t.
  levelAt(means: number[], t: number): number {
    const bin = Math.min(means.length - 1, Math.max(0, Math.floor(t / this.timeline.series.bin_s)));
    return means[bin] ?? 0;
  }

  // The integral of a column between two moments.
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

  // GPU-seconds by share between two moments.
  shares(fromS: number, toS: number): Record<string, number> {
    const columns = this.timeline.series.columns.filter((c) => c.kind === 'share');
    return Object.fromEntries(columns.map((c) => [c.label, this.integral(c.means, fromS, toS)]));
  }
}

// "12 d 4 h", "3 h 07 min", "4 min 12 s": a moment of a run, as fine as it makes sense.
export function momentText(t: number): string {
  const s = Math.max(0, t);
  const days = Math.floor(s / 86_400);
  const h = Math.floor(s / 3600) % 24;
  const min = Math.floor(s / 60) % 60;
  const two = (n: number) => String(n).padStart(2, '0');
  return `day ${days + 1}, ${two(h)}:${two(min)}:${two(Math.floor(s % 60))}`;
}
