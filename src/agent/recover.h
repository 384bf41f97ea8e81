// Drives the recovery policy (failure/recovery.h) against a cluster, real or simulated.
//
// A tick is: look, decide, journal the findings and the intended actions (on disk before anything
// is done), apply the findings to the memory, carry out the actions, journal how each went. What
// the cluster is, and which of its faults a tick survives, is the port's (failure/recovery_port.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "failure/recovery_port.h"

namespace orrery {

// Appends the lines as one piece and returns when they are safe.
using AppendLines = std::function<Result<void>(const std::vector<std::string>&)>;

struct ActionOutcome {
  RecoveryAction action;
  bool good = true;
  std::string said;  // why it failed
};

struct TickReport {
  Seconds at;
  std::vector<RecoveryEvent> events;
  std::vector<ActionOutcome> outcomes;
  int jobs_waiting = 0;  // lost and not running again yet
};

class RecoverAgent {
 public:
  // The port outlives the agent; `memory` is what the journal gave (agent/journal_lines.h, recall).
  RecoverAgent(RecoveryPort& port, AppendLines append, const RecoveryPolicy& policy,
               RecoveryMemory memory)
      : port_(port), append_(std::move(append)), policy_(policy), memory_(std::move(memory)) {}

  // An error where the cluster could not be seen or the journal not written; then nothing was done.
  Result<TickReport> tick();

  const RecoveryMemory& memory() const { return memory_; }
  // The journal was cut to the memory: its next look must be whole.
  void journal_was_cut() { journalled_ = {}; }

 private:
  Result<void> remember(const std::vector<RecoveryEvent>& events);

  RecoveryPort& port_;
  AppendLines append_;
  RecoveryPolicy policy_;
  RecoveryMemory memory_;
  ClusterLook journalled_;  // the view that the journal's last "seen" line ends in
};

}  // namespace orrery
