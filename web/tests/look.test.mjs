// How the pages look: no serious violation of accessibility in either theme, and pictures that stay.
//
// UPDATE_GOLDEN=1 writes the pictures anew; look at them before you commit them. They are compared
// only where the same fonts are installed, with a tolerance for digits that a new fit moves.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import { Harness, seriousViolations } from './harness.mjs';
import { kPages, show } from './pages.mjs';
import { kGolden } from './where.mjs';

const kScale = 0.5; // pictures small enough to keep
const kDifferentMost = 0.035; // share of the pixels

let h;
before(async () => (h = await Harness.start()));
after(() => h?.stop());

function fonts() {
  try {
    return ['sans-serif', 'Liberation Sans', 'DejaVu Sans Mono']
      .map((name) => execFileSync('fc-match', [name], { encoding: 'utf8' }).trim())
      .join('\n');
  } catch {
    return 'unknown';
  }
}

const fontFile = path.join(kGolden, 'fonts.txt');
const sameFonts = existsSync(fontFile) && readFileSync(fontFile, 'utf8').trim() === fonts();

function shareDifferent(goldenFile, shot) {
  const golden = PNG.sync.read(readFileSync(goldenFile));
  const now = PNG.sync.read(shot);
  assert.deepEqual([now.width, now.height], [golden.width, golden.height]);
  const count = pixelmatch(golden.data, now.data, null, now.width, now.height, { threshold: 0.2 });
  return count / (now.width * now.height);
}

for (const dark of [false, true]) {
  for (const [name, where] of Object.entries(kPages)) {
    const title = `${name}, ${dark ? 'dark' : 'light'}`;
    test(`${title}: axe finds nothing serious; the picture is as it was`, async (t) => {
      const page = await h.page({ dark, width: 1280, height: 800, scale: kScale });
      await show(h, page, where);
      const serious = await seriousViolations(page);
      assert.deepEqual(serious, []);

      const golden = path.join(kGolden, `${name}-${dark ? 'dark' : 'light'}.png`);
      const shot = await page.screenshot();
      await page.context().close();
      if (process.env.UPDATE_GOLDEN) {
        writeFileSync(golden, shot);
        writeFileSync(fontFile, `${fonts()}\n`);
        return;
      }
      if (!sameFonts) return t.diagnostic('picture not compared: other fonts than the golden has');
      if (!existsSync(golden)) return t.diagnostic('picture not compared: none is kept yet');
      const share = shareDifferent(golden, shot);
      assert.ok(share <= kDifferentMost, `${(share * 100).toFixed(2)} % of the pixels differ`);
    });
  }
}

test('a narrow window scrolls down, not sideways', async () => {
  const page = await h.page({ width: 390, height: 844 });
  for (const where of Object.values(kPages)) {
    await show(h, page, where);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 1, `${where.query || 'design'} is ${wide} px too wide`);
  }
  await page.context().close();
});

test('a page as high as the window does not scroll beyond it', async () => {
  const page = await h.page({ width: 1280, height: 800 });
  for (const name of ['design', 'fabric', 'catalog']) {
    await show(h, page, kPages[name]);
    const more = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
    assert.ok(more <= 1, `${name} is ${more} px too high`);
  }
  await page.context().close();
});

test('a review in half a window, or in large text, is not cut off', async () => {
  for (const [width, text] of [
    [900, '100%'],
    [1400, '125%'],
  ]) {
    const page = await h.page({ width, height: 900 });
    await show(h, page, kPages.design);
    await page.evaluate((size) => (document.documentElement.style.fontSize = size), text);
    const cut = await page.evaluate(() => {
      const room = document.querySelector('.review').getBoundingClientRect();
      const all = [...document.querySelectorAll('.verdict > .card *')];
      const over = (e) => e.getBoundingClientRect().right > room.right + 1;
      return all.filter((e) => !e.closest('.scroll table') && over(e)).map((e) => e.outerHTML.slice(0, 80));
    });
    assert.deepEqual(cut, [], `${width} px, text at ${text}`);
    await page.context().close();
  }
});
