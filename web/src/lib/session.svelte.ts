// The design under review, shared by all pages: its text, its newest verdict or its faults.
//
// The text comes, in this order, from the address (a shared link), from this tab (a reload keeps
// the edits), or from the server (the design that `orrery serve` was given).
import { ApiProblem, describe, get, isAbort, post, review } from './api';
import { Latest } from './latest';
import { Prices } from './prices.svelte';
import { fromFragment } from './share';
import type { Diagnostic, Edit, Verdict } from './types';

const kTextKey = 'orrery.design';
const kOriginKey = 'orrery.origin';
const kRetries = 3; // of a review that a busy or restarting server did not give
const kRetryMs = 1500;

class Session {
  text = $state('');
  origin = $state(''); // what the text was before the edits: the file, a template, a link
  file = $state('');
  version = $state('');
  verdict = $state.raw<Verdict | null>(null);
  before = $state.raw<Verdict | null>(null); // of the text before the edits
  canSave = $state(false); // a file is served, and not the sample
  diagnostics = $state.raw<Diagnostic[]>([]);
  failure = $state(''); // a fault that is not the design's
  pending = $state(false);
  ready = $state(false);
  latencyMs = $state(0); // of the newest verdict, from the keystroke to the answer
  served = $state(''); // what the file held when the page was loaded, or saved since
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
      // A page that is left while it asks would keep an empty text for the one that comes after it.
      if ((shared ?? kept) === null) return;
    }
    const sameOrigin = sessionStorage.getItem(kOriginKey) !== null;
    this.origin = shared ?? (sameOrigin ? sessionStorage.getItem(kOriginKey)! : this.served);
    this.put(shared ?? kept ?? this.served, 0);
    this.ready = true;
    if (this.edited) void this.reviewOrigin();
  }

  // What the figures were before the edits, where the page was loaded with edits in it.
  private async reviewOrigin() {
    const origin = this.origin;
    try {
      const verdict = await review(origin);
      if (origin === this.origin) this.before = verdict;
    } catch {
      this.before = null; // an origin with faults has no figures to compare with
    }
  }

  // Into the file that is served. What is there then is where the next edits begin.
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

  // New text: kept for this tab and sent for review.
  put(text: string, pauseMs?: number) {
    if (text === this.text && this.verdict) return;
    this.text = text;
    this.askedAt = performance.now();
    this.pending = true;
    sessionStorage.setItem(kTextKey, text);
    sessionStorage.setItem(kOriginKey, this.origin);
    this.prices.stop();
    this.live.put(text, pauseMs);
  }

  // Another design altogether: a template, the served file, an example.
  open(text: string) {
    this.origin = text;
    this.before = null;
    this.put(text, 0);
  }

  get edited(): boolean {
    return this.text !== this.origin;
  }

  // A fix that the review offered, applied by the server so that comments and layout stay.
  async apply({ path, value }: Edit) {
    try {
      const answer = await post('edit', { design: this.text, path, value });
      this.put(answer.text, 0);
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

  // The last good verdict stays, greyed, beside the faults of a text that is being typed.
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

export const session = new Session();
