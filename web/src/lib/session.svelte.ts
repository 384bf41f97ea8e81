// The current design, shared by all pages: its text, and its newest verdict or its errors.
//
// The text comes, in this order, from the address (a shared link), from this tab (a reload keeps
// the edits), or from the server (the design that `orrery serve` was given).
import { ApiProblem, describe, get, isAbort, post, review } from './api';
import { Latest } from './latest';
import { Prices } from './prices.svelte';
import { changedLines } from './lines';
import { fromFragment } from './share';
import type { Diagnostic, Edit, Verdict } from './types';

const kTextKey = 'orrery.design';
const kOriginKey = 'orrery.origin';
const kRetries = 3; // retries of a review that a busy or restarting server did not answer
const kRetryMs = 1500;

// The lines of the text that a fix changed, counted from 1, and the path that it wrote.
export interface Applied {
  path: string;
  fromLine: number;
  toLine: number;
}

class Session {
  text = $state('');
  origin = $state(''); // text before the edits: the file, a template or a link
  file = $state('');
  version = $state('');
  verdict = $state.raw<Verdict | null>(null);
  before = $state.raw<Verdict | null>(null); // verdict of the text before the edits
  canSave = $state(false); // true if the server was given a file, and does not show the sample
  diagnostics = $state.raw<Diagnostic[]>([]);
  failure = $state(''); // an error that is not in the design
  pending = $state(false);
  ready = $state(false);
  latencyMs = $state(0); // time from the last keystroke to its verdict
  served = $state(''); // text of the file when the page was loaded or last saved
  applied = $state.raw<Applied | null>(null); // the last change that a button made
  readonly prices = new Prices();
  private askedAt = 0;
  private retries = 0;

  private readonly live = new Latest<string, Verdict>(
    (text, signal) => review(text, signal),
    (text, verdict) => this.settle(() => this.accept(text, verdict)),
    (_, error) => this.settle(() => this.refuse(error)),
  );

  async start() {
    const shared = await fromFragment(window.location.hash);
    const kept = sessionStorage.getItem(kTextKey);
    try {
      const info = await get('session');
      this.version = info.version;
      this.file = info.design?.file ?? '';
      this.served = info.design?.text ?? '';
      this.canSave = !info.sample;
    } catch (error) {
      this.failure = describe(error);
      // If the page is closed during the request, it must not keep an empty text for the next one.
      if ((shared ?? kept) === null) return;
    }
    const sameOrigin = sessionStorage.getItem(kOriginKey) !== null;
    this.origin = shared ?? (sameOrigin ? sessionStorage.getItem(kOriginKey)! : this.served);
    this.put(shared ?? kept ?? this.served, 0);
    this.ready = true;
    if (this.edited) void this.reviewOrigin();
    if (shared !== null) forgetFragment();
    window.addEventListener('hashchange', () => void this.openShared(window.location.hash));
  }

  // Opens the design in a shared address. Returns false if the address contains none.
  async openShared(address: string): Promise<boolean> {
    const at = address.indexOf('#');
    const text = at < 0 ? null : await fromFragment(address.slice(at));
    if (text === null) return false;
    this.open(text);
    forgetFragment();
    return true;
  }

  // Reviews the text before the edits, if the page was loaded with edits.
  private async reviewOrigin() {
    const origin = this.origin;
    try {
      const verdict = await review(origin);
      if (origin === this.origin) this.before = verdict;
    } catch {
      this.before = null; // a text with errors has no figures to compare with
    }
  }

  // Saves the text into the file on the server. Later edits are compared with this text.
  async save() {
    try {
      await post('save', { text: this.text, before: this.served });
      this.served = this.text;
      this.origin = this.text;
      this.before = this.verdict;
      sessionStorage.setItem(kOriginKey, this.origin);
    } catch (error) {
      this.failure = describe(error);
    }
  }

  // Takes a new text, keeps it for this tab and sends it for review.
  put(text: string, pauseMs?: number) {
    if (text === this.text && this.verdict) return;
    this.applied = null;
    this.text = text;
    this.askedAt = performance.now();
    this.pending = true;
    sessionStorage.setItem(kTextKey, text);
    sessionStorage.setItem(kOriginKey, this.origin);
    this.prices.stop();
    this.live.put(text, pauseMs);
  }

  // Replaces the whole design: a template, the file on the server or a shared link.
  open(text: string) {
    this.origin = text;
    this.before = null;
    this.put(text, 0);
  }

  get edited(): boolean {
    return this.text !== this.origin;
  }

  // Applies changes. The server writes them, so that comments and layout of the text stay.
  async apply(...edits: Edit[]) {
    if (edits.length === 0) return;
    try {
      const before = this.text;
      let after = before;
      for (const { path, value } of edits) after = (await post('edit', { design: after, path, value })).text;
      this.put(after, 0);
      this.applied = { path: edits[0].path, ...changedLines(before, after) };
    } catch (error) {
      this.failure = describe(error);
    }
  }

  private settle(change: () => void) {
    this.pending = false;
    this.failure = '';
    this.latencyMs = performance.now() - this.askedAt;
    change();
  }

  private accept(text: string, verdict: Verdict) {
    this.verdict = verdict;
    if (verdict.findings.some((f) => f.edit)) this.prices.ask({ text, digest: verdict.digest });
    else this.prices.clear();
    if (!this.edited) this.before = verdict;
    this.diagnostics = [];
    this.retries = 0;
  }

  // Shows the errors of a text. The last good verdict stays below them, greyed out.
  private refuse(error: unknown) {
    if (isAbort(error)) return;
    if (error instanceof ApiProblem && error.status === 422) {
      this.diagnostics = error.diagnostics;
      this.prices.clear();
      return;
    }
    this.failure = describe(error);
    if (this.retries++ < kRetries) this.live.put(this.text, kRetryMs);
  }
}

// Removes the design from the address: from here on the tab keeps it, with its edits.
function forgetFragment() {
  history.replaceState(history.state, '', window.location.pathname + window.location.search);
}

export const session = new Session();
