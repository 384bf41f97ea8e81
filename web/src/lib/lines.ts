// Compares two versions of a text line by line.

// Returns the range of lines of `after` that differ from `before`, counted from 1. If lines were
// only removed, it is the line at the place where they were.
export function changedLines(before: string, after: string): { fromLine: number; toLine: number } {
  const old = before.split('\n');
  const now = after.split('\n');
  const shorter = Math.min(old.length, now.length);
  let top = 0;
  while (top < shorter && old[top] === now[top]) ++top;
  let tail = 0;
  while (tail < shorter - top && old.at(-1 - tail) === now.at(-1 - tail)) ++tail;
  const fromLine = Math.min(top + 1, now.length);
  return { fromLine, toLine: Math.max(fromLine, now.length - tail) };
}
