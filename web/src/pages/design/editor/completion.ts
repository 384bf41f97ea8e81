// Completions at the cursor, from the fields that /api/v1/completions lists.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { CompletionField } from '../../../lib/types';
import { spotAt, type Spot } from './spot';

// Returns the keys below a path with their descriptions: "name", "node" and so on for "fleet[]".
export function keysBelow(fields: CompletionField[], path: string): Map<string, string> {
  const prefix = path ? `${path}.` : '';
  const keys = new Map<string, string>();
  for (const field of fields) {
    if (!field.path.startsWith(prefix)) continue;
    const rest = field.path.slice(prefix.length);
    const key = /^[^.[]+/.exec(rest)?.[0];
    if (!key) continue;
    const isOwn = rest === key || rest === `${key}[]`;
    if (!keys.has(key) || isOwn) keys.set(key, isOwn ? field.description : (keys.get(key) ?? ''));
  }
  return keys;
}

// Returns the text after a key: no space if the key holds a map or a list.
function keyEnding(fields: CompletionField[], path: string): string {
  const holdsMore = fields.some((f) => f.path.startsWith(`${path}.`) || f.path.startsWith(`${path}[]`));
  return holdsMore ? ':' : ': ';
}

export function optionsAt(fields: CompletionField[], spot: Spot): Completion[] {
  if (spot.kind === 'key') {
    const prefix = spot.path ? `${spot.path}.` : '';
    return [...keysBelow(fields, spot.path)]
      .filter(([key]) => !spot.present.includes(key))
      .map(([key, detail]) => ({
        label: key,
        detail,
        apply: key + keyEnding(fields, prefix + key),
        type: 'property',
      }));
  }
  const field = fields.find((f) => f.path === spot.path || f.path === `${spot.path}[]`);
  return (field?.values ?? []).map((v) => ({ label: v.value, detail: v.detail, type: 'enum' }));
}

export function completionSource(fields: () => Promise<CompletionField[]>) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const spot = spotAt(context.state.doc.toString(), context.pos);
    if (!spot || (spot.typed === '' && spot.kind === 'key' && !context.explicit)) return null;
    const options = optionsAt(await fields(), spot);
    if (options.length === 0) return null;
    return { from: context.pos - spot.typed.length, options, validFor: /^[\w.:+-]*$/ };
  };
}
