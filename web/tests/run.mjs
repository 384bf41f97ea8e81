// Runs the browser tests and ends with one counted line. They need node 18, a Chromium and the
// binary; where one is missing they are skipped, and the closing line says so.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { kChromium, kOrrery } from './where.mjs';

const kNodeLeast = 18;
const kLimit_ms = 10 * 60 * 1000; // nothing here may hang a build

function missing() {
  const node = Number(process.versions.node.split('.')[0]);
  if (node < kNodeLeast) return `node ${process.versions.node} is older than ${kNodeLeast}`;
  if (!existsSync(kChromium)) return `there is no ${kChromium} (CHROMIUM names another)`;
  if (!existsSync(kOrrery)) return `there is no ${kOrrery} (ORRERY_BIN names another)`;
  return '';
}

const why_not = missing();
if (why_not) {
  console.log(`browser tests: skipped, ${why_not}`);
  process.exit(0);
}

const folder = path.dirname(fileURLToPath(import.meta.url));
const wanted = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((f) => f.endsWith('.test.mjs') && (wanted.length === 0 || wanted.some((w) => f.includes(w))))
  .sort()
  .map((f) => path.join(folder, f));

// One file after the other: the latency figures want the machine for themselves.
const started = Date.now();
const child = spawn(process.execPath, ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const timer = setTimeout(() => child.kill('SIGTERM'), kLimit_ms);
let output = '';
child.stdout.on('data', (chunk) => {
  output += chunk;
  process.stdout.write(chunk);
});
child.on('close', (code) => {
  clearTimeout(timer);
  const number = (name) => Number(new RegExp(`${name} (\\d+)`).exec(output)?.[1] ?? 0);
  const [passed, failed, skipped] = ['pass', 'fail', 'skipped'].map(number);
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  console.log(`browser tests: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s`);
  process.exit(code === 0 && passed > 0 ? 0 : 1);
});
