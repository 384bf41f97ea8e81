#include "layers/facility/node_power.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/base/statistics.h"

namespace orrery::facility {

std::optional<NodePower> node_power_of(const catalog::Node& node,
                                       const catalog::Accelerator* accelerator) {
  if (!node.max_power) return std::nullopt;
  NodePower power;
  power.nameplate = *node.max_power;
  // A rack whose typical training draw is closer to its rating than that of 8 H100s (GB200: 115 of
  // 132 kW) must not get a peak below its typical draw.
  power.peak = power.nameplate * kPeakShareOfNameplate;
  if (node.typical_train_power) power.peak = max(power.peak, *node.typical_train_power);
  power.assumed_idle = !node.idle_power;
  power.idle = node.idle_power.value_or(power.nameplate * kIdleShareOfNameplate);
  const bool has_tdp = accelerator != nullptr && accelerator->tdp.has_value();
  power.accelerators = has_tdp ? *accelerator->tdp * node.accelerators
                               : power.nameplate * kAcceleratorShareOfNameplate;
  power.accelerators = min(power.accelerators, power.nameplate);
  power.reference = node.provenance.reference;
  return power;
}

NodePower capped(NodePower node, Watts allowed) {
  const Watts sustained = node.accelerators * (node.peak / node.nameplate);
  if (sustained > allowed) node.peak -= sustained - allowed;
  if (node.accelerators > allowed) node.nameplate -= node.accelerators - allowed;
  // A cap cannot take a node below its idle draw.
  node.nameplate = max(node.nameplate, node.idle);
  node.peak = min(max(node.peak, node.idle), node.nameplate);
  return node;
}

std::vector<catalog::PowerPhase> power_phases(const NodePower& node, const PhaseShares& shares) {
  const double busy = shares.matrix + shares.memory + shares.communication + shares.checkpoint;
  const double scale = busy > 1 ? 1 / busy : 1;
  const auto phase = [&](const char* name, double share, double level) {
    return catalog::PowerPhase{name, share * scale, node.idle + (node.peak - node.idle) * level};
  };
  return {phase("matrix work", shares.matrix, kMatrixLevel),
          phase("memory work", shares.memory, kMemoryLevel),
          phase("exposed communication", shares.communication, kCommunicationLevel),
          phase("checkpoint", shares.checkpoint, kCheckpointLevel),
          catalog::PowerPhase{"idle", std::max(0.0, 1 - busy), node.idle}};
}

Watts mean_power(std::span<const catalog::PowerPhase> phases) {
  WeightedMean<Watts> mean;
  for (const catalog::PowerPhase& p : phases) mean.add(p.node_power, p.share);
  return mean.value_or(Watts());
}

Watts peak_power(std::span<const catalog::PowerPhase> phases) {
  Watts highest;
  for (const catalog::PowerPhase& p : phases) {
    if (p.share > 0) highest = max(highest, p.node_power);
  }
  return highest;
}

Watts lowest_power(std::span<const catalog::PowerPhase> phases) {
  std::optional<Watts> lowest;
  for (const catalog::PowerPhase& p : phases) {
    if (p.share > 0) lowest = lowest ? min(*lowest, p.node_power) : p.node_power;
  }
  return lowest.value_or(Watts());
}

}  // namespace orrery::facility
