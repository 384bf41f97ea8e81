import { describe, expect, it } from 'vitest';
import { parseLocation, searchOf } from './router.svelte';

describe('location', () => {
  it('is the same after a round trip', () => {
    const location = {
      page: 'catalog' as const,
      params: { table: 'accelerators', id: 'h100-sxm', q: 'a & b/c' },
    };
    expect(parseLocation(searchOf(location))).toEqual(location);
  });

  it('has one address per state: sorted, without empty parameters', () => {
    const one = searchOf({ page: 'fabric', params: { b: '2', a: '1', c: '' } });
    expect(one).toBe('?page=fabric&a=1&b=2');
    expect(searchOf({ page: 'design', params: {} })).toBe('');
  });

  it('shows the design for a page that does not exist', () => {
    expect(parseLocation('?page=nope').page).toBe('design');
  });
});
