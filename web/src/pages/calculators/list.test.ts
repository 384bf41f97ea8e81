import { describe, expect, it } from 'vitest';
import type { Calculator, Serving, Training, Verdict } from '../../lib/types';
import { valuesFrom } from './fromDesign';
import { groupsOf } from './list';

const calculator = (name: string, parameters: string[] = []) =>
  ({ name, summary: '', example: '', parameters: parameters.map((p) => ({ name: p })) }) as Calculator;

describe('calculators', () => {
  it('come by topic, serving first, and unknown ones last', () => {
    const groups = groupsOf(['checkpoint', 'new-one', 'serve', 'kv-cache'].map((n) => calculator(n)));
    expect(groups.map((g) => g.name)).toEqual(['Serving', 'Training', 'Other']);
    expect(groups[0].calculators.map((c) => c.calculator.name)).toEqual(['serve', 'kv-cache']);
  });

  it('take values from the design for the parameters that they have', () => {
    const figures = { pue_factor: { value: 1.2149 } };
    const verdict = {
      sections: [{ layer: 'facility', name: '', figures }],
      bill: [{ reference: 'nodes/dgx-h100', count: 127 }],
    } as unknown as Verdict;
    const training = { model: 'llama-3-70b', gpus: 960, layout: { tp: 4 } } as unknown as Training;
    const serving = {
      model: 'llama-3-8b',
      accelerator: 'h100-sxm',
      replicas: 4,
      devices_per_replica: 2,
      peak_rate: 2.5,
      objectives: { ttft_s: 1, tpot_s: null, whole_s: null },
    } as unknown as Serving;
    const answers = { verdict, training, serving, storage: null };
    expect(valuesFrom(answers, calculator('memory', ['model', 'gpus', 'tp']))).toEqual({
      model: 'llama-3-70b',
      gpus: '960',
      tp: '4',
    });
    expect(valuesFrom(answers, calculator('tco', ['node', 'count', 'pue']))).toEqual({
      node: 'dgx-h100',
      count: '127',
      pue: '1.215',
    });
    expect(valuesFrom(answers, calculator('serve', ['model', 'rate', 'ttft', 'tpot']))).toEqual({
      model: 'llama-3-8b',
      rate: '10',
      ttft: '1 s',
    });
  });
});
