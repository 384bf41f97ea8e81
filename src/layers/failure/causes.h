// What stops a job: the causes behind a node's failure rate, and what each takes with it.
//
//   rate of a cause = share * rate of a host,   share = weight / sum of weights
// One table for the review, which adds the causes up by group, and for runs in time, which draw one
// (data/calibration/failure_causes.csv). Weights are the counts of one published run (Llama 3, 419
// unexpected interruptions in 54 days) but for hangs, which another fleet counts far more often.
// What a cause takes is our reading of its name: whether the host goes to repair or only the
// processes die, whether its drives can still be read, and how it shows: a health check sees it, a
// collective's time-out does, or nobody does until the loss curve bends. Wrong for fleets of other
// makes; a rate of one's own moves all causes alike.
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

// Causes as a reader thinks of them.
enum class FaultGroup { accelerator, software, host, network, hang };
inline constexpr Word<FaultGroup> kFaultGroupWords[] = {{FaultGroup::accelerator, "accelerator"},
                                                        {FaultGroup::software, "software"},
                                                        {FaultGroup::host, "host"},
                                                        {FaultGroup::network, "network"},
                                                        {FaultGroup::hang, "hang"}};
constexpr WordTable<FaultGroup> words_of(FaultGroup) { return kFaultGroupWords; }
// "hang that only a time-out finds".
std::string_view label_of(FaultGroup group);

struct FaultCause {
  std::string name;
  FaultGroup group = FaultGroup::accelerator;
  double share = 0;  // of all faults of a host; they sum to 1
  FaultScope scope = FaultScope::host;
  bool keeps_disk = true;  // what the host has written can still be read
  FaultSight sight = FaultSight::health;
  Seconds notice;  // given before it strikes
};

Result<std::vector<FaultCause>> read_fault_causes(const CsvTable& table);

// Of all faults, those of the group.
double share_of(const std::vector<FaultCause>& causes, FaultGroup group);

// Faults of accelerators, and hangs of their collectives: a host without them has the others.
bool needs_accelerators(FaultGroup group);

// The cause of a fault at a uniform draw in [0, 1).
const FaultCause& cause_at(const std::vector<FaultCause>& causes, double draw,
                           bool has_accelerators = true);

}  // namespace orrery::failure
