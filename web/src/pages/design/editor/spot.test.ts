import { describe, expect, it } from 'vitest';
import { spotAt } from './spot';

// The texts below mark the caret with "|".
function spot(text: string) {
  const offset = text.indexOf('|');
  const found = spotAt(text.replace('|', ''), offset);
  return found && `${found.kind} ${found.path} <${found.typed}>`;
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
    ['goals: [ a >= 1, |', 'value goals[] <>'],
    ['goals:\n  - good|', 'key goals[] <good>'],
    ['site:\n  region: x\n|', 'key  <>'],
    ['fleet:\n  - name: a\n  - n|', 'key fleet[] <n>'],
    ['site: { region: a,\n  cooling: air|', 'value site.cooling <air>'],
    // Text after the caret has no effect.
    ['site: { region: a, co| }\nfleet:\n  - name: b', 'key site <co>'],
    ['site:\n  |\n  region: x', 'key site <>'],
    ['site:\n  re|gion: x', 'key site <re>'],
    ['orrery: 1\n\n|\n\nfleet: []', 'key  <>'],
    // No completion in a comment, in a value over several lines, or after a bracket.
    ['fabric:\n  compute: { topology: torus }|', null],
    ['# a des|', null],
    ['site:\n  region: gcp # in V|', null],
    ['site:\n  region: gcp\n     ea|', null],
  ])('%j', (text, expected) => {
    expect(spot(text)).toBe(expected);
  });

  it.each(['site: { region: a, cool', 'site:\n  region: a\n  cool'])(
    'lists the keys that are present: %j',
    (text) => {
      expect(spotAt(text, text.length)?.present).toEqual(['region']);
    },
  );
});
