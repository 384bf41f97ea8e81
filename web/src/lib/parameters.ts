// Parameters of a calculator as a form shows them. A slider moves in the parameter's unit; what is
// sent is text with the unit, as the command line takes it.
import { digits } from './format';
import type { Parameter } from './types';

const kSteps = 200;

export function has_slider(p: Parameter): boolean {
  return p.min != null && p.max != null && p.max > p.min;
}

// "40 GB/s" -> 40 where the unit is the parameter's own; null for other text.
export function number_in(text: string, p: Parameter): number | null {
  const match = /^\s*([0-9][0-9.,]*(?:e[+-]?\d+)?)\s*(.*?)\s*$/i.exec(text);
  if (!match) return null;
  const value = Number(match[1].replaceAll(',', ''));
  const suffix = { K: 1e3, M: 1e6, B: 1e9, G: 1e9, T: 1e12 }[match[2].toUpperCase()];
  if (p.kind === 'count' && suffix) return value * suffix;
  return match[2] === p.unit || match[2] === '' ? value : null;
}

export function text_of(value: number, p: Parameter): string {
  const whole = p.kind === 'integer' || p.kind === 'count';
  const number = whole ? String(Math.round(value)) : digits(value, 4).replaceAll(',', '');
  return p.unit ? `${number} ${p.unit}` : number;
}

// Slider positions run from 0 to kSteps, so that a logarithmic one is as easy to move.
export function position_of(value: number, p: Parameter): number {
  const [low, high] = [p.min!, p.max!];
  const clamped = Math.min(high, Math.max(low, value));
  const share =
    p.scale === 'log' && low > 0
      ? Math.log(clamped / low) / Math.log(high / low)
      : (clamped - low) / (high - low);
  return Math.round(share * kSteps);
}

export function value_at(position: number, p: Parameter): number {
  const [low, high] = [p.min!, p.max!];
  const share = position / kSteps;
  const value = p.scale === 'log' && low > 0 ? low * (high / low) ** share : low + (high - low) * share;
  return p.kind === 'integer' || p.kind === 'count' ? Math.round(Number(value.toPrecision(3))) : Number(value.toPrecision(3));
}

export const kSliderSteps = kSteps;
