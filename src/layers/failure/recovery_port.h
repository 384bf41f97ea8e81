// The recovery policy's view of a cluster: one call to look, one to act, one clock.
//
// The policy (recovery.h) is pure. A driver (agent/recover.h) carries out its decisions on a
// cluster through this port and knows nothing else of the cluster. There are two implementations:
// agent/slurm_port.h, a real Slurm, and rehearse/simulated_slurm.h, a simulated one that fails on
// demand.
//
// What a port promises
//  - look() returns the state at one moment, or an error; never part of a state. Jobs are sorted by
//    id, nodes by name; `now` is on the same clock as now(). If the state takes two queries, jobs
//    are read before nodes: a node that fails in between is seen failed with its job still on it,
//    and a job never vanishes from a node that looks well.
//  - act() carries out one action, or refuses it. It returns when the cluster has accepted the
//    command, not when the command has taken effect; a later look shows that. Giving a command
//    twice does no more harm than once: a drained node stays drained, a pending job is released
//    again.
//  - fence_node starts the fence and returns; fences run in parallel with each other and with
//    everything else. Each look gives the state of every node's fence, and says `off` only if the
//    node is surely off. It keeps saying so until the node is well again or is fenced again.
//  - If a look can tell when the controller was started, it does: a controller that was killed
//    restarts from its last saved state, and commands it had accepted are undone.
//  - now() never fails. During a driver's life it goes back at most by as much as a clock is set.
//  - Nothing is retried, remembered or hidden: the policy decides what to do about a fault.
//
// Faults that a port may show, all of which the policy must survive
//  - look() or act() fails: the controller is down, slower than the timeout, or answers nonsense.
//    Then nothing is known, and the driver looks again later.
//  - act() is refused: the job is no longer pending, the node has another name, or the user lacks
//    permission.
//  - act() fails although the command was accepted: the answer was lost. The next look shows it.
//  - act() succeeds and has no effect: a release while the job is completing is overwritten.
//  - The controller dies after it accepted commands and then shows an earlier state;
//    `controller_since` is new.
//  - A fence hangs or fails.
//  - A look is out of date when it is acted on: everything may have changed in between.
//  - A node is reported down that is not, or is silent and still runs its job (see the fence).
// Faults that it must not show: a job or node under another's name; a command carried out on
// another.
//
// Threads: one thread, the driver's, makes one call at a time. A call may block up to its timeout,
// typically seconds; it does not call back. Errors are Diagnostics whose code begins with "slurm.";
// nothing is thrown.
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
