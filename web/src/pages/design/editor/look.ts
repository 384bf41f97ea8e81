// Style of the editor. It uses the tokens of app.css, so one definition serves both themes.
import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: tags.comment, color: 'var(--ink-3)', fontStyle: 'italic' },
  { tag: [tags.string, tags.content], color: 'var(--ink)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--s3)' },
  { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: 'var(--ink-3)' },
]);

export const editorTheme = EditorView.theme({
  '&': { height: '100%', fontSize: 'var(--code)', backgroundColor: 'var(--paper)', color: 'var(--ink)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--accent)', paddingBottom: '40vh' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '2px' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-wash) !important',
  },
  '.cm-gutters': { backgroundColor: 'var(--paper)', color: 'var(--ink-3)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--sunk) 55%, transparent)' },
  '.cm-line.cm-applied': {
    backgroundColor: 'var(--good-wash)',
    boxShadow: 'inset 3px 0 0 var(--good)',
  },
  '.cm-activeLineGutter': { backgroundColor: 'transparent', color: 'var(--ink)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--sunk)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-wash) !important' },
  '.cm-tooltip': {
    backgroundColor: 'var(--paper)',
    border: '1px solid var(--line-strong)',
    borderRadius: '8px',
    boxShadow: 'var(--shadow)',
    color: 'var(--ink)',
    overflow: 'hidden',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '18em' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-wash)',
    color: 'var(--ink)',
  },
  '.cm-completionDetail': { color: 'var(--ink-3)', fontStyle: 'normal', marginLeft: '14px' },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--accent)', fontWeight: '600' },
  '.cm-diagnostic': {
    whiteSpace: 'pre-wrap',
    maxWidth: '460px',
    fontFamily: 'var(--font)',
    padding: '6px 10px',
  },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-diagnosticSource': { fontFamily: 'var(--mono)', fontSize: 'var(--fine)', color: 'var(--ink-3)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--warn) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-lint-marker': { width: '8px', height: '8px', marginTop: '5px', borderRadius: '50%' },
  '.cm-lint-marker-error': { content: '""', backgroundColor: 'var(--bad)' },
  '.cm-lint-marker-warning': { content: '""', backgroundColor: 'var(--warn)' },
  '.cm-lint-marker-info': { content: '""', backgroundColor: 'var(--ink-3)' },
  '.cm-panels': { backgroundColor: 'var(--wash)', color: 'var(--ink)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-foldPlaceholder': {
    backgroundColor: 'var(--sunk)',
    border: 'none',
    color: 'var(--ink-3)',
    padding: '0 6px',
  },
});
