// What the list of goals shows: the state of a goal in words, its scale, and its figure.
import { quantity } from '../../lib/format';
import type { Goal, Verdict } from '../../lib/types';
import { addressOf } from '../../lib/verdict';

export function goalState(goal: Goal): string {
  if (!goal.known) return 'not known: no figure of this design answers it';
  if (!goal.met) return 'missed';
  return goal.met_over_interval
    ? 'met over the whole 80 % interval'
    : 'met on average; may be missed within the 80 % interval';
}

export interface GoalScale {
  low: number; // positions in px
  value: number;
  high: number;
  bound: number;
  from: string; // texts at the ends of the scale
  to: string;
  says: string; // the whole drawing in one sentence
}

// Places the interval, the estimate and the bound between two positions in px. Returns null if the
// goal is not known.
export function goalScale(
  { low, value, high, bound, unit }: Goal,
  left: number,
  right: number,
): GoalScale | null {
  if (low === null || value === null || high === null || bound === null) return null;
  const from = Math.min(low, bound, value);
  const to = Math.max(high, bound, value);
  const span = to - from || Math.abs(to) || 1;
  const x = (at: number) => left + ((at - from) / span) * (right - left);
  const text = (at: number) => quantity(at, unit);
  return {
    low: x(low),
    value: x(value),
    high: x(high),
    bound: x(bound),
    from: text(from),
    to: text(to),
    says: `estimate ${text(value)}, 80 % interval ${text(low)} to ${text(high)}, goal ${text(bound)}`,
  };
}

// Returns the address of the figure that answers a goal, or an empty text if no figure equals it.
export function goalAddress({ sections }: Verdict, goal: Goal): string {
  if (goal.value === null) return '';
  for (const section of sections) {
    for (const [key, figure] of Object.entries(section.figures)) {
      const same = figure.value === goal.value && figure.low === goal.low && figure.high === goal.high;
      if (same && figure.unit === goal.unit) return addressOf(section, key);
    }
  }
  return '';
}
