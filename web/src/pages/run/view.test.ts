import { describe, expect, it } from 'vitest';
import { inside, move, showing, tickText, ticks, whole, zoom } from './view';

describe('the window of a timeline', () => {
  it('zooms about a moment that stays where it is', () => {
    const after = zoom({ fromS: 0, toS: 100 }, 2, 25, 100);
    expect(after).toEqual({ fromS: 12.5, toS: 62.5 });
    expect((25 - after.fromS) / 50).toBeCloseTo(0.25);
  });

  it('never leaves the run and is never shorter than a second', () => {
    expect(zoom(whole(100), 0.1, 50, 100)).toEqual(whole(100));
    expect(move({ fromS: 80, toS: 90 }, 50, 100)).toEqual({ fromS: 90, toS: 100 });
    expect(move({ fromS: 80, toS: 90 }, -500, 100)).toEqual({ fromS: 0, toS: 10 });
    const tiny = zoom(whole(100), 1e9, 50, 100);
    expect(tiny.toS - tiny.fromS).toBeCloseTo(1);
    expect(inside({ fromS: 0, toS: 5 }, 0.5)).toEqual(whole(0.5));
  });

  it('follows a moment', () => {
    expect(showing({ fromS: 10, toS: 20 }, 15, 100)).toEqual({ fromS: 10, toS: 20 });
    expect(showing({ fromS: 10, toS: 20 }, 25, 100)).toEqual({ fromS: 15, toS: 25 });
    expect(showing({ fromS: 10, toS: 20 }, 5, 100)).toEqual({ fromS: 5, toS: 15 });
  });

  it('has round ticks', () => {
    const month = ticks(whole(30 * 86_400), 10);
    expect(month.stepS).toBe(5 * 86_400);
    expect(month.atS.map((t) => tickText(t, month.stepS))).toEqual([
      '0 d',
      '5 d',
      '10 d',
      '15 d',
      '20 d',
      '25 d',
      '30 d',
    ]);
    expect(tickText(86_400 * 2 + 3600 * 5, 3600)).toBe('05:00');
    expect(tickText(61, 1)).toBe('00:01:01');
  });
});
