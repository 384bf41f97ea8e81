#include "layers/failure/recovery_desk.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace orrery::failure {
namespace {

// Names sort like their numbers, because the policy takes the first spare of the look.
std::string name_of(int host) { return fmt::format("n{:06}", host); }

int host_of(const std::string& name) {
  int host = -1;
  std::from_chars(name.data() + 1, name.data() + name.size(), host);
  return host;
}

// The policy's clock must not be zero, which means "never" to it.
Seconds clock_at(sim::SimTime now) { return now.seconds() + seconds(1); }

// Slurm holds a requeued job for two minutes; the policy releases the hold.
constexpr Seconds kHold = seconds(121);

}  // namespace

void RecoveryDesk::job_runs(sim::SimTime now, const std::string& job) {
  const auto [at, is_new] = jobs_.try_emplace(job);
  if (!is_new) ++at->second.restarts;
  at->second.phase = JobPhase::running;
  look(now, -1, job);
}

RecoveryDesk::Call RecoveryDesk::host_down(sim::SimTime now, int host, const std::string& job,
                                           int spare) {
  const std::string name = name_of(host);
  listed_[name] = {.name = name, .down = true, .job = job};
  Call call = look(now, spare, job);
  look(now, -1, {});  // lets the policy see that the node is drained
  return call;
}

RecoveryDesk::Call RecoveryDesk::job_waits(sim::SimTime now, const std::string& job) {
  jobs_[job].phase = JobPhase::pending;
  ++jobs_[job].restarts;
  Call call = look(now, -1, job);
  --jobs_[job].restarts;  // incremented when it runs
  // The job has left its hosts, so failures of those do not affect its next run.
  for (auto& [name, node] : listed_) {
    if (node.job == job) node.job.clear();
  }
  return call;
}

RecoveryDesk::Call RecoveryDesk::host_back(sim::SimTime now, int host) {
  const std::string name = name_of(host);
  listed_[name] = {.name = name};
  Call call = look(now, -1, {});
  if (!call.lemons.empty()) look(now, -1, {});
  listed_.erase(name);
  return call;
}

RecoveryDesk::Call RecoveryDesk::look(sim::SimTime now, int spare, const std::string& asked) {
  ++looks_;
  ClusterLook view{.now = clock_at(now)};
  for (const auto& [id, job] : jobs_) {
    const bool waits = job.phase == JobPhase::pending;
    view.jobs.push_back({.id = id,
                         .phase = job.phase,
                         .restarts = job.restarts,
                         .waits_for_time = waits,
                         .eligible = waits ? view.now + kHold : Seconds()});
  }
  for (const auto& [name, node] : listed_) view.nodes.push_back(node);
  if (spare >= 0) view.nodes.push_back({.name = name_of(spare), .drained = true, .spare = true});
  std::ranges::sort(view.nodes, {}, &NodeView::name);
  view.well = std::max(0, hosts_ - static_cast<int>(listed_.size()));
  const Decision decision = decide_and_remember(view, memory_, policy_);
  Call call{.is_released = false};
  for (const RecoveryAction& a : decision.actions) {
    carry_out(a, now, call);
    if (a.kind == ActionKind::release_job && a.job == asked) call.is_released = true;
  }
  return call;
}

void RecoveryDesk::carry_out(const RecoveryAction& a, sim::SimTime now, Call& call) {
  if (a.kind == ActionKind::alert) return;
  const RecoveryEvent tried{.kind = RecoveryEventKind::tried,
                            .at = clock_at(now),
                            .node = a.nodes.empty() ? "" : a.nodes.front(),
                            .key = a.key,
                            .good = true};
  apply(memory_, tried, policy_.lemon.memory);
  if (a.kind == ActionKind::resume_spare) call.spares.push_back(host_of(a.nodes.front()));
  if (a.kind != ActionKind::drain_node) return;
  const auto node = listed_.find(a.nodes.front());
  if (node == listed_.end()) return;
  // A host that is down is already in repair; one that came back and is drained is a lemon.
  if (!node->second.down) call.lemons.push_back(host_of(node->first));
  node->second.drained = true;
}

}  // namespace orrery::failure
