// What stops a job: the causes behind a node's failure rate, and what each of them destroys.
//
//   rate of a cause = share * rate of a host,   share = weight / sum of weights
// One table serves the review, which adds up causes by group, and simulated runs, which draw single
// causes (data/calibration/failure_causes.csv). Weights are the counts of one published run (Llama
// 3, 419 unexpected interruptions in 54 days), except for hangs, which another fleet counts far
// more often. The effects are our reading of each cause's name: whether the host goes to repair or
// only the processes die, whether its drives can still be read, and how the fault is noticed: by a
// health check, by a collective's timeout, or only when the loss curve changes. Wrong for fleets of
// other makes; a failure rate of your own scales all causes equally.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/quantity.h"
#include "core/base/words.h"

namespace orrery::failure {

enum class FaultScope { process, host };
inline constexpr Word<FaultScope> kFaultScopeWords[] = {{FaultScope::process, "process"},
                                                        {FaultScope::host, "host"}};
constexpr WordTable<FaultScope> words_of(FaultScope) { return kFaultScopeWords; }

enum class FaultSight { health, timeout, silent, at_once };
inline constexpr Word<FaultSight> kFaultSightWords[] = {{FaultSight::health, "health"},
                                                        {FaultSight::timeout, "timeout"},
                                                        {FaultSight::silent, "silent"},
                                                        {FaultSight::at_once, "at-once"}};
constexpr WordTable<FaultSight> words_of(FaultSight) { return kFaultSightWords; }

// Groups of causes, as reports show them.
enum class FaultGroup { accelerator, software, host, network, hang };
inline constexpr Word<FaultGroup> kFaultGroupWords[] = {{FaultGroup::accelerator, "accelerator"},
                                                        {FaultGroup::software, "software"},
                                                        {FaultGroup::host, "host"},
                                                        {FaultGroup::network, "network"},
                                                        {FaultGroup::hang, "hang"}};
constexpr WordTable<FaultGroup> words_of(FaultGroup) { return kFaultGroupWords; }
// Returns the label of a group: "hang found only by a timeout".
std::string_view label_of(FaultGroup group);

struct FaultCause {
  std::string name;
  FaultGroup group = FaultGroup::accelerator;
  double share = 0;  // share of all faults of a host; the shares sum to 1
  FaultScope scope = FaultScope::host;
  bool keeps_disk = true;  // what the host has written can still be read
  FaultSight sight = FaultSight::health;
  Seconds notice;  // warning time before it strikes
};

Result<std::vector<FaultCause>> read_fault_causes(const CsvTable& table);

// Returns the share of all faults that belong to the group.
double share_of(const std::vector<FaultCause>& causes, FaultGroup group);

// Returns true for faults of accelerators and for hangs of their collectives; hosts without
// accelerators have only the others.
bool needs_accelerators(FaultGroup group);

// Returns the cause of a fault for a uniform draw in [0, 1).
const FaultCause& cause_at(const std::vector<FaultCause>& causes, double draw,
                           bool has_accelerators = true);

}  // namespace orrery::failure
