// Draws the lanes of a timeline on a canvas: accelerators by share, jobs and their checkpoints,
// faults, power.
//
// A span narrower than a pixel is drawn one pixel wide, unless a neighbour of the same kind has that
// pixel, so that an outage of five minutes is visible in a month.
import { quantity } from '../../lib/format';
import { token } from '../../lib/theme.svelte';
import type { RunTimeline } from '../../lib/types';
import { countUntil, type RunModel, type Span } from './model';
import { tickText, ticks, whole, type Window } from './view';

export const kGutter = 116; // width of the labels left of the drawing, px
const kRight = 12;
const kRuler = 22;
const kOverview = 20;
const kGap = 12;
const kSaves = 5; // height of the strip with the checkpoints of a job, px
const kJobsMost = 40;

export type Column = RunTimeline['series']['columns'][number];

export type Lane = { y: number; height: number; label: string } & (
  | { kind: 'overview' }
  | { kind: 'shares' }
  | { kind: 'job'; track: number }
  | { kind: 'points'; fleet: number }
  | { kind: 'level'; column: Column; unit: string; top: number }
);

export interface Lanes {
  lanes: Lane[];
  height: number;
  jobsLeftOut: number;
}

export interface Palette {
  paper: string;
  line: string;
  ink: string;
  ink2: string;
  ink3: string;
  accent: string;
  bad: string;
  good: string;
  share: Record<string, string>;
  word: Record<string, string>;
  reserve: string;
  other: string;
}

export function palette(): Palette {
  const [s1, s2, s3, s4, s5, s6, s7, s8] = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => token(`s${n}`));
  const bad = token('bad');
  const share = {
    productive: s2,
    stall: s6,
    checkpoint: s7,
    lost: s8,
    restart: s3,
    idle: token('line-strong'),
  };
  return {
    paper: token('paper'),
    line: token('line'),
    ink: token('ink'),
    ink2: token('ink-2'),
    ink3: token('ink-3'),
    accent: token('accent'),
    bad,
    good: token('good'),
    share,
    word: { detection: s8, requeue: s6, 'too few hosts': s5, starting: s3, restoring: s4 },
    reserve: s1,
    other: s5,
  };
}

export function wordColour(p: Palette, word: { name: string; share: string }): string {
  return p.word[word.name] ?? p.share[word.share];
}

export function xOf(window: Window, width: number, t: number): number {
  return kGutter + ((t - window.fromS) / (window.toS - window.fromS)) * (width - kGutter - kRight);
}

export function tAt(window: Window, width: number, x: number): number {
  const share = (x - kGutter) / (width - kGutter - kRight);
  return window.fromS + Math.min(1, Math.max(0, share)) * (window.toS - window.fromS);
}

// Returns a round number at or above the value, for the top of a scale.
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 1.5, 2, 3, 4, 5, 7.5, 10].find((m) => m * unit >= value)!;
}

export function lanesOf(model: RunModel): Lanes {
  const { tracks, fleets, series } = model.timeline;
  const lanes: Lane[] = [];
  let y = 0;
  const add = (height: number, gap: number, lane: (at: { y: number; height: number }) => Lane) => {
    lanes.push(lane({ y, height }));
    y += height + gap;
  };
  add(kOverview, kRuler + 4, (at) => ({ ...at, kind: 'overview', label: 'whole run' }));
  if (series.columns.some((c) => c.kind === 'share')) {
    add(84, kGap, (at) => ({ ...at, kind: 'shares', label: 'accelerators' }));
  }
  const busy = tracks.map((_, track) => track).filter((track) => model.spans[track].length > 0);
  const shown = busy.slice(0, kJobsMost);
  const row = shown.length > 12 ? 10 : 18;
  for (const track of shown) {
    add(row + kSaves, shown.length > 12 ? 2 : 5, (at) => ({
      ...at,
      kind: 'job',
      track,
      label: tracks[track],
    }));
  }
  y += kGap - 5;
  fleets.forEach((f, fleet) => {
    if (!model.points.some((p) => p.fleet === fleet)) return;
    add(20, kGap, (at) => ({
      ...at,
      kind: 'points',
      fleet,
      label: fleets.length > 1 ? `faults, ${f.name}` : 'faults',
    }));
  });
  for (const column of series.columns) {
    if (column.kind === 'share') continue;
    const isPower = column.kind === 'power';
    const top = roundUp(Math.max(...column.means));
    const label = isPower ? `IT power, ${column.label}` : column.label.replaceAll('_', ' ');
    add(56, kGap, (at) => ({ ...at, kind: 'level', column, unit: isPower ? 'w' : 'count', top, label }));
  }
  return { lanes, height: y, jobsLeftOut: busy.length - shown.length };
}

type Canvas = CanvasRenderingContext2D;

interface Frame {
  c: Canvas;
  model: RunModel;
  window: Window;
  width: number;
  p: Palette;
}

function fitted(c: Canvas, text: string, width: number): string {
  if (c.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && c.measureText(`${text.slice(0, length)}…`).width > width) --length;
  return `${text.slice(0, length)}…`;
}

function label({ c, model, p }: Frame, lane: Lane) {
  c.fillStyle = p.ink2;
  c.textAlign = 'left';
  const middle =
    lane.kind === 'job' ? lane.y + (lane.height - kSaves) / 2 : lane.y + Math.min(lane.height / 2, 8);
  c.fillText(fitted(c, lane.label, kGutter - 14), 2, middle);
  if (lane.kind !== 'shares' && lane.kind !== 'level') return;
  const top =
    lane.kind === 'level'
      ? quantity(lane.top, lane.unit)
      : model.timeline.accelerators.toLocaleString('en-US');
  c.textAlign = 'right';
  c.fillStyle = p.ink3;
  c.fillText(fitted(c, top, kGutter - 10), kGutter - 6, lane.y + 22);
  c.fillText('0', kGutter - 6, lane.y + lane.height - 5);
}

function ruler({ c, window, width, p }: Frame, y: number, height: number) {
  const { stepS, atS } = ticks(window, Math.max(2, Math.floor((width - kGutter) / 90)));
  c.textAlign = 'center';
  for (const t of atS) {
    const x = Math.round(xOf(window, width, t)) + 0.5;
    c.strokeStyle = p.line;
    c.beginPath();
    c.moveTo(x, y + kRuler - 4);
    c.lineTo(x, height);
    c.stroke();
    c.fillStyle = p.ink3;
    c.fillText(tickText(t, stepS), x, y + kRuler / 2);
  }
}

// Returns the range of bins in the window, one more at the end.
function binsShown({ model, window }: Frame, means: number[]): [number, number] {
  const binS = model.timeline.series.bin_s;
  return [
    Math.max(0, Math.floor(window.fromS / binS)),
    Math.min(means.length, Math.ceil(window.toS / binS) + 1),
  ];
}

// Fills the steps from bin to bin between a lower and an upper edge.
function stepArea(f: Frame, means: number[], low: (bin: number) => number, high: (bin: number) => number) {
  const { c, window, width, model } = f;
  const binS = model.timeline.series.bin_s;
  const [first, last] = binsShown(f, means);
  const x = (bin: number) => xOf(window, width, Math.min(bin * binS, model.endS));
  c.beginPath();
  for (let bin = first; bin < last; ++bin) {
    c.lineTo(x(bin), high(bin));
    c.lineTo(x(bin + 1), high(bin));
  }
  for (let bin = last - 1; bin >= first; --bin) {
    c.lineTo(x(bin + 1), low(bin));
    c.lineTo(x(bin), low(bin));
  }
  c.closePath();
  c.fill();
}

function shares(f: Frame, lane: Lane) {
  const { c, model, p } = f;
  const columns = model.timeline.series.columns.filter((column) => column.kind === 'share');
  const all = model.timeline.accelerators || 1;
  const below = new Float64Array(columns[0].means.length);
  const y = (count: number) => lane.y + lane.height - (count / all) * lane.height;
  for (const column of columns) {
    const base = below.slice();
    c.fillStyle = p.share[column.label] ?? p.ink3;
    c.globalAlpha = column.label === 'idle' ? 0.35 : 0.9;
    stepArea(
      f,
      column.means,
      (bin) => y(base[bin]),
      (bin) => y(base[bin] + column.means[bin]),
    );
    column.means.forEach((mean, bin) => (below[bin] += mean));
  }
  c.globalAlpha = 1;
  frame(f, lane);
}

function frame({ c, p, width }: Frame, lane: Lane) {
  c.strokeStyle = p.line;
  c.strokeRect(kGutter - 0.5, lane.y - 0.5, width - kGutter - kRight + 1, lane.height + 1);
}

function level(f: Frame, lane: Lane & { kind: 'level' }) {
  const { c, p } = f;
  const y = (value: number) => lane.y + lane.height - (value / lane.top) * lane.height;
  c.fillStyle = p.accent;
  c.globalAlpha = 0.28;
  stepArea(
    f,
    lane.column.means,
    () => lane.y + lane.height,
    (bin) => y(lane.column.means[bin]),
  );
  c.globalAlpha = 1;
  stepArea(
    f,
    lane.column.means,
    (bin) => y(lane.column.means[bin]) + 1.5,
    (bin) => y(lane.column.means[bin]),
  );
  frame(f, lane);
}

function saves(f: Frame, span: Span, y: number, from: number, to: number) {
  const { c, window, width, p } = f;
  c.fillStyle = p.share.checkpoint;
  const apart = (span.savesEveryS / (window.toS - window.fromS)) * (width - kGutter - kRight);
  if (apart < 4) {
    c.globalAlpha = 0.35;
    c.fillRect(from, y, to - from, kSaves - 2);
    c.globalAlpha = 1;
    return;
  }
  const first = Math.max(1, Math.ceil((window.fromS - span.beginS) / span.savesEveryS));
  for (
    let t = span.beginS + first * span.savesEveryS;
    t < Math.min(span.endS, window.toS);
    t += span.savesEveryS
  ) {
    c.fillRect(Math.round(xOf(window, width, t)), y, 1.5, kSaves - 1);
  }
}

function job(f: Frame, lane: Lane & { kind: 'job' }) {
  const { c, model, window, width, p } = f;
  const spans = model.spans[lane.track];
  const height = lane.height - kSaves;
  const first = Math.max(0, countUntil(model.begins[lane.track], window.fromS) - 1);
  const lastX: Record<number, number> = {};
  const clip = (t: number) => xOf(window, width, Math.min(window.toS, Math.max(window.fromS, t)));
  for (let pass = 0; pass < 2; ++pass) {
    for (let i = first; i < spans.length && spans[i].beginS < window.toS; ++i) {
      const span = spans[i];
      const word = model.timeline.words[span.word];
      if (span.endS <= window.fromS || (word.share === 'productive') !== (pass === 0)) continue;
      const from = clip(span.beginS);
      const to = clip(span.endS);
      if (pass === 1 && to - from < 1 && lastX[span.word] === Math.floor(from)) continue;
      lastX[span.word] = Math.floor(from);
      c.fillStyle = wordColour(p, word);
      c.fillRect(pass === 0 ? from : Math.floor(from), lane.y, Math.max(to - from, 1), height);
      if (span.savesEveryS > 0) saves(f, span, lane.y + height + 1, from, to);
    }
  }
}

function points(f: Frame, lane: Lane & { kind: 'points' }) {
  const { c, model, window, width, p } = f;
  const first = countUntil(model.pointTimes, window.fromS - 1e-9);
  for (let i = first; i < model.points.length && model.points[i].tS <= window.toS; ++i) {
    const point = model.points[i];
    if (point.fleet !== lane.fleet) continue;
    const x = Math.round(xOf(window, width, point.tS));
    const isFault = point.kind === 'fault';
    c.fillStyle = isFault ? p.bad : point.kind === 'lemon' ? p.share.stall : p.good;
    if (isFault) c.fillRect(x, lane.y, 1.5, lane.height - 7);
    else c.fillRect(x - 1, lane.y + lane.height - 5, 3, 3);
  }
}

// Draws the strip at the top: all faults of the run, and the window shown below.
function overview(f: Frame, lane: Lane) {
  const { c, model, window, width, p } = f;
  const all = { ...f, window: whole(model.endS) };
  const right = width - kRight;
  c.fillStyle = p.line;
  c.globalAlpha = 0.6;
  c.fillRect(kGutter, lane.y + 3, right - kGutter, lane.height - 6);
  c.globalAlpha = 1;
  c.fillStyle = p.bad;
  for (const t of model.faults) c.fillRect(xOf(all.window, width, t), lane.y + 6, 1, lane.height - 12);
  const from = xOf(all.window, width, window.fromS);
  const to = xOf(all.window, width, window.toS);
  c.fillStyle = p.accent;
  c.globalAlpha = 0.14;
  c.fillRect(from, lane.y, Math.max(2, to - from), lane.height);
  c.globalAlpha = 1;
  c.strokeStyle = p.accent;
  c.strokeRect(from + 0.5, lane.y + 0.5, Math.max(2, to - from - 1), lane.height - 1);
}

export function draw(
  c: Canvas,
  model: RunModel,
  { lanes, height }: Lanes,
  window: Window,
  width: number,
  p: Palette,
) {
  const f: Frame = { c, model, window, width, p };
  c.fillStyle = p.paper;
  c.fillRect(0, 0, width, height);
  c.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  c.textBaseline = 'middle';
  c.lineWidth = 1;
  ruler(f, kOverview, height);
  for (const lane of lanes) label(f, lane);
  // Clips spans that began before the window, so that they do not cover the labels.
  c.save();
  c.beginPath();
  c.rect(kGutter - 1, 0, width - kGutter - kRight + 2, height);
  c.clip();
  for (const lane of lanes) {
    if (lane.kind === 'overview') overview(f, lane);
    else if (lane.kind === 'shares') shares(f, lane);
    else if (lane.kind === 'job') job(f, lane);
    else if (lane.kind === 'points') points(f, lane);
    else level(f, lane);
  }
  c.restore();
}

// Draws the cursor over an existing drawing.
export function drawCursor(
  c: Canvas,
  model: RunModel,
  lanes: Lanes,
  window: Window,
  width: number,
  p: Palette,
  t: number,
) {
  c.fillStyle = p.ink;
  const small = xOf(whole(model.endS), width, t);
  c.fillRect(Math.round(small), 0, 1, kOverview);
  if (t < window.fromS || t > window.toS) return;
  const x = Math.round(xOf(window, width, t));
  c.fillRect(x, kOverview + kRuler, 1.5, lanes.height - kOverview - kRuler);
  c.beginPath();
  c.moveTo(x - 5, kOverview + kRuler - 6);
  c.lineTo(x + 6, kOverview + kRuler - 6);
  c.lineTo(x + 0.5, kOverview + kRuler + 1);
  c.fill();
}

export function isInOverview(y: number): boolean {
  return y < kOverview;
}
