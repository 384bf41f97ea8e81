// The machine's clock that cannot be set (storage/lifecycle_memory.h), from Linux: the time since
// boot, including sleep, and the boot id.
#pragma once

#include "layers/storage/lifecycle_memory.h"
#include "live/agent/keep_store.h"

namespace orrery::agent {

// The id is empty if the system provides no boot id (no /proc).
storage::LifecycleClock machine_clock();

// Returns this process as the owner of places. The id combines the boot id and the journal's lock
// file, so no other journal has it, not even a copy or one on another machine.
Result<KeepOwner> owner_of(const std::string& journal);

}  // namespace orrery::agent
