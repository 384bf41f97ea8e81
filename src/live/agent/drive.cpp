#include "live/agent/drive.h"

namespace orrery::agent {
namespace {

bool is_of_journal(const Diagnostics& faults) {
  return !faults.empty() && faults.front().code.starts_with("journal.");
}

Result<void> cut_journal(const AgentDrive& agent) {
  if (!agent.journal || agent.journal->size() <= agent.journal_bytes_max) return {};
  if (auto cut = agent.journal->rewrite(agent.memory_lines()); !cut) return cut;
  if (agent.journal_was_cut) agent.journal_was_cut();
  return {};
}

}  // namespace

Result<AgentEnd> drive(const AgentDrive& agent) {
  std::string told;
  while (!agent.stopped()) {
    auto outcome = agent.round();
    if (outcome) {
      told.clear();
    } else {
      if (agent.ends_on_fault || is_of_journal(outcome.error())) {
        return std::unexpected(outcome.error());
      }
      const std::string fault = to_text(outcome.error());
      if (fault != told) agent.tell(fault);
      told = fault;
      outcome = RoundOutcome{.end = {}, .wait = max(agent.interval, seconds(1))};
    }
    if (auto cut = cut_journal(agent); !cut) return std::unexpected(cut.error());
    if (outcome->end) return *outcome->end;
    agent.rest(outcome->wait);
  }
  return AgentEnd::stopped;
}

}  // namespace orrery::agent
