import { expect, test } from 'vitest';
import { layoutValue } from './layout';

test('a layout of the search is written as the file writes it', () => {
  expect(layoutValue('tp4 pp6 vp5 dp40 mbs1 zero1')).toBe(
    '{ tp: 4, pp: 6, vp: 5, dp: 40, mbs: 1, sharding: zero1 }',
  );
  expect(layoutValue('tp8 pp1 cp2 dp4 mbs2 none full recompute')).toBe(
    '{ tp: 8, pp: 1, cp: 2, dp: 4, mbs: 2, sharding: none, recompute: full }',
  );
});

test('a layout that the file cannot express is not offered', () => {
  expect(layoutValue('tp1 pp2 dp4 mbs1 zero1 full recompute of 40 % of layers')).toBeNull();
  expect(layoutValue('tp1 pp2 dp4 mbs1 zero1 zero-bubble')).toBeNull();
  expect(layoutValue('')).toBeNull();
});
