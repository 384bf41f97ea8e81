// The lifecycle agent's journal: one JSON object per line, `kind` first.
//
//   {"kind":"lifecycle","version":1}  the first line; a file without it is refused
//   {"kind":"verified",...}           an event, named as in storage/lifecycle_memory.h
// recall() folds the events into a memory, which is all that a restarted agent needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "layers/storage/lifecycle_memory.h"
#include "live/agent/journal.h"
#include "live/agent/lifecycle.h"

namespace orrery::agent {

std::string lifecycle_header();
std::string line_of(const storage::LifecycleEvent& event);
std::string line_of(const LifecycleDone& done);  // for programs that read the agent's output
// Text for people: "copy iter_1  hot ->  cold  3 GB  (cold should hold it)".
std::string text_of(const LifecycleDone& done, bool is_dry_run);
// Returns the events that produce this memory: the lines of a shortened journal.
std::vector<std::string> lines_of(const storage::LifecycleMemory& memory);

// The form of the file (journal.h); `file` is used in messages.
JournalForm lifecycle_journal(const std::string& file);
// `file` is used in messages. An empty text gives an empty memory.
Result<storage::LifecycleMemory> recall_lifecycle(std::string_view text, const std::string& file);

}  // namespace orrery::agent
