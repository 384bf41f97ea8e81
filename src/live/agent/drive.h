// Runs an agent round after round until it ends or is told to stop.
//
// A round that fails is told once and tried again: the system that the agent works on may be away
// for a while. A journal that cannot be written ends the agent, which does nothing that is not on
// disk first. A journal that has grown large is cut to what the agent remembers.
// Waiting and the wish to stop are the caller's, so that tests need no clock.
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

// What a round leads to: the agent's end, or the next round after a while.
struct RoundOutcome {
  std::optional<AgentEnd> end;
  Seconds wait;
};

struct AgentDrive {
  std::function<Result<RoundOutcome>()> round;
  Seconds interval;            // between rounds after one that failed; a second at least
  bool ends_on_fault = false;  // --once
  Journal* journal = nullptr;  // null: nothing is journalled
  std::size_t journal_bytes_max = kJournalBytesMax;
  std::function<std::vector<std::string>()> memory_lines;  // what the journal is cut to
  std::function<void()> journal_was_cut;                   // may be empty
  std::function<void(const std::string&)> tell;            // why a round failed
  std::function<bool()> stopped;
  std::function<void(Seconds)> rest;
};

// Returns how the agent ended; an error if the journal or, with ends_on_fault, a round failed.
Result<AgentEnd> drive(const AgentDrive& agent);

}  // namespace orrery::agent
