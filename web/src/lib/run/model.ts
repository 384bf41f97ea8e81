// A timeline as the Run page asks it: who does what at a moment, why, and where the time went.
//
// Everything is looked up by bisection in columns that the server has sorted by time, so that a
// cursor that is dragged costs the same in a run of a day and in one of a year.
import type { RunTimeline } from '../types';

export const kFree = -1;
export const kReserve = -2;
export const kRepair = -3;
// Services, batches and jobs, which have no track of their own.
export const kOtherWork = -4;

export interface Span {
  track: number;
  begin_s: number;
  end_s: number;
  word: number;
  why: number;
  saves_every_s: number;
}

export interface Point {
  t_s: number;
  fleet: number;
  host: number;
  name: string;
  kind: 'fault' | 'repaired' | 'lemon';
}

// How many of the sorted values are at or below t.
export function count_until(sorted: ArrayLike<number>, t: number): number {
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
  t_s: number[];
  holder: number[];
}

export class RunModel {
  readonly spans: Span[][]; // by track, in the order of time
  readonly begins: Float64Array[];
  readonly points: Point[];
  readonly point_times: number[];
  readonly faults: number[]; // their times
  private readonly lives: HostLife[][]; // by fleet and host

  constructor(readonly timeline: RunTimeline) {
    const { spans, points, point_names, fleets, hosts, tracks } = timeline;
    this.spans = tracks.map(() => []);
    spans.track.forEach((track, i) =>
      this.spans[track].push({
        track,
        begin_s: spans.begin_s[i],
        end_s: spans.end_s[i],
        word: spans.word[i],
        why: spans.why[i],
        saves_every_s: spans.saves_every_s[i],
      }),
    );
    this.begins = this.spans.map((list) => Float64Array.from(list, (s) => s.begin_s));
    this.points = points.t_s.map((t_s, i) => ({
      t_s,
      fleet: points.fleet[i],
      host: points.host[i],
      ...point_names[points.name[i]],
    }));
    this.point_times = points.t_s;
    this.faults = this.points.filter((p) => p.kind === 'fault').map((p) => p.t_s);
    this.lives = fleets.map((f) => Array.from({ length: f.hosts + f.spares }, () => ({ t_s: [], holder: [] })));
    hosts.t_s.forEach((t_s, i) => {
      const life = this.lives[hosts.fleet[i]]?.[hosts.host[i]];
      life?.t_s.push(t_s);
      life?.holder.push(hosts.holder[i]);
    });
  }

  get end_s(): number {
    return this.timeline.simulated_s;
  }

  span_at(track: number, t: number): Span | null {
    const span = this.spans[track][count_until(this.begins[track], t) - 1];
    return span && t < span.end_s ? span : null;
  }

  // Who has a host: a track, or kFree, kReserve, kRepair, kOtherWork.
  holder_at(fleet: number, host: number, t: number): number {
    const life = this.lives[fleet][host];
    const changes = count_until(life.t_s, t);
    if (changes > 0) return life.holder[changes - 1];
    return host < this.timeline.fleets[fleet].hosts ? kFree : kReserve;
  }

  // What its host does, as a number of `words`; null: nothing that a word is for.
  word_of_host(fleet: number, host: number, t: number): { holder: number; word: number | null } {
    const holder = this.holder_at(fleet, host, t);
    return { holder, word: holder >= 0 ? (this.span_at(holder, t)?.word ?? null) : null };
  }

  // The last point at or before t, and the first after it.
  point_before(t: number): Point | null {
    return this.points[count_until(this.point_times, t) - 1] ?? null;
  }

  // A fault on the other side of the cursor; t itself where there is none.
  next_fault(t: number, step: 1 | -1): number {
    const at = count_until(this.faults, t);
    if (step > 0) return this.faults[at] ?? t;
    const before = this.faults[at - 1] === t ? at - 2 : at - 1;
    return this.faults[before] ?? t;
  }

  // The last save before t and the next one after it, of a span that saves.
  saves_around(span: Span, t: number): { last_s: number | null; next_s: number | null } {
    if (!span.saves_every_s) return { last_s: null, next_s: null };
    const done = Math.floor((t - span.begin_s) / span.saves_every_s);
    const next_s = span.begin_s + (done + 1) * span.saves_every_s;
    return {
      last_s: done > 0 ? span.begin_s + done * span.saves_every_s : null,
      next_s: next_s < span.end_s ? next_s : null,
    };
  }

  // A column's mean in the bin of t.
  level_at(means: number[], t: number): number {
    const bin = Math.min(means.length - 1, Math.max(0, Math.floor(t / this.timeline.series.bin_s)));
    return means[bin] ?? 0;
  }

  // The integral of a column between two moments.
  integral(means: number[], from_s: number, to_s: number): number {
    const bin_s = this.timeline.series.bin_s;
    let sum = 0;
    const last = Math.min(means.length - 1, Math.floor(to_s / bin_s));
    for (let bin = Math.max(0, Math.floor(from_s / bin_s)); bin <= last; ++bin) {
      const begin = Math.max(from_s, bin * bin_s);
      const end = Math.min(to_s, (bin + 1) * bin_s, this.end_s);
      if (end > begin) sum += means[bin] * (end - begin);
    }
    return sum;
  }

  // GPU-seconds by share between two moments.
  shares(from_s: number, to_s: number): Record<string, number> {
    const columns = this.timeline.series.columns.filter((c) => c.kind === 'share');
    return Object.fromEntries(columns.map((c) => [c.label, this.integral(c.means, from_s, to_s)]));
  }
}

// "12 d 4 h", "3 h 07 min", "4 min 12 s": a moment of a run, as fine as it makes sense.
export function moment_text(t: number): string {
  const s = Math.max(0, t);
  const days = Math.floor(s / 86_400);
  const h = Math.floor(s / 3600) % 24;
  const min = Math.floor(s / 60) % 60;
  const two = (n: number) => String(n).padStart(2, '0');
  return `day ${days + 1}, ${two(h)}:${two(min)}:${two(Math.floor(s % 60))}`;
}
