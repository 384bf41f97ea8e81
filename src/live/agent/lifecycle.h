// The lifecycle policy's driver (storage/lifecycle_driver.h) as the agent runs it: on folders and
// buckets (lifecycle_places.h), with a journal on disk.
#pragma once

#include "layers/storage/lifecycle_driver.h"

namespace orrery::agent {

using LifecycleAgent = storage::LifecycleDriver;
using storage::LifecycleDone;
using storage::LifecycleTick;

}  // namespace orrery::agent
