// Every page printed from a dark screen: light, without navigation or controls, no wider than the
// sheet, with drawings fitted to it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Harness, assertQuiet } from './harness.mjs';
import { kPages, show } from './pages.mjs';

const kScreen = { width: 1440, height: 900 };
const kSheet = { width: 703, height: 1032 }; // an A4 sheet without margins of 12 mm, px
const kPixelsPerPoint = 96 / 72;

let h;
before(async () => (h = await Harness.start()));
after(() => h?.stop());

// Returns the faults of a printed page, one line each.
function faultsOnPaper(sheetWidth) {
  const faults = [];
  const name = (e) => `${e.tagName.toLowerCase()}.${e.getAttribute('class') ?? ''}`;
  const seen = [...document.body.querySelectorAll('*')].filter(
    (e) => e.checkVisibility() && !e.closest('.sr, .skip') && e.getClientRects().length > 0,
  );
  for (const e of seen) {
    const { overflowX, overflowY } = getComputedStyle(e);
    const right = e.getBoundingClientRect().right;
    if (right > sheetWidth + 1) faults.push(`${name(e)} ends at ${right.toFixed(0)} px`);
    const clips = overflowX !== 'visible' || overflowY !== 'visible';
    const hidden = e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1;
    if (clips && hidden && e.clientWidth > 0) faults.push(`${name(e)} hides part of its content`);
    if (e.matches('nav, .menu, summary.button, input[type=range], input[type=checkbox]'))
      faults.push(`${name(e)} is printed`);
    if (e.matches('button.button:not([aria-pressed=true])'))
      faults.push(`button "${e.innerText}" is printed`);
  }
  return faults;
}

// Returns the number of canvases with a dark corner. An empty corner is transparent or paper-coloured.
function darkCorners() {
  return [...document.querySelectorAll('canvas')].filter((c) => {
    const [r, g, b, a] = c.getContext('2d').getImageData(1, 1, 1, 1).data;
    return a > 0 && r + g + b < 600;
  }).length;
}

for (const [name, where] of Object.entries(kPages)) {
  test(`${name} on paper: light, whole, no navigation`, async () => {
    const page = await h.page({ dark: true, ...kScreen });
    await show(h, page, where);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await page.setViewportSize(kSheet);
    await page.waitForTimeout(100);
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(background, 'rgb(255, 255, 255)');
    assert.deepEqual(await page.evaluate(faultsOnPaper, kSheet.width), []);
    assert.equal(await page.evaluate(darkCorners), 0, 'canvases are drawn again for light paper');
    assert.ok(await page.locator('h1').isVisible(), 'the sheet has a title');
    assertQuiet(page);
    await page.context().close();
  });
}

test('a printed page fits its sheet, and the screen is unchanged afterwards', async () => {
  const page = await h.page({ dark: true, ...kScreen });
  await show(h, page, kPages.training);
  await page.evaluate(() => {
    window.look = () => ({
      theme: document.documentElement.dataset.theme,
      widths: [...document.querySelectorAll('.page svg[role=img]')].map((s) => s.width.baseVal.value),
    });
    addEventListener('beforeprint', () => (window.onPaper = window.look()));
  });
  const beforeIt = await page.evaluate(() => window.look());
  const pdf = await page.pdf({ format: 'A4', preferCSSPageSize: true });
  const [, right] = /\/MediaBox\s*\[\s*0 0 ([\d.]+)/.exec(pdf.toString('latin1'));
  assert.ok(Math.abs(right * kPixelsPerPoint - 794) < 2, `a sheet of ${right} pt`);
  const onPaper = await page.evaluate(() => window.onPaper);
  assert.equal(onPaper.theme, 'light');
  assert.ok(onPaper.widths.length >= 2);
  for (const width of onPaper.widths) assert.ok(width <= kSheet.width, `a drawing of ${width} px`);
  assert.deepEqual(await page.evaluate(() => window.look()), beforeIt);
  await page.context().close();
});
