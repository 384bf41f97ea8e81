// Reading a verdict: sections by layer, the state of a layer, the few figures that stand on top.
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

// In the order of the work; a layer with neither figures nor findings is left out.
export function layersOf(verdict: Verdict): LayerView[] {
  return kLayers
    .map((layer) => {
      const findings = verdict.findings.filter((f) => f.layer === layer);
      const sections = verdict.sections.filter((s) => s.layer === layer);
      return { layer, state: worst(findings), sections, findings };
    })
    .filter((l) => l.sections.length > 0 || l.findings.length > 0);
}

// A name for each finding that stays while others come and go: its rule and the line of the design
// that its fix writes. Findings that share both are numbered.
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

// What a reader asks first, in this order; a design has some of them.
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

// "training/pretrain/step_time_s": a figure's place in the verdict, for the address bar.
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

// "was 19.8 MUSD/y, +25 %" where a figure differs from what it was; empty where it does not.
export function changeOf(before: Figure | null, now: Figure): string {
  if (!before || before.value === now.value) return '';
  const relative = before.value ? now.value / before.value - 1 : 0;
  if (before.shown === now.shown && Math.abs(relative) < 0.0005) return '';
  const sign = relative > 0 ? '+' : '−';
  return `was ${before.shown}${before.value ? `, ${sign}${digits(Math.abs(relative) * 100, 2)} %` : ''}`;
}

// The figure that an input of another is, so that it can be asked "why?" in turn.
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

// "±15 %", "−25 +90 %", or nothing where the figure is exact.
export function spread(figure: { value: number; low: number; high: number }): string {
  if (!figure.value || figure.low === figure.high) return '';
  const below = (1 - figure.low / figure.value) * 100;
  const above = (figure.high / figure.value - 1) * 100;
  if (Math.max(below, above) < 0.05) return '';
  if (Math.abs(below - above) < 0.1 * Math.max(below, above)) return `±${digits((below + above) / 2, 2)} %`;
  return `−${digits(below, 2)} +${digits(above, 2)} %`;
}

// A reference that names a row of the catalog ("nodes/dgx-h100"); pages and rules do not.
export function catalogReference(reference: string): { table: string; id: string } | null {
  const match = /^([a-z_]+)\/([a-z0-9][a-z0-9._-]*)$/.exec(reference);
  return match && match[1] !== 'docs' ? { table: match[1], id: match[2] } : null;
}
