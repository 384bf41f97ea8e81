import { describe, expect, it } from 'vitest';
import { parse_location, search_of } from './router.svelte';

describe('location', () => {
  it('is the same after a round trip', () => {
    const location = {
      page: 'catalog' as const,
      params: { table: 'accelerators', id: 'h100-sxm', q: 'a & b/c' },
    };
    expect(parse_location(search_of(location))).toEqual(location);
  });

  it('has one address per state: sorted, without empty parameters', () => {
    const one = search_of({ page: 'fabric', params: { b: '2', a: '1', c: '' } });
    expect(one).toBe('?page=fabric&a=1&b=2');
    expect(search_of({ page: 'design', params: {} })).toBe('');
  });

  it('shows the design for a page that does not exist', () => {
    expect(parse_location('?page=nope').page).toBe('design');
  });
});
