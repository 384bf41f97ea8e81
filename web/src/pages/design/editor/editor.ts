// The YAML editor (CodeMirror 6), a separate chunk that is loaded after the page.
import { autocompletion, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Lint } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, StateEffect, StateField, type Text, type TransactionSpec } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import type { CompletionField, Diagnostic } from '../../../lib/types';
import { completionSource } from './completion';
import { editorTheme, highlight } from './look';

export interface EditorHandle {
  view: EditorView;
  setText(text: string): void;
  showDiagnostics(list: Diagnostic[]): void;
  showApplied(lines: { fromLine: number; toLine: number } | null): void;
  goTo(line: number, column: number): void;
  destroy(): void;
}

export interface EditorOptions {
  parent: HTMLElement;
  text: string;
  changed: (text: string) => void;
  fields: () => Promise<CompletionField[]>;
}

// Returns the word that a diagnostic marks. Line 0 stands for the whole file and marks the first line.
export function lintRange(doc: Text, line: number, column: number): { from: number; to: number } {
  const row = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const from = Math.min(row.from + Math.max(column - 1, 0), row.to);
  const word = /^[^\s,{}[\]]+/.exec(row.text.slice(from - row.from));
  return { from, to: Math.min(from + (word ? word[0].length : 0), row.to) };
}

function toLint(doc: Text, d: Diagnostic): Lint {
  const message = [d.what, d.why, d.fix && `Fix: ${d.fix}`].filter(Boolean).join('\n');
  const severity = d.severity === 'note' ? 'info' : d.severity;
  return { ...lintRange(doc, d.line, d.column), severity, message, source: d.code };
}

// Returns the change that replaces only the part that differs, so that cursor and folds stay.
export function minimalChange(before: string, after: string): TransactionSpec['changes'] {
  let from = 0;
  const shorter = Math.min(before.length, after.length);
  while (from < shorter && before[from] === after[from]) ++from;
  let tail = 0;
  while (tail < shorter - from && before.at(-1 - tail) === after.at(-1 - tail)) ++tail;
  return { from, to: before.length - tail, insert: after.slice(from, after.length - tail) };
}

// Marks the lines that a fix changed, until the next edit.
const markLines = StateEffect.define<{ fromLine: number; toLine: number } | null>();
const lineMark = Decoration.line({ class: 'cm-applied' });
const markedLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(markLines)) continue;
      if (!effect.value) return Decoration.none;
      const { doc } = transaction.state;
      const { fromLine, toLine } = effect.value;
      const lines = Array.from(
        { length: Math.min(toLine, doc.lines) - fromLine + 1 },
        (_, i) => fromLine + i,
      );
      return Decoration.set(lines.map((n) => lineMark.range(doc.line(n).from)));
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function createEditor(options: EditorOptions): EditorHandle {
  let external = false; // true while setText() runs, whose change is not reported
  const view = new EditorView({
    parent: options.parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        foldGutter({ openText: '⌄', closedText: '›' }),
        highlightActiveLineGutter(),
        highlightActiveLine(),
        history(),
        drawSelection(),
        EditorView.lineWrapping,
        indentOnInput(),
        indentUnit.of('  '),
        bracketMatching(),
        highlightSelectionMatches(),
        search({ top: true }),
        yaml(),
        syntaxHighlighting(highlight),
        editorTheme,
        markedLines,
        lintGutter(),
        autocompletion({ override: [completionSource(options.fields)], icons: false }),
        keymap.of([
          ...completionKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...foldKeymap,
          ...lintKeymap,
          ...defaultKeymap.filter((k) => k.key !== 'Mod-Enter'),
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({ 'aria-label': 'Design file (YAML)', tabindex: '0' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !external) options.changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    view,
    setText(text) {
      const now = view.state.doc.toString();
      if (text === now) return;
      external = true;
      view.dispatch({ changes: minimalChange(now, text) });
      external = false;
    },
    showDiagnostics(list) {
      const doc = view.state.doc;
      view.dispatch(
        setDiagnostics(
          view.state,
          list.map((d) => toLint(doc, d)),
        ),
      );
    },
    showApplied(lines) {
      if (lines && lines.fromLine > view.state.doc.lines) return;
      const effects: StateEffect<unknown>[] = [markLines.of(lines)];
      if (lines) {
        const { from } = view.state.doc.line(lines.fromLine);
        effects.push(EditorView.scrollIntoView(from, { y: 'center' }));
      }
      view.dispatch({ effects });
    },
    goTo(line, column) {
      const { from } = lintRange(view.state.doc, line, column);
      view.dispatch({
        selection: { anchor: from },
        effects: EditorView.scrollIntoView(from, { y: 'center' }),
      });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
