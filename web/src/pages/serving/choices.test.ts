import { describe, expect, it } from 'vitest';
import { editsFor, editsText } from './choices';

const choice = (engine: string, format: string, tp: number, apart = false, current = false) =>
  ({ engine, format, tp, apart, current }) as Parameters<typeof editsFor>[1];

describe('a way to serve', () => {
  const inUse = choice('vllm', 'bf16', 4, false, true);
  const other = choice('sglang', 'fp8', 4, true);
  const path = 'workloads[0].serve';

  it('is applied with every field that differs, not only its engine', () => {
    expect(editsText(editsFor(path, other, [inUse, other]))).toBe(
      'engine: sglang, precision: fp8, kv_precision: fp8, disaggregated: true',
    );
    expect(editsFor(path, choice('sglang', 'bf16', 4), [inUse])).toEqual([
      { path: 'workloads[0].serve.engine', value: 'sglang' },
    ]);
  });

  it('writes all fields if the design uses none of the rows', () => {
    expect(editsFor(path, other, [other])).toHaveLength(5);
  });
});
