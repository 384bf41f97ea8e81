// Yearly cost that each offered fix would add. One request asks for all fixes of a verdict, once
// the person has stopped typing.
import { post, type Answered } from './api';
import { Latest } from './latest';
import type { Edit } from './types';

const kPauseMs = 400;

interface Reviewed {
  text: string;
  digest: string; // digest of its verdict
}

export class Prices {
  private found = $state.raw<Answered<'prices'> | null>(null);

  private readonly latest = new Latest<Reviewed, Answered<'prices'>>(
    ({ text }, signal) => post('prices', { design: text }, signal),
    ({ digest }, answer) => (this.found = answer.digest === digest ? answer : null),
    () => (this.found = null), // a fix can be applied without its price
    kPauseMs,
  );

  ask(reviewed: Reviewed) {
    this.clear();
    this.latest.put(reviewed);
  }

  // Aborts the request, because the text has changed.
  stop() {
    this.latest.cancel();
  }

  clear() {
    this.latest.cancel();
    this.found = null;
  }

  // Returns the added yearly cost in USD, or null if it is not known (yet).
  of({ path, value }: Edit): number | null {
    const edit = this.found?.edits.find((e) => e.path === path && e.value === value);
    return edit?.cost_usd_per_year ?? null;
  }
}
