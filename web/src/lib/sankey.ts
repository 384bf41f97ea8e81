// A Sankey diagram of the power chain: columns by the longest way from the source, heights by power,
// bands in the order of their targets so that they do not cross without need.
import type { ChainLink, ChainNode } from './types';

export interface SankeyNode {
  node: ChainNode;
  column: number;
  x: number;
  y: number;
  h: number;
}

export interface SankeyBand {
  link: ChainLink;
  from: SankeyNode;
  to: SankeyNode;
  y_from: number; // middle of the band at either end
  y_to: number;
  h: number;
}

export interface Sankey {
  nodes: SankeyNode[];
  bands: SankeyBand[];
  width: number;
  height: number;
}

export interface SankeySize {
  width: number;
  height: number;
  node_width: number;
  gap: number; // between nodes of a column
}

function columns_of(nodes: ChainNode[], links: ChainLink[]): Map<string, number> {
  const column = new Map(nodes.map((n) => [n.id, 0]));
  // A chain is acyclic and short: as many rounds as nodes settle every longest way.
  for (let round = 0; round < nodes.length; ++round) {
    let changed = false;
    for (const { from, to } of links) {
      const next = (column.get(from) ?? 0) + 1;
      if (next > (column.get(to) ?? 0)) {
        column.set(to, next);
        changed = true;
      }
    }
    if (!changed) break;
  }
  return column;
}

// Loads above losses: what is useful runs straight on, what is lost drops away.
function rank(node: ChainNode): number {
  return node.kind === 'loss' ? 1 : 0;
}

function place_column(members: SankeyNode[], gap: number) {
  members.sort((a, b) => rank(a.node) - rank(b.node) || b.node.power_w - a.node.power_w);
  let y = 0;
  for (const member of members) {
    member.y = y;
    y += member.h + gap;
  }
}

export function sankey(nodes: ChainNode[], links: ChainLink[], size: SankeySize): Sankey {
  const column = columns_of(nodes, links);
  const last = Math.max(0, ...column.values());
  const per_column = Array.from({ length: last + 1 }, (_, c) => nodes.filter((n) => column.get(n.id) === c));
  const room = (list: ChainNode[]) => size.height - size.gap * Math.max(0, list.length - 1);
  const scale = Math.min(
    ...per_column.map((list) => {
      const sum = list.reduce((total, n) => total + n.power_w, 0);
      return sum > 0 ? room(list) / sum : Infinity;
    }),
  );
  const step = last > 0 ? (size.width - size.node_width) / last : 0;
  const placed = new Map<string, SankeyNode>();
  for (const [c, list] of per_column.entries()) {
    const members = list.map((node) => ({
      node,
      column: c,
      x: c * step,
      y: 0,
      h: Math.max(node.power_w * scale, 1),
    }));
    place_column(members, size.gap);
    for (const member of members) placed.set(member.node.id, member);
  }
  return {
    nodes: [...placed.values()],
    bands: bands_of(links, placed, scale),
    width: size.width,
    height: size.height,
  };
}

function bands_of(links: ChainLink[], placed: Map<string, SankeyNode>, scale: number): SankeyBand[] {
  const bands = links.flatMap((link) => {
    const from = placed.get(link.from);
    const to = placed.get(link.to);
    if (!from || !to) return [];
    return [{ link, from, to, y_from: 0, y_to: 0, h: Math.max(link.power_w * scale, 0.75) }];
  });
  const stack = (side: 'from' | 'to', other: 'from' | 'to') => {
    const used = new Map<SankeyNode, number>();
    for (const band of [...bands].sort((a, b) => a[other].y - b[other].y)) {
      const at = used.get(band[side]) ?? 0;
      band[side === 'from' ? 'y_from' : 'y_to'] = band[side].y + at + band.h / 2;
      used.set(band[side], at + band.h);
    }
  };
  stack('from', 'to');
  stack('to', 'from');
  return bands;
}

export function band_path(band: SankeyBand, node_width: number): string {
  const x0 = band.from.x + node_width;
  const x1 = band.to.x;
  const middle = (x0 + x1) / 2;
  return `M${x0},${band.y_from}C${middle},${band.y_from} ${middle},${band.y_to} ${x1},${band.y_to}`;
}
