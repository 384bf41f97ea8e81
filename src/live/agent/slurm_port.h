// A real Slurm as the recovery agent meets it: one look is one squeue, one sinfo and one
// `scontrol show config` (for the controller's start time), an action is one scontrol.
//
// A look in which the controller turns out to be another than in the one before is taken again, so
// that no picture of the old one is shown as the new one's.
// Fences are programs started and not waited for, so that one that hangs delays nothing; the looks
// say how each ended. They end with the port: a successor fences again, which does no harm.
// All by the client programs, so that no version of Slurm's interface is built in and every call
// can be repeated by hand. Names are checked before they become an argument; no shell is involved.
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
  std::string conf;                  // slurm.conf; empty: where the programs look themselves
  std::optional<std::string> fence;  // program that is given a node's name and powers it off
  SlurmMarks marks;
  Seconds timeout = seconds(20);  // of one call
  Seconds fence_timeout = seconds(120);
};

// run_command unless a test answers in its place.
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
    std::unique_ptr<RunningCommand> program;  // none: it has ended
    failure::FenceState state = failure::FenceState::under_way;
  };

  Result<failure::ClusterLook> look_once();
  Result<void> start_fence(const std::string& node);
  void show_fences(std::vector<failure::NodeView>& nodes);

  SlurmAccess access_;
  CommandRunner runner_;
  CommandStarter starter_;
  std::map<std::string, Fence> fences_;
  Seconds controller_since_;  // of the last look; 0: none yet
};

// What the configuration means for recovery, asked once at the start.
struct SlurmHabits {
  bool preempts = false;     // a requeue may be a preemption: its nodes are not to blame
  bool requeues = true;      // JobRequeue: jobs may be requeued unless they say otherwise
  int returns_service = 0;   // ReturnToService: 2 brings a node back as soon as it answers
  Seconds controller_since;  // BOOT_TIME of slurmctld
};
Result<SlurmHabits> slurm_habits(const SlurmAccess& access,
                                 const CommandRunner& runner = run_command);

}  // namespace orrery::agent
