import { describe, expect, it } from 'vitest';
import { spot_at } from './yaml_path';

// The caret is written as "|".
function spot(text: string) {
  const offset = text.indexOf('|');
  const { kind, path, typed } = spot_at(text.replace('|', ''), offset);
  return `${kind} ${path} <${typed}>`;
}

describe('spot_at', () => {
  it.each([
    ['fl|', 'key  <fl>'],
    ['site:\n  |', 'key site <>'],
    ['site:\n  region: gcp|', 'value site.region <gcp>'],
    ['fleet:\n  - |', 'key fleet[] <>'],
    ['fleet:\n  - name: train\n    node: dg|', 'value fleet[].node <dg>'],
    ['fleet:\n  - name: train\n    no|', 'key fleet[] <no>'],
    ['fleet:\n- name: train\n  node: |', 'value fleet[].node <>'],
    ['fleet:\n  - { name: a, node: dgx|', 'value fleet[].node <dgx>'],
    ['fleet:\n  - { name: a, no|', 'key fleet[] <no>'],
    ['fabric:\n  compute: { topology: |', 'value fabric.compute.topology <>'],
    ['fabric:\n  compute:\n    switch: qm|', 'value fabric.compute.switch <qm>'],
    ['workloads:\n  - train:\n      mod|', 'key workloads[].train <mod>'],
    ['workloads:\n  - train:\n      name: a\n      model: lla|', 'value workloads[].train.model <lla>'],
    [
      'workloads:\n  - train:\n      checkpoint: { every: auto, to: [node-nvme, h|',
      'value workloads[].train.checkpoint.to[] <h>',
    ],
    ['workloads:\n  - train: { model: a }\n  - serve: { mo|', 'key workloads[].serve <mo>'],
    ['site:\n  region: x # a comment\n  cool|', 'key site <cool>'],
    ['storage:\n  - tier: hot\n    metadata: { servers: 4 }\n    ki|', 'key storage[] <ki>'],
    ['goals: [ good|', 'value goals[] <good>'],
  ])('%j', (text, expected) => {
    expect(spot(text)).toBe(expected);
  });

  it('knows the keys that a flow map already has', () => {
    const text = 'site: { region: a, cool';
    expect(spot_at(text, text.length).present).toEqual(['region']);
  });
});
