// A plain roofline machine and a few models, for the tests of this room.
#pragma once

#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layout.h"

namespace orrery::training::testing_support {

struct Roofline {
  double flops = 300e12;
  double bandwidth = 2e12;
  double link = 250e9;
  double nic = 25e9;
  double launch = 3e-6;

  static OpCost kernel(const void* context, const workload::Operation& op) {
    const auto& m = *static_cast<const Roofline*>(context);
    const double compute = flops_of(op).base() / m.flops;
    const double memory = bytes_of(op).base() / m.bandwidth;
    return {.seconds = m.launch + (compute > memory ? compute : memory), .clocked = compute};
  }
  static double collective(const void* context, const workload::CollectiveCall& call) {
    const auto& m = *static_cast<const Roofline*>(context);
    const double rate = call.group.per_domain >= call.group.ranks ? m.link : m.nic;
    const double n = call.group.ranks;
    return 1e-5 + call.bytes.base() * (n - 1) / n / rate;
  }
  CostSource source() const {
    return {.context = this, .kernel = &Roofline::kernel, .collective = &Roofline::collective};
  }
};

inline catalog::ModelShape gpt(int layers, double hidden, int heads) {
  catalog::ModelShape m;
  m.id = "gpt";
  m.layers = layers;
  m.hidden = hidden;
  m.heads = heads;
  m.kv_heads = heads;
  m.head_dim = hidden / heads;
  m.ffn = 4 * hidden;
  m.gated_mlp = false;
  m.vocab = 51200;
  m.tied_embeddings = true;
  return m;
}

inline catalog::ModelShape mixtral() {
  catalog::ModelShape m = gpt(32, 4096, 32);
  m.kv_heads = 8;
  m.ffn = 14336;
  m.gated_mlp = true;
  m.vocab = 32000;
  m.tied_embeddings = false;
  m.experts = 8;
  m.top_k = 2;
  m.expert_ffn = 14336;
  return m;
}

inline TrainingJob job_of_gpt3(int gpus = 64, int batch = 64) {
  return {.model = gpt(96, 12288, 96), .sequence = 2048, .batch = batch, .gpus = gpus};
}

}  // namespace orrery::training::testing_support
