// The calculators by topic, the most used first, with a title each.
import type { Calculator } from '../../lib/types';

const kGroups: [group: string, titles: [name: string, title: string][]][] = [
  [
    'Serving',
    [
      ['serve', 'Serving capacity'],
      ['kv-cache', 'KV cache size'],
      ['kv-tier', 'KV cache tier'],
    ],
  ],
  [
    'Training',
    [
      ['train-time', 'Training time'],
      ['memory', 'Training memory'],
      ['checkpoint', 'Checkpoint size and time'],
      ['collective', 'Collective time'],
    ],
  ],
  [
    'Power and cost',
    [
      ['tco', 'Cost of owning'],
      ['power', 'Power of nodes'],
    ],
  ],
  [
    'Failures',
    [
      ['goodput', 'Goodput'],
      ['spares', 'Spare nodes'],
    ],
  ],
  [
    'Storage',
    [
      ['tier-size', 'Size of a tier'],
      ['tier', 'Choice of tier'],
      ['durability', 'Durability'],
    ],
  ],
];

export interface Group {
  name: string;
  calculators: { title: string; calculator: Calculator }[];
}

// Returns the calculators of the server in groups. Those without a title here come last.
export function groupsOf(all: Calculator[]): Group[] {
  const titled = new Set(kGroups.flatMap(([, titles]) => titles.map(([name]) => name)));
  const groups = kGroups.map(([name, titles]) => ({
    name,
    calculators: titles.flatMap(([id, title]) => {
      const calculator = all.find((c) => c.name === id);
      return calculator ? [{ title, calculator }] : [];
    }),
  }));
  const others = all.filter((c) => !titled.has(c.name));
  groups.push({ name: 'Other', calculators: others.map((c) => ({ title: c.name, calculator: c })) });
  return groups.filter((g) => g.calculators.length > 0);
}
