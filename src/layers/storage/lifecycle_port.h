// Storage as the lifecycle policy's driver meets it: one look, one action, one clock.
//
// The policy (lifecycle.h) is pure; a driver (agent/lifecycle.h) carries its decisions to places
// through this port and knows nothing else of them. Behind it stand folders and buckets
// (agent/lifecycle_places.h) and places in simulated time that fail on demand
// (rehearse/simulated_places.h).
//
// What a port promises
//  - look() lists every item it can see, sorted by id, or fails as a whole. A place that does not
//    answer is named in `away` and lists nothing. An item is complete only where its writer has
//    said so (a marker, a manifest) and nothing of it has changed since the look before.
//  - A stamp changes whenever bytes may have. Two copies with one stamp at one place are the same.
//  - act(verify) reads every byte of the copy from where it lies, and gives the stamp that held
//    before and after the reading; where they differ it fails. `sound` is what the copy's own
//    manifest says of it, if it has one.
//  - act(copy) makes the copy complete as its last step (data first, then what marks it as whole),
//    so that a copy that was cut short shows as unfinished. It may be asked for again, and then
//    begins anew. What is there unfinished or corrupt is replaced; a complete copy with another
//    content never is.
//    A bad copy that stands in the way (`replaces`) is set aside first, under the action's name.
//  - act(remove) looks for every copy in `needs` first, and fails where one is gone or has another
//    stamp; so does it where the copy to remove has another stamp than the action says. With a name
//    (`aside`) the copy is set aside as one step and shows in look().aside; without one it goes for
//    good, what marks it as whole before anything else.
//  - act(purge) looks for `needs` in the same way, and for what was set aside: it must still have
//    the stamp that it had in its place. Only what the action names is removed.
//  - A copy that holds anything but plain files below its own folder is `odd`, with the file's
//  name;
//    it is not read, and no action touches it.
// Which faults it may show, all of which the policy survives
//  - look() or act() fails; act() fails although it took effect; act() is cut short by a kill;
//  - a copy is made with other bytes than it should have, and reported as good;
//  - an item appears late, or its writer never finishes it; somebody else removes or rewrites it.
// Which it may not show: an item under another's name; a complete mark on a copy that is not whole.
//
// Who calls: one thread, the driver's, one call at a time. A copy may take hours. Errors are
// Diagnostics with a code that begins with "lifecycle."; nothing is thrown.
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
