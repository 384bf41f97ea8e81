// The lifecycle policy's view of storage: one call to look, one to act, one clock.
//
// The policy (lifecycle.h) is pure. A driver (agent/lifecycle.h) carries out its decisions on
// places through this port and knows nothing else of them. It is implemented for folders and
// buckets (agent/lifecycle_places.h) and for simulated places that fail on demand
// (rehearse/simulated_places.h).
//
// What a port promises
//  - look() lists every item it can see, sorted by id, or fails as a whole. A place that does not
//    answer is named in `away` and lists nothing. An item is complete only if its writer has said
//    so (a marker, a manifest) and nothing of it has changed since the previous look.
//  - A stamp changes whenever bytes may have changed. Two copies with one stamp at one place are
//    the same.
//  - act(verify) reads every byte of the copy in its place, and returns the stamp that held before
//    and after the reading; if the two differ it fails. `sound` is what the copy's own manifest
//    says of it, if it has one.
//  - act(copy) makes the copy complete as its last step (data first, then the completion marker),
//    so an interrupted copy shows as unfinished. It may be requested again and then starts from
//    the beginning. It replaces an unfinished or corrupt copy, never a complete one with other
//    content. A bad copy in the way (`replaces`) is set aside first, under the action's name.
//  - act(remove) first checks every copy in `needs`, and fails if one is gone or has another stamp,
//    or if the copy to remove has another stamp than the action says. With a name (`aside`) the
//    copy is set aside in one step and shows in look().aside; without one it is deleted, its
//    completion marker first.
//  - act(purge) checks `needs` in the same way, and also what was set aside: it must still have the
//    stamp that it had in its place. Only what the action names is removed.
//  - A copy that holds anything but plain files below its own folder is `odd`, with the file's
//    name; it is not read, and no action changes it.
// Faults that a port may show, all of which the policy survives
//  - look() or act() fails; act() fails although it took effect; a kill interrupts act();
//  - a copy is made with wrong bytes and reported as good;
//  - an item appears late, or its writer never finishes it; others remove or rewrite it.
// Faults that it must not show: an item under another's name; a completion marker on a copy that is
// not whole.
//
// Threads: one thread, the driver's, makes one call at a time. A copy may take hours. Errors are
// Diagnostics whose code begins with "lifecycle."; nothing is thrown.
#pragma once

#include "core/base/diagnostic.h"
#include "layers/storage/lifecycle.h"

namespace orrery::storage {

class LifecyclePort {
 public:
  virtual ~LifecyclePort() = default;
  virtual Result<LifecycleLook> look() = 0;
  virtual Result<LifecycleOutcome> act(const LifecycleAction& action) = 0;
  virtual Seconds now() const = 0;
};

}  // namespace orrery::storage
