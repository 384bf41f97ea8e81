import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Latest } from './latest';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function recorder() {
  const asked: string[] = [];
  const done: string[] = [];
  const failed: string[] = [];
  const signals: AbortSignal[] = [];
  const latest = new Latest<string, string>(
    (input, signal) => {
      asked.push(input);
      signals.push(signal);
      return new Promise((resolve, reject) =>
        setTimeout(() => (input === 'bad' ? reject(new Error('no')) : resolve(input)), 50),
      );
    },
    (input) => done.push(input),
    (input) => failed.push(input),
    15,
  );
  return { asked, done, failed, signals, latest };
}

describe('Latest', () => {
  it('waits for a pause and asks once', async () => {
    const { asked, done, latest } = recorder();
    latest.put('a');
    await vi.advanceTimersByTimeAsync(10);
    latest.put('ab');
    await vi.advanceTimersByTimeAsync(100);
    expect(asked).toEqual(['ab']);
    expect(done).toEqual(['ab']);
  });

  it('aborts the older request and drops its answer', async () => {
    const { done, signals, latest } = recorder();
    latest.put('a');
    await vi.advanceTimersByTimeAsync(20);
    latest.put('b');
    await vi.advanceTimersByTimeAsync(200);
    expect(signals[0].aborted).toBe(true);
    expect(done).toEqual(['b']);
  });

  it('reports a failure of the newest request only', async () => {
    const { failed, done, latest } = recorder();
    latest.put('bad', 0);
    latest.put('good', 0);
    await vi.advanceTimersByTimeAsync(200);
    expect(failed).toEqual([]);
    expect(done).toEqual(['good']);
    latest.put('bad', 0);
    await vi.advanceTimersByTimeAsync(200);
    expect(failed).toEqual(['bad']);
  });
});
