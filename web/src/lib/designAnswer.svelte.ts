// The answer of one address of the API to the design under review. It is asked again whenever the
// design or the rest of the question changes.
import { post, type Answered, type PostPath, type Sent } from './api';
import { load, type Loaded } from './load.svelte';
import { session } from './session.svelte';

// The addresses whose question has a design in it.
type DesignPath = { [P in PostPath]: Sent<P> extends { design: string } ? P : never }[PostPath];

// For the top of a page. `rest` gives what the question has beside the design.
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
