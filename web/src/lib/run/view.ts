// The window of time that a timeline shows, as pure functions: zoom about a moment, move, keep inside.

export interface Window {
  from_s: number;
  to_s: number;
}

const kShortest_s = 1; // nobody looks at less of a run

export function whole(end_s: number): Window {
  return { from_s: 0, to_s: end_s };
}

// The same length, pushed back where it would leave the run.
export function inside(window: Window, end_s: number): Window {
  const length = Math.min(end_s, Math.max(Math.min(kShortest_s, end_s), window.to_s - window.from_s));
  const from_s = Math.min(Math.max(0, window.from_s), end_s - length);
  return { from_s, to_s: from_s + length };
}

export function zoom(window: Window, factor: number, about_s: number, end_s: number): Window {
  const length = Math.min(end_s, Math.max(kShortest_s, (window.to_s - window.from_s) / factor));
  const share = (about_s - window.from_s) / (window.to_s - window.from_s);
  const from_s = about_s - share * length;
  return inside({ from_s, to_s: from_s + length }, end_s);
}

export function move(window: Window, by_s: number, end_s: number): Window {
  return inside({ from_s: window.from_s + by_s, to_s: window.to_s + by_s }, end_s);
}

// A window that has the moment in it, moved no more than needed.
export function showing(window: Window, t: number, end_s: number): Window {
  if (t < window.from_s) return move(window, t - window.from_s, end_s);
  if (t > window.to_s) return move(window, t - window.to_s, end_s);
  return window;
}

const kSteps_s = [
  1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000,
  2_592_000, 7_776_000, 31_536_000,
];

// Round moments for the ruler, at most `most` of them.
export function ticks(window: Window, most: number): { step_s: number; at_s: number[] } {
  const length = window.to_s - window.from_s;
  const step_s = kSteps_s.find((s) => length / s <= most) ?? kSteps_s.at(-1)!;
  const at_s: number[] = [];
  for (let t = Math.ceil(window.from_s / step_s) * step_s; t <= window.to_s; t += step_s) at_s.push(t);
  return { step_s, at_s };
}

// A tick's text: days where they are days apart, the clock where they are less.
export function tick_text(t: number, step_s: number): string {
  const day = Math.floor(t / 86_400 + 1e-9);
  if (step_s >= 86_400) return `${day} d`;
  const s = Math.round(t - day * 86_400);
  const two = (n: number) => String(n).padStart(2, '0');
  const clock = `${two(Math.floor(s / 3600))}:${two(Math.floor(s / 60) % 60)}`;
  if (s === 0) return `${day} d`;
  return step_s < 60 ? `${clock}:${two(s % 60)}` : clock;
}
