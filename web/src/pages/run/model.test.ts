import { describe, expect, it } from 'vitest';
import type { RunTimeline } from '../../lib/types';
import { RunModel, countUntil, kFree, kRepair, kReserve, momentText } from './model';

// One run on two hosts and a spare: steps, a fault at 100 that takes host 1, back at 160.
const timeline: RunTimeline = {
  schema_version: 1,
  kind: 'timeline',
  design: 'small',
  simulated_s: 300,
  seed: 1,
  accelerators: 24,
  words: [
    { name: 'productive', share: 'productive', about: '' },
    { name: 'detection', share: 'restart', about: '' },
  ],
  tracks: ['job'],
  fleets: [{ name: 'train', hosts: 2, spares: 1, accelerators_per_host: 8 }],
  spans: {
    track: [0, 0, 0],
    begin_s: [0, 100, 160],
    end_s: [100, 160, 300],
    word: [0, 1, 0],
    why: [-1, 0, -1],
    saves_every_s: [30, 0, 0],
  },
  point_names: [
    { name: 'faulty GPU', kind: 'fault' },
    { name: 'host repaired', kind: 'repaired' },
  ],
  points: { t_s: [100, 250], fleet: [0, 0], host: [1, 1], name: [0, 1] },
  hosts: {
    t_s: [0, 0, 100, 160, 250],
    fleet: [0, 0, 0, 0, 0],
    host: [0, 1, 1, 2, 1],
    holder: [0, 0, -3, 0, -1],
  },
  series: {
    bin_s: 100,
    columns: [{ name: 'productive_accelerators', label: 'productive', kind: 'share', means: [16, 6.4, 16] }],
  },
  left_out: 0,
};
const model = new RunModel(timeline);

describe('a run in time', () => {
  it('counts sorted values up to a bound', () => {
    expect([0, 1, 1.5, 3, 9].map((t) => countUntil([1, 1, 3], t))).toEqual([0, 2, 2, 3, 3]);
    expect(countUntil([], 1)).toBe(0);
  });

  it('finds the span at a moment, ends excluded', () => {
    expect(model.spanAt(0, 99.9)?.word).toBe(0);
    expect(model.spanAt(0, 100)?.word).toBe(1);
    expect(model.spanAt(0, 100)?.why).toBe(0);
    expect(model.spanAt(0, 300)).toBeNull();
  });

  it('finds the holder of a host', () => {
    expect([1, 100, 249, 250].map((t) => model.holderAt(0, 1, t))).toEqual([0, kRepair, kRepair, kFree]);
    expect([0, 159, 160].map((t) => model.holderAt(0, 2, t))).toEqual([kReserve, kReserve, 0]);
    expect(model.wordOfHost(0, 0, 120)).toEqual({ holder: 0, word: 1 });
    expect(model.wordOfHost(0, 1, 120)).toEqual({ holder: kRepair, word: null });
  });

  it('goes from fault to fault', () => {
    expect(model.nextFault(0, 1)).toBe(100);
    expect(model.nextFault(100, 1)).toBe(100);
    expect(model.nextFault(200, -1)).toBe(100);
    expect(model.nextFault(100, -1)).toBe(100);
  });

  it('counts checkpoints from the beginning of a span', () => {
    const span = model.spanAt(0, 70)!;
    expect(model.savesAround(span, 70)).toEqual({ lastS: 60, nextS: 90 });
    expect(model.savesAround(span, 95)).toEqual({ lastS: 90, nextS: null });
    expect(model.savesAround(span, 10)).toEqual({ lastS: null, nextS: 30 });
  });

  it('gives each fault its cost: time stopped and work since the last checkpoint', () => {
    expect(model.faultCosts()).toEqual([
      { point: model.points[0], jobs: ['job'], stoppedS: 60, redoneS: 10, gpuS: 70 * 16 },
    ]);
  });

  it('lists a fault of an idle host without a cost', () => {
    const idle = new RunModel({ ...timeline, spans: { ...timeline.spans, why: [-1, -1, -1] } });
    expect(idle.faultCosts()).toEqual([
      { point: idle.points[0], jobs: [], stoppedS: 0, redoneS: 0, gpuS: 0 },
    ]);
  });

  it('adds up GPU-seconds between two moments', () => {
    expect(model.shares(0, 300).productive).toBeCloseTo(100 * (16 + 6.4 + 16));
    expect(model.shares(50, 150).productive).toBeCloseTo(50 * 16 + 50 * 6.4);
    expect(model.levelAt([1, 2, 3], 250)).toBe(3);
    expect(model.levelAt([1, 2, 3], 1e9)).toBe(3);
  });

  it('writes a moment as day and time', () => {
    expect(momentText(0)).toBe('day 1, 00:00:00');
    expect(momentText(86_400 + 3600 * 4 + 61)).toBe('day 2, 04:01:01');
  });
});
