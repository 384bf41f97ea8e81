// Finds out, for completion, what a position in the text is for: a key of the map at a path, or a
// value of the field at a path.
//
//   fleet:                      at the end of "node: dg" below: { path: "fleet[].node",
//     - name: train               kind: "value", typed: "dg" }
//       node: dg
//
// It parses the text before the position plus a placeholder word, so that an empty place has a node
// too. The text after the position is left out, because a half-typed line would change its meaning.
// This takes about one millisecond per kilobyte before the position.
import { yamlLanguage } from '@codemirror/lang-yaml';
import type { SyntaxNode } from '@lezer/common';

export interface Spot {
  kind: 'key' | 'value';
  path: string; // of the enclosing map for a key, of the field for a value; lists as []
  typed: string; // the word before the position
  present: string[]; // keys of the enclosing map before the position
}

const kWord = 'here';

type Read = (node: SyntaxNode) => string;

function keyOf(pair: SyntaxNode, read: Read): string {
  const key = pair.getChild('Key');
  return key ? read(key) : '';
}

// Returns the keys and lists that enclose a node, outermost first.
function pathOf(node: SyntaxNode | null, read: Read): string {
  const parts: string[] = [];
  for (let at = node; at; at = at.parent) {
    if (at.name === 'Pair') parts.unshift(`.${keyOf(at, read)}`);
    if (at.name === 'Item') parts.unshift('[]');
  }
  return parts.join('').replace(/^\./, '');
}

// Returns true for "[ a". The parser reads it as a map without braces, because it may become
// "[ a: 1 ]"; here it is a value.
function isListEntry(map: SyntaxNode | null): boolean {
  return map?.name === 'FlowMapping' && map.firstChild?.name !== '{' && map.parent?.name === 'Item';
}

// Returns null in a comment, in a value over several lines, and after a complete entry.
export function spotAt(text: string, offset: number): Spot | null {
  const before = text.slice(0, offset);
  const read: Read = (node) => before.slice(node.from, node.to);
  const word = yamlLanguage.parser.parse(before + kWord).resolveInner(offset + kWord.length, -1);
  const typed = read(word);
  if (word.name === 'Comment' || typed.includes('\n')) return null;
  const holder = word.parent;
  if (holder?.name === 'Key') {
    const map = holder.parent?.parent ?? null;
    const path = pathOf(map, read);
    if (isListEntry(map)) return { kind: 'value', path, typed, present: [] };
    const others = (map?.getChildren('Pair') ?? []).filter((pair) => pair.to <= offset);
    const last = others.at(-1);
    if (map?.name === 'BlockMapping' && last && !before.slice(last.to).includes('\n')) return null;
    return { kind: 'key', path, typed, present: others.map((pair) => keyOf(pair, read)) };
  }
  const path = pathOf(holder, read);
  const inFlow = holder?.parent?.name.startsWith('Flow');
  const besideKey = holder?.name === 'Pair' && !before.slice(holder.from).includes('\n');
  // A word alone on its line or after a dash is the first key of a new map.
  return { kind: inFlow || besideKey ? 'value' : 'key', path, typed, present: [] };
}
