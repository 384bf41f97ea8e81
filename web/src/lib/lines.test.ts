import { describe, expect, it } from 'vitest';
import { changedLines } from './lines';

describe('changed_lines', () => {
  it.each([
    ['a\nb\nc', 'a\nB\nc', 2, 2],
    ['a\nc', 'a\nb\nc', 2, 2],
    ['a\nb\nc', 'a\nc', 2, 2],
    ['a\nb\nc\nd', 'a\nB\nC\nd', 2, 3],
    ['a', 'a', 1, 1],
    ['a\nb', 'a', 1, 1],
  ])('%j to %j changes lines %d to %d', (before, after, fromLine, toLine) => {
    expect(changedLines(before, after)).toEqual({ fromLine, toLine });
  });
});
