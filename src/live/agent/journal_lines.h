// The recovery agent's journal: one JSON object per line, `kind` first.
//
//   {"kind":"journal",...}  the first line: which journal and which version
//   {"kind":"seen",...}     what changed since the last such line; the first has the whole fleet
//   {"kind":"job_lost",...} an event, named as in failure/recovery_memory.h
//   {"kind":"act",...}      an action that is about to be carried out
//   {"kind":"memory",...}   everything remembered: the second line of a shortened journal
// recall() folds the events into a memory, which is all that a restarted agent needs. replay()
// returns every look with the decision that followed, so that another policy can be tried on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "layers/failure/recovery.h"
#include "live/agent/journal.h"

namespace orrery::agent {

// The form that Journal::open() checks. Journals of 0.1.0 have no header: they begin with an
// observation or a memory.
JournalForm recovery_journal(const std::string& file, const failure::RecoveryPolicy& policy);

std::string line_of(const failure::RecoveryEvent& event);
std::string line_of(const failure::RecoveryAction& action);
std::string line_of(const failure::RecoveryMemory& memory);
std::string line_of_change(const failure::ClusterLook& before, const failure::ClusterLook& now);

// `file` is used in messages. Fails at the first invalid line, with its number.
Result<failure::RecoveryMemory> recall(std::string_view text, const std::string& file,
                                       const failure::RecoveryPolicy& policy);

struct JournalTick {
  failure::ClusterLook view;
  failure::Decision decision;
  std::vector<failure::RecoveryEvent> tried;  // outcomes of the actions
};
Result<std::vector<JournalTick>> replay(std::string_view text, const std::string& file);

}  // namespace orrery::agent
