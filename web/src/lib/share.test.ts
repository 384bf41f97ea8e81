import { describe, expect, it } from 'vitest';
import { fromFragment, toFragment } from './share';

describe('share', () => {
  it('puts a design into an address and reads it back', async () => {
    const text = 'orrery: 1\nname: größe\n' + '  - { node: dgx-h100 }\n'.repeat(100);
    const fragment = await toFragment(text);
    expect(fragment).toMatch(/^#design=[A-Za-z0-9_-]+$/);
    expect(fragment.length).toBeLessThan(text.length / 3);
    expect(await fromFragment(fragment)).toBe(text);
  });

  it('returns null if there is no design', async () => {
    expect(await fromFragment('#main')).toBeNull();
    expect(await fromFragment('#design=%%%')).toBeNull();
    expect(await fromFragment('#design=AAAA')).toBeNull();
  });
});
