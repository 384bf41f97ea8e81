// A comparison as files: Markdown for a pull request, CSV for a sheet, HTML that stands alone.
import { difference, percent, quantity } from './format';
import type { Comparison, ComparedFigure, CostNode } from './types';

export function csv_cell(value: string | number): string {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function markdown_row(cells: string[]): string {
  return `| ${cells.map((c) => c.replaceAll('|', '\\|')).join(' | ')} |`;
}

function markdown_table(head: string[], rows: string[][]): string[] {
  const rule = head.map((_, i) => (i === 0 ? '---' : '---:'));
  return [markdown_row(head), markdown_row(rule), ...rows.map(markdown_row)];
}

// The rows that every export has, so that they cannot say different things.
export function summary_rows(c: Comparison): string[][] {
  const each = (of: (d: Comparison['designs'][number]) => string) => c.designs.map(of);
  return [
    ['verdict', ...each((d) => (d.passes ? 'passes' : 'fails'))],
    ['rules broken', ...each((d) => String(d.errors))],
    ['warnings', ...each((d) => String(d.warnings))],
    ['cost', ...each((d) => quantity(d.cost_usd_per_year, 'usd_per_year'))],
    ['goodput', ...each((d) => percent(d.goodput_ratio))],
    ['useful GPU-hour', ...each((d) => quantity(d.unit_cost_usd_per_hour, 'usd_per_hour'))],
  ];
}

export function figure_name(f: ComparedFigure): string {
  return [f.layer, f.section, f.label].filter(Boolean).join(' · ');
}

export function differs(f: ComparedFigure): boolean {
  const [first, ...others] = f.values;
  return others.some((v) => (v === null) !== (first === null) || v?.shown !== first?.shown);
}

// Depth first, with the names indented by their depth.
export function cost_rows(node: CostNode, depth = 0): { node: CostNode; depth: number }[] {
  return [{ node, depth }, ...node.children.flatMap((child) => cost_rows(child, depth + 1))];
}

export function to_markdown(c: Comparison): string {
  const names = c.designs.map((d) => d.name);
  const lines = ['# Comparison', '', ...markdown_table(['', ...names], summary_rows(c))];
  for (const d of c.differences) {
    lines.push('', `## ${names[d.after_index]} against ${names[0]}`, '', d.verdict, '');
    const rows = d.effects.map((e) => [
      e.section,
      difference(e.cost_usd_per_year, 'usd_per_year'),
      difference(e.goodput_ratio, 'ratio'),
      difference(e.unit_cost_usd_per_hour, 'usd_per_hour'),
    ]);
    lines.push(...markdown_table(['changed section', 'cost', 'goodput', 'useful hour'], rows));
  }
  const changed = c.figures.filter(differs);
  if (changed.length > 0) {
    const rows = changed.map((f) => [figure_name(f), ...f.values.map((v) => v?.shown ?? '–')]);
    lines.push('', '## Figures that differ', '', ...markdown_table(['figure', ...names], rows));
  }
  return lines.join('\n') + '\n';
}

export function to_csv(c: Comparison): string {
  const head = [
    'layer',
    'section',
    'figure',
    'unit',
    ...c.designs.flatMap((d) => [d.name, `${d.name} low`, `${d.name} high`]),
  ];
  const rows: (string | number)[][] = c.figures.map((f) => [
    f.layer,
    f.section,
    f.key,
    f.unit,
    ...f.values.flatMap((v): (string | number)[] => (v ? [v.value, v.low, v.high] : ['', '', ''])),
  ]);
  return [head, ...rows].map((row) => row.map(csv_cell).join(',')).join('\n') + '\n';
}

export function escape_html(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function html_table(head: string[], rows: string[][]): string {
  const cells = (tag: string, row: string[]) => row.map((c) => `<${tag}>${escape_html(c)}</${tag}>`).join('');
  const body = rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n');
  return `<table><thead><tr>${cells('th', head)}</tr></thead><tbody>${body}</tbody></table>`;
}

const kReportStyle = `
body { font: 13px/1.45 sans-serif; max-width: 1000px; margin: 32px auto; padding: 0 16px; color: #171c24; }
h1 { font-size: 20px; } h2 { font-size: 15px; margin-top: 28px; }
table { border-collapse: collapse; width: 100%; margin: 8px 0; }
th, td { text-align: right; padding: 4px 8px; border-bottom: 1px solid #dfe3e8; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
@media print { body { margin: 0; } h2 { break-after: avoid; } tr, svg { break-inside: avoid; } }
`;

// `drawings` are SVG texts that carry their own colours.
export function to_html(c: Comparison, drawings: { title: string; svg: string }[]): string {
  const names = c.designs.map((d) => d.name);
  const parts = [`<h1>Comparison</h1>`, html_table(['', ...names], summary_rows(c))];
  for (const d of c.differences) {
    parts.push(`<h2>${escape_html(`${names[d.after_index]} against ${names[0]}`)}</h2>`);
    parts.push(`<p>${escape_html(d.verdict)}</p>`);
    const rows = d.effects.map((e) => [
      e.section,
      difference(e.cost_usd_per_year, 'usd_per_year'),
      difference(e.goodput_ratio, 'ratio'),
      difference(e.unit_cost_usd_per_hour, 'usd_per_hour'),
    ]);
    parts.push(html_table(['changed section', 'cost', 'goodput', 'useful hour'], rows));
  }
  for (const { title, svg } of drawings) parts.push(`<h2>${escape_html(title)}</h2>${svg}`);
  for (const d of c.designs) {
    const rows = cost_rows(d.cost).map(({ node, depth }) => [
      `${'\u2003'.repeat(depth)}${node.name}${node.assumed ? ' *' : ''}`,
      quantity(node.usd_per_year, 'usd_per_year'),
      node.reference,
    ]);
    parts.push(
      `<h2>${escape_html(`Cost of ${d.name}`)}</h2>`,
      html_table(['part (* assumed)', 'per year', 'source'], rows),
    );
  }
  const rows = c.figures
    .filter(differs)
    .map((f) => [figure_name(f), ...f.values.map((v) => v?.shown ?? '–')]);
  if (rows.length > 0) parts.push('<h2>Figures that differ</h2>', html_table(['figure', ...names], rows));
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Comparison</title><style>${kReportStyle}</style></head>\n<body>${parts.join('\n')}</body></html>\n`;
}
