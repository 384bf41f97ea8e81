import { describe, expect, it } from 'vitest';
import { from_fragment, to_fragment } from './share';

describe('share', () => {
  it('carries a design through an address', async () => {
    const text = 'orrery: 1\nname: größe\n' + '  - { node: dgx-h100 }\n'.repeat(100);
    const fragment = await to_fragment(text);
    expect(fragment).toMatch(/^#design=[A-Za-z0-9_-]+$/);
    expect(fragment.length).toBeLessThan(text.length / 3);
    expect(await from_fragment(fragment)).toBe(text);
  });

  it('says null to what is no design', async () => {
    expect(await from_fragment('#main')).toBeNull();
    expect(await from_fragment('#design=%%%')).toBeNull();
    expect(await from_fragment('#design=AAAA')).toBeNull();
  });
});
