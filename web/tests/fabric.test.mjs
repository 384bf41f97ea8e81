// The Fabric page with the largest network that it must draw smoothly.
import { after, before, test } from 'node:test';
import { Harness, assertFigure } from './harness.mjs';

const kFrameMostMs = 33;

let h;
before(async () => (h = await Harness.start()));
after(() => h?.stop());

test('16,384 endpoints are drawn and move smoothly', async (t) => {
  const { text } = await h.ask('templates/superpod-h100');
  const big = await h.ask('edit', { design: text, path: 'fleet[0].count', value: '2048' });
  const page = await h.page({ design: big.text });
  await h.open(page, '?page=fabric');
  await page.locator('canvas').waitFor();
  await page.waitForTimeout(500);
  const box = await page.locator('canvas').boundingBox();
  await page.mouse.move(box.x + 400, box.y + 300);
  await page.mouse.down();
  const frames = [];
  for (let i = 0; i < 40; ++i) {
    await page.mouse.move(box.x + 400 + i * 4, box.y + 300 + i);
    frames.push(
      await page.evaluate(
        () =>
          new Promise((r) =>
            requestAnimationFrame(() => r(Number(document.querySelector('canvas').dataset.frameMs))),
          ),
      ),
    );
  }
  await page.mouse.up();
  frames.sort((a, b) => a - b);
  const p95 = frames[Math.floor(frames.length * 0.95)];
  t.diagnostic(`drag over 16,384 endpoints: median frame ${frames[20].toFixed(1)} ms`);
  assertFigure(t, 'frame of a drag, p95', p95, kFrameMostMs);
  await page.context().close();
});
