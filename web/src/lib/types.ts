// What /api/v1 returns, as docs/api/openapi.yaml describes it.

export type Severity = 'error' | 'warning' | 'note';
export type Basis = 'measured' | 'fitted' | 'vendor' | 'paper' | 'derived' | 'assumed';

export interface Diagnostic {
  severity: Severity;
  code: string;
  file: string;
  line: number;
  column: number;
  what: string;
  why: string;
  fix: string;
}

export interface Problem {
  title: string;
  status: number;
  diagnostics?: Diagnostic[];
}

export interface FigureInput {
  name: string;
  value: string;
  reference?: string;
}

export interface Figure {
  label: string;
  unit: string;
  value: number;
  low: number;
  high: number;
  basis: Basis;
  reference: string;
  shown: string;
  formula?: string;
  inputs?: FigureInput[];
}

export type Figures = Record<string, Figure>;

export interface Section {
  layer: string;
  name: string;
  summary: string;
  limit: string;
  figures: Figures;
}

export interface Edit {
  path: string;
  value: string;
}

export interface Finding {
  severity: Severity;
  rule: string;
  layer: string;
  file: string;
  line: number;
  column: number;
  what: string;
  why: string;
  fix: string;
  edit?: Edit;
}

export interface Goal {
  text: string;
  metric: string;
  met: boolean;
  met_over_interval: boolean;
  bound: number;
  value: number;
  low: number;
  high: number;
  unit: string;
}

export interface Spend {
  change: string;
  path: string;
  value: string;
  cost_usd_per_year: number;
  goodput_before_ratio: number;
  goodput_after_ratio: number;
  unit_cost_before_usd_per_hour: number;
  unit_cost_after_usd_per_hour: number;
}

export interface BillLine {
  section: string;
  item: string;
  part: string;
  count: number;
  unit_price_low_usd?: number; // absent where no price is public
  unit_price_high_usd?: number;
  unit_power_w: number;
  reference: string;
}

export interface Verdict {
  schema_version: number;
  design: string;
  version: string;
  digest: string;
  passes: boolean;
  summary: string;
  sections: Section[];
  findings: Finding[];
  goals: Goal[];
  spends: Spend[];
  bill: BillLine[];
  coarse: string[];
}

export interface SessionInfo {
  version: string;
  sample: boolean;
  design: { name: string; file: string; text: string; digest: string };
}

export interface EditResult {
  text: string;
  kept_format: boolean;
  note: string;
}

export interface CompletionValue {
  value: string;
  detail: string;
}

export interface CompletionField {
  path: string; // list entries as []: "fleet[].node"
  description: string;
  values: CompletionValue[];
}

export interface TemplateSummary {
  name: string;
  summary: string;
}

export interface Template extends TemplateSummary {
  text: string;
}

export interface CatalogTable {
  table: string;
  rows: number;
  group: string;
  title: string;
}

export type CatalogValue = string | number | boolean | null;
export type CatalogRow = Record<string, CatalogValue>;

export interface Parameter {
  name: string;
  label: string;
  kind: 'number' | 'integer' | 'count' | 'quantity' | 'choice' | 'id' | 'flag';
  unit: string;
  default: string | null;
  optional: boolean;
  min?: number | null;
  max?: number | null;
  scale?: 'linear' | 'log';
  choices?: string[];
  table?: string;
}

export interface Calculator {
  name: string;
  summary: string;
  example: string;
  parameters: Parameter[];
}

export interface SweepSeries {
  key: string;
  label: string;
  unit: string;
  value: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
}

export interface Sweep {
  parameter: string;
  label: string;
  unit: string;
  x: number[];
  series: SweepSeries[];
}

export interface Calculation {
  question: string;
  answer: string;
  command: string;
  figures: Figures;
  assumptions: string[];
  sweep?: Sweep;
}

export interface FabricSwitch {
  id: string;
  tier: 'leaf' | 'spine' | 'core' | 'router' | 'node-switch';
  plane: number;
  group: number;
  rail: number | null;
  count: number;
  failed: boolean;
}

export interface EndpointGroup {
  id: string;
  leaf: string;
  plane: number;
  node_from: number;
  nodes: number;
  rail_from: number;
  rails: number;
  endpoints: number;
}

export interface FabricLink {
  id: string;
  from: string;
  to: string;
  count: number;
  failed: number;
  capacity_bytes_per_s: number;
  load_up_ratio: number;
  load_down_ratio: number;
}

export interface CollectiveTime {
  time_s: number;
  time_low_s?: number;
  time_high_s?: number;
  bus_bandwidth_bytes_per_s: number;
  limiting_link: string;
}

export interface Fabric {
  network: string;
  networks: string[];
  topology: string;
  nodes: number;
  endpoints: number;
  rails: number;
  planes: number;
  tiers: number;
  link_rate_bytes_per_s: number;
  bisection_share_ratio: number;
  diameter_links: number;
  aggregated: boolean;
  switches: FabricSwitch[];
  endpoint_groups: EndpointGroup[];
  links: FabricLink[];
  collective: {
    kind: string;
    bytes: number;
    ranks: number;
    before: CollectiveTime;
    after: CollectiveTime | null;
    cut: number;
    slowed: number;
    note: string;
  };
  bill: BillLine[];
  bill_totals: { price_low_usd: number; price_high_usd: number; power_w: number; unpriced: number };
  notes: string[];
}

export interface Rack {
  id: string;
  kind: 'fleet' | 'fabric' | 'storage';
  fleet: string;
  row: number;
  position: number;
  nodes: number;
  power_w: number;
  limit_w: number;
  density_ratio: number;
  liquid_heat_w: number;
  air_heat_w: number;
}

export interface ChainNode {
  id: string;
  label: string;
  kind: 'source' | 'stage' | 'load' | 'loss';
  power_w: number;
  efficiency_ratio?: number;
  load_ratio?: number;
  reference?: string;
}

export interface ChainLink {
  from: string;
  to: string;
  power_w: number;
}

export interface HallSite {
  name: string;
  region: string;
  cooling: string;
  power_limit_w: number | null;
  it_nameplate_w: number;
  it_mean_w: number;
  draw_peak_w: number;
  draw_mean_w: number;
  racks_total: number;
  racks_shown: number;
  racks: Rack[];
  chain: { nodes: ChainNode[]; links: ChainLink[] };
  pue: {
    value: number;
    low: number;
    high: number;
    reference: string;
    free_cooling_ratio?: number | null;
    wue_l_per_kwh?: number | null;
    parts: { name: string; power_w: number; pue_share_ratio: number }[];
  };
}

export interface StepPart {
  id: string;
  label: string;
  time_s: number;
  share_ratio: number;
}

export interface MemoryStage {
  stage: number;
  total_bytes: number;
  parts: { id: string; label: string; bytes: number }[];
}

export interface TimelineBlock {
  stage: number;
  microbatch: number;
  kind: 'forward' | 'backward';
  start_s: number;
  time_s: number;
}

export interface Timeline {
  stages: number;
  microbatches: number;
  microbatches_drawn: number;
  end_s: number;
  note: string;
  blocks: TimelineBlock[];
}

export interface Training {
  workloads: string[];
  workload: string;
  model: string;
  accelerator: string;
  gpus: number;
  layout: { text: string };
  layout_chosen: boolean;
  fits: boolean;
  figures: Figures;
  step: { time_s: number; low_s: number; high_s: number; parts: StepPart[] };
  memory: { limit_bytes: number; peak_stage: number; stages: MemoryStage[] };
  timeline: Timeline;
  search: Record<string, unknown>;
}

export interface SearchRow {
  layout: string;
  step_time_s: number;
  step_time_low_s: number;
  step_time_high_s: number;
  tokens_per_s_per_gpu: number;
  mfu: number;
  memory_gib: number;
  watts: number;
  parts_s: Record<string, number>;
  why_slower?: string;
}

export interface SearchAtSize {
  gpus: number;
  complete: boolean;
  candidates: number;
  refused: number;
  too_large: number;
  bounded: number;
  evaluated: number;
  layouts: SearchRow[];
}

export interface Job {
  id: string;
  task: string;
  title: string;
  state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  created: string;
  updated: string;
  progress_ratio: number;
  candidates: number;
  done: number;
  evaluated: number;
  remaining_s: number | null;
  best: SearchRow | null;
  result: { model: string; searches: SearchAtSize[] } | null;
  problem: Problem | null;
}

export interface CostNode {
  name: string;
  usd_per_year: number;
  assumed: boolean;
  reference: string;
  children: CostNode[];
}

export interface TornadoBar {
  name: string;
  at_low: number;
  at_high: number;
  input_low: number;
  input_high: number;
  reference: string;
}

export interface Tornado {
  value: number;
  unit: string;
  bars: TornadoBar[];
}

export interface ComparedDesign {
  name: string;
  design: string;
  digest: string;
  passes: boolean;
  summary: string;
  errors: number;
  warnings: number;
  cost_usd_per_year: number;
  goodput_ratio: number;
  unit_cost_usd_per_hour: number;
  cost: CostNode;
  tornado: Tornado;
}

export interface ComparedValue {
  value: number;
  low: number;
  high: number;
  shown: string;
}

export interface ComparedFigure {
  layer: string;
  section: string;
  key: string;
  label: string;
  unit: string;
  values: (ComparedValue | null)[];
}

export interface RuleChange {
  rule: string;
  what: string;
}

export interface Effect {
  section: string;
  cost_usd_per_year: number;
  goodput_ratio: number;
  unit_cost_usd_per_hour: number;
}

export interface Difference {
  after_index: number;
  verdict: string;
  passed_before: boolean;
  passes_after: boolean;
  effects: Effect[];
  figures: {
    layer: string;
    section: string;
    label: string;
    unit: string;
    before: number;
    after: number;
  }[];
  broken: RuleChange[];
  fixed: RuleChange[];
  lines: string[];
}

export interface Comparison {
  designs: ComparedDesign[];
  figures: ComparedFigure[];
  differences: Difference[];
}

export interface ScoreSummary {
  scored: number;
  median_ape_ratio: number;
  mean_ape_ratio: number;
  p90_ape_ratio: number;
  coverage_ratio: number;
}

export interface ScorePoint {
  id: string;
  predicted: number;
  low: number;
  high: number;
  measured: number;
  ape_ratio: number;
  covered: boolean;
  counts: boolean;
  groups: string[];
  note: string;
}

export interface ScoreSeries {
  name: string;
  unit: string;
  totals: ScoreSummary;
  groups: { name: string; summary: ScoreSummary }[];
  points: ScorePoint[];
  worst: string[];
}

export interface Accuracy {
  kind: 'accuracy' | 'pending';
  name: string;
  rows: number;
  preface: string;
  series: ScoreSeries[];
  skipped: { id: string; reason: string }[];
  retry_after_s?: number;
}
