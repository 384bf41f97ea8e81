// The edits that make a design serve its traffic as a row of "Ways to serve it" does.
import type { Edit, Serving } from '../../lib/types';

type Choice = Serving['choices'][number];

function fieldsOf({ engine, format, tp, apart }: Choice): Record<string, string> {
  return { engine, precision: format, kv_precision: format, tp: String(tp), disaggregated: String(apart) };
}

// Returns the fields of the workload at `path` that differ from the row in use, or all fields if no
// row is in use.
export function editsFor(path: string, choice: Choice, choices: Choice[]): Edit[] {
  const current = choices.find((c) => c.current);
  const now = current ? fieldsOf(current) : {};
  return Object.entries(fieldsOf(choice))
    .filter(([field, value]) => now[field] !== value)
    .map(([field, value]) => ({ path: `${path}.${field}`, value }));
}

// Returns "engine: sglang, tp: 4" for edits of one workload.
export function editsText(edits: Edit[]): string {
  return edits.map(({ path, value }) => `${path.split('.').at(-1)}: ${value}`).join(', ');
}
