import { describe, expect, it } from 'vitest';
import { catalogText, difference, digits, priceText, quantity } from './format';

describe('digits', () => {
  it('keeps three significant digits without an exponent', () => {
    expect(digits(1234.5)).toBe('1,230');
    expect(digits(0.045678)).toBe('0.0457');
    expect(digits(2)).toBe('2');
    expect(digits(0)).toBe('0');
    expect(digits(NaN)).toBe('–');
  });
});

describe('quantity', () => {
  // Values and texts from the verdict of the sample design.
  it.each([
    [989.4e12, 'flops_per_s', '989 TFLOP/s'],
    [71683772723.2, 'bytes', '71.7 GB'],
    [3.35e12, 'bytes_per_s', '3.35 TB/s'],
    [608.45, 'w', '608 W'],
    [1415671, 'w', '1.42 MW'],
    [8.12135, 's', '8.12 s'],
    [2072472, 's', '24 d'],
    [0.0557251, 's', '55.7 ms'],
    [0.45798, 'ratio', '45.8 %'],
    [0.0000755808, 'ratio', '0.00756 %'],
    [1.1757, 'factor', '1.18x'],
    [19789627, 'usd_per_year', '19.8 MUSD/y'],
    [2.479, 'usd_per_hour', '2.48 USD/h'],
    [38956454251338, 'j', '10.8 GWh'],
    [1008.7, 'tokens_per_s', '1,009 tokens/s'],
    [2040, 'count', '2,040'],
  ])('%d %s is %s', (value, unit, text) => {
    expect(quantity(value, unit)).toBe(text);
  });

  it('moves to the next prefix when rounding reaches it', () => {
    expect(quantity(999.9e9, 'bytes')).toBe('1 TB');
  });
});

describe('difference', () => {
  it('has a sign, and percentage points for ratios', () => {
    expect(difference(1.2e6, 'usd_per_year')).toBe('+1.2 MUSD/y');
    expect(difference(-0.034, 'ratio')).toBe('−3.4 pp');
    expect(difference(0, 'usd')).toBe('±0 USD');
  });
});

describe('price_text', () => {
  const line = { section: '', item: '', part: '', count: 32, unit_power_w: 0, reference: '' };
  it('is the range for all items, a single price, or "not public"', () => {
    const priced = { ...line, unit_price_low_usd: 25e3, unit_price_high_usd: 45e3 };
    expect(priceText(priced)).toBe('800\u00a0kUSD –\u2060\u00a01.44\u00a0MUSD');
    expect(priceText({ ...priced, unit_price_high_usd: 25e3 })).toBe('800\u00a0kUSD');
    expect(priceText(line)).toBe('not public');
  });
});

describe('catalog_text', () => {
  it('keeps all digits of a published number', () => {
    const texts = [22000, 1978.9, 2022, 'SXM5', null].map(catalogText);
    expect(texts).toEqual(['22,000', '1978.9', '2022', 'SXM5', '']);
  });
});
