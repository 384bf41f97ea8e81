// The recovery agent's journal: one JSON object a line, `kind` first.
//
//   {"kind":"journal",...}  the first line, which says what the file is
//   {"kind":"seen",...}     what changed since the last such line; the first is the whole fleet
//   {"kind":"job_lost",...} an event, named as in failure/recovery_memory.h
//   {"kind":"act",...}      an action that is about to be carried out
//   {"kind":"memory",...}   everything remembered: the second line of a shortened journal
// recall() folds the events into a memory, which is all that a restarted agent needs. replay()
// gives back every look with the decision that followed, so that the policy can be asked again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "layers/failure/recovery.h"
#include "live/agent/journal.h"

namespace orrery::agent {

// What Journal::open asks of a file before it touches it. Journals of 0.1.0 have no first line of
// their own: they begin with a look or a memory.
JournalForm recovery_journal(const std::string& file, const failure::RecoveryPolicy& policy);

std::string line_of(const failure::RecoveryEvent& event);
std::string line_of(const failure::RecoveryAction& action);
std::string line_of(const failure::RecoveryMemory& memory);
std::string line_of_change(const failure::ClusterLook& before, const failure::ClusterLook& now);

// `file` is named in messages. A line that is no journal line is an error with its number.
Result<failure::RecoveryMemory> recall(std::string_view text, const std::string& file,
                                       const failure::RecoveryPolicy& policy);

struct JournalTick {
  failure::ClusterLook view;
  failure::Decision decision;
  std::vector<failure::RecoveryEvent> tried;  // how its actions went
};
Result<std::vector<JournalTick>> replay(std::string_view text, const std::string& file);

}  // namespace orrery::agent
