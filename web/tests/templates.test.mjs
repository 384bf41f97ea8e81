// Every template: after a broken edit the offered fixes lead to a design that passes; every page opens.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Harness, assertQuiet, settled } from './harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const kFixesMost = 6;

let h;
before(async () => (h = await Harness.start()));
after(() => h?.stop());

// Reads broken.txt: "template: path = value" per line; an empty value removes the key.
function brokenEdits() {
  const lines = readFileSync(path.join(here, 'broken.txt'), 'utf8').split('\n');
  return lines
    .map((line) => /^([a-z0-9-]+): (\S+) = ?(.*)$/.exec(line))
    .filter(Boolean)
    .map(([, template, where, value]) => ({ template, path: where, value }));
}

const kPages = [
  'fabric',
  'hall',
  'training',
  'serving',
  'storage',
  'compare',
  'calculators',
  'catalog',
  'accuracy',
];

// Waits until a page shows its content or says why this design has none. Returns that message.
async function pageShows(page, id) {
  const content = {
    fabric: 'canvas, [role=alert]',
    hall: '.facts, .page > p, [role=alert]',
    training: '.page .layout, [role=alert]',
    serving: '.page .service, [role=alert]',
    storage: '[data-testid=tiers]',
    compare: '[data-testid=compare-summary], .empty, [role=alert]',
    calculators: '[data-testid=answer]',
    catalog: 'tr[data-id]',
    accuracy: '[data-testid=totals]',
  }[id];
  await page.locator(content).first().waitFor();
  const alert = page.locator('[role=alert]');
  return (await alert.count()) > 0 ? (await alert.first().innerText()).trim() : '';
}

async function fixUntilGreen(page) {
  const applied = [];
  for (let i = 0; i < kFixesMost; ++i) {
    await settled(page);
    if (await page.locator('.tag.good', { hasText: 'passes' }).first().isVisible()) return applied;
    const fix = page.locator('.finding.bad [data-fix], .finding [data-fix]').first();
    assert.ok(await fix.isVisible(), `no fix is offered after ${applied.join(', ') || 'none'}`);
    applied.push(await fix.getAttribute('data-fix'));
    const digest = await page.locator('.verdict').getAttribute('data-digest');
    await fix.click();
    await page.waitForFunction((d) => document.querySelector('.verdict').dataset.digest !== d, digest);
  }
  assert.fail(`still not green after ${applied.join(', ')}`);
}

test('every template is named in broken.txt', async () => {
  const { templates } = await h.ask('templates');
  const named = new Set(brokenEdits().map((b) => b.template));
  assert.deepEqual(
    templates.map((t) => t.name).filter((name) => !named.has(name)),
    [],
  );
});

for (const { template, path: where, value } of brokenEdits()) {
  test(`${template}: ${where} = ${value || '(removed)'} is corrected by the fixes; every page opens`, async () => {
    const { text } = await h.ask(`templates/${template}`);
    const broken = await h.ask('edit', { design: text, path: where, value });
    const page = await h.page({ design: broken.text });
    await page.waitForSelector('.verdict');
    assert.equal(await page.locator('.bar .tag.bad').innerText(), 'fails');
    const applied = await fixUntilGreen(page);
    assert.ok(applied.length > 0);

    const compare = await page.evaluate(() => sessionStorage.getItem('orrery.design'));
    assert.notEqual(compare, broken.text);
    for (const id of kPages) {
      await page.evaluate((p) => {
        history.pushState(null, '', `/?page=${p}`);
        dispatchEvent(new PopStateEvent('popstate'));
      }, id);
      const words = await pageShows(page, id);
      assert.ok(words === '' || words.length > 15, `${id} gives a reason: ${words}`);
    }
    // If a design has no network, hall or training run, the server answers 422 with a reason, which
    // the browser logs.
    page.complaints = page.complaints.filter((c) => !/status of 422/.test(c));
    assertQuiet(page);
    await page.context().close();
  });
}
