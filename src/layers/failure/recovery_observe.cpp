#include "layers/failure/recovery_observe.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace orrery::failure {
namespace {

using Kind = RecoveryEventKind;

// Published failure rates of fleets differ by a factor of three.
constexpr double kTimesExpected = 3;
// Share of the mean time between a job's failures; by chance one run in ten ends sooner.
constexpr double kSoonShare = 0.1;

bool is_bad(const NodeView& node) { return node.down || node.broken; }

class Observer {
 public:
  Observer(const ClusterLook& view, RecoveryMemory& memory, const RecoveryPolicy& policy)
      : view_(view), memory_(memory), policy_(policy) {
    for (const NodeView& node : view.nodes) {
      if (is_bad(node)) bad_.insert(node.name);
      if (is_bad(node) && !node.job.empty()) bad_of_[node.job].push_back(node.name);
    }
  }

  std::vector<RecoveryEvent> run() {
    const bool first = !memory_.since;
    if (first) note({.kind = Kind::watch_began});
    see_controller();
    for (const NodeView& node : view_.nodes) look_at(node, first ? 0 : 1);
    for (const NodeView& node : view_.nodes) find_lemon(node);
    see_forgotten();
    for (const JobView& job : view_.jobs) look_at(job);
    forget_missing_jobs();
    return std::move(events_);
  }

 private:
  void note(RecoveryEvent event) {
    event.at = view_.now;
    apply(memory_, event, policy_.lemon.memory);
    events_.push_back(std::move(event));
  }

  // A node whose failure the controller forgot still takes down the runs shown on it. Nothing is
  // forgotten by a controller whose restarts cannot be seen.
  void see_forgotten() {
    if (memory_.controller == Seconds()) return;
    for (const auto& [name, m] : memory_.nodes) {
      if (m.out && m.forgotten != Seconds()) bad_.insert(name);
    }
  }

  const NodeMemory* known(const std::string& node) const {
    const auto found = memory_.nodes.find(node);
    return found == memory_.nodes.end() ? nullptr : &found->second;
  }

  // A controller that has just started may have forgotten its last seconds.
  void see_controller() {
    const Seconds since = view_.controller_since;
    if (since == Seconds()) return;
    const bool is_new = memory_.controller != Seconds() && memory_.controller != since;
    shaken_ = is_new || view_.now - since <= policy_.rollback;
    if (memory_.controller != since) note({.kind = Kind::controller_seen, .lasted = since});
  }

  void look_at(const NodeView& node, double weight) {
    const NodeMemory before = known(node.name) ? *known(node.name) : NodeMemory{};
    const bool bad = is_bad(node);
    if (node.silent && !bad && before.silent_since == Seconds()) {
      note({.kind = Kind::node_silent, .node = node.name});
    }
    if (bad && !before.out) {
      note({.kind = Kind::node_failed, .node = node.name, .weight = weight});
      // A failed spare leaves no gap, so no other spare replaces it.
      if (weight > 0 && !node.spare) call_spare(node.name);
    }
    const bool was_away = before.out || before.silent_since != Seconds();
    if (!bad && !node.silent && was_away) see_well(node, before);
    if (!known(node.name)) return;
    see_fence(node);
    see_drain(node);
    see_shown(node);
    see_spare(node);
  }

  // The node is back, or a controller that forgot the failure only shows it so. In that case it
  // stays out for a while, or until that controller, notified again, has shown it out and later
  // shows it well.
  void see_well(const NodeView& node, const NodeMemory& m) {
    const bool ours = m.wants_drain || m.drain_seen != Seconds();
    const bool is_undone = m.out_shown || (m.drain_shown && !node.drained);
    if (m.out && shaken_ && !m.out_shown && m.forgotten == Seconds()) {
      note({.kind = Kind::node_forgotten, .node = node.name, .good = ours});
    } else if (m.forgotten == Seconds() || is_undone ||
               view_.now - m.forgotten >= policy_.rollback) {
      note({.kind = Kind::node_back, .node = node.name});
    }
  }

  void see_fence(const NodeView& node) {
    const NodeMemory& m = *known(node.name);
    const bool is_away = node.down || node.silent;
    if (node.fence == FenceState::off && is_away && !m.fenced) {
      note({.kind = Kind::node_fenced, .node = node.name});
    }
    if (node.fence != FenceState::failed) return;
    const std::string key = fence_key(node.name, m);
    const auto attempt = memory_.attempts.find(key);
    if (attempt != memory_.attempts.end() && attempt->second.good) {
      note({.kind = Kind::fence_failed, .node = node.name, .key = key});
    }
  }

  void see_drain(const NodeView& node) {
    const NodeMemory& m = *known(node.name);
    if (m.wants_drain && node.drained) {
      note({.kind = Kind::drain_settled, .node = node.name});
    } else if (m.drain_seen != Seconds() && !node.drained) {
      const bool is_forgotten = shaken_ && !m.drain_shown;
      const Kind kind = is_forgotten ? Kind::node_forgotten : Kind::drain_lifted;
      note({.kind = kind, .node = node.name, .good = is_forgotten});
    }
  }

  // Notes what the current controller shows of an earlier controller's time: that it has not
  // forgotten, so if it disappears later, an operator or the node has undone it.
  void see_shown(const NodeView& node) {
    const NodeMemory& m = *known(node.name);
    if (m.out && is_bad(node) && !m.out_shown) note({.kind = Kind::node_shown, .node = node.name});
    if (m.drain_seen != Seconds() && node.drained && !m.drain_shown) {
      note({.kind = Kind::node_shown, .node = node.name, .good = true});
    }
  }

  void see_spare(const NodeView& node) {
    const NodeMemory& m = *known(node.name);
    if (!m.stood_in_for.empty() && !node.spare) {
      note({.kind = Kind::spare_called, .node = node.name});
    } else if (!m.serves_for.empty() && node.spare) {
      if (shaken_) {
        note({.kind = Kind::spare_called, .node = node.name, .nodes = {m.serves_for}});
      } else {
        note({.kind = Kind::spare_returned, .node = node.name});
      }
    }
  }

  void call_spare(const std::string& failed) {
    for (const NodeView& node : view_.nodes) {
      const bool ready = node.spare && !is_bad(node) && !node.silent;
      if (!ready || (known(node.name) && !known(node.name)->stood_in_for.empty())) continue;
      note({.kind = Kind::spare_called, .node = node.name, .nodes = {failed}});
      return;
    }
  }

  void find_lemon(const NodeView& node) {
    const NodeMemory* m = known(node.name);
    if (!m || m->lemon || m->out || node.drained || m->weight.weight <= 0) return;
    const double odds = lemon_odds_of(node.name, view_, memory_, policy_);
    if (odds > policy_.lemon.odds_bound) {
      note({.kind = Kind::lemon_found, .node = node.name, .weight = odds});
    }
  }

  void look_at(const JobView& job) {
    const bool is_known = memory_.jobs.contains(job.id);
    if (job.phase == JobPhase::ended) {
      if (is_known) note({.kind = Kind::job_gone, .job = job.id});
      return;
    }
    if (is_known && undone(job, memory_.jobs.at(job.id))) {
      const int lost = job.phase == JobPhase::pending ? job.restarts - 1 : job.restarts;
      note({.kind = Kind::job_undone, .job = job.id, .restarts = lost});
    }
    if (job.phase == JobPhase::running || job.phase == JobPhase::starting) see_run(job);
    if (is_known) see_hold(job, memory_.jobs.at(job.id));
    const auto found = memory_.jobs.find(job.id);
    const JobMemory m = found == memory_.jobs.end() ? JobMemory{} : found->second;
    if (!m.loss && lost(job, m)) lose(job, m);
    const bool failed_alone = job.phase == JobPhase::failed && memory_.jobs.contains(job.id) &&
                              !memory_.jobs.at(job.id).loss &&
                              view_.now - job.ended > policy_.blame;
    if (failed_alone) note({.kind = Kind::job_gone, .job = job.id});
  }

  // A run number that goes back, or a job waiting for a run that was already seen: the controller
  // forgot what followed. A job that starts by itself needs nothing, nor does one that was never
  // seen lost.
  bool undone(const JobView& job, const JobMemory& m) const {
    if (!m.loss && !m.regained) return false;
    const int known_run = m.loss ? m.loss->restarts : m.restarts;
    switch (job.phase) {
      case JobPhase::running:
      case JobPhase::starting:
        return job.restarts < known_run;
      case JobPhase::pending:
        return job.restarts <= known_run && job.waits_for_time && !job.held;
      default:
        return false;
    }
  }

  void see_hold(const JobView& job, const JobMemory& m) {
    if (!m.blamed) return;
    const bool is_forgotten = m.held_seen && !job.held && shaken_;
    if (is_forgotten || (job.held && !m.held_seen)) {
      note({.kind = Kind::job_held, .job = job.id, .good = job.held});
    }
  }

  void see_run(const JobView& job) {
    const auto found = memory_.jobs.find(job.id);
    if (found != memory_.jobs.end() && found->second.restarts == job.restarts) return;
    const std::optional<JobLoss> loss =
        found == memory_.jobs.end() ? std::nullopt : found->second.loss;
    note({.kind = Kind::job_started, .job = job.id, .restarts = job.restarts, .nodes = job.nodes});
    if (loss && job.restarts > loss->restarts) {
      note({.kind = Kind::job_back,
            .job = job.id,
            .restarts = job.restarts,
            .lasted = view_.now - loss->at});
    }
  }

  std::vector<std::string> to_blame(const std::string& job, const JobMemory& m) const {
    const auto said = bad_of_.find(job);
    std::vector<std::string> nodes =
        said == bad_of_.end() ? std::vector<std::string>() : said->second;
    if (!nodes.empty()) return nodes;
    std::ranges::copy_if(m.nodes, std::back_inserter(nodes),
                         [this](const std::string& node) { return bad_.contains(node); });
    return nodes;
  }

  // A run that has ended or is doomed, ended by the scheduler or a node and not by a user.
  bool lost(const JobView& job, const JobMemory& m) const {
    switch (job.phase) {
      case JobPhase::running:
      case JobPhase::starting:
        return !to_blame(job.id, m).empty();
      case JobPhase::pending:
        if (m.restarts < 0) {
          return job.restarts > 0 && job.waits_for_time && !job.held &&
                 job.eligible - view_.now <= policy_.hold_max;
        }
        return job.restarts > m.restarts;
      case JobPhase::completing:
        return m.restarts >= 0 && job.restarts > m.restarts;
      case JobPhase::failed:
        return m.restarts == job.restarts && !to_blame(job.id, m).empty() &&
               view_.now - job.ended <= policy_.blame;
      case JobPhase::ended:
        return false;
    }
    return false;
  }

  void lose(const JobView& job, const JobMemory& m) {
    const bool seen = m.restarts >= 0;
    note({.kind = Kind::job_lost,
          .job = job.id,
          .restarts = seen ? m.restarts : job.restarts - 1,
          .nodes = to_blame(job.id, m),
          .lasted = seen ? view_.now - m.started : Seconds()});
    const JobMemory& now = memory_.jobs.at(job.id);
    if (now.losses_total >= losses_allowed(now) || crash_loops(now)) {
      note({.kind = Kind::job_blamed, .job = job.id});
    }
  }

  // Returns the rate at which the fleet's own failures strike the job's nodes. A job on thousands
  // of nodes is lost hundreds of times, sometimes soon after it started, and none of that is its
  // own fault.
  PerSecond expected_rate(const JobMemory& m) const {
    const auto fleet = static_cast<double>(view_.nodes.size()) + view_.well;
    const double nodes = m.nodes.empty() ? fleet : static_cast<double>(m.nodes.size());
    return nodes * fleet_rate(faded(memory_.all, view_.now, policy_.lemon.memory), fleet, watched(),
                              policy_.lemon);
  }

  Seconds watched() const { return view_.now - memory_.since.value_or(view_.now); }

  double losses_allowed(const JobMemory& m) const {
    return policy_.losses_max + kTimesExpected * (expected_rate(m) * watched());
  }

  bool crash_loops(const JobMemory& m) const {
    const auto wanted = static_cast<std::size_t>(std::max(0, policy_.crash_loop));
    if (wanted == 0 || m.losses.size() < wanted) return false;
    const Seconds soon = min(policy_.crash_run, kSoonShare / expected_rate(m));
    std::set<std::string> nodes;
    for (std::size_t i = m.losses.size() - wanted; i < m.losses.size(); ++i) {
      if (m.losses[i].node.empty() || m.losses[i].ran > soon) return false;
      nodes.insert(m.losses[i].node);
    }
    return nodes.size() == wanted;
  }

  void forget_missing_jobs() {
    std::set<std::string_view> present;
    for (const JobView& job : view_.jobs) present.insert(job.id);
    std::vector<std::string> gone;
    for (const auto& [id, m] : memory_.jobs) {
      if (!present.contains(id)) gone.push_back(id);
    }
    for (const std::string& id : gone) note({.kind = Kind::job_gone, .job = id});
  }

  const ClusterLook& view_;
  RecoveryMemory& memory_;
  const RecoveryPolicy& policy_;
  std::set<std::string> bad_;
  std::map<std::string, std::vector<std::string>> bad_of_;  // keyed by job, if the port reports it
  bool shaken_ = false;                                     // the controller has just started
  std::vector<RecoveryEvent> events_;
};

}  // namespace

std::vector<RecoveryEvent> observe(const ClusterLook& view, RecoveryMemory& memory,
                                   const RecoveryPolicy& policy) {
  return Observer(view, memory, policy).run();
}

std::string fence_key(const std::string& node, const NodeMemory& m) {
  return "fence/" + node + "/" + std::to_string(m.failures);
}

double lemon_odds_of(const std::string& node, const ClusterLook& view, const RecoveryMemory& memory,
                     const RecoveryPolicy& policy) {
  LemonEvidence evidence{.other_nodes = static_cast<double>(view.nodes.size()) + view.well - 1,
                         .watched = view.now - memory.since.value_or(view.now)};
  const auto known = memory.nodes.find(node);
  if (known != memory.nodes.end()) {
    evidence.node_weight = faded(known->second.weight, view.now, policy.lemon.memory);
  }
  const double all = faded(memory.all, view.now, policy.lemon.memory);
  evidence.other_weight = std::max(0.0, all - evidence.node_weight);
  return lemon_odds(evidence, policy.lemon);
}

}  // namespace orrery::failure
