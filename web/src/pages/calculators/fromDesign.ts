// Values that a calculator can take from the current design: what the server's answers about the
// design say about the parameters of that name.
import { digits } from '../../lib/format';
import type { Calculator, Serving, Storage, Training, Verdict } from '../../lib/types';

export interface DesignAnswers {
  verdict: Verdict;
  training: Training | null; // null if the design has no training workload
  serving: Serving | null;
  storage: Storage | null;
}

type Values = Record<string, string | number | null | undefined>;

const number = (value: number | undefined) => value && digits(value, 4).replaceAll(',', '');
const seconds = (value: number | null | undefined) => value && `${number(value)} s`;

// Returns the first figure of a layer with this key.
function figure({ sections }: Verdict, layer: string, key: string): number | undefined {
  return sections.find((s) => s.layer === layer && s.figures[key])?.figures[key].value;
}

// Returns the nodes of the design from its bill of materials.
function nodes({ bill }: Verdict): { node?: string; count?: number } {
  const line = bill.find((l) => l.reference.startsWith('nodes/'));
  return line ? { node: line.reference.slice('nodes/'.length), count: line.count } : {};
}

const kTake: Record<string, (answers: DesignAnswers) => Values> = {
  serve: ({ serving: s }) =>
    s
      ? {
          model: s.model,
          accelerator: s.accelerator,
          gpus: s.replicas * s.devices_per_replica,
          rate: number(s.peak_rate * s.replicas),
          ttft: seconds(s.objectives.ttft_s),
          tpot: seconds(s.objectives.tpot_s),
        }
      : {},
  'kv-cache': ({ serving, training }) => ({ model: serving?.model ?? training?.model }),
  'kv-tier': ({ serving: s }) => ({ model: s?.model, accelerator: s?.accelerator }),
  'train-time': ({ training: t, verdict }) => ({
    model: t?.model,
    accelerator: t?.accelerator,
    gpus: t?.gpus,
    mfu: number(t?.figures.mfu_ratio?.value),
    goodput: number(figure(verdict, 'failure', 'goodput_ratio')),
  }),
  memory: ({ training: t }) =>
    t
      ? {
          model: t.model,
          accelerator: t.accelerator,
          gpus: t.gpus,
          tp: t.layout.tp,
          pp: t.layout.pp,
          mbs: t.layout.microbatch,
          sequence: t.search?.sequence,
          sharding: t.layout.sharding,
          recompute: t.layout.recompute,
        }
      : {},
  checkpoint: ({ training, storage }) => ({
    model: training?.model,
    every: seconds(storage?.run?.clocks.interval_s),
  }),
  collective: ({ training, verdict }) => ({ ranks: training?.gpus, node: nodes(verdict).node }),
  goodput: ({ storage, verdict }) => ({
    mtbf: seconds(figure(verdict, 'failure', 'mtbf_s')),
    stall: seconds(storage?.run?.clocks.stall_end_s),
    every: seconds(storage?.run?.clocks.interval_s),
  }),
  spares: ({ verdict }) => ({ nodes: nodes(verdict).count }),
  power: ({ verdict }) => ({ ...nodes(verdict), pue: number(figure(verdict, 'facility', 'pue_factor')) }),
  tco: ({ verdict }) => ({ ...nodes(verdict), pue: number(figure(verdict, 'facility', 'pue_factor')) }),
  'tier-size': ({ training }) => ({ model: training?.model }),
};

export function takesValues(name: string): boolean {
  return name in kTake;
}

// Returns values for parameters of the calculator; parameters that the design does not determine are
// left out.
export function valuesFrom(answers: DesignAnswers, calculator: Calculator): Record<string, string> {
  const names = new Set(calculator.parameters.map((p) => p.name));
  return Object.fromEntries(
    Object.entries(kTake[calculator.name]?.(answers) ?? {})
      .filter(([name, value]) => names.has(name) && value !== undefined && value !== null && value !== '')
      .map(([name, value]) => [name, String(value)]),
  );
}
