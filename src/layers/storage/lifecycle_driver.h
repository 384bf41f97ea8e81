// Drives the lifecycle policy (lifecycle.h) through its port (lifecycle_port.h): the loop shared by
// all drivers, on folders and buckets (agent/), on a store's tiers (store/) and on simulated places
// (twin/).
//
// A tick looks, decides, journals the findings (safely, before anything is done), applies them to
// the memory, carries out the actions, and journals each result. The port defines what the places
// are and which of their faults a tick survives.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/diagnostic.h"
#include "layers/storage/lifecycle_port.h"

namespace orrery::storage {

struct LifecycleDone {
  LifecycleAction action;
  bool good = true;
  std::string said;  // why it failed
};

struct LifecycleTick {
  Seconds at;
  std::vector<LifecycleDone> done;
  std::size_t items = 0;
  std::vector<std::string> away;
  std::vector<std::string> away_why;
  std::vector<LifecycleWait> waits;
  std::vector<LifecycleAction> standing;  // alerts that hold now
  std::size_t aside = 0;
};

class LifecycleDriver {
 public:
  // Writes the events together and returns once they are safely stored.
  using Append = std::function<Result<void>(const std::vector<LifecycleEvent>&)>;

  // The port must outlive the driver; `memory` is restored from the journal.
  LifecycleDriver(LifecyclePort& port, Append append, LifecyclePolicy policy,
                  LifecycleMemory memory)
      : port_(port),
        append_(std::move(append)),
        policy_(std::move(policy)),
        memory_(std::move(memory)) {}

  // Returns an error if the places could not be seen or the journal not written; then nothing more
  // is done. `stop` can end the tick between two actions.
  Result<LifecycleTick> tick(const std::function<bool()>& stop = {});

  const LifecycleMemory& memory() const { return memory_; }

 private:
  Result<void> remember(const std::vector<LifecycleEvent>& events);

  LifecyclePort& port_;
  Append append_;
  LifecyclePolicy policy_;
  LifecycleMemory memory_;
};

}  // namespace orrery::storage
