#include "study/rehearse/replay.h"

#include <algorithm>
#include <cmath>

#include "core/base/statistics.h"
#include "model/figures/assumptions.h"

namespace orrery::rehearse {
namespace {

using cluster::JobIndex;
using sim::EventRank;
using sim::SimTime;

using figures::assumptions::kBoundedRun;

class Player final : public cluster::QueuePort, public sim::EventHandler {
 public:
  Player(std::span<const workload::JobRecord> jobs, const cluster::NodePool& pool,
         const ReplayOptions& options)
      : jobs_(jobs),
        options_(options),
        kernel_(options.seed),
        failures_(kernel_.stream("replay/failures")),
        queue_(kernel_, pool, options.queue, *this),
        states_(jobs.size()) {}

  ReplayResult play() {
    result_.jobs = static_cast<int>(jobs_.size());
    result_.waits.assign(jobs_.size(), Seconds(-1));
    open_ = result_.jobs;
    if (!jobs_.empty()) schedule_arrival();
    if (options_.ask_at) {
      kernel_.schedule(SimTime::from(*options_.ask_at), EventRank::settle, *this, kAsk);
    }
    if (options_.node_mtbf > Seconds()) {
      for (int node = 0; node < queue_.pool().nodes(); ++node) schedule_failure(node);
    }
    kernel_.run();
    finish_books();
    return std::move(result_);
  }

  void job_started(JobIndex, std::uint64_t tag, std::span<const cluster::NodeShare>) override {
    State& s = states_[tag];
    s.started = kernel_.now();
    if (!s.has_started) {
      s.has_started = true;
      result_.waits[tag] = (kernel_.now() - SimTime::from(jobs_[tag].submit)).seconds();
    }
    const Seconds left = jobs_[tag].run - s.saved;
    s.end = kernel_.schedule(kernel_.now().after(left), EventRank::finish, *this, kEnd, tag);
  }

  void job_stopped(JobIndex, std::uint64_t tag, cluster::StopCause) override {
    State& s = states_[tag];
    kernel_.cancel(s.end);
    const Seconds done = (kernel_.now() - s.started).seconds();
    Seconds kept;
    if (options_.checkpoint > Seconds()) {
      kept = options_.checkpoint * std::floor(done / options_.checkpoint);
    }
    s.saved += kept;
    result_.lost += (done - kept).base() * jobs_[tag].gpus;
    ++result_.stops;
  }

  void on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) override {
    const int node = static_cast<int>(data);
    if (kind == kArrive) return arrive();
    if (kind == kEnd) return end(data);
    if (kind == kAsk) return ask();
    if (kind == kRepaired) {
      count_down();
      down_gpus_ -= queue_.pool().gpus_on(node);
      queue_.node_up(node);
      return schedule_failure(node);
    }
    count_down();
    ++result_.node_failures;
    down_gpus_ += queue_.pool().gpus_on(node);
    queue_.node_down(node);
    const Seconds repair(failures_.exponential(options_.repair.base()));
    kernel_.schedule(kernel_.now().after(repair), EventRank::control, *this, kRepaired, data);
  }

 private:
  enum Kind : std::uint32_t { kArrive, kEnd, kFail, kRepaired, kAsk };

  struct State {
    SimTime started;
    Seconds saved;
    sim::TimerId end;
    JobIndex index = cluster::kNoJob;
    bool has_started = false;
  };

  void schedule_arrival() {
    kernel_.schedule(SimTime::from(jobs_[next_].submit), EventRank::start, *this, kArrive);
  }

  void arrive() {
    const SimTime now = kernel_.now();
    for (; next_ < jobs_.size() && SimTime::from(jobs_[next_].submit) <= now; ++next_) {
      const workload::JobRecord& job = jobs_[next_];
      const int per_node = job.nodes > 1 && job.gpus % job.nodes == 0 ? job.gpus / job.nodes : 0;
      const auto index = queue_.submit({.ask = {.gpus = job.gpus, .per_node = per_node},
                                        .limit = SimTime::from(max(job.limit, job.run)),
                                        .user = static_cast<std::uint32_t>(std::max(job.user, 0)),
                                        .tag = next_});
      if (index) {
        states_[next_].index = *index;
      } else {
        ++result_.rejected;
        --open_;
      }
    }
    if (next_ < jobs_.size()) schedule_arrival();
  }

  // Called at the end of the instant, after the queue has decided.
  void ask() {
    result_.waiting_when_asked = queue_.waiting();
    for (const JobIndex job : queue_.waiting_jobs()) {
      if (std::ssize(result_.answers) == options_.ask_jobs) return;
      const cluster::WaitAnswer why = queue_.why(job);
      result_.answers.push_back(
          {.job = queue_.tag(job), .why = why, .text = to_text(why, kernel_.now())});
    }
  }

  void end(std::uint64_t tag) {
    queue_.finish(states_[tag].index);
    result_.productive += jobs_[tag].run.base() * jobs_[tag].gpus;
    ++result_.finished;
    last_end_ = kernel_.now();
    if (--open_ > 0) return;
    // Only failures of nodes are left.
    count_down();
    kernel_.stop();
  }

  void schedule_failure(int node) {
    const Seconds gap(failures_.exponential(options_.node_mtbf.base()));
    kernel_.schedule(kernel_.now().after(gap), EventRank::control, *this, kFail,
                     static_cast<std::uint64_t>(node));
  }

  void count_down() {
    result_.down += down_gpus_ * (kernel_.now() - down_since_).seconds().base();
    down_since_ = kernel_.now();
  }

  void finish_books() {
    result_.events = kernel_.events_run();
    result_.span = last_end_.seconds();
    const double all = result_.span.base() * queue_.pool().gpus();
    result_.idle = all - result_.productive - result_.lost - result_.down;
    std::vector<double> waits;
    std::vector<double> wide;
    double slowdown = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (result_.waits[i] < Seconds()) continue;
      const double wait = result_.waits[i].base();
      const double run = jobs_[i].run.base();
      waits.push_back(wait);
      if (jobs_[i].gpus >= 8) wide.push_back(wait);
      slowdown += std::max(1.0, (wait + run) / std::max(run, kBoundedRun));
    }
    result_.wait = wait_of(waits);
    result_.wait_wide = wait_of(wide);
    result_.slowdown = waits.empty() ? 0 : slowdown / static_cast<double>(waits.size());
  }

  std::span<const workload::JobRecord> jobs_;
  const ReplayOptions& options_;
  sim::Kernel kernel_;
  RandomStream failures_;
  cluster::Queue queue_;
  std::vector<State> states_;
  std::size_t next_ = 0;
  int open_ = 0;  // jobs that have not ended
  int down_gpus_ = 0;
  SimTime down_since_;
  SimTime last_end_;
  ReplayResult result_;
};

}  // namespace

ReplayWait wait_of(std::span<const double> waits_s) {
  if (waits_s.empty()) return {};
  std::vector<double> sorted(waits_s.begin(), waits_s.end());
  std::ranges::sort(sorted);
  const auto at = [&](double share) { return quantile(sorted, share); };
  return {.mean_s = mean(waits_s),
          .median_s = at(0.5),
          .p90_s = at(0.9),
          .p99_s = at(0.99),
          .max_s = sorted.back()};
}

ReplayResult replay_jobs(std::span<const workload::JobRecord> jobs, const cluster::NodePool& pool,
                         const ReplayOptions& options) {
  return Player(jobs, pool, options).play();
}

}  // namespace orrery::rehearse
