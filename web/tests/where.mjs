// Paths of the binary, the browser and the files that the browser tests use.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');

export const kOrrery = path.resolve(
  process.env.ORRERY_BIN ?? path.join(web, '..', 'build', 'release', 'orrery'),
);
export const kChromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const kDist = path.join(web, 'dist');
export const kGolden = path.join(web, 'tests', 'golden');
export const kSample = path.join(web, '..', 'examples', 'superpod-h100-4su.yaml');
export const kImages = path.join(web, '..', 'docs', 'images');
