import { describe, expect, it } from 'vitest';
import { kSliderSteps, numberIn, positionOf, textOf, valueAt } from './parameters';
import type { Parameter } from '../../lib/types';

const rate: Parameter = {
  name: 'write',
  label: '',
  kind: 'quantity',
  unit: 'GB/s',
  default: '40 GB/s',
  optional: false,
  min: 1,
  max: 1000,
  scale: 'log',
};
const tokens: Parameter = { ...rate, kind: 'count', unit: '', min: 1e9, max: 1e13 };

describe('parameters', () => {
  it('reads numbers in units that it can convert', () => {
    expect(numberIn('40 GB/s', rate)).toBe(40);
    expect(numberIn('40', rate)).toBe(40);
    expect(numberIn('40 MB/s', rate)).toBeCloseTo(0.04);
    expect(numberIn('40 kW', rate)).toBeNull();
    expect(numberIn('1 h', { ...rate, unit: 'min' })).toBe(60);
    expect(numberIn('1 GiB', { ...rate, unit: 'MiB' })).toBe(1024);
    expect(numberIn('2T', tokens)).toBe(2e12);
    expect(numberIn('auto', rate)).toBeNull();
  });

  it('writes numbers with their unit', () => {
    expect(textOf(42.5, rate)).toBe('42.5 GB/s');
    expect(textOf(2e12, tokens)).toBe('2T');
    expect(textOf(8192, tokens)).toBe('8192');
  });

  it('converts values to positions of a logarithmic slider and back', () => {
    expect(positionOf(1, rate)).toBe(0);
    expect(positionOf(1000, rate)).toBe(kSliderSteps);
    expect(positionOf(5000, rate)).toBe(kSliderSteps);
    expect(valueAt(kSliderSteps / 2, rate)).toBeCloseTo(31.6, 1);
    for (const value of [2, 40, 700]) {
      expect(valueAt(positionOf(value, rate), rate) / value).toBeCloseTo(1, 1);
    }
  });
});
