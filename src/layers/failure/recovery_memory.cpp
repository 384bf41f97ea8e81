#include "layers/failure/recovery_memory.h"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery::failure {
namespace {

using Kind = RecoveryEventKind;

constexpr std::array<std::pair<Kind, const char*>, 23> kKindNames = {{
    {Kind::watch_began, "watch_began"},
    {Kind::job_started, "job_started"},
    {Kind::job_lost, "job_lost"},
    {Kind::job_back, "job_back"},
    {Kind::job_blamed, "job_blamed"},
    {Kind::job_gone, "job_gone"},
    {Kind::node_silent, "node_silent"},
    {Kind::node_failed, "node_failed"},
    {Kind::node_back, "node_back"},
    {Kind::spare_called, "spare_called"},
    {Kind::lemon_found, "lemon_found"},
    {Kind::drain_settled, "drain_settled"},
    {Kind::tried, "tried"},
    {Kind::alerted, "alerted"},
    {Kind::controller_seen, "controller_seen"},
    {Kind::node_fenced, "node_fenced"},
    {Kind::fence_failed, "fence_failed"},
    {Kind::node_forgotten, "node_forgotten"},
    {Kind::drain_lifted, "drain_lifted"},
    {Kind::spare_returned, "spare_returned"},
    {Kind::job_undone, "job_undone"},
    {Kind::job_held, "job_held"},
    {Kind::node_shown, "node_shown"},
}};

// Keys of actions and alerts are "kind/target/episode". Those of a finished target are removed.
template <class Keyed, class KeyOf>
void forget_target(Keyed& all, const std::string& target, KeyOf key_of) {
  const std::string middle = "/" + target + "/";
  for (auto at = all.begin(); at != all.end();) {
    at = key_of(*at).find(middle) == std::string::npos ? std::next(at) : all.erase(at);
  }
}

void forget(RecoveryMemory& m, const std::string& target) {
  forget_target(m.attempts, target, [](const auto& pair) { return pair.first; });
  forget_target(m.alerted, target, [](const std::string& key) { return key; });
}

void start_run(RecoveryMemory& m, const RecoveryEvent& e) {
  JobMemory& job = m.jobs[e.job];
  job.restarts = e.restarts;
  job.started = e.at;
  job.nodes = e.nodes;
}

void lose_run(RecoveryMemory& m, const RecoveryEvent& e) {
  JobMemory& job = m.jobs[e.job];
  job.loss = JobLoss{.at = e.at, .restarts = e.restarts, .nodes = e.nodes, .ran_on = job.nodes};
  job.losses.push_back({.node = e.nodes.empty() ? "" : e.nodes.front(), .ran = e.lasted});
  if (job.losses.size() > kLossesKept) job.losses.erase(job.losses.begin());
  ++job.losses_total;
}

void regain_run(RecoveryMemory& m, const RecoveryEvent& e) {
  JobMemory& job = m.jobs[e.job];
  job.regained = std::exchange(job.loss, std::nullopt);
  job.held_seen = false;
  if (job.blamed) job.losses.clear();  // an operator released it: it is judged from scratch
  job.blamed = false;
  forget(m, e.job);
}

// The job's present or next run has the number of its last one: the controller forgot what
// followed.
void undo_run(RecoveryMemory& m, const RecoveryEvent& e) {
  JobMemory& job = m.jobs[e.job];
  if (!job.loss) job.loss = job.regained.value_or(JobLoss{});
  job.loss->at = e.at;
  job.loss->restarts = e.restarts;
  job.nodes = job.loss->ran_on;
  job.restarts = e.restarts;
}

void fail_node(NodeMemory& node, const RecoveryEvent& e, Seconds memory) {
  node.out = true;
  node.out_shown = true;
  node.weight = struck(node.weight, e.at, e.weight, memory);
  // A node that was out before observation began is someone else's responsibility.
  if (e.weight > 0) node.wants_drain = true;
  node.lemon = false;  // judged again, including this failure
  ++node.failures;
}

void try_action(RecoveryMemory& m, const RecoveryEvent& e) {
  Attempt& attempt = m.attempts[e.key];
  ++attempt.count;
  attempt.last = e.at;
  attempt.good = e.good;
}

// A new controller may have forgotten what an earlier one showed.
void see_controller(RecoveryMemory& m, Seconds since) {
  if (m.controller != since) {
    for (auto& [name, node] : m.nodes) node.out_shown = node.drain_shown = false;
  }
  m.controller = since;
}

void apply_to_node(NodeMemory& node, const RecoveryEvent& e, Seconds memory) {
  switch (e.kind) {
    case Kind::node_silent:
      node.silent_since = e.at;
      break;
    case Kind::node_failed:
      fail_node(node, e, memory);
      break;
    case Kind::node_back:
      node.out = false;
      node.fenced = false;
      node.silent_since = {};
      node.forgotten = {};
      break;
    case Kind::node_fenced:
      node.fenced = true;
      break;
    case Kind::node_forgotten:
      node.wants_drain = node.wants_drain || e.good;
      node.drain_seen = {};
      node.out_shown = node.drain_shown = false;
      if (node.out) node.forgotten = e.at;
      break;
    case Kind::spare_called:
      node.serves_for = e.nodes.empty() ? node.stood_in_for : "";
      node.stood_in_for = e.nodes.empty() ? "" : e.nodes.front();
      break;
    case Kind::spare_returned:
      node.serves_for.clear();
      break;
    case Kind::lemon_found:
      node.lemon = true;
      node.wants_drain = true;
      break;
    case Kind::drain_settled:
      node.wants_drain = false;
      node.drain_seen = e.at;
      node.drain_shown = true;
      break;
    case Kind::node_shown:
      (e.good ? node.drain_shown : node.out_shown) = true;
      break;
    case Kind::drain_lifted:
      node.drain_seen = {};
      break;
    default:
      break;
  }
}

}  // namespace

const char* to_text(RecoveryEventKind kind) {
  const auto found =
      std::ranges::find(kKindNames, kind, [](const auto& pair) { return pair.first; });
  return found == kKindNames.end() ? "" : found->second;
}

std::optional<RecoveryEventKind> event_kind_from(std::string_view text) {
  for (const auto& [kind, name] : kKindNames) {
    if (text == name) return kind;
  }
  return std::nullopt;
}

void apply(RecoveryMemory& m, const RecoveryEvent& e, Seconds memory) {
  switch (e.kind) {
    case Kind::watch_began:
      if (!m.since) m.since = e.at;
      break;
    case Kind::job_started:
      start_run(m, e);
      break;
    case Kind::job_lost:
      lose_run(m, e);
      break;
    case Kind::job_back:
      regain_run(m, e);
      break;
    case Kind::job_blamed:
      m.jobs[e.job].blamed = true;
      break;
    case Kind::job_undone:
      undo_run(m, e);
      break;
    case Kind::job_held:
      m.jobs[e.job].held_seen = e.good;
      break;
    case Kind::controller_seen:
      see_controller(m, e.lasted);
      break;
    case Kind::fence_failed:
      m.attempts[e.key].good = false;
      break;
    case Kind::job_gone:
      m.jobs.erase(e.job);
      forget(m, e.job);
      break;
    case Kind::tried:
      try_action(m, e);
      break;
    case Kind::alerted:
      m.alerted.insert(e.key);
      break;
    default:
      if (e.kind == Kind::node_failed) m.all = struck(m.all, e.at, e.weight, memory);
      apply_to_node(m.nodes[e.node], e, memory);
      if (e.kind == Kind::node_back) forget(m, e.node);
      break;
  }
}

}  // namespace orrery::failure
