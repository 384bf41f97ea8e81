#include "layers/failure/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/math.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/failure/recovery_observe.h"

namespace orrery::failure {
namespace {

// After this many refusals the policy raises an alert; the attempts continue.
constexpr int kRefusalsToTell = 5;

class Actor {
 public:
  Actor(const ClusterLook& view, RecoveryMemory& memory, const RecoveryPolicy& policy,
        Decision& decision)
      : view_(view), memory_(memory), policy_(policy), decision_(decision), fleet_(view.well) {
    for (const NodeView& node : view.nodes) {
      if (node.spare) continue;
      ++fleet_;
      if (node.down || node.drained || node.silent) ++out_;
    }
  }

  void run() {
    find_fences();
    for (const NodeView& node : view_.nodes) {
      const auto known = memory_.nodes.find(node.name);
      if (known != memory_.nodes.end()) act_on(node, known->second);
    }
    for (const JobView& job : view_.jobs) {
      const auto known = memory_.jobs.find(job.id);
      if (known != memory_.jobs.end() && known->second.loss) act_on(job, known->second);
    }
  }

 private:
  const Attempt* attempt(const std::string& key) const {
    const auto found = memory_.attempts.find(key);
    return found == memory_.attempts.end() ? nullptr : &found->second;
  }

  bool due(const std::string& key) const {
    const Attempt* a = attempt(key);
    if (!a) return true;
    // Accepted but without effect so far: the cluster may have undone it, and the job is waiting.
    if (a->good) return view_.now - a->last >= policy_.settle;
    const Seconds wait = policy_.settle * math::exp2(std::min(a->count - 1, 20));
    return view_.now - a->last >= min(wait, policy_.settle_max);
  }

  void ask(RecoveryAction action) {
    if (!due(action.key)) return;
    const Attempt* a = attempt(action.key);
    const bool refused = a && !a->good && a->count >= kRefusalsToTell;
    const std::string key = action.key;
    decision_.actions.push_back(std::move(action));
    if (refused) {
      tell("refused/" + key, fmt::format("refused {} times: {}", a->count, key));
    }
  }

  void tell(const std::string& key, std::string why, std::string job = {}) {
    if (memory_.alerted.contains(key)) return;
    RecoveryEvent event{.kind = RecoveryEventKind::alerted, .at = view_.now, .key = key};
    apply(memory_, event, policy_.lemon.memory);
    decision_.events.push_back(std::move(event));
    decision_.actions.push_back(
        {.kind = ActionKind::alert, .job = std::move(job), .why = std::move(why), .key = key});
  }

  // Lists the nodes that lost jobs wait for: a job may not run elsewhere before its nodes are
  // surely off.
  void find_fences() {
    if (!policy_.fence) return;
    for (const auto& [id, job] : memory_.jobs) {
      if (!job.loss) continue;
      const std::vector<std::string> nodes = nodes_to_end(*job.loss);
      wanted_off_.insert(nodes.begin(), nodes.end());
    }
  }

  // Returns the nodes on which the job's old run may still be alive: those that failed under it. If
  // the run was never seen (it started and was lost between two looks, or before the first),
  // returns every node that is down, except those that an operator took out.
  std::vector<std::string> nodes_to_end(const JobLoss& loss) const {
    if (!loss.nodes.empty() || !loss.ran_on.empty()) return loss.nodes;
    std::vector<std::string> nodes;
    for (const NodeView& node : view_.nodes) {
      const auto known = memory_.nodes.find(node.name);
      const bool drained_by_us =
          known != memory_.nodes.end() &&
          (known->second.wants_drain || known->second.drain_seen != Seconds());
      if (node.down && (drained_by_us || !node.drained)) nodes.push_back(node.name);
    }
    return nodes;
  }

  void act_on(const NodeView& node, const NodeMemory& m) {
    const std::string episode = fmt::format("/{}/{}", node.name, m.failures);
    if (m.wants_drain && !node.drained) drain(node, m, episode);
    const bool silent_long = node.silent && !node.down && m.silent_since != Seconds() &&
                             view_.now - m.silent_since >= policy_.silence;
    if (silent_long) take_off(node, m, episode);
    if (node.down && !m.fenced && wanted_off_.contains(node.name)) fence(node, m);
    if (!m.stood_in_for.empty() && node.spare) {
      ask({.kind = ActionKind::resume_spare,
           .nodes = {node.name},
           .why = "replaces " + m.stood_in_for,
           .key = "resume/" + node.name + "/" + m.stood_in_for});
    }
  }

  void drain(const NodeView& node, const NodeMemory& m, const std::string& episode) {
    const bool counted = node.down || node.silent;
    const int limit = std::max(1, static_cast<int>(policy_.out_share_max * fleet_));
    if (out_ + (counted ? 0 : 1) > limit) {
      tell("mass-failure/fleet/" + std::to_string(limit),
           fmt::format("{} of {} nodes are out of service, so no more are drained; look for a "
                       "common cause",
                       out_, fleet_));
      return;
    }
    if (!counted) ++out_;
    drained_now_.insert(node.name);
    ask({.kind = ActionKind::drain_node,
         .nodes = {node.name},
         .why = m.lemon ? lemon_reason(node.name) : failure_reason(node, m),
         .key = "drain" + episode});
  }

  std::string failure_reason(const NodeView& node, const NodeMemory& m) const {
    const char* what = node.broken ? "unfit" : node.down ? "down" : "was down";
    return fmt::format("orrery: {}, failure {} of this node", what, m.failures);
  }

  std::string lemon_reason(const std::string& node) const {
    const double odds = lemon_odds_of(node, view_, memory_, policy_);
    return fmt::format("orrery: lemon, odds {} to 1", significant(odds, 2));
  }

  void fence(const NodeView& node, const NodeMemory& m) {
    if (node.fence == FenceState::under_way) return;
    ask({.kind = ActionKind::fence_node,
         .nodes = {node.name},
         .why = "must be off before its work runs elsewhere",
         .key = fence_key(node.name, m)});
  }

  void take_off(const NodeView& node, const NodeMemory& m, const std::string& episode) {
    if (!policy_.fence) {
      tell("silent" + episode,
           fmt::format("{} does not answer; its jobs wait for Slurm's own timeout, because without "
                       "--fence it is not certain that they have ended",
                       node.name));
    } else if (!m.fenced) {
      fence(node, m);
    } else {
      ask({.kind = ActionKind::down_node,
           .nodes = {node.name},
           .why = "orrery: silent and fenced",
           .key = "down" + episode});
    }
  }

  void act_on(const JobView& job, const JobMemory& m) {
    const JobLoss& loss = *m.loss;
    const std::string episode = fmt::format("/{}/{}", job.id, loss.restarts);
    if (m.blamed) return stop(job, m, episode);
    if (job.phase != JobPhase::pending) take_down_again(job, loss);
    switch (job.phase) {
      case JobPhase::running:
      case JobPhase::starting:
        if (any_of(loss.nodes, &NodeView::broken)) requeue(job, loss, episode);
        break;
      case JobPhase::failed:
        requeue(job, loss, episode);
        break;
      case JobPhase::pending:
        if (job.held) {
          let_go_again(job, loss, episode);
        } else if (all_off(loss)) {
          start_again(job, loss, episode);
        }
        break;
      case JobPhase::completing:  // a hold lifted now would come back
      case JobPhase::ended:
        break;
    }
  }

  // The controller forgot that a node went down: it shows the lost run, or its end, on a node that
  // will never answer for it.
  void take_down_again(const JobView& job, const JobLoss& loss) {
    if (job.phase != JobPhase::completing && job.restarts > loss.restarts) return;
    for (const std::string& name : job.nodes) {
      const NodeView* node = find(name);
      const auto known = memory_.nodes.find(name);
      const bool is_out = known != memory_.nodes.end() && known->second.out;
      if (!node || node->down || node->broken || !is_out) continue;
      ask({.kind = ActionKind::down_node,
           .nodes = {name},
           .why = "orrery: was down before the controller was started again",
           .key = fmt::format("down/{}/{}", name, known->second.failures)});
    }
  }

  void stop(const JobView& job, const JobMemory& m, const std::string& episode) {
    tell("blamed" + episode,
         fmt::format("job {} is held: it was lost {} times, the last on {} different nodes soon "
                     "after it started; look at the job, then `scontrol release {}`",
                     job.id, m.losses_total, policy_.crash_loop, job.id),
         job.id);
    if (job.phase == JobPhase::pending && !job.held && !m.held_seen) {
      ask({.kind = ActionKind::hold_job,
           .job = job.id,
           .why = "lost too often",
           .key = "hold" + episode});
    }
  }

  void requeue(const JobView& job, const JobLoss& loss, const std::string& episode) {
    if (!job.requeueable) {
      tell("no-requeue" + episode,
           fmt::format("job {} lost a node and may not be requeued (sbatch --requeue allows it)",
                       job.id),
           job.id);
      return;
    }
    ask({.kind = ActionKind::requeue_job,
         .job = job.id,
         .why = loss.nodes.empty() ? "its run was lost" : loss.nodes.front() + " failed",
         .key = "requeue" + episode});
  }

  // The job's launch collided with the end of a run that the controller had forgotten; neither job
  // nor node is at fault.
  void let_go_again(const JobView& job, const JobLoss& loss, const std::string& episode) {
    if (!job.launch_failed || !is_of_the_controller(loss)) return;
    ask({.kind = ActionKind::unhold_job,
         .job = job.id,
         .why = "its launch collided with a run that the controller forgot",
         .key = "unhold" + episode});
    ask({.kind = ActionKind::release_job,
         .job = job.id,
         .why = "held by a failed launch",
         .key = "release" + episode});
  }

  // Returns true if the job was lost, or was seen to be lost again, just after a controller
  // restarted while we were watching: if no node is to blame, the cause is what the controller
  // forgot.
  bool is_of_the_controller(const JobLoss& loss) const {
    return memory_.since && view_.controller_since > *memory_.since &&
           loss.at - view_.controller_since <= policy_.rollback;
  }

  void start_again(const JobView& job, const JobLoss& loss, const std::string& episode) {
    const bool waits = job.waits_for_time || job.eligible > view_.now;
    if (job.eligible - view_.now > policy_.hold_max) return;
    const bool is_young = view_.controller_since != Seconds() &&
                          view_.now - view_.controller_since < policy_.registering;
    if (is_young) return;
    const std::vector<std::string> avoid = nodes_to_avoid(loss);
    const bool is_excluded = std::ranges::all_of(avoid, [&job](const std::string& name) {
      return std::ranges::find(job.avoids, name) != job.avoids.end();
    });
    if (!is_excluded) {
      ask({.kind = ActionKind::exclude_nodes,
           .job = job.id,
           .nodes = avoid,
           .why = loss.nodes.empty() ? "lost there, cause unknown" : "failed and not drained",
           .key = "exclude" + episode});
    }
    // A suspect node is better than none.
    const Attempt* excluding = attempt("exclude" + episode);
    if (waits && (is_excluded || (excluding && excluding->count >= kRefusalsToTell))) {
      ask({.kind = ActionKind::release_job,
           .job = job.id,
           .why = "off its failed nodes",
           .key = "release" + episode});
    }
  }

  std::vector<std::string> nodes_to_avoid(const JobLoss& loss) const {
    if (loss.nodes.empty()) {
      if (is_of_the_controller(loss)) return {};
      const double share_max = policy_.avoid_share_max * (fleet_ - out_);
      return static_cast<double>(loss.ran_on.size()) <= share_max ? loss.ran_on
                                                                  : std::vector<std::string>();
    }
    std::vector<std::string> avoid;
    for (const std::string& name : loss.nodes) {
      const NodeView* node = find(name);
      if (node && !node->drained && !drained_now_.contains(name)) avoid.push_back(name);
    }
    return avoid;
  }

  const NodeView* find(const std::string& name) const {
    const auto found = std::ranges::lower_bound(view_.nodes, name, {}, &NodeView::name);
    return found == view_.nodes.end() || found->name != name ? nullptr : &*found;
  }

  bool any_of(const std::vector<std::string>& names, bool NodeView::* what) const {
    return std::ranges::any_of(names, [&](const std::string& name) {
      const NodeView* node = find(name);
      return node && node->*what;
    });
  }

  // With a fence, the old run has surely stopped only if its nodes answer or were fenced.
  bool all_off(const JobLoss& loss) const {
    if (!policy_.fence) return true;
    return std::ranges::all_of(nodes_to_end(loss), [&](const std::string& name) {
      const NodeView* node = find(name);
      const auto known = memory_.nodes.find(name);
      return !node || (!node->down && !node->silent) ||
             (known != memory_.nodes.end() && known->second.fenced);
    });
  }

  const ClusterLook& view_;
  RecoveryMemory& memory_;
  const RecoveryPolicy& policy_;
  Decision& decision_;
  std::set<std::string> wanted_off_;
  std::set<std::string> drained_now_;
  int fleet_ = 0;
  int out_ = 0;
};

}  // namespace

const char* to_text(ActionKind kind) {
  static constexpr std::array<const char*, 10> kNames = {
      "drain_node",    "fence_node",  "down_node", "resume_spare", "requeue_job",
      "exclude_nodes", "release_job", "hold_job",  "unhold_job",   "alert"};
  return kNames[static_cast<std::size_t>(kind)];
}

Decision decide(const ClusterLook& view, const RecoveryMemory& memory,
                const RecoveryPolicy& policy) {
  RecoveryMemory now = memory;
  return decide_and_remember(view, now, policy);
}

Decision decide_and_remember(const ClusterLook& view, RecoveryMemory& memory,
                             const RecoveryPolicy& policy) {
  Decision decision;
  decision.events = observe(view, memory, policy);
  Actor(view, memory, policy, decision).run();
  return decision;
}

}  // namespace orrery::failure
