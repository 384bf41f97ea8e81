// Formats numbers for axes and for values that come without a text. A Figure brings its own text
// (`shown`); these functions follow the same rules: three significant digits, decimal prefixes.
import type { BillLine, CatalogValue } from './types';

const kPrefixes: [number, string][] = [
  [1e18, 'E'],
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
  [1, ''],
];

const kDurations: [number, string, number][] = [
  [365.25 * 86400, 'y', 1.5],
  [86400, 'd', 2],
  [3600, 'h', 2],
  [60, 'min', 2],
  [1, 's', 1],
  [1e-3, 'ms', 1],
  [1e-6, 'us', 1],
  [1e-9, 'ns', 0],
];

// Names of the base units that take decimal prefixes.
const kUnits: Record<string, string> = {
  bytes: 'B',
  bytes_per_s: 'B/s',
  flops_per_s: 'FLOP/s',
  w: 'W',
  usd: 'USD',
  usd_per_year: 'USD/y',
  usd_per_hour: 'USD/h',
  usd_per_mtoken: 'USD/Mtoken',
  j_per_token: 'J/token',
};

// Returns 1234.5 as "1,230" and 0.04567 as "0.0457": no exponent, no trailing zeros.
export function digits(value: number, significant = 3): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.max(0, significant - 1 - magnitude);
  const rounded = Number(value.toPrecision(significant));
  return rounded.toLocaleString('en-US', { maximumFractionDigits: Math.min(decimals, 12) });
}

function withPrefix(value: number, unit: string, significant: number): string {
  const size = Math.abs(Number(value.toPrecision(significant)));
  const [scale, prefix] = kPrefixes.find(([limit]) => size >= limit) ?? [1, ''];
  return `${digits(value / scale, significant)} ${prefix}${unit}`;
}

function duration(seconds: number, significant: number): string {
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  const [scale, name] = kDurations.find(([length, , least]) => size >= length * least) ?? [1e-9, 'ns'];
  return `${digits(seconds / scale, significant)} ${name}`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

// Formats a value that is in the base unit `unit`, one of those listed in docs/api/openapi.yaml.
export function quantity(value: number, unit: string, significant = 3): string {
  switch (unit) {
    case 's':
      return duration(value, significant);
    case 'ratio':
      return `${digits(value * 100, significant)} %`;
    case 'factor':
      return `${digits(value, significant)}x`;
    case 'count':
      return digits(value, Math.max(significant, 6));
    case 'j':
      return withPrefix(value / 3600, 'Wh', significant);
    case 'g_co2':
      return value >= 1e6
        ? `${digits(value / 1e6, significant)} t CO2`
        : `${digits(value / 1e3, significant)} kg CO2`;
    case 'l_per_min':
      return `${digits(value, significant)} L/min`;
    case 'per_s':
      return `${digits(value, significant)} /s`;
    case 'tokens_per_s':
      return `${digits(value, Math.max(significant, 4))} tokens/s`;
  }
  const name = kUnits[unit];
  return name ? withPrefix(value, name, significant) : `${digits(value, significant)} ${unit}`.trim();
}

// Returns "+1.2 MUSD/y", or "−3.4 pp" (percentage points) for a ratio.
export function difference(value: number, unit: string): string {
  const sign = value > 0 ? '+' : value < 0 ? '−' : '±';
  if (unit === 'ratio') return `${sign}${digits(Math.abs(value) * 100)} pp`;
  return sign + quantity(Math.abs(value), unit);
}

export function percent(ratio: number, significant = 3): string {
  return quantity(ratio, 'ratio', significant);
}

// Returns "price low usd" for "price_low_usd" and "power price" for "power-price".
export function words(name: string): string {
  return name.replaceAll(/[_-]/g, ' ');
}

// Formats a value of the catalog as it was published: all digits, thousands separated from 10,000.
export function catalogText(value: CatalogValue): string {
  if (value === null) return '';
  if (typeof value !== 'number') return String(value);
  return value.toLocaleString('en-US', { maximumFractionDigits: 6, useGrouping: value >= 10_000 });
}

// Returns "800 kUSD – 1.44 MUSD". A line may break before the dash only: a word joiner follows it.
export function usdRange(low: number, high: number): string {
  const text = (value: number) => quantity(value, 'usd').replace(' ', '\u00a0');
  return low === high ? text(low) : `${text(low)} –\u2060\u00a0${text(high)}`;
}

// Formats the price of all items of a line of the bill.
export function priceText({
  count: items,
  unit_price_low_usd: unitPriceLowUsd,
  unit_price_high_usd: unitPriceHighUsd,
}: BillLine): string {
  if (unitPriceLowUsd === undefined || unitPriceHighUsd === undefined) return 'not public';
  return usdRange(unitPriceLowUsd * items, unitPriceHighUsd * items);
}
