// Places the switches of a network for drawing: a pure function of the API's answer.
//
// Trees are rows: endpoints at the bottom, then leaves, spines and cores. The leaves of a group (pod,
// rail group) are next to each other, with the group's spines above them. Router networks (dragonfly,
// torus) have one tier, on a circle, group by group. Positions are in world units; the canvas scales
// them.
import type { EndpointGroup, Fabric, FabricLink, FabricSwitch } from '../../lib/types';

export interface Placed {
  id: string;
  x: number; // centre
  y: number;
  w: number;
  h: number;
  kind: 'switch' | 'endpoints';
  label: string;
  failed: boolean;
  switch?: FabricSwitch;
  group?: EndpointGroup;
}

export interface PlacedLink {
  link: FabricLink;
  from: Placed;
  to: Placed;
  load: number; // the larger direction
}

export interface Layout {
  nodes: Placed[];
  links: PlacedLink[];
  rows: { label: string; y: number }[];
  runs: { label: string; x: number; y: number }[]; // names of groups of neighbours
  bounds: { x: number; y: number; w: number; h: number };
}

const kSwitch = 18;
const kStep = 26;
const kGroupGap = 22;
const kEndpointWidth = 23;
const kEndpointHeight = 44;
const kMargin = 30;
const kRowLeast = 110; // between tiers
const kEndpointShare = 0.3; // distance of endpoints to their leaf over the distance of two tiers
const kLabelDrop = 18;
const kTierNames: Record<string, string> = {
  leaf: 'leaf',
  spine: 'spine',
  core: 'core',
  router: 'routers',
  'node-switch': 'node switches',
};

function numberIn(id: string): number {
  return Number(/(\d+)(?!.*\d)/.exec(id)?.[1] ?? 0);
}

function byPlace(a: FabricSwitch, b: FabricSwitch): number {
  return (
    a.plane - b.plane || a.group - b.group || (a.rail ?? 0) - (b.rail ?? 0) || numberIn(a.id) - numberIn(b.id)
  );
}

function placeSwitch(s: FabricSwitch, x: number, y: number): Placed {
  const label = s.count > 1 ? `${s.id} ×${s.count}` : s.id;
  return { id: s.id, x, y, w: kSwitch, h: kSwitch * 0.7, kind: 'switch', label, failed: s.failed, switch: s };
}

// Returns the name of a leaf's run: its rail if the rail has several leaves in the group, else its
// group.
function runOf(s: FabricSwitch, all: FabricSwitch[]): string {
  const alike = all.filter((o) => o.plane === s.plane && o.group === s.group && o.rail === s.rail);
  const plane = s.plane > 0 ? `plane ${s.plane}, ` : '';
  if (s.rail !== null && alike.length > 1) return `${plane}rail ${s.rail}`;
  return s.group >= 0 ? `${plane}group ${s.group}` : plane;
}

// Places one row from left to right, with a gap after each run.
function rowOf(switches: FabricSwitch[], y: number): { leaves: Placed[]; runs: Layout['runs'] } {
  let x = 0;
  let run = '';
  const members = new Map<string, Placed[]>();
  const leaves = [...switches].sort(byPlace).map((s, i) => {
    const next = runOf(s, switches);
    if (i > 0) x += kStep + (next !== run ? kGroupGap : 0);
    run = next;
    const placed = placeSwitch(s, x, y);
    members.set(run, [...(members.get(run) ?? []), placed]);
    return placed;
  });
  const runs = [...members].map(([label, placed]) => {
    const { from, to } = extent(placed);
    return { label, x: (from + to) / 2, y: 0 };
  });
  return { leaves, runs: runs.length > 1 ? runs : [] };
}

function extent(nodes: Placed[]): { from: number; to: number } {
  const xs = nodes.map((n) => n.x);
  return { from: Math.min(...xs), to: Math.max(...xs) };
}

// Places switches evenly between two positions, inset from the ends so that few lines are vertical.
function spread(switches: FabricSwitch[], from: number, to: number, y: number): Placed[] {
  const sorted = [...switches].sort(byPlace);
  const inset = (to - from) * 0.06;
  const step = sorted.length > 1 ? (to - from - 2 * inset) / (sorted.length - 1) : 0;
  const start = sorted.length > 1 ? from + inset : (from + to) / 2;
  return sorted.map((s, i) => placeSwitch(s, start + i * step, y));
}

function key(s: FabricSwitch): string {
  return `${s.plane}/${s.group}`;
}

// Places an upper tier: each group's switches above its leaves, switches without a group over all.
function upperRow(switches: FabricSwitch[], below: Placed[], y: number): Placed[] {
  const all = extent(below);
  const groups = new Map<string, FabricSwitch[]>();
  for (const s of switches) groups.set(key(s), [...(groups.get(key(s)) ?? []), s]);
  return [...groups.entries()].flatMap(([name, members]) => {
    const own = below.filter((n) => n.switch && key(n.switch) === name);
    const covered = own.length > 1 && own.length < below.length ? extent(own) : all;
    return spread(members, covered.from, covered.to, y);
  });
}

function placeEndpoints(groups: EndpointGroup[], leaves: Map<string, Placed>, y: number): Placed[] {
  const seen = new Map<string, number>();
  const total = new Map<string, number>();
  for (const g of groups) total.set(g.leaf, (total.get(g.leaf) ?? 0) + 1);
  return groups.flatMap((group) => {
    const leaf = leaves.get(group.leaf);
    if (!leaf) return [];
    const nth = seen.get(group.leaf) ?? 0;
    seen.set(group.leaf, nth + 1);
    const share = kEndpointWidth / total.get(group.leaf)!;
    const x = leaf.x - kEndpointWidth / 2 + share * (nth + 0.5);
    const last = group.node_from + group.nodes - 1;
    const label = group.nodes > 1 ? `nodes ${group.node_from}–${last}` : `node ${group.node_from}`;
    return [
      {
        id: group.id,
        x,
        y,
        w: share * 0.9,
        h: kEndpointHeight,
        kind: 'endpoints' as const,
        label,
        failed: false,
        group,
      },
    ];
  });
}

type Drawn = Pick<Layout, 'nodes' | 'rows' | 'runs'>;

// Places a tree. `aspect` is height over width of the window; the rows fill it.
function tree(fabric: Fabric, aspect: number): Drawn {
  const tier = (name: string) => fabric.switches.filter((s) => s.tier === name);
  const baseTier = tier('leaf').length > 0 ? 'leaf' : (fabric.switches[0]?.tier ?? 'leaf');
  const { leaves, runs } = rowOf(tier(baseTier), 0);
  const width = leaves.length > 0 ? extent(leaves).to - extent(leaves).from : 0;
  const steps = ['spine', 'core'].filter((t) => t !== baseTier && tier(t).length > 0).length;
  const gap = Math.max(kRowLeast, (width * Math.min(aspect, 0.75)) / (steps + kEndpointShare));
  const rows = [{ label: kTierNames[baseTier], y: 0 }];
  const nodes = [...leaves];
  let y = 0;
  let below = leaves;
  for (const name of ['spine', 'core']) {
    const members = tier(name);
    if (members.length === 0 || name === baseTier) continue;
    y -= gap;
    below = upperRow(members, below, y);
    nodes.push(...below);
    rows.push({ label: kTierNames[name], y });
  }
  const endpointsY = gap * kEndpointShare;
  const byId = new Map(nodes.map((n) => [n.id, n]));
  const endpoints = placeEndpoints(fabric.endpoint_groups, byId, endpointsY);
  if (endpoints.length > 0) rows.push({ label: 'endpoints', y: endpointsY });
  const labelsY = endpointsY + kEndpointHeight / 2 + kLabelDrop;
  return { nodes: [...nodes, ...endpoints], rows, runs: runs.map((r) => ({ ...r, y: labelsY })) };
}

// Places routers on a circle, ordered by group, with their endpoints just outside.
function circle(fabric: Fabric): Drawn {
  const sorted = [...fabric.switches].sort(byPlace);
  const groups = new Set(sorted.map((s) => s.group)).size;
  const slots = sorted.length + groups;
  const radius = Math.max(120, (slots * kStep) / (2 * Math.PI));
  let slot = 0;
  const nodes = sorted.map((s, i) => {
    if (i > 0 && sorted[i - 1].group !== s.group) ++slot;
    const angle = (slot++ / slots) * 2 * Math.PI - Math.PI / 2;
    return placeSwitch(s, Math.cos(angle) * radius, Math.sin(angle) * radius);
  });
  const byId = new Map(nodes.map((n) => [n.id, n]));
  const outside = 1 + 40 / radius;
  const endpoints = fabric.endpoint_groups.flatMap((group) => {
    const at = byId.get(group.leaf);
    if (!at) return [];
    const label = `nodes ${group.node_from}–${group.node_from + group.nodes - 1}`;
    return [
      {
        id: group.id,
        x: at.x * outside,
        y: at.y * outside,
        w: 10,
        h: 10,
        kind: 'endpoints' as const,
        label,
        failed: false,
        group,
      },
    ];
  });
  return { nodes: [...nodes, ...endpoints], rows: [], runs: [] };
}

function boundsOf(nodes: Placed[]): Layout['bounds'] {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const n of nodes) {
    left = Math.min(left, n.x - n.w);
    right = Math.max(right, n.x + n.w);
    top = Math.min(top, n.y - n.h);
    bottom = Math.max(bottom, n.y + n.h);
  }
  if (nodes.length === 0) return { x: 0, y: 0, w: 1, h: 1 };
  return {
    x: left - kMargin,
    y: top - kMargin,
    w: right - left + 2 * kMargin,
    h: bottom - top + 2 * kMargin,
  };
}

export function layoutOf(fabric: Fabric, aspect = 0.5): Layout {
  const routers = fabric.switches.length > 0 && fabric.switches.every((s) => s.tier === 'router');
  const { nodes, rows, runs } = routers ? circle(fabric) : tree(fabric, aspect);
  const byId = new Map(nodes.map((n) => [n.id, n]));
  const links = fabric.links.flatMap((link) => {
    const from = byId.get(link.from);
    const to = byId.get(link.to);
    const load = Math.max(link.load_up_ratio, link.load_down_ratio);
    return from && to ? [{ link, from, to, load }] : [];
  });
  return { nodes, links, rows, runs, bounds: boundsOf(nodes) };
}

// Returns the part at a point, switches before links, the nearest within `reach`, or null.
export function hit(layout: Layout, x: number, y: number, reach: number): Placed | PlacedLink | null {
  for (const node of layout.nodes) {
    const dx = Math.abs(node.x - x);
    const dy = Math.abs(node.y - y);
    const slack = Math.min(reach, 4);
    if (dx <= node.w / 2 + slack && dy <= node.h / 2 + slack) return node;
  }
  let nearest: PlacedLink | null = null;
  let least = reach;
  for (const link of layout.links) {
    const distance = distanceTo(link, x, y);
    if (distance < least) {
      least = distance;
      nearest = link;
    }
  }
  return nearest;
}

function distanceTo({ from, to }: PlacedLink, x: number, y: number): number {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = dx * dx + dy * dy || 1;
  const t = Math.max(0, Math.min(1, ((x - from.x) * dx + (y - from.y) * dy) / length));
  return Math.hypot(x - from.x - t * dx, y - from.y - t * dy);
}

export function isLink(found: Placed | PlacedLink): found is PlacedLink {
  return 'link' in found;
}
