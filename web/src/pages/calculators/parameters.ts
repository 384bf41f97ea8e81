// Parameters of a calculator in a form. A slider moves in the parameter's unit; the value is sent as
// text with the unit, as on the command line.
import { digits } from '../../lib/format';
import type { Parameter } from '../../lib/types';

const kSteps = 200;

// Units that a slider can convert into each other: those that defaults are written in. The command
// line knows more.
const kFamilies: Record<string, number>[] = [
  { us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400 },
  { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
  { 'MB/s': 1e6, 'GB/s': 1e9, 'TB/s': 1e12 },
];

function factor(from: string, to: string): number | null {
  if (from === to) return 1;
  const family = kFamilies.find((f) => from in f && to in f);
  return family ? family[from] / family[to] : null;
}

export function hasSlider(p: Parameter): boolean {
  return p.min != null && p.max != null && p.max > p.min;
}

// Returns 40 for "40 GB/s" if the parameter's unit is GB/s, or null if the text is no such number.
export function numberIn(text: string, p: Parameter): number | null {
  const match = /^\s*([0-9][0-9.,]*(?:e[+-]?\d+)?)\s*(.*?)\s*$/i.exec(text);
  if (!match) return null;
  const value = Number(match[1].replaceAll(',', ''));
  const suffix = { K: 1e3, M: 1e6, B: 1e9, G: 1e9, T: 1e12 }[match[2].toUpperCase()];
  if (p.kind === 'count' && suffix) return value * suffix;
  const scale = match[2] === '' ? 1 : factor(match[2], p.unit);
  return scale === null ? null : value * scale;
}

export function textOf(value: number, p: Parameter): string {
  if (p.kind === 'count') return value >= 1e6 ? countText(value) : String(Math.round(value));
  const number = p.kind === 'integer' ? String(Math.round(value)) : digits(value, 4).replaceAll(',', '');
  return p.unit ? `${number} ${p.unit}` : number;
}

// Returns the slider position of a value, 0 to kSteps, on a linear or logarithmic scale.
export function positionOf(value: number, p: Parameter): number {
  const [low, high] = [p.min!, p.max!];
  const clamped = Math.min(high, Math.max(low, value));
  const share =
    p.scale === 'log' && low > 0
      ? Math.log(clamped / low) / Math.log(high / low)
      : (clamped - low) / (high - low);
  return Math.round(share * kSteps);
}

export function valueAt(position: number, p: Parameter): number {
  const [low, high] = [p.min!, p.max!];
  const share = position / kSteps;
  const value = p.scale === 'log' && low > 0 ? low * (high / low) ** share : low + (high - low) * share;
  return p.kind === 'integer' || p.kind === 'count'
    ? Math.round(Number(value.toPrecision(3)))
    : Number(value.toPrecision(3));
}

// Returns "2T" for 2e12.
export function countText(value: number): string {
  for (const [size, suffix] of [
    [1e12, 'T'],
    [1e9, 'B'],
    [1e6, 'M'],
    [1e3, 'K'],
  ] as const) {
    if (value >= size) return digits(value / size, 4) + suffix;
  }
  return String(Math.round(value));
}

export const kSliderSteps = kSteps;
