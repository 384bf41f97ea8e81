// An answer that follows its question: `ask` runs again whenever what it reads changes, the stale
// request is aborted, and the last good answer stays until the next one comes.
import { ApiProblem, describe } from './api';
import { Latest } from './latest';
import type { Diagnostic } from './types';

export class Loaded<T> {
  value = $state.raw<T | null>(null);
  failure = $state('');
  diagnostics = $state.raw<Diagnostic[]>([]);
  pending = $state(true);
}

// For the top of a component. `ask` reads its inputs and returns null where there is nothing to ask.
export function load<T>(ask: () => ((signal: AbortSignal) => Promise<T>) | null, pauseMs = 15): Loaded<T> {
  const loaded = new Loaded<T>();
  const latest = new Latest<(signal: AbortSignal) => Promise<T>, T>(
    (request, signal) => request(signal),
    (_, value) => {
      loaded.value = value;
      loaded.failure = '';
      loaded.diagnostics = [];
      loaded.pending = false;
    },
    (_, error) => {
      loaded.failure = describe(error);
      loaded.diagnostics = error instanceof ApiProblem ? error.diagnostics : [];
      loaded.pending = false;
    },
    pauseMs,
  );
  $effect(() => {
    const request = ask();
    if (!request) return;
    loaded.pending = true;
    latest.put(request);
    return () => latest.cancel();
  });
  return loaded;
}
