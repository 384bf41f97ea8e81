#include "study/rehearse/simulated_slurm.h"

#include <algorithm>
#include <utility>

namespace orrery::rehearse {
namespace {

std::unexpected<Diagnostics> refused(const std::string& what) {
  return fail({.code = "slurm.refused", .what = what, .why = {}, .fix = {}});
}

}  // namespace

SimulatedSlurm::SimulatedSlurm(sim::Kernel& kernel, const SimulatedOptions& options)
    : kernel_(kernel), options_(options) {
  for (int i = 1; i <= options.nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    nodes_[name].view.name = name;
    nodes_[name].number = i;
    order_.push_back(name);
  }
  controller_since_ = now();
  save_state();
  kernel_.schedule(kernel_.now(), sim::EventRank::control, *this, kPass);
}

std::string SimulatedSlurm::submit(int nodes) {
  const int number = static_cast<int>(jobs_.size()) + 1;
  const std::string id = std::to_string(number);
  Job& job = jobs_[id];
  job.view = {.id = id, .eligible = now()};
  job.number = number;
  job.wanted = nodes;
  saved_.jobs[id] = job;  // a submission is confirmed when it is saved
  return id;
}

std::vector<std::string> SimulatedSlurm::jobs() const {
  std::vector<std::string> ids;
  for (std::size_t i = 1; i <= jobs_.size(); ++i) ids.push_back(std::to_string(i));
  return ids;
}

void SimulatedSlurm::lose_controller(Seconds span) { away_until_ = now() + span; }
void SimulatedSlurm::hang_fence(const std::string& node) { nodes_.at(node).fence_hangs = true; }

void SimulatedSlurm::kill_controller(Seconds span) {
  is_killed_ = true;
  away_until_ = now() + span;
  kernel_.schedule(kernel_.now().after(span), sim::EventRank::control, *this, kReturn);
}

void SimulatedSlurm::save_state() {
  saved_at_ = now();
  saved_.jobs = jobs_;
  for (const auto& [name, node] : nodes_) saved_.nodes[name] = node.view;
}

bool SimulatedSlurm::run_lives(const Job& job) const {
  return !job.runs.empty() && job.runs.back().end == Seconds();
}

// Restores the jobs that were saved, but not what runs where or which nodes are dead.
void SimulatedSlurm::restore_state() {
  is_killed_ = false;
  controller_since_ = now();
  for (auto& [id, job] : jobs_) {
    const Job& old = saved_.jobs.at(id);
    kernel_.cancel(job.settled);
    job.view = old.view;
    job.requeue_after = old.requeue_after;
    job.after = old.after;
    job.avoids = old.avoids;
    if (job.view.phase == failure::JobPhase::starting) settle_after(job, options_.starting);
    const bool waits_for_dead = std::ranges::any_of(job.view.nodes, [this](const auto& name) {
      return nodes_.at(name).dead && !saved_.nodes.at(name).down;
    });
    if (job.view.phase == failure::JobPhase::completing && !waits_for_dead) {
      settle_after(job, options_.completing);
    }
  }
  for (auto& [name, node] : nodes_) {
    const failure::FenceState fence = node.view.fence;  // not known to the controller
    node.view = saved_.nodes.at(name);
    node.view.fence = fence;
  }
  save_state();
  kernel_.schedule(kernel_.now(), sim::EventRank::finish, *this, kRegister);
  kernel_.schedule(kernel_.now().after(options_.timeout), sim::EventRank::finish, *this, kTimeout);
}

// Nodes report what they run: a run that the controller does not know is killed; a run that it
// knows but no node has is requeued, if all its nodes answered.
void SimulatedSlurm::register_nodes() {
  for (auto& [id, job] : jobs_) {
    const bool shown = job.view.phase == failure::JobPhase::running ||
                       job.view.phase == failure::JobPhase::starting;
    const bool is_known = shown && run_lives(job) && job.runs.back().restarts == job.view.restarts;
    if (run_lives(job) && !is_known) {
      job.runs.back().end = now();
      for (const std::string& name : job.runs.back().nodes) {
        nodes_.at(name).killing_until = now() + options_.killing;
      }
    }
    const bool all_answer = std::ranges::none_of(
        job.view.nodes, [this](const auto& name) { return nodes_.at(name).dead; });
    if (shown && !is_known && all_answer) end_run(job, true, failure::JobPhase::failed);
  }
  for (auto& [name, node] : nodes_) {
    if (node.dead && !node.view.down) node.view.silent = true;
  }
}

void SimulatedSlurm::declare_dead() {
  for (auto& [name, node] : nodes_) {
    if (node.dead && !node.view.down) fail_node(name);
  }
}

void SimulatedSlurm::lose_answers(int orders) { answers_to_lose_ = orders; }

void SimulatedSlurm::place(const std::string& job, std::vector<std::string> nodes) {
  jobs_.at(job).next_place = std::move(nodes);
}

bool SimulatedSlurm::is_running(const std::string& job) const {
  return jobs_.at(job).view.phase == failure::JobPhase::running;
}

// The job leaves its nodes; those that answer take a moment to clean up.
void SimulatedSlurm::end_run(Job& job, bool requeue, failure::JobPhase after) {
  const bool alive =
      job.view.phase == failure::JobPhase::running || job.view.phase == failure::JobPhase::starting;
  if (!alive) return;
  if (!job.runs.empty() && job.runs.back().end == Seconds()) job.runs.back().end = now();
  job.view.phase = failure::JobPhase::completing;
  job.requeue_after = requeue && job.view.requeueable;
  job.after = requeue ? failure::JobPhase::failed : after;
  if (job.requeue_after) ++job.view.restarts;
  job.view.ended = now();
  settle_after(job, options_.completing);
}

void SimulatedSlurm::lose_jobs_on(const std::string& node) {
  for (auto& [id, job] : jobs_) {
    if (std::ranges::find(job.view.nodes, node) != job.view.nodes.end()) {
      end_run(job, true, failure::JobPhase::failed);
    }
  }
}

void SimulatedSlurm::fail_node(const std::string& name) {
  Node& node = nodes_.at(name);
  node.dead = true;
  for (auto& [id, job] : jobs_) {
    const bool is_on = run_lives(job) && std::ranges::find(job.runs.back().nodes, name) !=
                                             job.runs.back().nodes.end();
    if (is_on) job.runs.back().end = now();
  }
  if (!controller_runs()) return;
  node.view.down = true;
  node.view.silent = false;
  lose_jobs_on(name);
  for (auto& [id, job] : jobs_) {
    const bool is_on = std::ranges::find(job.view.nodes, name) != job.view.nodes.end();
    if (is_on && job.view.phase == failure::JobPhase::completing) {
      settle_after(job, options_.completing);
    }
  }
}

void SimulatedSlurm::flap_node(const std::string& name) { lose_jobs_on(name); }

void SimulatedSlurm::silence_node(const std::string& name) {
  Node& node = nodes_.at(name);
  node.view.silent = true;
  for (const auto& [id, job] : jobs_) {
    const bool here = std::ranges::find(job.view.nodes, name) != job.view.nodes.end();
    if (here && job.view.phase == failure::JobPhase::running) node.zombie_job = id;
  }
}

void SimulatedSlurm::break_node(const std::string& name) {
  nodes_.at(name).view.drained = true;
  nodes_.at(name).view.broken = true;
}

void SimulatedSlurm::repair_node(const std::string& name) {
  nodes_.at(name) = {.view = {.name = name}, .number = nodes_.at(name).number};
}

void SimulatedSlurm::return_node(const std::string& name) {
  Node& node = nodes_.at(name);
  node.dead = node.view.down = node.view.silent = false;
}

void SimulatedSlurm::make_spare(const std::string& name) {
  nodes_.at(name).view = {.name = name, .drained = true, .spare = true};
}

void SimulatedSlurm::crash_job(const std::string& job) {
  end_run(jobs_.at(job), false, failure::JobPhase::failed);
}
void SimulatedSlurm::finish_job(const std::string& job) {
  end_run(jobs_.at(job), false, failure::JobPhase::ended);
}
void SimulatedSlurm::requeue_job(const std::string& job) {
  end_run(jobs_.at(job), true, failure::JobPhase::failed);
}

std::vector<std::string> SimulatedSlurm::free_nodes(const Job& job) const {
  std::set<std::string> taken;
  for (const auto& [id, other] : jobs_) {
    if (other.view.phase == failure::JobPhase::pending ||
        other.view.phase == failure::JobPhase::ended)
      continue;
    if (other.view.phase == failure::JobPhase::failed) continue;
    taken.insert(other.view.nodes.begin(), other.view.nodes.end());
  }
  std::vector<std::string> out;
  for (const std::string& name : job.next_place.empty() ? order_ : job.next_place) {
    const failure::NodeView& node = nodes_.at(name).view;
    const bool fit = !node.down && !node.drained && !node.silent && !taken.contains(name);
    if (fit && !job.avoids.contains(name)) out.push_back(name);
  }
  return out;
}

void SimulatedSlurm::start_job(Job& job, const std::vector<std::string>& nodes) {
  const std::string& id = job.view.id;
  for (const std::string& name : nodes) {
    if (!nodes_.at(name).zombie_job.empty()) overlaps_.push_back(name + " still runs a job");
  }
  for (const auto& [name, node] : nodes_) {
    if (node.zombie_job == id) overlaps_.push_back("job " + id + " may still run on " + name);
  }
  if (!job.runs.empty() && job.runs.back().end == Seconds()) {
    overlaps_.push_back("job " + id + " runs twice");
  }
  job.next_place.clear();
  const bool is_beside_another = std::ranges::any_of(
      nodes, [this](const auto& name) { return nodes_.at(name).killing_until > now(); });
  if (is_beside_another) {
    ++job.view.restarts;
    job.view.held = job.view.launch_failed = true;
    job.view.eligible = now() + options_.hold;
    return;
  }
  job.view.nodes = nodes;
  job.view.phase = failure::JobPhase::starting;
  job.runs.push_back({.start = now(), .end = {}, .nodes = nodes, .restarts = job.view.restarts});
  settle_after(job, options_.starting);
}

// One pass of the scheduler.
void SimulatedSlurm::schedule_pass() {
  for (auto& [id, job] : jobs_) {
    failure::JobView& view = job.view;
    if (view.phase != failure::JobPhase::pending || view.held) continue;
    view.waits_for_time = view.eligible > now();
    if (view.waits_for_time) continue;
    std::vector<std::string> free = free_nodes(job);
    if (static_cast<int>(free.size()) < job.wanted) continue;
    free.resize(static_cast<std::size_t>(job.wanted));
    start_job(job, free);
  }
}

void SimulatedSlurm::settle_after(Job& job, Seconds span) {
  kernel_.cancel(job.settled);
  job.settled = kernel_.schedule(kernel_.now().after(span), sim::EventRank::finish, *this, kSettled,
                                 static_cast<std::uint64_t>(job.number));
}

// Ends what the job was doing: it runs now, or has left its nodes.
void SimulatedSlurm::settle(Job& job) {
  failure::JobView& view = job.view;
  if (view.phase == failure::JobPhase::starting) {
    view.phase = failure::JobPhase::running;
  } else if (job.requeue_after) {
    view.nodes.clear();
    view.phase = failure::JobPhase::pending;
    view.ended = {};
    view.eligible = now() + options_.hold;
    view.waits_for_time = true;
  } else {
    view.phase = job.after;
  }
}

void SimulatedSlurm::on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) {
  switch (kind) {
    case kSettled:
      if (controller_runs()) settle(jobs_.at(std::to_string(data)));
      return;
    case kFenced: {
      Node& node = nodes_.at("n" + std::to_string(data));
      node.dead = true;
      node.zombie_job.clear();
      node.view.fence = failure::FenceState::off;
      return;
    }
    case kReturn:
      return restore_state();
    case kRegister:
      return register_nodes();
    case kTimeout:
      return declare_dead();
    default:
      break;
  }
  if (controller_runs()) {
    // Before the pass: a released job may be saved as waiting.
    if (now() - saved_at_ >= options_.save) save_state();
    schedule_pass();
  }
  kernel.schedule(kernel.now().after(options_.scheduling), sim::EventRank::control, *this, kPass);
}

Result<failure::ClusterLook> SimulatedSlurm::look() {
  if (now() < away_until_) return refused("no answer in time");
  failure::ClusterLook view{.now = now(), .controller_since = controller_since_};
  for (const auto& [id, job] : jobs_) {
    view.jobs.push_back(job.view);
    view.jobs.back().avoids.assign(job.avoids.begin(), job.avoids.end());
  }
  for (const auto& [name, node] : nodes_) view.nodes.push_back(node.view);
  return view;
}

Result<void> SimulatedSlurm::act(const failure::RecoveryAction& action) {
  if (now() < away_until_) return refused("no answer in time");
  const Result<void> done = carry_out(action);
  if (answers_to_lose_ == 0) return done;
  --answers_to_lose_;
  return refused("the answer was lost");
}

Result<void> SimulatedSlurm::carry_out(const failure::RecoveryAction& action) {
  if (!action.job.empty()) {
    const auto job = jobs_.find(action.job);
    return job == jobs_.end() ? refused("no such job") : carry_out(action, job->second);
  }
  if (action.nodes.empty()) return {};
  const auto found = nodes_.find(action.nodes.front());
  if (found == nodes_.end()) return refused("no such node");
  Node& node = found->second;
  switch (action.kind) {
    case failure::ActionKind::drain_node:
      node.view.drained = true;
      break;
    case failure::ActionKind::fence_node:
      node.view.fence = failure::FenceState::under_way;
      if (!std::exchange(node.fence_hangs, false)) {
        kernel_.schedule(kernel_.now().after(options_.fencing), sim::EventRank::finish, *this,
                         kFenced, static_cast<std::uint64_t>(node.number));
      }
      break;
    case failure::ActionKind::down_node:
      fail_node(found->first);
      break;
    case failure::ActionKind::resume_spare:
      node.view.drained = node.view.spare = false;
      break;
    default:
      break;  // for a job
  }
  return {};
}

Result<void> SimulatedSlurm::carry_out(const failure::RecoveryAction& action, Job& job) {
  failure::JobView& view = job.view;
  switch (action.kind) {
    case failure::ActionKind::requeue_job:
      if (view.phase == failure::JobPhase::failed) {
        view = {.id = action.job,
                .restarts = view.restarts + 1,
                .waits_for_time = true,
                .eligible = now() + options_.hold};
        return {};
      }
      if (view.phase != failure::JobPhase::running) return refused("job is not running");
      requeue_job(action.job);
      return {};
    case failure::ActionKind::exclude_nodes:
      if (view.phase != failure::JobPhase::pending) return refused("no longer pending");
      job.avoids.insert(action.nodes.begin(), action.nodes.end());
      return {};
    case failure::ActionKind::release_job:
      if (view.phase == failure::JobPhase::running) return refused("no longer pending");
      // While the job completes, the new begin time is accepted and then overwritten by that of the
      // requeue.
      view.eligible = now();
      return {};
    case failure::ActionKind::hold_job:
      view.held = true;
      return {};
    case failure::ActionKind::unhold_job:
      view.held = view.launch_failed = false;
      return {};
    default:
      return {};  // for a node
  }
}

}  // namespace orrery::rehearse
