// Every page: its address, and a selector that matches once the page is complete.
export const kPages = {
  design: { query: '', ready: '.cm-content, .file summary' },
  fabric: { query: '?page=fabric', ready: 'canvas' },
  hall: { query: '?page=hall', ready: '.facts' },
  training: { query: '?page=training', ready: '[aria-label="Layout search"]' },
  serving: { query: '?page=serving', ready: '[data-testid=serving-choices]' },
  storage: { query: '?page=storage', ready: '[data-testid=moves]' },
  store: { query: '?page=store', ready: '[data-testid=store-none]' },
  run: { query: '?page=run', ready: '[aria-label="Start a run"]' },
  compare: { query: '?page=compare&with=superpod-h200', ready: '[data-testid=compare-summary]' },
  calculators: { query: '?page=calculators&calc=checkpoint', ready: '.uplot canvas' },
  catalog: { query: '?page=catalog&table=accelerators&id=h100-sxm', ready: 'tr[data-id]' },
  accuracy: { query: '?page=accuracy&kind=training', ready: '[data-testid=totals]' },
};

export async function show(h, page, { query, ready }) {
  await h.open(page, query);
  await page.locator(ready).first().waitFor({ timeout: 60_000 });
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'));
  await page.waitForTimeout(250);
}
