// How the pages look: no serious accessibility violation in either theme, and pictures that stay equal.
//
// UPDATE_GOLDEN=1 rewrites the pictures; look at them before you commit them. They are compared only
// if the same fonts are installed, with a tolerance for numbers that a new fit changes.
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

const kScale = 0.5; // keeps the pictures small
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
    test(`${title}: axe finds nothing serious; the picture is unchanged`, async (t) => {
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
      if (!sameFonts) return t.diagnostic('picture not compared: the golden picture has other fonts');
      if (!existsSync(golden)) return t.diagnostic('picture not compared: there is no golden picture');
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

test('parts of a next best spend do not overlap in a narrow window', async () => {
  const { text } = await h.ask('templates/superpod-h100');
  for (const width of [1440, 1024, 390]) {
    const page = await h.page({ width, height: 900, design: text });
    const region = page.getByRole('region', { name: 'Next best spends' });
    await region.waitFor();
    const faults = await region.evaluate((card) => {
      const found = [];
      for (const li of card.querySelectorAll('li')) {
        const parts = [...li.querySelectorAll('p, code, dt, dd, button')].filter((e) => e.offsetParent);
        const boxes = parts.map((e) => ({ e, box: e.getBoundingClientRect() }));
        for (const { e, box } of boxes) {
          const words = e.innerText.length;
          if (box.height > 60 && words < 60) found.push(`one word per line: ${e.innerText}`);
          for (const other of boxes) {
            const over =
              e !== other.e &&
              box.left < other.box.right - 1 &&
              other.box.left < box.right - 1 &&
              box.top < other.box.bottom - 1 &&
              other.box.top < box.bottom - 1;
            if (over) found.push(`${e.innerText} over ${other.e.innerText}`);
          }
        }
      }
      return found;
    });
    assert.deepEqual(faults, [], `${width} px`);
    await page.context().close();
  }
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
