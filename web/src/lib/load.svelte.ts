// An answer that stays up to date: `ask` runs again whenever a value it reads changes. The older
// request is aborted, and the last good answer stays until the next one arrives.
import { ApiProblem, describe } from './api';
import { Latest } from './latest';
import type { Diagnostic } from './types';

export class Loaded<T> {
  value = $state.raw<T | null>(null);
  failure = $state('');
  diagnostics = $state.raw<Diagnostic[]>([]);
  pending = $state(true);
}

// Call it while a component is set up. `ask` returns the request, or null if there is none. If
// `subject` is given and its text changes, the last answer is dropped at once: it was about
// something else.
export function load<T>(
  ask: () => ((signal: AbortSignal) => Promise<T>) | null,
  pauseMs = 15,
  subject: () => string = () => '',
): Loaded<T> {
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
  let answered = '';
  $effect.pre(() => {
    const about = subject();
    if (about === answered) return;
    answered = about;
    loaded.value = null;
    loaded.failure = '';
    loaded.diagnostics = [];
  });
  $effect(() => {
    const request = ask();
    if (!request) return;
    loaded.pending = true;
    latest.put(request);
    return () => latest.cancel();
  });
  return loaded;
}
