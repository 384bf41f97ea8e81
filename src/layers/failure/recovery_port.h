// The cluster as the recovery policy's driver meets it: one look, one action, one clock.
//
// The policy (recovery.h) is pure; a driver (agent/recover.h) carries its decisions to a cluster
// through this port and knows nothing else of it. Two stand behind it: agent/slurm_port.h, a real
// Slurm, and rehearse/simulated_slurm.h, one in simulated time that fails on demand.
//
// What a port promises
//  - look() is a picture of one moment, or an error; never half a picture. Jobs are sorted by id,
//    nodes by name; `now` is of the same clock as now(). Where the picture is drawn in two strokes,
//    jobs come before nodes: a node that fails between the two is seen failed with its job still on
//    it, never a job gone from a node that looks well.
//  - act() carries out one action, or refuses it. It returns when the cluster has taken the order,
//    not when the order has had its effect: that shows in a later look. An order given twice does
//    no harm that one does not: a drained node is drained, a pending job is released again.
//  - fence_node starts the fence and returns; fences run beside one another and beside everything
//    else. Each look says of each node how its fence stands, and `off` only when it is surely off.
//    It says so until the node is well again or is fenced anew.
//  - Where a look can say when the controller was started, it does: one that is killed comes back
//    with what it last saved, and orders it had taken are undone.
//  - now() never fails. Within a driver's life it does not go back by more than a clock is set.
//  - Nothing is retried, remembered or hidden: what to do about a fault is the policy's affair.
//
// Which faults it may show, all of which the policy must survive
//  - look() or act() fails: the controller is away, slow beyond the timeout, or answers nonsense.
//    Nothing is known then; the driver looks again later.
//  - act() is refused: the job is no longer pending, the node has another name, the user may not.
//  - act() fails although the order was taken: the answer was lost on the way. The next look tells.
//  - act() succeeds and has no effect: a release that comes while the job completes is overwritten.
//  - The controller dies after it took orders and shows a state of before; `controller_since` is
//  new.
//  - A fence hangs or fails.
//  - A look is old by the time it is acted on: everything may have changed in between.
//  - A node is said to be down that is not, or is silent and still runs its job (see the fence).
// Which it may not show: a job or a node under another's name; an order carried out on another.
//
// Who calls: one thread, the driver's, one call at a time. A call may block as long as its timeout
// says, and seconds are expected; it does not call back. Errors are Diagnostics with a code that
// begins with "slurm."; nothing is thrown.
#pragma once

#include "core/base/diagnostic.h"
#include "layers/failure/recovery.h"

namespace orrery::failure {

class RecoveryPort {
 public:
  virtual ~RecoveryPort() = default;
  virtual Result<ClusterLook> look() = 0;
  virtual Result<void> act(const RecoveryAction& action) = 0;
  virtual Seconds now() const = 0;
};

}  // namespace orrery::failure
