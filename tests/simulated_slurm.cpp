#include "simulated_slurm.h"

#include <algorithm>

namespace orrery::testing_slurm {
namespace {

constexpr Seconds kStep = milliseconds(10);

std::unexpected<Diagnostics> refused(const std::string& what) {
  return fail({.code = "slurm.refused", .what = what, .why = {}, .fix = {}});
}

}  // namespace

SimulatedSlurm::SimulatedSlurm(const SimulatedOptions& options)
    : options_(options), now_(options.epoch), next_pass_(options.epoch) {
  for (int i = 1; i <= options.nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    nodes_[name].view.name = name;
    order_.push_back(name);
  }
}

std::string SimulatedSlurm::submit(int nodes) {
  const std::string id = std::to_string(++last_id_);
  jobs_[id].view = {.id = id, .eligible = now_};
  jobs_[id].wanted = nodes;
  return id;
}

void SimulatedSlurm::place(const std::string& job, std::vector<std::string> nodes) {
  jobs_.at(job).next_place = std::move(nodes);
}

bool SimulatedSlurm::is_running(const std::string& job) const {
  return jobs_.at(job).view.phase == JobPhase::running;
}

// The job leaves its nodes; those that answer take a moment to clean up.
void SimulatedSlurm::end_run(Job& job, bool requeue, JobPhase after) {
  const bool alive = job.view.phase == JobPhase::running || job.view.phase == JobPhase::starting;
  if (!alive) return;
  if (!job.runs.empty() && job.runs.back().end == Seconds()) job.runs.back().end = now_;
  job.view.phase = JobPhase::completing;
  job.requeue_after = requeue && job.view.requeueable;
  job.after = requeue ? JobPhase::failed : after;
  if (job.requeue_after) ++job.view.restarts;
  job.view.ended = now_;
  job.until = now_ + options_.completing;
}

void SimulatedSlurm::lose_jobs_on(const std::string& node) {
  for (auto& [id, job] : jobs_) {
    if (std::ranges::find(job.view.nodes, node) != job.view.nodes.end()) {
      end_run(job, true, JobPhase::failed);
    }
  }
}

void SimulatedSlurm::fail_node(const std::string& name) {
  Node& node = nodes_.at(name);
  node.dead = true;
  node.view.down = true;
  lose_jobs_on(name);
}

void SimulatedSlurm::flap_node(const std::string& name) { lose_jobs_on(name); }

void SimulatedSlurm::silence_node(const std::string& name) {
  Node& node = nodes_.at(name);
  node.view.silent = true;
  for (const auto& [id, job] : jobs_) {
    const bool here = std::ranges::find(job.view.nodes, name) != job.view.nodes.end();
    if (here && job.view.phase == JobPhase::running) node.zombie_job = id;
  }
}

void SimulatedSlurm::break_node(const std::string& name) {
  nodes_.at(name).view.drained = true;
  nodes_.at(name).view.broken = true;
}

void SimulatedSlurm::repair_node(const std::string& name) {
  nodes_.at(name) = {.view = {.name = name}};
}

void SimulatedSlurm::return_node(const std::string& name) {
  Node& node = nodes_.at(name);
  node.dead = node.view.down = node.view.silent = false;
}

void SimulatedSlurm::make_spare(const std::string& name) {
  nodes_.at(name).view = {.name = name, .drained = true, .spare = true};
}

void SimulatedSlurm::crash_job(const std::string& job) {
  end_run(jobs_.at(job), false, JobPhase::failed);
}
void SimulatedSlurm::finish_job(const std::string& job) {
  end_run(jobs_.at(job), false, JobPhase::ended);
}
void SimulatedSlurm::requeue_job(const std::string& job) {
  end_run(jobs_.at(job), true, JobPhase::failed);
}

std::vector<std::string> SimulatedSlurm::free_nodes(const Job& job) const {
  std::set<std::string> taken;
  for (const auto& [id, other] : jobs_) {
    if (other.view.phase == JobPhase::pending || other.view.phase == JobPhase::ended) continue;
    if (other.view.phase == JobPhase::failed) continue;
    taken.insert(other.view.nodes.begin(), other.view.nodes.end());
  }
  std::vector<std::string> out;
  for (const std::string& name : job.next_place.empty() ? order_ : job.next_place) {
    const NodeView& node = nodes_.at(name).view;
    const bool fit = !node.down && !node.drained && !node.silent && !taken.contains(name);
    if (fit && !job.avoids.contains(name)) out.push_back(name);
  }
  return out;
}

void SimulatedSlurm::schedule() {
  for (auto& [id, job] : jobs_) {
    JobView& view = job.view;
    if (view.phase != JobPhase::pending || view.held) continue;
    view.waits_for_time = view.eligible > now_;
    if (view.waits_for_time) continue;
    std::vector<std::string> free = free_nodes(job);
    if (static_cast<int>(free.size()) < job.wanted) continue;
    free.resize(static_cast<std::size_t>(job.wanted));
    job.next_place.clear();
    for (const std::string& name : free) {
      if (!nodes_.at(name).zombie_job.empty()) overlaps_.push_back(name + " still runs a job");
    }
    for (const auto& [name, node] : nodes_) {
      if (node.zombie_job == id) overlaps_.push_back("job " + id + " may still run on " + name);
    }
    if (!job.runs.empty() && job.runs.back().end == Seconds()) {
      overlaps_.push_back("job " + id + " runs twice");
    }
    view.nodes = free;
    view.phase = JobPhase::starting;
    job.until = now_ + options_.starting;
    job.runs.push_back({.start = now_, .end = {}, .nodes = free});
  }
}

void SimulatedSlurm::step() {
  now_ += kStep;
  for (auto& [id, job] : jobs_) {
    if (job.view.phase == JobPhase::starting && now_ >= job.until) {
      job.view.phase = JobPhase::running;
    }
    if (job.view.phase != JobPhase::completing || now_ < job.until) continue;
    job.view.nodes = job.requeue_after ? std::vector<std::string>() : job.view.nodes;
    job.view.phase = job.requeue_after ? JobPhase::pending : job.after;
    if (job.requeue_after) {
      job.view.ended = {};
      job.view.eligible = now_ + options_.hold;
      job.view.waits_for_time = true;
    }
  }
  if (now_ >= next_pass_) {
    schedule();
    next_pass_ = now_ + options_.scheduling;
  }
}

void SimulatedSlurm::advance(Seconds span) {
  const Seconds end = now_ + span;
  while (now_ < end) step();
}

ClusterLook SimulatedSlurm::look() const {
  ClusterLook view{.now = now_};
  for (const auto& [id, job] : jobs_) view.jobs.push_back(job.view);
  for (const auto& [name, node] : nodes_) view.nodes.push_back(node.view);
  return view;
}

Result<void> SimulatedSlurm::act(const RecoveryAction& action) {
  const auto job = jobs_.find(action.job);
  if (!action.job.empty() && job == jobs_.end()) return refused("no such job");
  Node* node = action.nodes.empty() ? nullptr : &nodes_.at(action.nodes.front());
  switch (action.kind) {
    case ActionKind::drain_node:
      node->view.drained = true;
      return {};
    case ActionKind::fence_node:
      node->dead = true;
      node->zombie_job.clear();
      return {};
    case ActionKind::down_node:
      fail_node(action.nodes.front());
      return {};
    case ActionKind::resume_spare:
      node->view.drained = node->view.spare = false;
      return {};
    case ActionKind::requeue_job:
      if (job->second.view.phase == JobPhase::failed) {
        job->second.view = {.id = action.job,
                            .restarts = job->second.view.restarts + 1,
                            .waits_for_time = true,
                            .eligible = now_ + options_.hold};
        return {};
      }
      if (job->second.view.phase != JobPhase::running) return refused("job is not running");
      requeue_job(action.job);
      return {};
    case ActionKind::exclude_nodes:
      if (job->second.view.phase != JobPhase::pending) return refused("no longer pending");
      job->second.avoids.insert(action.nodes.begin(), action.nodes.end());
      return {};
    case ActionKind::release_job:
      if (job->second.view.phase == JobPhase::running) return refused("no longer pending");
      // While it completes the new time is taken and then overwritten by the requeue's own.
      job->second.view.eligible = now_;
      return {};
    case ActionKind::hold_job:
      job->second.view.held = true;
      return {};
    case ActionKind::alert:
      return {};
  }
  return {};
}

RecoverPort SimulatedSlurm::port() {
  return {.look = [this] { return Result<ClusterLook>(look()); },
          .act = [this](const RecoveryAction& action) { return act(action); },
          .now = [this] { return now_; }};
}

}  // namespace orrery::testing_slurm
