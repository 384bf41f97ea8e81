// What may stand at the cursor, from the fields that /api/v1/completions lists.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { CompletionField } from '../types';
import { spot_at, type Spot } from './spot';

// The keys below a path: "fleet[]" has "name", "node" ... from "fleet[].name", "fleet[].node".
export function keys_below(fields: CompletionField[], path: string): Map<string, string> {
  const prefix = path ? `${path}.` : '';
  const keys = new Map<string, string>();
  for (const field of fields) {
    if (!field.path.startsWith(prefix)) continue;
    const rest = field.path.slice(prefix.length);
    const key = /^[^.[]+/.exec(rest)?.[0];
    if (!key) continue;
    const is_own = rest === key || rest === `${key}[]`;
    if (!keys.has(key) || is_own) keys.set(key, is_own ? field.description : (keys.get(key) ?? ''));
  }
  return keys;
}

// A key that holds a map or a list wants a new line after it, not a space.
function key_ending(fields: CompletionField[], path: string): string {
  const holds_more = fields.some((f) => f.path.startsWith(`${path}.`) || f.path.startsWith(`${path}[]`));
  return holds_more ? ':' : ': ';
}

export function options_at(fields: CompletionField[], spot: Spot): Completion[] {
  if (spot.kind === 'key') {
    const prefix = spot.path ? `${spot.path}.` : '';
    return [...keys_below(fields, spot.path)]
      .filter(([key]) => !spot.present.includes(key))
      .map(([key, detail]) => ({
        label: key,
        detail,
        apply: key + key_ending(fields, prefix + key),
        type: 'property',
      }));
  }
  const field = fields.find((f) => f.path === spot.path || f.path === `${spot.path}[]`);
  return (field?.values ?? []).map((v) => ({ label: v.value, detail: v.detail, type: 'enum' }));
}

export function completion_source(fields: () => Promise<CompletionField[]>) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const spot = spot_at(context.state.doc.toString(), context.pos);
    if (!spot || (spot.typed === '' && spot.kind === 'key' && !context.explicit)) return null;
    const options = options_at(await fields(), spot);
    if (options.length === 0) return null;
    return { from: context.pos - spot.typed.length, options, validFor: /^[\w.:+-]*$/ };
  };
}
