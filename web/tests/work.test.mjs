// The other pages: calculate, fail a link, search and cancel, serve, compare, export.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Harness, Store, assertQuiet, seriousViolations } from './harness.mjs';
import { kSample } from './where.mjs';

let h;
before(async () => (h = await Harness.start()));
after(() => h?.stop());

async function saved(page, click) {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  const file = path.join(h.folder, download.suggestedFilename());
  await download.saveAs(file);
  return file;
}

test('a calculator answers, follows its slider and copies itself as a command', async () => {
  const page = await h.page();
  await h.open(page, '?page=calculators&calc=checkpoint');
  const answer = page.getByTestId('answer');
  const before = await answer.innerText();
  const slider = page.locator('input[type=range]').first();
  await slider.focus();
  await page.keyboard.press('End');
  await page.waitForFunction((b) => document.querySelector('[data-testid=answer]').innerText !== b, before);
  await page.waitForSelector('.uplot canvas');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy as a command' }).click();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(command, /^orrery calc checkpoint/);
  await page.reload();
  await page.waitForFunction((b) => document.querySelector('[data-testid=answer]')?.innerText !== b, before);
  assertQuiet(page);
  await page.context().close();
});

test('another calculator never shows the answer of the one before', async () => {
  const page = await h.page();
  await h.open(page, '?page=calculators&calc=checkpoint');
  await page.getByTestId('answer').waitFor();
  let answer;
  const held = new Promise((resolve) => (answer = resolve));
  await page.route('**/api/v1/calc/memory', async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole('button', { name: /Training memory/ }).click();
  await page.getByLabel('Parameters').getByText('recompute').waitFor();
  assert.equal(await page.getByTestId('answer').count(), 0);
  answer();
  await page.getByTestId('answer').waitFor();
  assertQuiet(page);
  await page.context().close();
});

test('a calculator takes values from the design and offers ids from the catalog', async () => {
  const page = await h.page();
  await h.open(page, '?page=calculators&calc=memory');
  const model = page.getByRole('combobox', { name: /^model/ });
  await model.waitFor();
  await model.locator('option').nth(20).waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Take values from the design' }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get('gpus') === '960');
  assert.equal(await model.inputValue(), 'llama-3-70b');
  await page.getByTestId('answer').waitFor();
  assertQuiet(page);
  await page.context().close();
});

test('a way to serve is applied with all its fields', async () => {
  const { text } = await h.ask('templates/inference-pod');
  const page = await h.page({ design: text });
  await h.open(page, '?page=serving');
  const choices = page.getByTestId('serving-choices');
  await choices
    .locator('tr', { hasNotText: 'in use' })
    .getByRole('button', { name: 'Use' })
    .first()
    .waitFor();
  const row = choices
    .locator('tbody tr')
    .filter({ has: page.getByRole('button', { name: 'Use' }) })
    .first();
  const [engine, format, tp] = (await row.locator('td').allInnerTexts()).slice(0, 3);
  await row.getByRole('button', { name: 'Use' }).click();
  const current = choices.locator('tr.current');
  await current.filter({ hasText: engine }).waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'));
  const cells = (await current.locator('td').allInnerTexts()).slice(0, 3);
  assert.match(cells[0], new RegExp(`^${engine}`));
  assert.deepEqual(cells.slice(1), [format, tp]);
  assertQuiet(page);
  await page.context().close();
});

test('every calculator answers and draws', async () => {
  const page = await h.page();
  const { calculators } = await h.ask('calc');
  assert.ok(calculators.length >= 8);
  for (const { name } of calculators) {
    await h.open(page, `?page=calculators&calc=${name}`);
    await page.getByTestId('answer').waitFor();
    await page.waitForSelector('.uplot canvas');
  }
  assertQuiet(page);
  await page.context().close();
});

test('a failed cable slows the collective, a failed leaf stops it; both are restored', async () => {
  const page = await h.page();
  await h.open(page, '?page=fabric&collective=send_recv');
  await page.waitForFunction(() => window.fabricPosition?.('leaf-0'));
  const link = (await h.ask('fabric', { design: readFileSync(kSample, 'utf8') })).links.find(
    (l) => l.from.startsWith('leaf') && l.to.startsWith('spine'),
  );
  const place = await page.evaluate((id) => window.fabricPosition(id), link.id);
  await page.mouse.move(place.x, place.y);
  await page.locator('.tip').waitFor();
  assert.match(await page.locator('.tip').innerText(), /load up/);
  await page.mouse.click(place.x, place.y);
  await page.getByTestId('losses').waitFor();
  await page.locator('.after').waitFor();
  assert.match(await page.getByTestId('collective').innerText(), /with failures\s+[\d.]+ \w+\s+\+[\d.]+ %/);
  const leaf = await page.evaluate(() => window.fabricPosition('leaf-0'));
  await page.mouse.click(leaf.x, leaf.y);
  await page.getByTestId('losses').getByText('leaf-0', { exact: true }).waitFor();
  await page.locator('.after', { hasText: 'cannot finish' }).waitFor();
  assert.match(page.url(), /failed=/);
  await page.keyboard.press('r');
  await page.getByTestId('losses').waitFor({ state: 'detached' });
  assert.ok((await page.getByTestId('bill').locator('tr').count()) > 2);
  assertQuiet(page);
  await page.context().close();
});

test('the pipeline is drawn with the schedule of the layout', async () => {
  const page = await h.page();
  await h.open(page, '?page=training');
  await page.getByTestId('schedule').waitFor();
  assert.match(await page.getByTestId('schedule').innerText(), /interleaved 1F1B, 8 chunks per stage/);
  assertQuiet(page);
  await page.context().close();
});

test('a search runs, shows its results and survives a reload; another is cancelled', async () => {
  const page = await h.page();
  await h.open(page, '?page=training');
  await page.getByRole('button', { name: 'Search all layouts' }).click();
  await page.locator('[data-state=done]').waitFor({ timeout: 60_000 });
  assert.ok((await page.getByTestId('search-results').locator('tbody tr').count()) >= 3);
  await page.reload();
  await page.getByTestId('search-results').waitFor();
  // A search is very short, so its answers are held back until it is cancelled.
  let cancelled = false;
  const hold = async (route) => {
    if (route.request().method() === 'DELETE') cancelled = true;
    for (let i = 0; i < 300 && !cancelled; i++) await new Promise((wake) => setTimeout(wake, 100));
    await route.continue();
  };
  await page.route('**/api/v1/jobs/*', hold);
  await page.route('**/api/v1/jobs/*/events', hold);
  await page.getByRole('button', { name: 'Search all layouts' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.locator('[data-state=cancelled], [data-state=done]').waitFor();
  assert.ok(cancelled, 'the page asked the server to cancel');
  assertQuiet(page);
  await page.context().close();
});

test('a search is followed by polling if events do not arrive', async () => {
  const page = await h.page();
  await page.route('**/events', (route) => route.abort());
  await h.open(page, '?page=training');
  await page.getByRole('button', { name: 'Search all layouts' }).click();
  await page.locator('[data-state=done]').waitFor({ timeout: 60_000 });
  await page.context().close();
});

test('the trace of a step is saved for Perfetto', async () => {
  const page = await h.page();
  await h.open(page, '?page=training');
  const file = await saved(page, () => page.getByRole('button', { name: 'Save the trace' }).click());
  const trace = JSON.parse(readFileSync(file, 'utf8'));
  assert.ok(trace.traceEvents.length > 10);
  await page.context().close();
});

test('a service shows its curves, the rate they miss an objective at, iterations and choices', async () => {
  const page = await h.page();
  await h.open(page, '?page=serving');
  const choices = page.getByTestId('serving-choices');
  await choices.waitFor({ timeout: 60_000 });
  assert.equal(await choices.getByText('in use').count(), 1);
  assert.equal(await page.locator('svg[aria-label^="Time to first token"] polyline').count(), 2);
  const points = await page
    .locator('svg[aria-label^="Time to first token"] polyline')
    .first()
    .evaluate((line) => [...line.points].map((p) => p.y));
  assert.ok(points.length >= 6 && points.at(-1) < points[0], 'the line rises with the rate');
  assert.match(await page.getByTestId('breaks-at').innerText(), /requests per second|every load/);
  const drawing = page.locator('svg[aria-label^="Tokens, KV cache"]');
  await drawing.scrollIntoViewIfNeeded();
  const box = await drawing.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 60);
  await page.getByText(/prompt tokens, [^]* requests waiting, KV cache/).waitFor();
  assertQuiet(page);
  await page.context().close();
});

test('storage shows its tiers, the times of a checkpoint, and where checkpoints are', async () => {
  const page = await h.page();
  await h.open(page, '?page=storage');
  const tiers = page.getByTestId('tiers');
  await tiers.waitFor({ timeout: 60_000 });
  assert.ok((await tiers.locator('tbody tr').count()) >= 2);
  const hot = tiers.locator('tr[data-tier=hot]');
  assert.match(await hot.innerText(), /GB\/s|TB\/s/);
  const safe = await page.locator('rect[data-clock=exposed]').boundingBox();
  const stall = await page.locator('rect[data-clock=stall]').boundingBox();
  assert.ok(safe.width >= stall.width, 'a checkpoint is not safe before training continues');
  assert.ok((await page.locator('rect[data-stay=hot]').count()) >= 3);
  const moves = page.getByTestId('moves');
  assert.match(await moves.innerText(), /removed from hot/);
  await page.getByRole('button', { name: /Show all \d+ moves/ }).click();
  assert.match(await moves.innerText(), /written to/);
  await hot.locator('[data-why$=nines]').click();
  await page.getByText(/over \d+ servers/).waitFor();
  assertQuiet(page);
  await page.context().close();
});

test('the state of a store is shown and follows changes', async () => {
  const store = await Store.start();
  const own = await Harness.start(undefined, ['--store', store.address]);
  try {
    const page = await own.page();
    await own.open(page, '?page=store');
    const drives = page.getByTestId('store-drives');
    await drives.waitFor();
    assert.equal(await drives.locator('tr[data-tier]').count(), 4);
    assert.match(await drives.locator('tr[data-tier=warm]').innerText(), /2 copies[^]*can lose 1 drive/);
    assert.match(await drives.locator('tr[data-drive=warm-0]').innerText(), /present[^]*%/);
    await page.getByText('The store has no buckets yet.').waitFor();
    await store.put('a-bucket', 'a key', 'some bytes');
    await page.locator('[data-bucket=a-bucket]').getByText('1', { exact: true }).waitFor();
    assert.match(await page.locator('[data-bucket=a-bucket]').innerText(), /10 B/);
    assertQuiet(page);
    assert.deepEqual(await seriousViolations(page), []);
    await store.stop();
    await page.getByRole('heading', { name: 'The store does not answer' }).waitFor();
    await page.context().close();
  } finally {
    await store.stop();
    await own.stop();
  }
});

test('without a store its page says how to start one', async () => {
  const page = await h.page();
  await h.open(page, '?page=store');
  await page.getByText('orrery serve --store http://127.0.0.1:8118').waitFor();
  assertQuiet(page);
  await page.context().close();
});

test('designs are compared, and the comparison is saved in every form', async () => {
  const page = await h.page();
  await h.open(page, '?page=compare&with=superpod-h200,cloud-rental');
  await page.getByTestId('compare-summary').waitFor();
  assert.equal(await page.locator('[data-difference]').count(), 2);
  assert.ok((await page.getByTestId('cost-tree').locator('tr').count()) > 5);
  await page.getByRole('button', { name: 'cloud-rental', exact: true }).click();
  await page.getByTestId('cost-tree').locator('sup').first().waitFor(); // stars mark assumed numbers
  const expected = {
    'comparison.md': /\| cost \|/,
    'comparison.csv': /^layer,section,figure/,
    'tornado.svg': /<svg/,
    'comparison.html': /<!doctype html>/,
  };
  for (const [name, pattern] of Object.entries(expected)) {
    const file = await saved(page, async () => {
      await page.getByText('Export', { exact: true }).click();
      await page.locator(`[data-item="${name}"]`).click();
    });
    assert.match(readFileSync(file, 'utf8'), pattern);
  }
  assertQuiet(page);
  await page.context().close();
});

test('a menu is walked with the arrow keys and closed with Escape', async () => {
  const page = await h.page();
  const menu = page.locator('details', { hasText: 'Report' });
  const focused = () => page.evaluate(() => document.activeElement.dataset.item ?? 'the button');
  await menu.locator('summary').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), 'html');
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(), 'print', 'the list goes round');
  await page.keyboard.press('Escape');
  assert.equal(await menu.getAttribute('open'), null);
  assert.equal(await focused(), 'the button');
  await menu.locator('summary').click();
  await page.getByTestId('summary').click();
  assert.equal(await menu.getAttribute('open'), null, 'a click elsewhere closes it');
  await page.context().close();
});

test('the report opens from disk without a server and prints to PDF', async () => {
  const page = await h.page();
  await page.getByTestId('summary').waitFor(); // before the design is there, there is nothing to report
  const file = await saved(page, async () => {
    await page.getByText('Report', { exact: true }).click();
    await page.locator('[data-item=html]').click();
  });
  const context = await h.browser.newContext({ offline: true });
  const report = await context.newPage();
  const asked = [];
  report.on('request', (r) => r.url().startsWith('file:') || asked.push(r.url()));
  await report.goto(`file://${file}`);
  assert.match(await report.locator('body').innerText(), /superpod-h100-4su/);
  const pdf = path.join(h.folder, 'report.pdf');
  await report.pdf({ path: pdf, format: 'A4' });
  assert.ok(statSync(pdf).size > 10_000);
  const wide = await report.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
  assert.equal(wide, false, 'the report is no wider than its page');
  assert.deepEqual(asked, []);
  await context.close();
  await page.context().close();
});

test('a catalog search narrows the rows; the worst rows of a score are named', async () => {
  const page = await h.page();
  await h.open(page, '?page=catalog&table=accelerators');
  await page.locator('tr[data-id=h100-sxm]').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('h200 sxm');
  await page.locator('tr[data-id=h100-sxm]').waitFor({ state: 'detached' });
  assert.ok(await page.locator('tr[data-id=h200-sxm]').isVisible());
  await h.open(page, '?page=accuracy&kind=training');
  await page.getByTestId('worst').waitFor({ timeout: 60_000 });
  assert.ok((await page.getByTestId('worst').locator('tbody tr').count()) >= 5);
  assertQuiet(page);
  await page.context().close();
});
