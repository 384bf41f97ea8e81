// Where in a design a position of its text lies, for completion: the path of the map that a key
// would go into, or the path of the field that a value would go to.
//
//   fleet:                      at the end of "node: dg" below: { path: "fleet[].node",
//     - name: train               kind: "value", typed: "dg" }
//       node: dg
//
// It reads indentation and the flow brackets before the position, not the whole of YAML: a text
// that is being typed is rarely whole. Quoted keys and anchors are not understood; a design has none.

export interface Spot {
  kind: 'key' | 'value';
  path: string; // of the enclosing map for a key, of the field for a value; lists as []
  typed: string; // what is already there before the position
  present: string[]; // keys that the enclosing map has on its flow line
}

interface Line {
  indent: number; // column of the key or of the content after "- "
  dash: number; // column of the dash, or -1
  key: string; // "" where the line has none
  rest: string; // what stands after "key:" or after "- "
  rest_at: number; // its column
}

function without_comment(line: string): string {
  const at = line.search(/(^|\s)#/);
  return at < 0 ? line : line.slice(0, at);
}

export function parse_line(raw: string): Line {
  const line = without_comment(raw);
  const dash = /^(\s*)-(\s+|$)/.exec(line);
  const start = dash ? dash[0].length : /^\s*/.exec(line)![0].length;
  const key = /^([A-Za-z0-9_.-]+):(?=\s|$)/.exec(line.slice(start));
  const rest_at = start + (key ? key[0].length : 0);
  return {
    indent: start,
    dash: dash ? dash[1].length : -1,
    key: key ? key[1] : '',
    rest: line.slice(rest_at),
    rest_at,
  };
}

// The enclosing keys of a line, from its own indentation outwards.
function block_path(lines: string[], index: number, indent: number, dash: number): string[] {
  const path: string[] = [];
  let limit = indent;
  let in_list = dash >= 0;
  if (in_list) {
    path.unshift('[]');
    limit = dash;
  }
  for (let i = index - 1; i >= 0 && (limit > 0 || in_list); --i) {
    const line = parse_line(lines[i]);
    if (!line.key && line.dash < 0) continue;
    // "- name: x" opens the list entry that the following lines, at the key's column, belong to.
    if (line.dash >= 0 && line.indent <= limit && !in_list && line.indent === limit) {
      path.unshift('[]');
      limit = line.dash;
      in_list = true;
      continue;
    }
    const opens = line.key && line.rest.trim() === '';
    const encloses = line.indent < limit || (in_list && line.indent === limit && line.dash < 0);
    if (!opens || !encloses) continue;
    path.unshift(line.key);
    limit = line.indent;
    in_list = false;
    if (line.dash >= 0) {
      path.unshift('[]');
      limit = line.dash;
      in_list = true;
    }
  }
  return path;
}

interface Flow {
  path: string[];
  kind: 'key' | 'value';
  typed: string;
  present: string[];
}

interface Frame {
  list: boolean;
  key: string; // being filled; "" while a key is typed
  keys: string[];
}

// Inside "{ a: 1, b: [": a stack of open brackets; null where none is open.
export function parse_flow(text: string): Flow | null {
  const stack: Frame[] = [];
  let word = '';
  for (const c of text) {
    const top = stack.at(-1);
    if (c === '{' || c === '[') {
      stack.push({ list: c === '[', key: '', keys: [] });
      word = '';
    } else if (c === '}' || c === ']') {
      stack.pop();
      word = '';
    } else if (top && c === ',') {
      top.key = '';
      word = '';
    } else if (top && !top.list && c === ':' && !top.key) {
      top.key = word.trim();
      top.keys.push(top.key);
      word = '';
    } else {
      word += c;
    }
  }
  if (stack.length === 0) return null;
  const path = stack.flatMap((f, i) => {
    const own = f.list ? ['[]'] : [];
    return f.key && (i < stack.length - 1 || !f.list) ? [...own, f.key] : own;
  });
  const last = stack.at(-1)!;
  const kind = last.list || last.key ? 'value' : 'key';
  return { path, kind, typed: word.trimStart(), present: last.keys };
}

function join(parts: string[]): string {
  return parts.join('.').replaceAll('.[]', '[]');
}

export function spot_at(text: string, offset: number): Spot {
  const before = text.slice(0, offset);
  const lines = before.split('\n');
  const index = lines.length - 1;
  const line = parse_line(lines[index]);
  const outer = block_path(lines, index, line.indent, line.dash);
  const here = line.key ? [...outer, line.key] : outer;
  const flow = parse_flow(line.rest);
  if (flow) return { ...flow, path: join([...here, ...flow.path]) };
  if (line.key) {
    return { kind: 'value', path: join(here), typed: line.rest.trimStart(), present: [] };
  }
  return { kind: 'key', path: join(outer), typed: line.rest.trim(), present: [] };
}
