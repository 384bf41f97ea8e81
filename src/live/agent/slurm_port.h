// The recovery port on a real Slurm. A look is one squeue, one sinfo and one `scontrol show config`
// (for the controller's start time); an action is one scontrol.
//
// If the controller has restarted since the last look, the look is repeated, so that the state of
// the old controller is not mistaken for that of the new one. Fences are programs that are started
// without waiting for them, so one that hangs delays nothing; later looks show how each ended. They
// end with the port: a successor fences again, which does no harm. Only the client programs are
// used, so no particular version of Slurm's library is built in and every call can be repeated by
// hand. Names are checked before they become an argument; no shell is involved.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "layers/failure/recovery_port.h"
#include "live/agent/command.h"
#include "live/agent/slurm_parse.h"

namespace orrery::agent {

struct SlurmAccess {
  std::string conf;                  // path of slurm.conf; empty: the programs' default
  std::optional<std::string> fence;  // program that powers off the node given as its argument
  SlurmMarks marks;
  Seconds timeout = seconds(20);  // per call
  Seconds fence_timeout = seconds(120);
};

class SlurmPort final : public failure::RecoveryPort {
 public:
  explicit SlurmPort(SlurmAccess access, CommandRunner runner = run_command,
                     CommandStarter starter = start_command)
      : access_(std::move(access)), runner_(std::move(runner)), starter_(std::move(starter)) {}

  Result<failure::ClusterLook> look() override;
  Result<void> act(const failure::RecoveryAction& action) override;
  Seconds now() const override;

 private:
  struct Fence {
    std::unique_ptr<RunningCommand> program;  // null once it has ended
    failure::FenceState state = failure::FenceState::under_way;
  };

  Result<failure::ClusterLook> look_once();
  Result<void> start_fence(const std::string& node);
  void show_fences(std::vector<failure::NodeView>& nodes);

  SlurmAccess access_;
  CommandRunner runner_;
  CommandStarter starter_;
  std::map<std::string, Fence> fences_;
  Seconds controller_since_;  // at the last look; 0: no look yet
};

// The configuration that matters for recovery, read once at the start.
struct SlurmHabits {
  bool preempts = false;     // a requeue may be a preemption, which is not a fault of its nodes
  bool requeues = true;      // JobRequeue: jobs may be requeued unless they say otherwise
  int returns_service = 0;   // ReturnToService: 2 brings a node back as soon as it answers
  Seconds controller_since;  // BOOT_TIME of slurmctld
};
Result<SlurmHabits> slurm_habits(const SlurmAccess& access,
                                 const CommandRunner& runner = run_command);

}  // namespace orrery::agent
