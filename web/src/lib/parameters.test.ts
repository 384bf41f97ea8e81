import { describe, expect, it } from 'vitest';
import { kSliderSteps, number_in, position_of, text_of, value_at } from './parameters';
import type { Parameter } from './types';

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
  it('reads numbers in their own unit only', () => {
    expect(number_in('40 GB/s', rate)).toBe(40);
    expect(number_in('40', rate)).toBe(40);
    expect(number_in('40 MB/s', rate)).toBeCloseTo(0.04);
    expect(number_in('40 kW', rate)).toBeNull();
    expect(number_in('1 h', { ...rate, unit: 'min' })).toBe(60);
    expect(number_in('1 GiB', { ...rate, unit: 'MiB' })).toBe(1024);
    expect(number_in('2T', tokens)).toBe(2e12);
    expect(number_in('auto', rate)).toBeNull();
  });

  it('writes them with the unit', () => {
    expect(text_of(42.5, rate)).toBe('42.5 GB/s');
    expect(text_of(2e12, tokens)).toBe('2T');
    expect(text_of(8192, tokens)).toBe('8192');
  });

  it('moves on a logarithmic slider and back', () => {
    expect(position_of(1, rate)).toBe(0);
    expect(position_of(1000, rate)).toBe(kSliderSteps);
    expect(position_of(5000, rate)).toBe(kSliderSteps);
    expect(value_at(kSliderSteps / 2, rate)).toBeCloseTo(31.6, 1);
    for (const value of [2, 40, 700]) {
      expect(value_at(position_of(value, rate), rate) / value).toBeCloseTo(1, 1);
    }
  });
});
