// The recovery agent on a simulated Slurm, for tests: it ticks twice per second, its actions are
// recorded, and its journal outlives it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "live/agent/journal_lines.h"
#include "live/agent/recover.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::testing_recovery {

using rehearse::SimulatedOptions;
using rehearse::SimulatedSlurm;

inline const Seconds kInterval = seconds(0.5);

inline std::string words_of(const failure::RecoveryAction& action) {
  return fmt::format("{} {}{}", to_text(action.kind), action.job, fmt::join(action.nodes, ","));
}

// The simulated Slurm, which also records the actions.
class NotedPort final : public failure::RecoveryPort {
 public:
  explicit NotedPort(SimulatedSlurm& slurm) : slurm_(slurm) {}
  Result<failure::ClusterLook> look() override { return slurm_.look(); }
  Result<void> act(const failure::RecoveryAction& action) override {
    actions.push_back(words_of(action));
    return slurm_.act(action);
  }
  Seconds now() const override { return slurm_.now(); }

  std::vector<std::string> actions;

 private:
  SimulatedSlurm& slurm_;
};

// An agent with a journal in memory. restart() acts like SIGKILL: the memory is lost, the appended
// lines stay.
class Bench {
 public:
  explicit Bench(const SimulatedOptions& options = {}, const failure::RecoveryPolicy& policy = {})
      : slurm(kernel, options), policy_(policy) {
    restart();
  }

  void restart() {
    std::string text;
    for (const std::string& line : journal) text += line + "\n";
    auto memory = agent::recall(text, "journal", policy_);
    ASSERT_TRUE(memory) << to_text(memory.error());
    agent = std::make_unique<agent::RecoverAgent>(
        port,
        [this](const std::vector<std::string>& lines) -> Result<void> {
          journal.insert(journal.end(), lines.begin(), lines.end());
          return {};
        },
        policy_, *memory);
  }

  void advance(Seconds span) { kernel.run(kernel.now().after(span)); }

  // Ticks for `span` and returns the alerts.
  std::vector<std::string> run(Seconds span) {
    std::vector<std::string> alerts;
    for (const Seconds end = slurm.now() + span; slurm.now() < end;) {
      const auto report = agent->tick();
      EXPECT_EQ(report.has_value(), slurm.look().has_value());
      if (report) {
        for (const agent::ActionOutcome& o : report->outcomes) {
          if (o.action.kind == failure::ActionKind::alert) alerts.push_back(o.action.why);
        }
      }
      advance(kInterval);
    }
    return alerts;
  }

  sim::Kernel kernel;
  SimulatedSlurm slurm;
  std::vector<std::string> journal;
  NotedPort port{slurm};
  std::vector<std::string>& actions = port.actions;
  std::unique_ptr<agent::RecoverAgent> agent;

 private:
  failure::RecoveryPolicy policy_;
};

}  // namespace orrery::testing_recovery
