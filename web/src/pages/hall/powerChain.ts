// Lays out the power chain as a Sankey diagram (d3-sankey): columns by the longest path from the
// source, heights by power. Every column starts at the top, so that useful power runs straight and
// losses drop below it.
import { sankey, sankeyLeft, type SankeyLink, type SankeyNode } from 'd3-sankey';
import type { ChainNode, PowerChain } from '../../lib/types';

export type PlacedNode = SankeyNode<ChainNode, object>;
export type PlacedLink = SankeyLink<ChainNode, object> & { source: PlacedNode; target: PlacedNode };

export interface ChainDrawing {
  nodes: PlacedNode[];
  links: PlacedLink[];
  columns: number;
}

export interface ChainSize {
  width: number;
  height: number;
  nodeWidth: number;
  gap: number; // between nodes of a column
}

const firstSource = (node: PlacedNode) =>
  (node.targetLinks?.[0]?.source as PlacedNode | undefined)?.index ?? 0;

// Orders a column: loads above losses, the losses of one stage together, the larger ones first.
function inColumn(a: PlacedNode, b: PlacedNode): number {
  const isLoss = (node: PlacedNode) => Number(node.kind === 'loss');
  return isLoss(a) - isLoss(b) || firstSource(a) - firstSource(b) || b.power_w - a.power_w;
}

// Sorts the bands of a node by the positions of their other ends, so that few of them cross.
function sortBands(nodes: PlacedNode[]) {
  const place = (node: unknown) => (node as PlacedNode).y0!;
  for (const node of nodes) {
    node.sourceLinks?.sort((a, b) => place(a.target) - place(b.target));
    node.targetLinks?.sort((a, b) => place(a.source) - place(b.source));
  }
}

function fromTheTop(nodes: PlacedNode[], gap: number) {
  const used = new Map<number, number>(); // height already used, by column
  for (const node of [...nodes].sort((a, b) => a.y0! - b.y0!)) {
    const height = node.y1! - node.y0!;
    node.y0 = used.get(node.depth!) ?? 0;
    node.y1 = node.y0 + height;
    used.set(node.depth!, node.y1 + gap);
  }
}

export function drawChain(chain: PowerChain, size: ChainSize): ChainDrawing {
  if (chain.links.length === 0) return { nodes: [], links: [], columns: 0 };
  const layout = sankey<ChainNode, object>()
    .nodeId((node) => node.id)
    .nodeAlign(sankeyLeft)
    .nodeSort(inColumn)
    .nodeWidth(size.nodeWidth)
    .nodePadding(size.gap)
    .size([size.width, size.height])
    .iterations(0);
  const graph = layout({
    nodes: chain.nodes.map((node) => ({ ...node, fixedValue: node.power_w })),
    links: chain.links.map((link) => ({ source: link.from, target: link.to, value: link.power_w })),
  });
  fromTheTop(graph.nodes, size.gap);
  sortBands(graph.nodes);
  layout.update(graph);
  const columns = 1 + Math.max(...graph.nodes.map((node) => node.depth!));
  return { nodes: graph.nodes, links: graph.links as PlacedLink[], columns };
}
