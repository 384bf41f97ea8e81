// Draws a layout onto a canvas. Links are stroked in one batch per load level, because a change of
// style costs more than a line. Parts outside the window are not drawn.
import type { Layout, Placed, PlacedLink } from './layout';
import { isLink } from './layout';
import { token } from '../../lib/theme.svelte';

export interface View {
  k: number; // screen pixels per world unit
  x: number; // screen position of the world's origin
  y: number;
}

export interface Palette {
  paper: string;
  ink: string;
  ink3: string;
  line: string;
  dot: string;
  bad: string;
  accent: string;
  loads: string[]; // from idle to full
  rails: string[];
}

export const kLoadLevels = [0.001, 0.25, 0.5, 0.75, 0.95];
const kLabelFrom = 46; // least distance of neighbours for names, screen px
const kEndpointsFrom = 11; // least width of a leaf for single endpoints, screen px
const kRunsFrom = 52; // least distance of group names, screen px
const kRowNames = 74; // width of the tier names on the left, screen px

export function palette(): Palette {
  const accent = token('accent');
  const idle = token('line-strong');
  const mix = (share: number) => `color-mix(in oklab, ${accent} ${share}%, ${idle})`;
  return {
    paper: token('paper'),
    ink: token('ink'),
    ink3: token('ink-3'),
    line: token('line'),
    dot: token('line-strong'),
    bad: token('bad'),
    accent,
    loads: [mix(0), mix(35), mix(55), mix(75), mix(90), accent],
    rails: ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8'].map(token),
  };
}

export function loadLevel(load: number): number {
  return kLoadLevels.filter((limit) => load >= limit).length;
}

// Returns the view that shows the whole layout, centred.
export function fit(layout: Layout, width: number, height: number): View {
  const { x, y, w, h } = layout.bounds;
  const left = layout.rows.length > 0 ? kRowNames : 0;
  const k = Math.min((width - left) / w, height / h, 3);
  return { k, x: left + (width - left - w * k) / 2 - x * k, y: (height - h * k) / 2 - y * k };
}

export function zoomAt(view: View, factor: number, x: number, y: number): View {
  const k = Math.min(40, Math.max(0.005, view.k * factor));
  const scale = k / view.k;
  return { k, x: x - (x - view.x) * scale, y: y - (y - view.y) * scale };
}

function line(c: CanvasRenderingContext2D, view: View, { from, to }: PlacedLink) {
  c.moveTo(from.x * view.k + view.x, from.y * view.k + view.y);
  c.lineTo(to.x * view.k + view.x, to.y * view.k + view.y);
}

function drawLinks(c: CanvasRenderingContext2D, layout: Layout, view: View, p: Palette) {
  const levels: PlacedLink[][] = p.loads.map(() => []);
  const failed: PlacedLink[] = [];
  for (const link of layout.links) {
    if (link.link.failed > 0 || link.from.failed || link.to.failed) failed.push(link);
    else levels[loadLevel(link.load)].push(link);
  }
  const many = layout.links.length > 3000;
  levels.forEach((links, level) => {
    c.strokeStyle = p.loads[level];
    c.globalAlpha = many ? 0.35 : 0.7;
    c.lineWidth = Math.max(0.4, Math.min(2.2, (0.55 + level * 0.18) * Math.min(view.k, 1.4)));
    c.beginPath();
    for (const link of links) line(c, view, link);
    c.stroke();
  });
  c.strokeStyle = p.bad;
  c.globalAlpha = 0.8;
  c.lineWidth = 1.1;
  c.setLineDash([5, 4]);
  c.beginPath();
  for (const link of failed) line(c, view, link);
  c.stroke();
  c.setLineDash([]);
  c.globalAlpha = 1;
}

function drawSwitch(c: CanvasRenderingContext2D, n: Placed, view: View, p: Palette) {
  const w = Math.max(n.w * view.k, 2);
  const h = Math.max(n.h * view.k, 2);
  const x = n.x * view.k + view.x - w / 2;
  const y = n.y * view.k + view.y - h / 2;
  const rail = n.switch?.rail;
  c.fillStyle = n.failed
    ? p.paper
    : rail === null || rail === undefined
      ? p.ink
      : p.rails[rail % p.rails.length];
  c.strokeStyle = n.failed ? p.bad : p.paper;
  c.lineWidth = n.failed ? 1.8 : 1;
  c.beginPath();
  c.roundRect(x, y, w, h, Math.min(3, w / 4));
  c.fill();
  c.stroke();
}

// Draws the endpoints of a leaf as one block, or one square each if there is room.
function drawEndpoints(c: CanvasRenderingContext2D, n: Placed, view: View, p: Palette) {
  const w = Math.max(n.w * view.k, 1.5);
  const h = Math.max(n.h * view.k, 2);
  const x = n.x * view.k + view.x - w / 2;
  const y = n.y * view.k + view.y - h / 2;
  c.fillStyle = p.line;
  if (w < kEndpointsFrom) {
    c.fillRect(x, y, w, h);
    return;
  }
  const count = n.group!.endpoints;
  const columns = Math.max(1, Math.ceil(Math.sqrt((count * w) / h)));
  const rows = Math.ceil(count / columns);
  c.fillStyle = p.dot;
  for (let i = 0; i < count; ++i) {
    const cx = x + ((i % columns) * w) / columns;
    const cy = y + (Math.floor(i / columns) * h) / rows;
    c.fillRect(cx + 0.5, cy + 0.5, Math.max(w / columns - 1.5, 1), Math.max(h / rows - 1.5, 1));
  }
}

function drawLabels(c: CanvasRenderingContext2D, layout: Layout, view: View, p: Palette) {
  c.font = '10.5px ui-monospace, Menlo, "DejaVu Sans Mono", monospace';
  c.textAlign = 'center';
  c.fillStyle = p.ink3;
  const [one, two] = layout.runs;
  if (two && (two.x - one.x) * view.k > kRunsFrom) {
    for (const run of layout.runs) c.fillText(run.label, run.x * view.k + view.x, run.y * view.k + view.y);
  }
  const clear = 26 * view.k; // distance of neighbours in a row
  if (clear < kLabelFrom) return;
  for (const n of layout.nodes) {
    if (n.kind === 'endpoints' && layout.runs.length > 0) continue;
    const below = n.kind === 'endpoints' ? (n.h / 2) * view.k + 13 : -(n.h / 2) * view.k - 5;
    c.fillText(n.label, n.x * view.k + view.x, n.y * view.k + view.y + below);
  }
}

function drawRows(c: CanvasRenderingContext2D, layout: Layout, view: View, p: Palette) {
  c.font = '600 11px system-ui, sans-serif';
  c.textAlign = 'left';
  for (const row of layout.rows) {
    const y = row.y * view.k + view.y;
    const width = c.measureText(row.label).width;
    c.fillStyle = p.paper;
    c.globalAlpha = 0.85;
    c.fillRect(8, y - 9, width + 12, 18);
    c.globalAlpha = 1;
    c.fillStyle = p.ink3;
    c.fillText(row.label, 14, y + 4);
  }
}

export function draw(
  c: CanvasRenderingContext2D,
  layout: Layout,
  view: View,
  size: { width: number; height: number },
  p: Palette,
) {
  c.fillStyle = p.paper;
  c.fillRect(0, 0, size.width, size.height);
  drawLinks(c, layout, view, p);
  const margin = 40;
  for (const n of layout.nodes) {
    const x = n.x * view.k + view.x;
    const y = n.y * view.k + view.y;
    if (x < -margin || y < -margin || x > size.width + margin || y > size.height + margin) continue;
    if (n.kind === 'switch') drawSwitch(c, n, view, p);
    else drawEndpoints(c, n, view, p);
  }
  drawLabels(c, layout, view, p);
  drawRows(c, layout, view, p);
}

// Draws the part under the pointer and the link that limits the collective over everything else.
export function drawOver(
  c: CanvasRenderingContext2D,
  found: Placed | PlacedLink | null,
  limiting: PlacedLink | null,
  view: View,
  p: Palette,
) {
  if (limiting) {
    c.strokeStyle = p.bad;
    c.lineWidth = 2;
    c.beginPath();
    line(c, view, limiting);
    c.stroke();
  }
  if (!found) return;
  c.strokeStyle = p.ink;
  c.lineWidth = 2;
  c.beginPath();
  if (isLink(found)) line(c, view, found);
  else {
    const w = Math.max(found.w * view.k, 4) + 5;
    const h = Math.max(found.h * view.k, 4) + 5;
    c.roundRect(found.x * view.k + view.x - w / 2, found.y * view.k + view.y - h / 2, w, h, 4);
  }
  c.stroke();
}
