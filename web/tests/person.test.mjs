// Cases that once confused users: dialogs, racks, tiles after an edit, saving, comparing, phones.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Harness, assertQuiet } from './harness.mjs';
import { kSample } from './where.mjs';

let h;
let folder;
let file;
before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'orrery-person-'));
  file = path.join(folder, 'mine.yaml');
  copyFileSync(kSample, file);
  h = await Harness.start(file);
});
after(async () => {
  await h?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const text = () => readFileSync(kSample, 'utf8');
const withCount = (n) => text().replace(/count: \d+/, `count: ${n}`);

test('Escape closes the templates', async () => {
  const page = await h.page();
  await h.open(page, '');
  await page.getByRole('button', { name: 'Templates' }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assertQuiet(page);
  await page.context().close();
});

test('tables of a phone are lists: no column is cut off', async () => {
  const page = await h.page({ width: 390, height: 844 });
  await h.open(page, '?page=storage');
  const tiers = page.getByTestId('tiers');
  await tiers.waitFor();
  for (const cell of await tiers.locator('td').all()) {
    const box = await cell.boundingBox();
    if (box) assert.ok(box.x >= 0 && box.x + box.width <= 390, await cell.innerText());
  }
  assertQuiet(page);
  await page.context().close();
});

test('pointing at a rack shows its name', async () => {
  const page = await h.page();
  await h.open(page, '?page=hall');
  const rack = page.locator('[data-rack]').first();
  await rack.hover();
  const id = await rack.getAttribute('data-rack');
  await page.waitForFunction((r) => document.querySelector('.readout')?.innerText.includes(r), id);
  await page.context().close();
});

test('after an edit a tile shows its earlier value', async () => {
  const page = await h.page();
  await h.open(page, '');
  await page.getByTestId('summary').waitFor();
  assert.equal(await page.getByTestId('delta').count(), 0);
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(withCount(140));
  const delta = page.getByTestId('delta').first();
  await delta.waitFor();
  assert.match(await delta.innerText(), /^was .+, [+−].+ %$/);
  await page.context().close();
});

test('the file is saved, but never over a change made by another program', async () => {
  const page = await h.page();
  await h.open(page, '');
  await page.getByTestId('summary').waitFor();
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(withCount(128));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).waitFor({ state: 'detached' });
  assert.match(readFileSync(file, 'utf8'), /count: 128/);
  writeFileSync(file, `${withCount(64)}# by another\n`);
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(withCount(130));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('alert').waitFor();
  assert.match(readFileSync(file, 'utf8'), /# by another/);
  copyFileSync(kSample, file);
  await page.context().close();
});

test('one request asks for the prices of all fixes after typing has stopped', async () => {
  const pod = (await h.ask('templates/inference-pod')).text;
  const hot = (await h.ask('edit', { design: pod, path: 'site.cooling', value: 'air-perimeter' })).text;
  const { findings } = await h.ask('plan', hot);
  const { edits } = await h.ask('prices', { design: hot });
  const page = await h.page({ design: hot });
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await h.open(page, '');
  await page.getByTestId('price').first().waitFor();
  assert.equal(await page.getByTestId('price').count(), findings.filter((f) => f.edit).length);
  assert.equal(asked.filter((p) => p === '/api/v1/prices').length, 1);
  assert.ok(!asked.includes('/api/v1/edit'), 'prices need no edit request');
  assert.ok(edits.length > 0 && edits.every((e) => e.cost_usd_per_year !== null));
  assertQuiet(page);
  await page.context().close();
});

test('designs are compared with the same workloads, or a line says that they differ', async () => {
  const page = await h.page();
  await h.open(page, '?page=compare&with=superpod-h200');
  await page.locator('table').first().waitFor();
  assert.equal(await page.locator('.banner').count(), 0);
  await page.getByLabel('Same workloads in all designs').uncheck();
  await page.locator('.banner').waitFor();
  await page.context().close();
});

test('an empty Compare page suggests designs, and one click compares', async () => {
  const page = await h.page();
  await h.open(page, '?page=compare');
  const suggestions = page.getByRole('region', { name: 'Suggested comparisons' }).getByRole('button');
  await suggestions.first().waitFor();
  assert.ok((await suggestions.count()) >= 3);
  await suggestions.first().click();
  await page.getByTestId('compare-summary').waitFor();
  assert.match(page.url(), /with=/);
  assertQuiet(page);
  await page.context().close();
});

test('a phone shows the label of every page and the verdict; the design is read-only', async () => {
  const page = await h.page({ width: 390, height: 844 });
  await h.open(page, '');
  await page.getByTestId('summary').waitFor();
  for (const link of await page.locator('nav section a').all()) {
    const box = await link.boundingBox();
    const name = await link.innerText();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390, name);
    const label = await link.locator('span').first().boundingBox();
    assert.ok(label && label.width > 10, `${name} has a visible label`);
  }
  const verdict = await page.getByTestId('summary').boundingBox();
  assert.ok(verdict.y < 844);
  await page.getByText('Read-only on a small screen.').waitFor();
  assert.equal(await page.locator('.editor').count(), 0);
  await page.getByText('Design file', { exact: true }).click();
  await page.locator('pre', { hasText: 'name: superpod-h100-4su' }).waitFor();
  assertQuiet(page);
  await page.context().close();
});
