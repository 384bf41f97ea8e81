// Words that describe a place of the lifecycle policy (storage/lifecycle.h) on the command line:
// written, volatile, all, newest=3, window=7d, spacing=1d, milestones, every=1000, pace=200MB/s,
// hours=22-6.
#pragma once

#include <string_view>

#include "layers/storage/lifecycle.h"

namespace orrery::cli {

// Applies one word to `place`. Returns false if the word cannot be read.
bool read_keep_word(std::string_view word, storage::KeepPlace& place);

}  // namespace orrery::cli
