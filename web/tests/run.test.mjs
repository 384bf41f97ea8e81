// The Run page: a month of the 1,016-GPU sample opens fast, scrubs smoothly, gives reasons, plays,
// compares with another run, and downloads.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Harness, assertFigure, assertQuiet } from './harness.mjs';
import { kSample } from './where.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const kOpenMostMs = 2000;
const kFrameMostMs = 20; // 50 frames a second

let h;
let first; // a month of the sample
before(async () => {
  h = await Harness.start();
  first = await runOf({ span: '30 d', replications: 8 });
});
after(() => h?.stop());

async function runOf(options) {
  const { id } = await h.ask('runs', { design: readFileSync(kSample, 'utf8'), ...options });
  for (let i = 0; i < 600; ++i) {
    if ((await h.ask(`jobs/${id}`)).state === 'done') return id;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error(`run ${id} did not end`);
}

const canvas = (page) => page.getByRole('slider', { name: /Timeline/ }).first();
const drawn = (page) =>
  page.waitForFunction(() => document.querySelector('canvas[role=slider]')?.dataset.frames > 0);

async function saved(page, item) {
  await page.getByText('Download', { exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator(`[data-item="${item}"]`).click(),
  ]);
  const file = path.join(h.folder, download.suggestedFilename());
  await download.saveAs(file);
  return readFileSync(file, 'utf8');
}

test('a month of the sample opens in under 2 s and scrubs at 50 frames a second', async (t) => {
  const page = await h.page();
  const start = Date.now();
  await page.goto(`${h.origin}/?page=run&run=${first}`);
  await drawn(page);
  await page.getByTestId('moment').waitFor();
  assertFigure(t, 'a month of 1,016 GPUs opens', Date.now() - start, kOpenMostMs);
  await page.waitForTimeout(300);
  // Moves the pointer every 4 ms for two seconds, from end to end and back, and counts the frames.
  const scrub = await page.evaluate(async () => {
    const target = document.querySelector('canvas[role=slider]');
    const box = target.getBoundingClientRect();
    const send = (type, x) =>
      target.dispatchEvent(
        new PointerEvent(type, {
          clientX: x,
          clientY: box.top + 120,
          pointerId: 1,
          button: 0,
          bubbles: true,
        }),
      );
    target.setPointerCapture = () => {};
    send('pointerdown', box.left + 130);
    const before = Number(target.dataset.frames);
    const start = performance.now();
    while (performance.now() - start < 2000) {
      const share = Math.abs((((performance.now() - start) / 500) % 2) - 1);
      send('pointermove', box.left + 130 + share * (box.width - 160));
      await new Promise((wake) => setTimeout(wake, 4));
    }
    send('pointerup', box.left + 200);
    const painted = Number(target.dataset.frames) - before;
    return { painted, spentMs: performance.now() - start, paintMs: target.dataset.frameMs };
  });
  t.diagnostic(`${scrub.painted} frames in ${scrub.spentMs.toFixed(0)} ms, ${scrub.paintMs} ms to paint one`);
  assertFigure(t, 'frame of a scrub, mean', scrub.spentMs / Math.max(1, scrub.painted), kFrameMostMs);
  assertQuiet(page);
  await page.context().close();
});

test('a moment names its cause, and the hall shows it', async () => {
  const page = await h.page();
  await h.open(page, `?page=run&run=${first}`);
  await drawn(page);
  await page.getByTestId('hall-counts').getByText('starting').waitFor(); // the job starts at 0
  // Goes to the first fault that stops the job; faults of idle hosts stop none.
  for (let i = 0; i < 10 && (await page.getByTestId('reason').count()) === 0; ++i)
    await page.keyboard.press('n');
  assert.match(await page.getByTestId('reason').innerText(), /Cause: .+ on host \d+ of train/);
  assert.match(await page.getByTestId('hall-counts').innerText(), /detection/);
  assert.notEqual(await page.getByTestId('now').innerText(), 'day 1, 00:00:00');
  // After a zoom the table of GPU-seconds has a column for the window.
  for (let i = 0; i < 8; ++i) await page.keyboard.press('+');
  await page.getByText('Share in the window').waitFor();
  await page.keyboard.press('0');
  await page.getByText('Share in the window').waitFor({ state: 'detached' });
  assertQuiet(page);
  await page.context().close();
});

test('the most expensive fault is listed first and moves the cursor to it', async () => {
  const page = await h.page();
  await h.open(page, `?page=run&run=${first}`);
  await drawn(page);
  const rows = page.getByTestId('faults').locator('tbody tr');
  const seconds = async (row) => Number((await row.locator('td').nth(6).innerText()).replaceAll(',', ''));
  assert.ok((await rows.count()) >= 2);
  assert.ok((await seconds(rows.nth(0))) >= (await seconds(rows.nth(1))));
  assert.match(await rows.first().innerText(), /host \d+ of train[^]*pretrain/);
  const time = rows.first().getByRole('button');
  await time.click();
  assert.equal(await page.getByTestId('now').innerText(), await time.innerText());
  await page.getByTestId('reason').waitFor();
  assertQuiet(page);
  await page.context().close();
});

test('an empty Run page offers runs, and one click starts one', async () => {
  const own = await Harness.start();
  try {
    const page = await own.page();
    await own.open(page, '?page=run');
    await page.getByRole('button', { name: 'Simulate one week' }).click();
    await drawn(page);
    await page.getByTestId('faults').or(page.getByText('No host failed in this run.')).waitFor();
    assertQuiet(page);
    await page.context().close();
  } finally {
    await own.stop();
  }
});

test('it plays by itself and stops', async () => {
  const page = await h.page();
  await h.open(page, `?page=run&run=${first}`);
  await drawn(page);
  const now = page.getByTestId('now');
  await page.getByRole('button', { name: 'Play' }).click();
  await page.waitForFunction(() => /day [2-9]/.test(document.querySelector('[data-testid=now]').innerText));
  await page.getByRole('button', { name: 'Stop' }).click();
  const stood = await now.innerText();
  await page.waitForTimeout(200);
  assert.equal(await now.innerText(), stood);
  await canvas(page).focus();
  await page.keyboard.press('Home');
  assert.equal(await now.innerText(), 'day 1, 00:00:00');
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await now.innerText(), 'day 1, 00:00:00');
  await page.context().close();
});

test('a run is started from the page, compared with another, and downloaded', async () => {
  const page = await h.page();
  await h.open(page, `?page=run&run=${first}`);
  await drawn(page);
  await page.getByRole('spinbutton', { name: 'seed' }).fill('7');
  await page.getByRole('spinbutton', { name: 'replications' }).fill('2');
  await page.getByRole('button', { name: 'Run this design' }).click();
  await page.waitForFunction((id) => new URLSearchParams(location.search).get('run') !== id, first);
  const second = new URL(page.url()).searchParams.get('run');
  await page.getByLabel('Compare with run').selectOption(first);
  await page.waitForFunction(() => document.querySelectorAll('canvas[role=slider]').length === 2);
  assert.ok(
    (await page.getByTestId('run-figures').locator('tbody tr').count()) > 3,
    'another seed changes figures',
  );
  assert.equal(await page.getByTestId('gpu-seconds').count(), 2);
  const run = JSON.parse(await saved(page, `runs/${second}`));
  assert.equal(run.seed, 7);
  assert.equal(
    Object.values(run.gpu_seconds).reduce((a, b) => a + b, 0),
    run.accelerators * run.simulated_s,
  );
  const trace = JSON.parse(await saved(page, `runs/${first}/trace`));
  assert.ok(trace.traceEvents.length > 100);
  assert.match(await saved(page, `runs/${first}/series`), /^t_s,productive_accelerators/);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll('canvas[role=slider]').length === 2);
  assertQuiet(page);
  await page.context().close();
});

test('a long run can be cancelled; an invalid time is refused', async () => {
  const page = await h.page();
  await h.open(page, `?page=run&run=${first}`);
  await drawn(page);
  await page.getByRole('textbox', { name: 'Time' }).fill('soon');
  await page.getByRole('button', { name: 'Run this design' }).click();
  await page.getByRole('alert').getByText('soon').waitFor();
  await page.getByRole('textbox', { name: 'Time' }).fill('10 y');
  await page.getByRole('spinbutton', { name: 'replications' }).fill('256');
  await page.getByRole('button', { name: 'Run this design' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.locator('[data-state=cancelled]').waitFor();
  await page.context().close();
});

test('axe finds nothing serious on the page of a run, light and dark', async () => {
  for (const dark of [false, true]) {
    const page = await h.page({ dark });
    await h.open(page, `?page=run&run=${first}`);
    await drawn(page);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() =>
      window.axe.run(document, { resultTypes: ['violations'] }),
    );
    const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
    assert.deepEqual(
      serious.map((v) => `${v.id}: ${v.nodes[0].target.join(' ')}`),
      [],
    );
    await page.context().close();
  }
});
