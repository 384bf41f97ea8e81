// Drives the lifecycle policy (storage/lifecycle.h) on places, real or simulated.
//
// A tick is: look, decide, journal the findings (on disk before anything is done), apply them to
// the memory, carry out the actions, journal what each brought. What the places are, and which of
// their faults a tick survives, is the port's (storage/lifecycle_port.h).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "storage/lifecycle_port.h"

namespace orrery::agent {

struct LifecycleDone {
  storage::LifecycleAction action;
  bool good = true;
  std::string said;  // why it failed
};

struct LifecycleTick {
  Seconds at;
  std::vector<LifecycleDone> done;
  std::size_t items = 0;
  std::vector<std::string> away;
};

class LifecycleAgent {
 public:
  // Writes the events as one piece and returns when they are safe.
  using Append = std::function<Result<void>(const std::vector<storage::LifecycleEvent>&)>;

  // The port outlives the agent; `memory` is what the journal gave.
  LifecycleAgent(storage::LifecyclePort& port, Append append, storage::LifecyclePolicy policy,
                 storage::LifecycleMemory memory)
      : port_(port),
        append_(std::move(append)),
        policy_(std::move(policy)),
        memory_(std::move(memory)) {}

  // An error where the places could not be seen or the journal not written: nothing more is done.
  // `stop` ends it between two actions.
  Result<LifecycleTick> tick(const std::function<bool()>& stop = {});

  const storage::LifecycleMemory& memory() const { return memory_; }

 private:
  Result<void> remember(const std::vector<storage::LifecycleEvent>& events);

  storage::LifecyclePort& port_;
  Append append_;
  storage::LifecyclePolicy policy_;
  storage::LifecycleMemory memory_;
};

}  // namespace orrery::agent
