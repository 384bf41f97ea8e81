// Runs the checks that need no browser (linters, types, unit tests) in parallel, since each keeps
// about one core busy, and prints the output of each when it ends.
import { spawn } from 'node:child_process';

function run(script) {
  return new Promise((done) => {
    const started = Date.now();
    const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => (output += error.message));
    child.on('close', (code) => {
      const seconds = ((Date.now() - started) / 1000).toFixed(0);
      console.log(`${output.trimEnd()}\n${script}: ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s\n`);
      done(code === 0);
    });
  });
}

const good = await Promise.all(['lint', 'check', 'test:unit'].map(run));
process.exit(good.every(Boolean) ? 0 : 1);
