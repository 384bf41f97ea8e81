// What the fixes that a verdict offers would add to the cost of a year. All of them are asked for in
// one request, about the text of the verdict, once the review has come to rest.
import { post, type Answered } from './api';
import { Latest } from './latest';
import type { Edit } from './types';

const kPauseMs = 400;

interface Reviewed {
  text: string;
  digest: string; // of its verdict
}

export class Prices {
  private found = $state.raw<Answered<'prices'> | null>(null);

  private readonly latest = new Latest<Reviewed, Answered<'prices'>>(
    ({ text }, signal) => post('prices', { design: text }, signal),
    ({ digest }, answer) => (this.found = answer.digest === digest ? answer : null),
    () => (this.found = null), // a fix is as good without its price
    kPauseMs,
  );

  ask(reviewed: Reviewed) {
    this.clear();
    this.latest.put(reviewed);
  }

  // Another text is on its way: what was asked about this one is of no use any more.
  stop() {
    this.latest.cancel();
  }

  clear() {
    this.latest.cancel();
    this.found = null;
  }

  // null where it is not known (yet).
  of({ path, value }: Edit): number | null {
    const edit = this.found?.edits.find((e) => e.path === path && e.value === value);
    return edit?.cost_usd_per_year ?? null;
  }
}
