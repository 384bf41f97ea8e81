// The words of a place that the lifecycle policy keeps data at (storage/lifecycle.h), as options
// have them: written, volatile, all, newest=3, window=7d, spacing=1d, milestones, every=1000,
// pace=200MB/s, hours=22-6.
#pragma once

#include <string_view>

#include "layers/storage/lifecycle.h"

namespace orrery::cli {

// One word; false where it cannot be read.
bool read_keep_word(std::string_view word, storage::KeepPlace& place);

}  // namespace orrery::cli
