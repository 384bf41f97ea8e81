// Runs the browser tests and ends with one line of counts. They need node 18, Chromium and the
// binary; if one is missing, they are skipped and the last line says so.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { kChromium, kOrrery } from './where.mjs';

const kNodeLeast = 18;
const kLimitMs = 10 * 60 * 1000; // a test that hangs must not hang the build

function missing() {
  const node = Number(process.versions.node.split('.')[0]);
  if (node < kNodeLeast) return `node ${process.versions.node} is older than ${kNodeLeast}`;
  if (!existsSync(kChromium)) return `${kChromium} is missing (set CHROMIUM to another path)`;
  if (!existsSync(kOrrery)) return `${kOrrery} is missing (set ORRERY_BIN to another path)`;
  return '';
}

const whyNot = missing();
if (whyNot) {
  console.log(`browser tests: skipped, ${whyNot}`);
  process.exit(0);
}

const folder = path.dirname(fileURLToPath(import.meta.url));
const wanted = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((f) => f.endsWith('.test.mjs') && (wanted.length === 0 || wanted.some((w) => f.includes(w))))
  .sort()
  .map((f) => path.join(folder, f));

// Files that measure latencies run alone; the others run two at a time.
const kAlone = ['design.test.mjs', 'fabric.test.mjs', 'run.test.mjs'];
const measures = (file) => kAlone.includes(path.basename(file));
const rounds = [
  { files: files.filter(measures), atOnce: 1 },
  { files: files.filter((file) => !measures(file)), atOnce: 2 },
].filter((round) => round.files.length > 0);

const started = Date.now();
const counts = { pass: 0, fail: 0, skipped: 0 };

// Runs the files of a round. Returns true if all of them passed.
function run(round) {
  const options = ['--test', `--test-concurrency=${round.atOnce}`, '--test-reporter=spec'];
  const child = spawn(process.execPath, [...options, ...round.files], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), Math.max(1, kLimitMs - (Date.now() - started)));
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
    process.stdout.write(chunk);
  });
  return new Promise((done) =>
    child.on('close', (code) => {
      clearTimeout(timer);
      for (const name of Object.keys(counts))
        counts[name] += Number(new RegExp(`${name} (\\d+)`).exec(output)?.[1] ?? 0);
      done(code === 0);
    }),
  );
}

let good = true;
for (const round of rounds) good = (await run(round)) && good;
const seconds = ((Date.now() - started) / 1000).toFixed(0);
console.log(
  `browser tests: ${counts.pass} passed, ${counts.fail} failed, ${counts.skipped} skipped in ${seconds} s`,
);
process.exit(good && counts.pass > 0 ? 0 : 1);
