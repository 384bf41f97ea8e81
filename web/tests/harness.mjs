// Starts the real binary on a free port and a Chromium without a network, and opens pages that
// record the browser's errors.
//
// ORRERY_DIST=1 takes the page from dist/ instead of the binary, so that a change of the console
// can be tested without building the binary again.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { kChromium, kDist, kOrrery, kSample } from './where.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const kKey = 'test';
const kSecret = 'secret';
const kStartMs = 20_000;
const kLoadMost = 1.5; // load average per core; our own browser and server cause about 1
const kFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

// Starts the binary and returns once it has printed its address.
async function startProgram(words, environment = {}) {
  const child = spawn(kOrrery, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += chunk));
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no address after ${kStartMs} ms:\n${errors}`)),
      kStartMs,
    );
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /http:\/\/\S+/.exec(text);
      if (!found) return;
      clearTimeout(timer);
      resolve(new URL(found[0]));
    });
    child.on('exit', (code) => reject(new Error(`orrery ${words[0]} ended with ${code}:\n${errors}`)));
  });
  return { child, url };
}

async function stopServer(child) {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(timer);
}

// Refuses every request except those to the server, as on a machine without a network.
async function cutNetwork(context, origin, refused) {
  await context.route('**/*', (route) => {
    const url = route.request().url();
    if (url.startsWith(origin) || url.startsWith('blob:') || url.startsWith('file:')) return route.fallback();
    refused.push(url);
    return route.abort('internetdisconnected');
  });
}

async function serveDist(context, origin) {
  const types = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', html: 'text/html' };
  const give = (route, name) =>
    route.fulfill({
      body: readFileSync(path.join(kDist, name)),
      contentType: types[name.split('.').at(-1)] ?? 'application/octet-stream',
    });
  await context.route(new RegExp(`^${origin}/(\\?(?!token=).*)?$`), (route) => give(route, 'index.html'));
  await context.route(`${origin}/assets/*`, (route) =>
    give(route, new URL(route.request().url()).pathname.slice(1)),
  );
}

export class Harness {
  static async start(design = kSample, words = []) {
    const self = new Harness();
    self.folder = mkdtempSync(path.join(tmpdir(), 'orrery-browser-'));
    const state = ['--port', '0', '--state', path.join(self.folder, 'jobs.db')];
    const { child, url } = await startProgram(['serve', design, ...state, ...words]);
    self.child = child;
    self.url = url;
    self.origin = url.origin;
    self.token = url.searchParams.get('token');
    self.browser = await chromium.launch({ executablePath: kChromium, args: kFlags });
    return self;
  }

  // Opens a page in its own context, so that tests share no cookies, theme or edits.
  async page({ dark = false, width = 1440, height = 900, scale = 1, design = null } = {}) {
    const context = await this.browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: scale,
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
      acceptDownloads: true,
    });
    const refused = [];
    await cutNetwork(context, this.origin, refused);
    if (process.env.ORRERY_DIST) await serveDist(context, this.origin);
    if (design) {
      await context.addInitScript((text) => {
        if (sessionStorage.getItem('orrery.design') !== null) return;
        sessionStorage.setItem('orrery.design', text);
        sessionStorage.setItem('orrery.origin', text);
      }, design);
    }
    const page = await context.newPage();
    page.setDefaultTimeout(30_000); // long enough for a busy machine
    page.complaints = [];
    page.refused = refused;
    page.on('console', (m) => m.type() === 'error' && page.complaints.push(m.text()));
    page.on('pageerror', (e) => page.complaints.push(e.stack ?? e.message));
    // A route handler is not called for redirects, so with dist/ the cookie is set directly.
    if (process.env.ORRERY_DIST) await context.addCookies([this.cookie()]);
    await page.goto(process.env.ORRERY_DIST ? `${this.origin}/` : this.url.href);
    await page.waitForSelector('#app nav');
    return page;
  }

  cookie() {
    return { name: `orrery_${this.url.port}`, value: this.token, url: this.origin };
  }

  async open(page, query) {
    await page.goto(`${this.origin}/${query}`);
    await page.waitForSelector('#app nav');
  }

  // Sends a request to the API without the page, for test set-up.
  async ask(route, body) {
    const init = { headers: { authorization: `Bearer ${this.token}` } };
    if (body !== undefined) {
      const isText = typeof body === 'string';
      Object.assign(init, {
        method: 'POST',
        body: isText ? body : JSON.stringify(body),
        headers: { ...init.headers, 'content-type': isText ? 'application/yaml' : 'application/json' },
      });
    }
    const response = await fetch(`${this.origin}/api/v1/${route}`, init);
    const answer = await response.json();
    assert.ok(response.ok, `${route}: ${response.status} ${JSON.stringify(answer).slice(0, 400)}`);
    return answer;
  }

  async stop() {
    await this.browser?.close();
    if (this.child) await stopServer(this.child);
    if (this.folder) rmSync(this.folder, { recursive: true, force: true });
  }
}

// Starts an object store with two copies in its warm tier, and puts objects into it over S3.
export class Store {
  static async start() {
    const self = new Store();
    self.folder = mkdtempSync(path.join(tmpdir(), 'orrery-store-'));
    const words = ['store', path.join(self.folder, 'store'), '--port', '0', '--tier', 'warm=2x'];
    const keys = { ORRERY_ACCESS_KEY: kKey, ORRERY_SECRET_KEY: kSecret };
    const { child, url } = await startProgram(words, keys);
    self.child = child;
    self.address = url.origin;
    return self;
  }

  async put(bucket, key, text) {
    await this.#send(`/${bucket}`, '');
    await this.#send(`/${bucket}/${encodeURIComponent(key)}`, text);
  }

  // Sends a PUT signed with Signature Version 4, without signing the payload.
  async #send(target, body) {
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const signed = {
      host: new URL(this.address).host,
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      'x-amz-date': time,
    };
    const names = Object.keys(signed).join(';');
    const lines = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`);
    const canonical = ['PUT', target, '', lines.join(''), names, 'UNSIGNED-PAYLOAD'].join('\n');
    const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
    const hashed = createHash('sha256').update(canonical).digest('hex');
    const mac = (key, text) => createHmac('sha256', key).update(text).digest();
    const key = scope.split('/').reduce(mac, `AWS4${kSecret}`);
    const signature = mac(key, ['AWS4-HMAC-SHA256', time, scope, hashed].join('\n')).toString('hex');
    const authorization = `AWS4-HMAC-SHA256 Credential=${kKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    const response = await fetch(this.address + target, {
      method: 'PUT',
      body,
      headers: { ...signed, authorization },
    });
    assert.equal(response.status, 200, await response.text());
  }

  async stop() {
    await stopServer(this.child);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// Returns the serious and critical accessibility violations that axe finds.
export async function seriousViolations(page) {
  await page.addScriptTag({ content: axe }).catch(() => page.evaluate(axe));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const places = (v) => v.nodes.map((n) => n.target.join(' ')).slice(0, 3);
  return violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.id}: ${places(v).join(' | ')}`);
}

// Fails if the browser logged an error or requested another machine.
export function assertQuiet(page) {
  assert.deepEqual(page.complaints, [], 'errors in the browser console');
  assert.deepEqual(page.refused, [], 'requests to other machines');
}

// Compares a time with its bound if ORRERY_FULL is set, else with three times the bound, because
// other programs share the machine. If the machine is busy, the time is only reported.
export function assertFigure(t, name, valueMs, mostMs) {
  const load = loadavg()[0] / availableParallelism();
  t.diagnostic(`${name} ${valueMs.toFixed(0)} ms (at most ${mostMs}; load ${load.toFixed(1)} per core)`);
  const boundMs = process.env.ORRERY_FULL ? mostMs : 3 * mostMs;
  if (load > kLoadMost) t.diagnostic(`${name}: not asserted, the machine is busy`);
  else assert.ok(valueMs < boundMs, `${name} ${valueMs} ms`);
}

export async function summaryOf(page) {
  return page.getByTestId('summary').innerText();
}

// Waits for the verdict of the current text.
export async function settled(page) {
  await page.waitForSelector('.latency:not(.pending)');
}

// Replaces the whole text: selects all, then pastes.
export async function typeDesign(page, text) {
  await page.locator('.cm-content').click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.evaluate(async (value) => {
    const data = new DataTransfer();
    data.setData('text/plain', value);
    const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
    document.querySelector('.cm-content').dispatchEvent(event);
  }, text);
  await settled(page);
}
