import { describe, expect, it } from 'vitest';
import { parseMarkdown, spansOf } from './markdown';

describe('parse_markdown', () => {
  it('separates headings, paragraphs and tables', () => {
    const text =
      '# Title\n\nOne line\nand another.\n\nNew paragraph.\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 |  |\n';
    expect(parseMarkdown(text)).toEqual([
      { kind: 'heading', text: 'Title' },
      { kind: 'paragraph', text: 'One line and another.' },
      { kind: 'paragraph', text: 'New paragraph.' },
      {
        kind: 'table',
        head: ['a', 'b'],
        rows: [
          ['1', '2'],
          ['3', ''],
        ],
      },
    ]);
  });

  it('returns no blocks for an empty text', () => {
    expect(parseMarkdown('')).toEqual([]);
  });
});

describe('spans_of', () => {
  it('separates code from text', () => {
    expect(spansOf('see `orrery plan`.')).toEqual([
      { code: false, text: 'see ' },
      { code: true, text: 'orrery plan' },
      { code: false, text: '.' },
    ]);
    expect(spansOf('plain')).toEqual([{ code: false, text: 'plain' }]);
  });
});
