// Drives the recovery policy (failure/recovery.h) against a cluster, real or simulated.
//
// Each tick reads the state of the cluster, decides, journals the findings and the intended actions
// (on disk before anything is done), applies the findings to the memory, carries out the actions
// and journals the outcome of each. failure/recovery_port.h says what a cluster is and which of its
// faults a tick survives.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "layers/failure/recovery_port.h"

namespace orrery::agent {

// Appends the lines as one piece and returns when they are on disk.
using AppendLines = std::function<Result<void>(const std::vector<std::string>&)>;

struct ActionOutcome {
  failure::RecoveryAction action;
  bool good = true;
  std::string said;  // why it failed
};

struct TickReport {
  Seconds at;
  std::vector<failure::RecoveryEvent> events;
  std::vector<ActionOutcome> outcomes;
  int jobs_waiting = 0;  // lost jobs that are not running again yet
};

// Returns how long to wait until the next look. While a lost job waits for its restart, looks are
// more frequent, because the right moment is short.
Seconds next_look(const TickReport& report, Seconds interval);

// A port that reads but does nothing, for dry runs.
class DryPort final : public failure::RecoveryPort {
 public:
  // `cluster` must outlive it.
  explicit DryPort(failure::RecoveryPort& cluster) : cluster_(cluster) {}
  Result<failure::ClusterLook> look() override { return cluster_.look(); }
  Result<void> act(const failure::RecoveryAction&) override { return {}; }
  Seconds now() const override { return cluster_.now(); }

 private:
  failure::RecoveryPort& cluster_;
};

class RecoverAgent {
 public:
  // The port must outlive the agent. `memory` comes from the journal (agent/journal_lines.h,
  // recall).
  RecoverAgent(failure::RecoveryPort& port, AppendLines append,
               const failure::RecoveryPolicy& policy, failure::RecoveryMemory memory)
      : port_(port), append_(std::move(append)), policy_(policy), memory_(std::move(memory)) {}

  // Fails without doing anything if the cluster cannot be read or the journal cannot be written.
  Result<TickReport> tick();

  const failure::RecoveryMemory& memory() const { return memory_; }
  // Call this after the journal was reduced to the memory: the next look is then journalled as a
  // whole.
  void journal_was_cut() { journalled_ = {}; }

 private:
  Result<void> remember(const std::vector<failure::RecoveryEvent>& events);

  failure::RecoveryPort& port_;
  AppendLines append_;
  failure::RecoveryPolicy policy_;
  failure::RecoveryMemory memory_;
  failure::ClusterLook journalled_;  // the look that results from the journal's "seen" lines
};

}  // namespace orrery::agent
