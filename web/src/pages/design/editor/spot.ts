// Where in a design a position of its text lies, for completion: the path of the map that a key
// would go into, or the path of the field that a value would go to.
//
//   fleet:                      at the end of "node: dg" below: { path: "fleet[].node",
//     - name: train               kind: "value", typed: "dg" }
//       node: dg
//
// The syntax tree of the editor's YAML parser says it, made of what stands before the position with a
// word put there, so that a place where nothing has been typed yet has a node too. What follows is
// left out: it belongs to the text as it was, and a half-typed line would drag it along.
// It takes about a millisecond for each kilobyte before the position.
import { yamlLanguage } from '@codemirror/lang-yaml';
import type { SyntaxNode } from '@lezer/common';

export interface Spot {
  kind: 'key' | 'value';
  path: string; // of the enclosing map for a key, of the field for a value; lists as []
  typed: string; // what is already there before the position
  present: string[]; // keys that the enclosing map has before the position
}

const kWord = 'here';

type Read = (node: SyntaxNode) => string;

function keyOf(pair: SyntaxNode, read: Read): string {
  const key = pair.getChild('Key');
  return key ? read(key) : '';
}

// The keys and lists around a node, from the outside in.
function pathOf(node: SyntaxNode | null, read: Read): string {
  const parts: string[] = [];
  for (let at = node; at; at = at.parent) {
    if (at.name === 'Pair') parts.unshift(`.${keyOf(at, read)}`);
    if (at.name === 'Item') parts.unshift('[]');
  }
  return parts.join('').replace(/^\./, '');
}

// "[ a" may become "[ a: 1 ]", so the parser makes a map without braces of it; here it is a value.
function isListEntry(map: SyntaxNode | null): boolean {
  return map?.name === 'FlowMapping' && map.firstChild?.name !== '{' && map.parent?.name === 'Item';
}

// Null in a comment, where a value goes on over several lines, and behind what is complete.
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
  // Alone on its line or after a dash a word is the first key of a map to come.
  return { kind: inFlow || besideKey ? 'value' : 'key', path, typed, present: [] };
}
