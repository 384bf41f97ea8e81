// The answer of one API route about the current design. The request is sent again whenever the
// design or the rest of the request changes.
import { post, type Answered, type PostPath, type Sent } from './api';
import { load, type Loaded } from './load.svelte';
import { session } from './session.svelte';

// The routes whose request contains a design.
type DesignPath = { [P in PostPath]: Sent<P> extends { design: string } ? P : never }[PostPath];

// Call it while a component is set up. `rest` returns the other fields of the request.
export function designAnswer<P extends DesignPath>(
  path: P,
  rest: () => Omit<Sent<P>, 'design'>,
): Loaded<Answered<P>> {
  return load<Answered<P>>(() => {
    if (!session.ready || !session.text) return null;
    const body = { design: session.text, ...rest() } as Sent<P>;
    return (signal) => post(path, body, signal);
  });
}
