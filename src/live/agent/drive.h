// Runs an agent round after round until it ends or is asked to stop.
//
// A failed round is reported once and tried again, because the system that the agent works on may
// be unavailable for a while. If the journal cannot be written, the agent ends, because it does
// nothing that is not on disk first. A journal that has grown large is reduced to what the agent
// remembers. The caller provides the waiting and the stop condition, so that tests need no clock.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/units.h"
#include "live/agent/journal.h"

namespace orrery::agent {

inline constexpr std::size_t kJournalBytesMax = std::size_t{16} << 20;

enum class AgentEnd { good, needs_a_person, stopped };

// The result of a round: the agent's end, or how long to wait for the next round.
struct RoundOutcome {
  std::optional<AgentEnd> end;
  Seconds wait;
};

struct AgentDrive {
  std::function<Result<RoundOutcome>()> round;
  Seconds interval;            // wait after a failed round; at least a second
  bool ends_on_fault = false;  // --once
  Journal* journal = nullptr;  // null: the agent has no journal
  std::size_t journal_bytes_max = kJournalBytesMax;
  std::function<std::vector<std::string>()> memory_lines;  // lines to which the journal is reduced
  std::function<void()> journal_was_cut;                   // may be empty
  std::function<void(const std::string&)> tell;            // reports why a round failed
  std::function<bool()> stopped;
  std::function<void(Seconds)> rest;
};

// Returns how the agent ended. Fails if the journal failed or, with ends_on_fault, if a round
// failed.
Result<AgentEnd> drive(const AgentDrive& agent);

}  // namespace orrery::agent
