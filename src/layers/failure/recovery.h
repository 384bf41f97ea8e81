// Recovery after a node failure, as a pure policy: observations and memory in, actions out.
//
// If a node goes down, Slurm itself holds the job for two minutes and, if the node comes back in
// that time, starts the job there again (measured: 147.7 s). This policy drains the node, waits
// until the job has left its nodes, and releases the hold at that moment. A hold released earlier,
// while the job is completing, comes back.
//
// A driver (agent/ on a real Slurm, the tests on a simulated one) calls decide() repeatedly. The
// policy is not a script: each action follows from what is seen now and from the memory, which is
// computed from the events journalled so far. A driver killed at any point therefore resumes where
// it was: an action that took effect shows in the next look, and one that did not is requested
// again. An action counts only once a look shows it, and what was seen may be undone: a controller
// that is killed restarts from its last saved state, which is seconds old. The policy recognises
// such losses by the controller's start time and by run numbers that went back, and requests the
// missing actions again. Limits: the share of the fleet beyond which no node is drained, and jobs
// that break nodes. Weakness: a silent node may still run its job. Only a fence (a program that
// powers the node off) makes sure; without one a silent node is left to Slurm's own timeout.
#pragma once

#include <string>
#include <vector>

#include "layers/failure/recovery_memory.h"

namespace orrery::failure {

// starting: has nodes, not running yet. failed: ended in error, still known to the scheduler.
enum class JobPhase { pending, starting, running, completing, failed, ended };

struct JobView {
  std::string id;
  JobPhase phase = JobPhase::pending;
  int restarts = 0;
  bool requeueable = true;
  bool held = false;            // held by an operator or by hold_job
  bool launch_failed = false;   // held by the scheduler for that reason
  bool waits_for_time = false;  // the scheduler gives a begin time as the reason for waiting
  Seconds eligible;             // earliest start
  Seconds ended;                // end of a failed job
  std::vector<std::string> nodes;
  std::vector<std::string> avoids;  // nodes excluded; known for a job that waits after a run

  bool operator==(const JobView&) const = default;
};

// State of the fence program on a node; off and failed are results of its last call.
enum class FenceState { none, under_way, off, failed };

struct NodeView {
  std::string name;
  bool down = false;
  bool silent = false;   // does not answer the scheduler
  bool drained = false;  // takes no new work, for whatever reason
  bool broken = false;   // drained as unfit while its daemon still runs: its work must move
  bool spare = false;    // drained to be kept as a spare
  std::string job = {};  // the job on it, if the port knows; JobView::nodes may then be empty
  FenceState fence = FenceState::none;

  bool operator==(const NodeView&) const = default;
};

// The result of one look; jobs are sorted by id, nodes by name.
struct ClusterLook {
  Seconds now;
  Seconds controller_since;  // start time of the controller; 0: unknown
  std::vector<JobView> jobs;
  std::vector<NodeView> nodes;
  // Number of further nodes that answer, work and are in service; they are not listed.
  int well = 0;

  bool operator==(const ClusterLook&) const = default;
};

struct RecoveryPolicy {
  LemonPrior lemon;
  // Share of the fleet out of service, not counting spares. Beyond it the cause is not a single
  // node, and draining more only adds to the damage. At least one node may always be drained.
  double out_share_max = 0.10;
  bool fence = false;               // the driver has a fence program
  Seconds silence = seconds(10);    // silence after which a node is drained (and fenced)
  Seconds hold_max = seconds(300);  // a longer wait for a begin time was chosen by the user
  // Maximum time between a job's error and the node failure that explains it.
  Seconds blame = seconds(60);
  // If a job is lost and no node was seen down, it avoids all its nodes, if they are at most this
  // share of the fleet.
  double avoid_share_max = 0.25;
  // This many losses in a row, each on a different node and soon after the start, are blamed on the
  // job.
  int crash_loop = 4;
  Seconds crash_run = minutes(10);
  // Losses of one job, whatever the cause, in addition to three times what the fleet's own rate
  // predicts for its nodes.
  int losses_max = 50;
  // Time after a controller start during which anything that disappears counts as forgotten by the
  // controller.
  Seconds rollback = seconds(30);
  // Time after a controller start during which no job is released. Runs that the controller forgot
  // still occupy their nodes until those have registered; a launch on such a node fails, and the
  // job is held. A job released before that is held in the same way, and released again.
  Seconds registering = seconds(3);
  // Time before an action is requested again; doubles after each refusal,.
  Seconds settle = seconds(1);
  Seconds settle_max = seconds(60);  // up to this
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
  unhold_job,  // clears the scheduler's own hold
  alert
};
const char* to_text(ActionKind kind);

struct RecoveryAction {
  ActionKind kind = ActionKind::alert;
  std::string job;                 // empty if the action is about a node
  std::vector<std::string> nodes;  // exactly one, except for exclude_nodes
  std::string why;                 // one line, shown and given to the scheduler as the reason
  std::string key;                 // identifies this action in this episode: RecoveryEvent::tried

  bool operator==(const RecoveryAction&) const = default;
};

struct Decision {
  std::vector<RecoveryEvent> events;  // to journal, then to apply to the memory
  // To carry out in this order, once the events are journalled.
  std::vector<RecoveryAction> actions;

  bool operator==(const Decision&) const = default;
};

Decision decide(const ClusterLook& view, const RecoveryMemory& memory,
                const RecoveryPolicy& policy);
// The same for a driver without a journal: applies the events to its memory at once.
Decision decide_and_remember(const ClusterLook& view, RecoveryMemory& memory,
                             const RecoveryPolicy& policy);

}  // namespace orrery::failure
