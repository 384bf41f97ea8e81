// The recovery agent's journal: one JSON object a line, `kind` first.
//
//   {"kind":"seen",...}     what changed since the last such line; the first is the whole fleet
//   {"kind":"job_lost",...} an event, named as in failure/recovery_memory.h
//   {"kind":"act",...}      an action that is about to be carried out
//   {"kind":"memory",...}   everything remembered: the first line of a shortened journal
// recall() folds the events into a memory, which is all that a restarted agent needs. replay()
// gives back every look with the decision that followed, so that the policy can be asked again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "failure/recovery.h"

namespace orrery {

std::string line_of(const RecoveryEvent& event);
std::string line_of(const RecoveryAction& action);
std::string line_of(const RecoveryMemory& memory);
std::string line_of_change(const ClusterLook& before, const ClusterLook& now);

// `file` is named in messages. A line that is no journal line is an error with its number.
Result<RecoveryMemory> recall(std::string_view text, const std::string& file,
                              const RecoveryPolicy& policy);

struct JournalTick {
  ClusterLook view;
  Decision decision;
  std::vector<RecoveryEvent> tried;  // how its actions went
};
Result<std::vector<JournalTick>> replay(std::string_view text, const std::string& file);

}  // namespace orrery
