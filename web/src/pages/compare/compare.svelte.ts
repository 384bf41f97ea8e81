// The designs of a comparison: the current one first, then those that `with` in the address names:
// "origin" (before the edits), a template, or "file:NAME" (opened from disk, kept in this tab).
import { template } from '../../lib/knowledge';
import { session } from '../../lib/session.svelte';
import type { NamedDesign } from '../../lib/types';

const kFilePrefix = 'orrery.file.';
export const kDesignsMost = 8;

export function keepFile(name: string, text: string) {
  sessionStorage.setItem(kFilePrefix + name, text);
}

async function textOf(id: string): Promise<string | null> {
  if (id === 'origin') return session.origin;
  if (id.startsWith('file:')) return sessionStorage.getItem(kFilePrefix + id.slice('file:'.length));
  return (await template(id)).text;
}

// Returns the texts of the designs. A file that another tab opened is not available; it is left out,
// so that the comparison of the others does not fail.
export async function designsOf(text: string, ids: string[]): Promise<NamedDesign[]> {
  const others = await Promise.all(
    ids.map(async (id) => {
      const found = await textOf(id);
      return found === null ? [] : [{ name: id === 'origin' ? 'before the edits' : id, text: found }];
    }),
  );
  return [{ name: 'this design', text }, ...others.flat()].slice(0, kDesignsMost);
}
