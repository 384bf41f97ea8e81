import { describe, expect, it } from 'vitest';
import type { Goal, Verdict } from '../../lib/types';
import { goalAddress, goalScale, goalState } from './goals';

const goal = {
  text: 'cost <= 24 MUSD/y',
  metric: 'cost',
  met: true,
  met_over_interval: false,
  known: true,
  bound: 24e6,
  value: 20e6,
  low: 15e6,
  high: 35e6,
  unit: 'usd_per_year',
} as Goal;

describe('a goal', () => {
  it('says in words whether it is met', () => {
    expect(goalState(goal)).toBe('met on average; may be missed within the 80 % interval');
    expect(goalState({ ...goal, met_over_interval: true })).toBe('met over the whole 80 % interval');
    expect(goalState({ ...goal, met: false })).toBe('missed');
    expect(goalState({ ...goal, met: false, known: false })).toMatch(/^not known/);
  });

  it('has a scale with its unit at both ends', () => {
    const scale = goalScale(goal, 0, 200)!;
    expect([scale.low, scale.value, scale.bound, scale.high]).toEqual([0, 50, 90, 200]);
    expect([scale.from, scale.to]).toEqual(['15 MUSD/y', '35 MUSD/y']);
    expect(scale.says).toContain('goal 24 MUSD/y');
    expect(goalScale({ ...goal, value: null }, 0, 200)).toBeNull();
  });

  it('leads to the figure that answers it', () => {
    const figure = { label: '', unit: 'usd_per_year', value: 20e6, low: 15e6, high: 35e6 };
    const verdict = {
      sections: [{ layer: 'cost', name: '', figures: { annual_usd_per_year: figure } }],
    } as unknown as Verdict;
    expect(goalAddress(verdict, goal)).toBe('cost//annual_usd_per_year');
    expect(goalAddress(verdict, { ...goal, value: 1 })).toBe('');
  });
});
