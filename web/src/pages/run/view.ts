// The time window of a timeline, as pure functions: zoom about a moment, move, keep inside the run.

export interface Window {
  fromS: number;
  toS: number;
}

const kShortestS = 1; // shortest window

export function whole(endS: number): Window {
  return { fromS: 0, toS: endS };
}

// Returns a window of the same length, moved back inside the run.
export function inside(window: Window, endS: number): Window {
  const length = Math.min(endS, Math.max(Math.min(kShortestS, endS), window.toS - window.fromS));
  const fromS = Math.min(Math.max(0, window.fromS), endS - length);
  return { fromS: fromS, toS: fromS + length };
}

export function zoom(window: Window, factor: number, aboutS: number, endS: number): Window {
  const length = Math.min(endS, Math.max(kShortestS, (window.toS - window.fromS) / factor));
  const share = (aboutS - window.fromS) / (window.toS - window.fromS);
  const fromS = aboutS - share * length;
  return inside({ fromS: fromS, toS: fromS + length }, endS);
}

export function move(window: Window, byS: number, endS: number): Window {
  return inside({ fromS: window.fromS + byS, toS: window.toS + byS }, endS);
}

// Returns a window that contains the moment, moved no more than needed.
export function showing(window: Window, t: number, endS: number): Window {
  if (t < window.fromS) return move(window, t - window.fromS, endS);
  if (t > window.toS) return move(window, t - window.toS, endS);
  return window;
}

const kStepsS = [
  1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 432_000,
  864_000, 2_592_000, 7_776_000, 31_536_000,
];

// Returns at most `most` round moments for the ruler.
export function ticks(window: Window, most: number): { stepS: number; atS: number[] } {
  const length = window.toS - window.fromS;
  const stepS = kStepsS.find((s) => length / s <= most) ?? kStepsS.at(-1)!;
  const atS: number[] = [];
  for (let t = Math.ceil(window.fromS / stepS) * stepS; t <= window.toS; t += stepS) atS.push(t);
  return { stepS, atS };
}

// Returns a tick's text: days if the ticks are days apart, else the time of day.
export function tickText(t: number, stepS: number): string {
  const day = Math.floor(t / 86_400 + 1e-9);
  if (stepS >= 86_400) return `${day} d`;
  const s = Math.round(t - day * 86_400);
  const two = (n: number) => String(n).padStart(2, '0');
  const clock = `${two(Math.floor(s / 3600))}:${two(Math.floor(s / 60) % 60)}`;
  if (s === 0) return `${day} d`;
  return stepS < 60 ? `${clock}:${two(s % 60)}` : clock;
}
