// Reads a verdict: sections by layer, the state of a layer, and the figures shown at the top.
import { digits } from './format';
import type { Figure, Finding, Section, Severity, Verdict } from './types';

export const kLayers = [
  'compute',
  'training',
  'serving',
  'fabric',
  'storage',
  'cluster',
  'failure',
  'facility',
  'cost',
] as const;

export interface LayerView {
  layer: string;
  state: 'good' | 'warn' | 'bad';
  sections: Section[];
  findings: Finding[];
}

const kState: Record<Severity, 'good' | 'warn' | 'bad'> = {
  error: 'bad',
  warning: 'warn',
  note: 'good',
};

function worst(findings: Finding[]): 'good' | 'warn' | 'bad' {
  const states = findings.map((f) => kState[f.severity]);
  return states.includes('bad') ? 'bad' : states.includes('warn') ? 'warn' : 'good';
}

// Returns the layers in the order of kLayers, without those that have neither figures nor findings.
export function layersOf(verdict: Verdict): LayerView[] {
  return kLayers
    .map((layer) => {
      const findings = verdict.findings.filter((f) => f.layer === layer);
      const sections = verdict.sections.filter((s) => s.layer === layer);
      return { layer, state: worst(findings), sections, findings };
    })
    .filter((l) => l.sections.length > 0 || l.findings.length > 0);
}

// Returns a key per finding that does not change when other findings appear or disappear: its rule
// and the path that its fix writes. Findings that share both are numbered.
export function findingKeys(findings: Finding[]): string[] {
  const seen: Record<string, number> = {};
  return findings.map(({ rule, edit }) => {
    const name = `${rule} ${edit?.path ?? ''}`;
    seen[name] = (seen[name] ?? 0) + 1;
    return `${name} ${seen[name]}`;
  });
}

export interface Headline {
  address: string;
  name: string;
  figure: Figure;
}

// Figures shown at the top, in this order, if the design has them.
const kHeadlines: [layer: string, key: RegExp, name: string][] = [
  ['cost', /^annual_usd_per_year$/, 'Cost'],
  ['cost', /^useful_hour_usd_per_hour$/, 'Useful GPU-hour'],
  ['facility', /^draw_peak_w$/, 'Peak draw'],
  ['facility', /^pue_factor$/, 'PUE'],
  ['training', /^step_time_s$/, 'Step'],
  ['training', /^mfu_ratio$/, 'MFU'],
  ['failure', /^goodput_ratio$/, 'Goodput'],
  ['serving', /^ttft_p99_s$/, 'TTFT p99'],
  ['serving', /^tpot_p99_s$/, 'TPOT p99'],
  ['cluster', /^mean_wait_s$/, 'Queue wait'],
  ['cluster', /^duration_s$/, 'Batch'],
];

export const kHeadlineCount = 6;

export function headlinesOf(verdict: Verdict): Headline[] {
  const found: Headline[] = [];
  for (const [layer, key, name] of kHeadlines) {
    for (const section of verdict.sections.filter((s) => s.layer === layer)) {
      const id = Object.keys(section.figures).find((k) => key.test(k));
      if (!id) continue;
      found.push({ address: addressOf(section, id), name, figure: section.figures[id] });
      break;
    }
  }
  return found.slice(0, kHeadlineCount);
}

// Returns a figure's address in the verdict: "training/pretrain/step_time_s".
export function addressOf(section: Section, key: string): string {
  return `${section.layer}/${section.name}/${key}`;
}

export function figureAt(verdict: Verdict, address: string): Figure | null {
  for (const section of verdict.sections) {
    for (const key of Object.keys(section.figures)) {
      if (addressOf(section, key) === address) return section.figures[key];
    }
  }
  return null;
}

// Returns "was 19.8 MUSD/y, +25 %" if a figure has changed, else an empty text.
export function changeOf(before: Figure | null, now: Figure): string {
  if (!before || before.value === now.value) return '';
  const relative = before.value ? now.value / before.value - 1 : 0;
  if (before.shown === now.shown && Math.abs(relative) < 0.0005) return '';
  const sign = relative > 0 ? '+' : '−';
  return `was ${before.shown}${before.value ? `, ${sign}${digits(Math.abs(relative) * 100, 2)} %` : ''}`;
}

// Returns the address of the figure that is the input of another, or an empty text if none is.
export function inputAddress(verdict: Verdict, input: { name: string; value: string }, from: string): string {
  const wanted = input.name.toLowerCase();
  for (const section of verdict.sections) {
    for (const [key, figure] of Object.entries(section.figures)) {
      const address = addressOf(section, key);
      if (address === from || figure.shown !== input.value) continue;
      const label = figure.label.toLowerCase();
      if (label === wanted || label.includes(wanted) || wanted.includes(label)) return address;
    }
  }
  return '';
}

// Returns "±15 %" or "−25 +90 %", or an empty text if the figure is exact.
export function spread(figure: { value: number; low: number; high: number }): string {
  if (!figure.value || figure.low === figure.high) return '';
  const below = (1 - figure.low / figure.value) * 100;
  const above = (figure.high / figure.value - 1) * 100;
  if (Math.max(below, above) < 0.05) return '';
  if (Math.abs(below - above) < 0.1 * Math.max(below, above)) return `±${digits((below + above) / 2, 2)} %`;
  return `−${digits(below, 2)} +${digits(above, 2)} %`;
}

// Returns the catalog row that a reference names ("nodes/dgx-h100"), or null for pages and rules.
export function catalogReference(reference: string): { table: string; id: string } | null {
  const match = /^([a-z_]+)\/([a-z0-9][a-z0-9._-]*)$/.exec(reference);
  return match && match[1] !== 'docs' ? { table: match[1], id: match[2] } : null;
}

export interface Span {
  text: string;
  address: string; // of the figure that has this value; empty for plain text
}

// A number with its unit, such as "98.8 %", "20 MUSD/y" or "1,078 tokens/s".
const kNumber = /\d[\d,.]*\s?(?:%|x\b|[A-Za-z][A-Za-z0-9/]*)/g;

// Splits a sentence of the verdict into text and numbers. A number that equals a figure or the input
// of one gets the address of that figure; figures of `layer` are preferred.
export function numbersIn(text: string, verdict: Verdict, layer = ''): Span[] {
  const addresses = new Map<string, string>();
  const add = (shown: string, address: string) => addresses.has(shown) || addresses.set(shown, address);
  const sections = [...verdict.sections].sort(
    (a, b) => Number(b.layer === layer) - Number(a.layer === layer),
  );
  const figures = sections.flatMap((s) =>
    Object.entries(s.figures).map(([key, figure]) => ({ figure, address: addressOf(s, key) })),
  );
  for (const { figure, address } of figures) add(figure.shown, address);
  for (const { figure, address } of figures)
    for (const input of figure.inputs ?? []) add(input.value, address);
  const spans: Span[] = [];
  let end = 0;
  for (const match of text.matchAll(kNumber)) {
    const address = addresses.get(match[0]);
    if (!address) continue;
    if (match.index > end) spans.push({ text: text.slice(end, match.index), address: '' });
    spans.push({ text: match[0], address });
    end = match.index + match[0].length;
  }
  if (end < text.length) spans.push({ text: text.slice(end), address: '' });
  return spans;
}

// Returns the input of a figure whose own interval is the widest, with that interval in words, or
// null if no input is a figure with an interval.
export function widestInput(
  verdict: Verdict,
  figure: Figure,
  address: string,
): { name: string; address: string; spread: string } | null {
  let widest = 0;
  let found = null;
  for (const input of figure.inputs ?? []) {
    const at = inputAddress(verdict, input, address);
    const own = at ? figureAt(verdict, at) : null;
    if (!own || !own.value) continue;
    const width = (own.high - own.low) / Math.abs(own.value);
    if (width <= widest) continue;
    widest = width;
    found = { name: input.name, address: at, spread: spread(own) };
  }
  return found;
}

// Kinds of the Accuracy page, by the page of docs/models that describes the model.
const kAccuracyOf: Record<string, string> = {
  training: 'training',
  serving: 'serving',
  storage: 'storage',
  fabric: 'collectives',
  steps: 'steps',
  network: 'networks',
};

// Returns the kind of the Accuracy page for a reference such as "docs/models/training.md", or an
// empty text if the model has no score.
export function accuracyReference(reference: string): string {
  const page = /^docs\/models\/([a-z-]+)\.md/.exec(reference)?.[1] ?? '';
  return kAccuracyOf[page] ?? '';
}
