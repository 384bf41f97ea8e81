// Recovery after a node fails, as a pure policy: what is seen and remembered in, actions out.
//
// Slurm's own way with a job whose node goes down is to hold it for two minutes and, where the node
// comes back meanwhile, to start it there again (147.7 s measured). This policy takes the node out,
// waits until the job has left its nodes, and lifts the hold at that moment; lifted earlier, while
// the job completes, it comes back.
//
// A driver (agent/ on a real Slurm, the tests on a simulated one) calls decide() again and again.
// Nothing is a step of a script: each action follows from what is seen now and from the memory,
// which is the fold of the events journalled so far. A driver killed at any point therefore goes on
// where it was: an action that took effect shows in the next look, one that did not is asked for
// again. No action counts before a look shows it, and what was seen may be undone: a controller
// that is killed comes back with what it last saved, seconds old. What is then missing is known by
// the controller's start time and by run numbers that went back, and is asked for once more.
// Limits: a share of the fleet beyond which no node is drained, and jobs that break nodes.
// Where it is wrong: a node that is silent may still run its job. Only a fence (a program that
// powers the node off) makes it certain; without one a silent node is left to Slurm's own timeout.
#pragma once

#include <string>
#include <vector>

#include "layers/failure/recovery_memory.h"

namespace orrery::failure {

// starting: nodes given, not running yet. failed: ended in error, still known to the scheduler.
enum class JobPhase { pending, starting, running, completing, failed, ended };

struct JobView {
  std::string id;
  JobPhase phase = JobPhase::pending;
  int restarts = 0;
  bool requeueable = true;
  bool held = false;            // by a person, by hold_job, or
  bool launch_failed = false;   // by the scheduler, since its start failed
  bool waits_for_time = false;  // the scheduler names a begin time as the reason it waits
  Seconds eligible;             // may not start before
  Seconds ended;                // of a failed job
  std::vector<std::string> nodes;
  std::vector<std::string> avoids;  // known of a job that waits after a run

  bool operator==(const JobView&) const = default;
};

// Of the fence program on a node: off and failed are how its last call ended.
enum class FenceState { none, under_way, off, failed };

struct NodeView {
  std::string name;
  bool down = false;
  bool silent = false;   // does not answer the scheduler
  bool drained = false;  // takes no new work, by anyone's wish
  bool broken = false;   // drained as unfit while its daemon lives: work on it must move
  bool spare = false;    // drained to be kept in reserve
  std::string job = {};  // that has it, where the port knows; then JobView::nodes may be left out
  FenceState fence = FenceState::none;

  bool operator==(const NodeView&) const = default;
};

// As one look found it; jobs sorted by id, nodes by name.
struct ClusterLook {
  Seconds now;
  Seconds controller_since;  // when the controller was started; 0: not known
  std::vector<JobView> jobs;
  std::vector<NodeView> nodes;
  // So many more nodes answer, work and are in service: there is nothing to say of them.
  int well = 0;

  bool operator==(const ClusterLook&) const = default;
};

struct RecoveryPolicy {
  LemonPrior lemon;
  // Of the fleet, out of service, spares aside: beyond it the cause is not one node's, and draining
  // more only adds to the damage. At least one node may always be drained.
  double out_share_max = 0.10;
  bool fence = false;               // the driver has a fence program
  Seconds silence = seconds(10);    // before a silent node is drained (and fenced)
  Seconds hold_max = seconds(300);  // a longer wait for a begin time is the user's own
  Seconds blame = seconds(60);      // between a job's error and its node's failure
  // A job lost with no node seen down leaves all its nodes, where they are at most this share.
  double avoid_share_max = 0.25;
  // So many losses in a row, each on another node and soon after the start, are the job's doing.
  int crash_loop = 4;
  Seconds crash_run = minutes(10);
  // Of one job, whatever the cause, beyond thrice what the fleet's own rate gives its nodes.
  int losses_max = 50;
  // After a start of the controller: what was seen done and is not any more was forgotten by it.
  Seconds rollback = seconds(30);
  // After a start of the controller no job is let go: runs that it forgot still hold their nodes
  // until those have registered, and a launch beside one fails and holds the job. One that was let
  // go before is held all the same, and let go once more.
  Seconds registering = seconds(3);
  Seconds settle = seconds(1);       // before an action is asked for again; doubles where refused,
  Seconds settle_max = seconds(60);  // to this at most
};

enum class ActionKind {
  drain_node,
  fence_node,
  down_node,
  resume_spare,
  requeue_job,
  exclude_nodes,
  release_job,
  hold_job,
  unhold_job,  // the scheduler held it
  alert
};
const char* to_text(ActionKind kind);

struct RecoveryAction {
  ActionKind kind = ActionKind::alert;
  std::string job;                 // empty where it is about a node
  std::vector<std::string> nodes;  // one but for exclude_nodes
  std::string why;                 // one line, shown and given to the scheduler as the reason
  std::string key;                 // names this action in this episode: RecoveryEvent::tried

  bool operator==(const RecoveryAction&) const = default;
};

struct Decision {
  std::vector<RecoveryEvent> events;    // to journal, then to apply to the memory
  std::vector<RecoveryAction> actions;  // to carry out in this order, after the events are safe

  bool operator==(const Decision&) const = default;
};

Decision decide(const ClusterLook& view, const RecoveryMemory& memory,
                const RecoveryPolicy& policy);
// The same for a driver that keeps no journal: the events are applied to its memory at once.
Decision decide_and_remember(const ClusterLook& view, RecoveryMemory& memory,
                             const RecoveryPolicy& policy);

}  // namespace orrery::failure
