// Takes the pictures of the documentation, docs/images/*.png, from the current console:
//
//   npm run images                     with the binary built
//   npm run images -- DIR 1440 390     every page at these widths, light and dark, into DIR
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Harness } from './harness.mjs';
import { kPages, show } from './pages.mjs';
import { kImages, kSample } from './where.mjs';

const kSize = { width: 1440, height: 900 };
// The sample with one mistake: a rack above what its cooling can remove.
const kBroken = readFileSync(kSample, 'utf8').replace('cooling: rear-door-active', 'cooling: air-contained');

const [folder, ...widths] = process.argv.slice(2);
const h = await Harness.start();

async function take(where, file, options) {
  const page = await h.page(options);
  await show(h, page, where);
  await page.screenshot({ path: file });
  await page.context().close();
}

try {
  if (!folder) {
    await take(kPages.design, path.join(kImages, 'design.png'), { ...kSize, design: kBroken });
    await take(kPages.fabric, path.join(kImages, 'fabric.png'), kSize);
  } else {
    mkdirSync(folder, { recursive: true });
    for (const width of widths.map(Number))
      for (const dark of [false, true])
        for (const [name, where] of Object.entries(kPages)) {
          const file = path.join(folder, `${name}-${dark ? 'dark' : 'light'}-${width}.png`);
          await take(where, file, { width, height: width < 600 ? 844 : 900, dark });
        }
  }
} finally {
  await h.stop();
}
