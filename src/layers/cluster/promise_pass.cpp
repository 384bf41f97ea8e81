#include "layers/cluster/promise_pass.h"

#include <algorithm>

namespace orrery::cluster {
namespace {

using sim::SimTime;

// A job that has passed its limit may end at any moment; its GPUs are not free now.
constexpr SimTime kAnyMoment = SimTime::nanoseconds(1'000'000'000);
// No promise is later than a year: services that run indefinitely would otherwise queue up for
// centuries.
constexpr SimTime kFarthest = SimTime::nanoseconds(std::int64_t{365} * 86'400'000'000'000);

LimitUses uses_of(const QueueView& view, JobIndex job) {
  return view.gate == nullptr ? LimitUses{} : view.gate->uses_of(view.job(job));
}

void expect_ends(const QueueView& view, const Starts& starts, FreeProfile& profile,
                 const auto& rounded) {
  for (const RunningEnd& end : view.running) {
    const SimTime when = std::max(rounded(end.end), view.now + kAnyMoment);
    profile.give_from(end.end > view.now ? rounded(end.end) : when, view.job(end.job).shares,
                      uses_of(view, end.job));
  }
  for (const Starts::One& one : starts.jobs) {
    profile.give_from(rounded(view.now + view.job(one.job).limit), starts.of(one),
                      uses_of(view, one.job));
  }
}

// Reservation windows that begin later are considered when they come nearer; promises are then made
// again.
constexpr SimTime kWindowsAhead = SimTime::nanoseconds(std::int64_t{2} * 86'400'000'000'000);

// Shows the profile as one job sees it: without the nodes of reservation windows that it may not
// use. For a job that stays, only windows open now count.
class Closed {
 public:
  Closed(const QueueView& view, const QueuedJob& job, FreeProfile& profile) : profile_(profile) {
    if (view.reservations == nullptr) return;
    const auto& all = view.reservations->all();
    for (std::size_t r = 0; r < all.size(); ++r) {
      if ((job.guest_of >> r & 1) != 0) continue;
      Reservation::Window w = all[r].window_after(view.now);
      while (!w.begin.is_never() && w.begin <= (job.stays ? view.now : view.now + kWindowsAhead)) {
        closed_.push_back({std::max(w.begin, view.now), w.end, &all[r].nodes});
        w = all[r].window_after(w.end);
      }
    }
    for (const One& c : closed_) profile_.close_between(c.from, c.until, *c.nodes);
  }
  ~Closed() {
    for (const One& c : closed_) profile_.open_between(c.from, c.until, *c.nodes);
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  struct One {
    SimTime from;
    SimTime until;
    const NodeMask* nodes;
  };
  FreeProfile& profile_;
  std::vector<One> closed_;
};

bool has_started(const Starts& starts, JobIndex job) {
  return std::ranges::any_of(starts.jobs, [job](const Starts::One& o) { return o.job == job; });
}

}  // namespace

ConservativePass::Kept* ConservativePass::kept_for(JobIndex job, const QueueView& view) {
  if (kept_.size() <= job) kept_.resize(job + 1);
  Kept& kept = kept_[job];
  if (kept.submitted != view.job(job).submitted) kept.is_valid = false;
  return &kept;
}

void ConservativePass::promise(JobIndex job, const QueueView& view) {
  const QueuedJob& asked = view.job(job);
  Kept& kept = *kept_for(job, view);
  kept.submitted = asked.submitted;
  const LimitUses uses = uses_of(view, job);
  {
    const Closed closed(view, asked, profile_);
    kept.at = profile_.find(asked.ask, asked.limit, view.partition_of(asked), view.now + kFarthest,
                            where_, uses);
  }
  kept.is_valid = !kept.at.is_never();
  kept.shares.assign(where_.begin(), where_.end());
  if (kept.is_valid) profile_.take_between(kept.at, kept.at + asked.limit, kept.shares, uses);
}

// Old promises are placed first, so that a job that moves forward cannot take another's place.
void ConservativePass::rebuild(const QueueView& view, const NodePool& pool) {
  profile_.reset(view.now, pool, view.gate);
  expect_ends(view, {}, profile_, [](SimTime t) { return t; });
  for (const JobIndex job : view.waiting) {
    Kept& kept = *kept_for(job, view);
    if (!kept.is_valid) continue;
    kept.at = std::max(kept.at, view.now);
    const SimTime limit = view.job(job).limit;
    kept.is_valid = profile_.holds(kept.at, limit, kept.shares, uses_of(view, job)) &&
                    (view.reservations == nullptr ||
                     view.reservations->is_open(view.job(job), kept.shares, kept.at));
    if (!kept.is_valid) continue;
    profile_.take_between(kept.at, kept.at + limit, kept.shares, uses_of(view, job));
  }
  // Each round moves some job forward; a job further back may have made room for one before it.
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (const JobIndex job : view.waiting) {
      const Kept& kept = *kept_for(job, view);
      const SimTime before = kept.is_valid ? kept.at : SimTime::never();
      if (kept.is_valid) {
        profile_.give_between(kept.at, kept.at + view.job(job).limit, kept.shares,
                              uses_of(view, job));
      }
      promise(job, view);
      has_moved = has_moved || kept.at < before;
    }
  }
}

void ConservativePass::start_due(const QueueView& view, NodePool& pool, Starts& starts) {
  next_due_ = SimTime::never();
  for (const JobIndex job : view.waiting) {
    Kept& kept = *kept_for(job, view);
    if (!kept.is_valid) continue;
    const bool is_admitted = view.gate == nullptr || view.gate->admits(view.job(job));
    if (kept.at > view.now || !is_admitted) {
      if (kept.at > view.now) next_due_ = std::min(next_due_, kept.at);
      continue;
    }
    kept.is_valid = false;
    starts.add(job, kept.shares, pool);
    if (view.gate != nullptr) view.gate->started(view.job(job));
  }
}

void ConservativePass::decide(const QueueView& view, NodePool& pool, Starts& starts) {
  const bool is_overdue = !view.running.empty() && view.running.front().end < view.now;
  if (!is_built_ || surprises_ != view.surprises || is_overdue || view.gate != nullptr ||
      view.reservations != nullptr) {
    rebuild(view, pool);
    is_built_ = true;
    surprises_ = view.surprises;
  } else {
    profile_.advance(view.now);
    for (const JobIndex job : view.waiting) {
      if (!kept_for(job, view)->is_valid) promise(job, view);
    }
  }
  start_due(view, pool, starts);
}

SimTime ConservativePass::promised(JobIndex job) const {
  return job < kept_.size() && kept_[job].is_valid ? kept_[job].at : SimTime::never();
}

SimTime SlurmPass::cut(SimTime t) const {
  if (t.is_never()) return t;
  const std::int64_t step = bounds_.resolution.ns();
  return step > 0 ? SimTime::nanoseconds(t.ns() / step * step) : t;
}

// The main scheduler: a job that finds no room closes its partition to the jobs behind it.
void SlurmPass::start_in_order(const QueueView& view, NodePool& pool, Starts& starts) {
  blocked_.assign(std::max<std::size_t>(1, view.partitions.size()), 0);
  room_.reset(view.gate);
  std::size_t open = blocked_.size();
  for (const JobIndex index : view.waiting) {
    if (open == 0) return;
    const QueuedJob& job = view.job(index);
    std::uint8_t& is_blocked = blocked_[view.partitions.empty() ? 0 : job.partition];
    if (is_blocked != 0) continue;
    if (view.gate != nullptr && view.gate->passes_over(job)) continue;
    const bool is_admitted = room_.admits(job);
    if (!is_admitted) room_.close_for(job);
    if (!pool.place(job.ask, view.mask_of(job), where_)) {
      is_blocked = 1;
      --open;
    } else if (is_admitted) {
      starts.add(index, where_, pool);
      room_.take(job);
      if (view.gate != nullptr) view.gate->started(job);
    }
  }
}

void SlurmPass::look_ahead(const QueueView& view, NodePool& pool, Starts& starts) {
  profile_.reset(view.now, pool, view.gate);
  // Ends are rounded down, as reservations are, so that both are on the grid. None may be in the
  // past.
  expect_ends(view, starts, profile_,
              [&](SimTime t) { return std::max(cut(t), view.now + kAnyMoment); });
  expected_.clear();
  int tested = 0;
  for (const JobIndex index : view.waiting) {
    if (has_started(starts, index)) continue;
    if (++tested > bounds_.max_job_test) return;
    const QueuedJob& job = view.job(index);
    const LimitUses uses = uses_of(view, index);
    const SimTime at = [&] {
      const Closed closed(view, job, profile_);
      return profile_.find(job.ask, job.limit, view.partition_of(job), view.now + bounds_.window,
                           where_, uses);
    }();
    if (at.is_never()) continue;
    if (at <= view.now) {
      starts.add(index, where_, pool);
      if (view.gate != nullptr) view.gate->started(job);
      const Starts::One& one = starts.jobs.back();
      profile_.take_between(view.now, std::max(cut(view.now + job.limit), view.now + kAnyMoment),
                            starts.of(one), uses);
    } else {
      profile_.take_between(std::max(cut(at), view.now + kAnyMoment), cut(at + job.limit), where_,
                            uses);
      expected_.push_back({.job = index, .at = at});
    }
  }
}

void SlurmPass::decide(const QueueView& view, NodePool& pool, Starts& starts) {
  start_in_order(view, pool, starts);
  const bool is_period = !next_.is_never() && view.now >= next_;
  if (is_period) {
    look_ahead(view, pool, starts);
    next_ = SimTime::never();
    if (starts.jobs.empty()) return;
  }
  // Something happened, so the next period has work to do.
  const std::int64_t step = std::max<std::int64_t>(1, bounds_.interval.ns());
  next_ = SimTime::nanoseconds((view.now.ns() / step + 1) * step);
}

SimTime SlurmPass::promised(JobIndex job) const {
  for (const Expected& e : expected_) {
    if (e.job == job) return e.at;
  }
  return SimTime::never();
}

std::unique_ptr<QueuePolicy> make_policy(BackfillVariant variant, const PeriodicBounds& bounds) {
  if (variant == BackfillVariant::conservative) return std::make_unique<ConservativePass>();
  if (variant == BackfillVariant::slurm) return std::make_unique<SlurmPass>(bounds);
  return std::make_unique<QueuePass>(variant);
}

}  // namespace orrery::cluster
