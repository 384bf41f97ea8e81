// The machine's clock that nobody can set (storage/lifecycle_memory.h), from Linux: the time since
// it was started, sleep included, and the id that the kernel draws at every start.
#pragma once

#include "layers/storage/lifecycle_memory.h"
#include "live/agent/keep_store.h"

namespace orrery::agent {

// Without a boot id (no /proc) the id is empty.
storage::LifecycleClock machine_clock();

// This process as the owner of places. The id is drawn from the boot and the journal's lock file,
// which no other journal shares: not a copy of it, and not one on another machine.
Result<KeepOwner> owner_of(const std::string& journal);

}  // namespace orrery::agent
