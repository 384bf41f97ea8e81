// The power of one node, in three levels of detail.
//
//   L0  P = nameplate                                    breakers, contracts, rack limits
//   L1  P = idle + (peak - idle) * u^a                   a = 1 (linear) to 1.3
//   L2  P = idle + (peak - idle) * sum_i share_i * level_i        phases of a job
//
// peak is the highest sustained draw of a training node, 8.4 of 10.2 kW for 8 H100 (Latif et al.,
// IEEE Access 2025), scaled to other nodes by their nameplate. Levels: matrix work is 1 by
// definition; memory work was measured on an H200 (decode with batch 1: 424 of 691 W, idle 75);
// communication was fitted to MLPerf Training v4.0 LoRA on 1, 8 and 64 nodes, which gives the
// same level as memory work. docs/models/power.md shows the fits and their residuals. Wrong for:
// transients below a second (swing.h), mixed-precision parts whose matrix work stays under the
// power limit, nodes whose fans react strongly to the load.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/catalog/bill.h"
#include "core/catalog/parts.h"

namespace orrery::facility {

inline constexpr double kPeakShareOfNameplate = 8.4 / 10.2;
// For rows without an idle figure: the mean of the catalog's air-cooled 8-GPU nodes that have one.
inline constexpr double kIdleShareOfNameplate = 0.19;
// 8 x 700 W of 10.2 kW, for nodes whose accelerator has no published TDP.
inline constexpr double kAcceleratorShareOfNameplate = 0.55;

// The level of a phase between idle (0) and peak (1).
inline constexpr double kMatrixLevel = 1.0;
inline constexpr double kMemoryLevel = 0.57;
inline constexpr double kCommunicationLevel = 0.57;
// Accelerators wait while host and NICs write: assumed, between idle and the host's own dynamic
// part.
inline constexpr double kCheckpointLevel = 0.15;
inline constexpr double kIdleLevel = 0.0;

struct NodePower {
  Watts nameplate;
  Watts peak;
  Watts idle;
  Watts accelerators;         // sum of their TDPs: the part that a power cap can limit
  bool assumed_idle = false;  // no row gives one
  std::string reference;
};

// Returns nullopt if the catalog has no power figure for the node (a cloud instance).
std::optional<NodePower> node_power_of(const catalog::Node& node,
                                       const catalog::Accelerator* accelerator);

// Returns the node with its accelerators limited to `allowed` in total. That lowers the nameplate
// in full, the sustained peak only if the accelerators would draw more than `allowed` there.
NodePower capped(NodePower node, Watts allowed);

// Shares of a job's time; the rest up to 1 is idle.
struct PhaseShares {
  double matrix = 0;
  double memory = 0;
  double communication = 0;  // exposed: hidden communication runs under matrix work
  double checkpoint = 0;     // stalls
};

// Returns level L2: always five phases, in the order matrix, memory, communication, checkpoint,
// idle. Shares that add up to more than 1 are scaled down to 1.
std::vector<catalog::PowerPhase> power_phases(const NodePower& node, const PhaseShares& shares);

Watts mean_power(std::span<const catalog::PowerPhase> phases);
Watts peak_power(std::span<const catalog::PowerPhase> phases);  // phases with a share above 0
Watts lowest_power(std::span<const catalog::PowerPhase> phases);

}  // namespace orrery::facility
