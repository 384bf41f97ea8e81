// Reads the Markdown of a score's preface: headings, paragraphs and tables.

export type Block =
  | { kind: 'heading'; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'table'; head: string[]; rows: string[][] };

function cells(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim());
}

// Adds one line of a table; the line of dashes is skipped.
function addRow(blocks: Block[], line: string) {
  if (/^\|[\s:|-]+\|?$/.test(line)) return;
  const last = blocks.at(-1);
  if (last?.kind === 'table') last.rows.push(cells(line));
  else blocks.push({ kind: 'table', head: cells(line), rows: [] });
}

// Splits "see `orrery plan`" into spans; the text between backticks is code.
export function spansOf(text: string): { code: boolean; text: string }[] {
  return text
    .split('`')
    .map((part, i) => ({ code: i % 2 === 1, text: part }))
    .filter((span) => span.text !== '');
}

export function parseMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  let open = false; // true while further lines belong to the last paragraph
  for (const line of text.split('\n').map((l) => l.trim())) {
    const last = blocks.at(-1);
    if (line.startsWith('|')) addRow(blocks, line);
    else if (line.startsWith('#')) blocks.push({ kind: 'heading', text: line.replace(/^#+\s*/, '') });
    else if (line && open && last?.kind === 'paragraph') last.text += ` ${line}`;
    else if (line) blocks.push({ kind: 'paragraph', text: line });
    open = line !== '' && blocks.at(-1)?.kind === 'paragraph';
  }
  return blocks;
}
