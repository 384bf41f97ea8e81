import { describe, expect, it } from 'vitest';
import { inside, move, showing, tick_text, ticks, whole, zoom } from './view';

describe('the window of a timeline', () => {
  it('zooms about a moment that stays where it is', () => {
    const after = zoom({ from_s: 0, to_s: 100 }, 2, 25, 100);
    expect(after).toEqual({ from_s: 12.5, to_s: 62.5 });
    expect((25 - after.from_s) / 50).toBeCloseTo(0.25);
  });

  it('never leaves the run and is never shorter than a second', () => {
    expect(zoom(whole(100), 0.1, 50, 100)).toEqual(whole(100));
    expect(move({ from_s: 80, to_s: 90 }, 50, 100)).toEqual({ from_s: 90, to_s: 100 });
    expect(move({ from_s: 80, to_s: 90 }, -500, 100)).toEqual({ from_s: 0, to_s: 10 });
    const tiny = zoom(whole(100), 1e9, 50, 100);
    expect(tiny.to_s - tiny.from_s).toBeCloseTo(1);
    expect(inside({ from_s: 0, to_s: 5 }, 0.5)).toEqual(whole(0.5));
  });

  it('follows a moment', () => {
    expect(showing({ from_s: 10, to_s: 20 }, 15, 100)).toEqual({ from_s: 10, to_s: 20 });
    expect(showing({ from_s: 10, to_s: 20 }, 25, 100)).toEqual({ from_s: 15, to_s: 25 });
    expect(showing({ from_s: 10, to_s: 20 }, 5, 100)).toEqual({ from_s: 5, to_s: 15 });
  });

  it('has round ticks', () => {
    const month = ticks(whole(30 * 86_400), 10);
    expect(month.step_s).toBe(5 * 86_400);
    expect(month.at_s.map((t) => tick_text(t, month.step_s))).toEqual(['0 d', '5 d', '10 d', '15 d', '20 d', '25 d', '30 d']);
    expect(tick_text(86_400 * 2 + 3600 * 5, 3600)).toBe('05:00');
    expect(tick_text(61, 1)).toBe('00:01:01');
  });
});
