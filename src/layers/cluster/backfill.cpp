#include "layers/cluster/backfill.h"

#include <algorithm>

namespace orrery::cluster {
namespace {

using sim::SimTime;

std::span<const NodeShare> shares_of(JobIndex job, const QueueView& view, const Starts& starts) {
  for (const Starts::One& one : starts.jobs) {
    if (one.job == job) return starts.of(one);
  }
  return view.job(job).shares;
}

bool is_admitted(JobIndex job, const QueueView& view) {
  return view.gate == nullptr || view.gate->admits(view.job(job));
}

bool passes_over(JobIndex job, const QueueView& view) {
  return view.gate != nullptr && view.gate->passes_over(view.job(job));
}

}  // namespace

const char* rules_of(BackfillVariant v) {
  switch (v) {
    case BackfillVariant::fifo:
      return "Jobs start in the order they arrived; no job overtakes the first.";
    case BackfillVariant::best_effort:
      return "Jobs are tried in order, and each that fits starts. There are no promises, so "
             "wide jobs may starve (Kueue's BestEffortFIFO).";
    case BackfillVariant::easy:
      return "The head is promised the earliest time it can have, computed again at each event; a "
             "later job starts if it ends by then or leaves the head its place.";
    case BackfillVariant::easy_sticky:
      return "The head is promised a time and named nodes, kept until it starts or they fall due; "
             "a later job starts if it ends by then or stays off those nodes.";
    case BackfillVariant::unguarded:
      return "The head is promised a time and tried again only then; until then whatever fits "
             "starts, so wide jobs may starve.";
    case BackfillVariant::conservative:
      return "Every waiting job is promised a time; a job starts early only if no promise slips.";
    case BackfillVariant::slurm:
      return "Jobs start in order at each event; every bf_interval the first bf_max_job_test jobs "
             "are promised times within bf_window, on a grid of bf_resolution, and those whose "
             "time is now start.";
  }
  return "";
}

void Starts::add(JobIndex job, std::span<const NodeShare> where, NodePool& pool) {
  const auto first = shares.size();
  shares.insert(shares.end(), where.begin(), where.end());
  pool.take(std::span(shares).subspan(first));
  jobs.push_back({.job = job,
                  .first = static_cast<std::uint32_t>(first),
                  .count = static_cast<std::uint32_t>(where.size())});
}

void QueuePass::commit(JobIndex job, const QueueView& view, NodePool& pool, Starts& starts) {
  starts.add(job, where_, pool);
  if (view.gate != nullptr) view.gate->started(view.job(job));
}

bool QueuePass::start(JobIndex job, const QueueView& view, NodePool& pool, Starts& starts) {
  if (!is_admitted(job, view)) return false;
  const QueuedJob& asked = view.job(job);
  if (!pool.place(asked.ask, view.mask_of(asked), where_)) return false;
  commit(job, view, pool, starts);
  return true;
}

// Returns the queue position of the first job that cannot start now but keeps its place in the
// queue.
std::size_t QueuePass::start_in_order(std::size_t from, const QueueView& view, NodePool& pool,
                                      Starts& starts) {
  for (; from < view.waiting.size(); ++from) {
    const JobIndex job = view.waiting[from];
    if (!start(job, view, pool, starts) && !passes_over(job, view)) return from;
  }
  return from;
}

// A job for which there is no room stops all jobs behind it; a job that lacks a limit stops those
// that count against the same limit.
void QueuePass::start_fifo(const QueueView& view, NodePool& pool, Starts& starts) {
  later_room_.reset(view.gate);
  for (const JobIndex index : view.waiting) {
    const QueuedJob& job = view.job(index);
    if (!later_room_.admits(job)) {
      later_room_.close_for(job);
      continue;
    }
    if (!start(index, view, pool, starts)) return;
    later_room_.take(job);
  }
}

void QueuePass::gather_ends(const QueueView& view, const Starts& starts) {
  ends_.assign(view.running.begin(), view.running.end());
  for (const Starts::One& one : starts.jobs) {
    const RunningEnd end{.end = view.now + view.job(one.job).limit, .job = one.job};
    const auto after = std::ranges::upper_bound(ends_, end.end, {}, &RunningEnd::end);
    ends_.insert(after, end);
  }
  if (view.reservations == nullptr) return;
  for (const Reservation& r : view.reservations->all()) {
    const RunningEnd end{.end = r.window_after(view.now).end, .job = kNoJob};
    if (end.end.is_never()) continue;
    ends_.insert(std::ranges::upper_bound(ends_, end.end, {}, &RunningEnd::end), end);
  }
}

// Promises the head a time in a pool that only counts GPUs, and returns the surplus at that time.
// `keep` leaves an existing promise as it is.
int QueuePass::promise_counted(JobIndex head, const QueueView& view, const NodePool& pool,
                               bool keep) {
  const int need = view.job(head).ask.gpus;
  int free = pool.free_gpus();
  later_room_.reset(view.gate);
  if (!keep) promise_.at = SimTime::never();
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (keep && promise_.at < ends_[i].end) break;
    if (ends_[i].job != kNoJob) {
      free += view.job(ends_[i].job).ask.gpus;
      later_room_.give(view.job(ends_[i].job));
    }
    const bool is_last_of_its_time = i + 1 == ends_.size() || ends_[i].end < ends_[i + 1].end;
    if (keep || !is_last_of_its_time || free < need) continue;
    if (!later_room_.admits(view.job(head))) continue;
    promise_.at = std::max(view.now, ends_[i].end);
    break;
  }
  promise_.job = head;
  promise_.submitted = view.job(head).submitted;
  later_room_.take(view.job(head));
  return std::max(0, free - need);
}

// Promises the head a time and nodes. Afterwards later_ holds what is free once the head has
// started there, and both_ what is free now and still free then.
void QueuePass::promise_nodes(JobIndex head, const QueueView& view, const NodePool& pool,
                              const Starts& starts, bool keep) {
  const QueuedJob& job = view.job(head);
  later_ = pool;
  later_room_.reset(view.gate);
  if (!keep) {
    promise_.at = SimTime::never();
    promise_.shares.clear();
  }
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (keep && promise_.at < ends_[i].end) break;
    if (ends_[i].job != kNoJob) {
      later_.give(shares_of(ends_[i].job, view, starts));
      later_room_.give(view.job(ends_[i].job));
    }
    const bool is_last_of_its_time = i + 1 == ends_.size() || ends_[i].end < ends_[i + 1].end;
    if (keep || !is_last_of_its_time) continue;
    const SimTime at = std::max(view.now, ends_[i].end);
    if (!later_room_.admits(job) || !later_.place(job.ask, view.mask_of(job, at), where_)) continue;
    promise_.at = at;
    promise_.shares = where_;
    break;
  }
  promise_.job = head;
  promise_.submitted = job.submitted;
  later_room_.take(job);
  later_.take_at_most(promise_.shares);
  both_.assign_least(pool, later_);
}

void QueuePass::pass_counted(std::size_t from, int surplus, const QueueView& view, NodePool& pool,
                             Starts& starts) {
  for (; from < view.waiting.size() && pool.free_gpus() > 0; ++from) {
    const JobIndex index = view.waiting[from];
    const QueuedJob& job = view.job(index);
    if (job.ask.gpus > pool.free_gpus()) continue;
    const bool ends_in_time = view.now + job.limit <= promise_.at;
    if (!ends_in_time && (job.ask.gpus > surplus || !later_room_.admits(job))) continue;
    if (!start(index, view, pool, starts) || ends_in_time) continue;
    surplus -= job.ask.gpus;
    later_room_.take(job);
  }
}

void QueuePass::pass_nodes(std::size_t from, const QueueView& view, NodePool& pool,
                           Starts& starts) {
  for (; from < view.waiting.size() && pool.free_gpus() > 0; ++from) {
    const JobIndex index = view.waiting[from];
    const QueuedJob& job = view.job(index);
    if (job.ask.gpus > pool.free_gpus() || !is_admitted(index, view)) continue;
    const bool ends_in_time = view.now + job.limit <= promise_.at;
    if (!ends_in_time && !later_room_.admits(job)) continue;
    const NodePool& usable = ends_in_time ? pool : both_;
    if (!usable.place(job.ask, view.mask_of(job), where_)) continue;
    commit(index, view, pool, starts);
    const auto& placed = starts.of(starts.jobs.back());
    if (ends_in_time) {
      both_.limit_to(pool, placed);
    } else {
      both_.take_at_most(placed);
      later_room_.take(job);
    }
  }
}

// Returns false if nothing can be promised to the head: the running jobs' ends do not give it a
// place.
bool QueuePass::pass_head(std::size_t head, const QueueView& view, NodePool& pool, Starts& starts) {
  const JobIndex job = view.waiting[head];
  if (view.job(job).ask.gpus > pool.gpus_up()) return false;
  // A promise that has come due without a start is void.
  const bool keep = variant_ == BackfillVariant::easy_sticky && promise_.is_for(view, job) &&
                    view.now < promise_.at && !promise_.at.is_never();
  const bool anyone = std::ranges::any_of(view.waiting.subspan(head + 1), [&](JobIndex j) {
    return view.job(j).ask.gpus <= pool.free_gpus();
  });
  // A sticky promise is made when the head blocks, even if all jobs behind it are too large to
  // start.
  if (!anyone && variant_ != BackfillVariant::easy_sticky) return true;
  gather_ends(view, starts);
  if (pool.is_plain()) {
    const int surplus = promise_counted(job, view, pool, keep);
    if (promise_.at.is_never()) return false;
    pass_counted(head + 1, surplus, view, pool, starts);
  } else {
    promise_nodes(job, view, pool, starts, keep);
    if (promise_.at.is_never()) return false;
    pass_nodes(head + 1, view, pool, starts);
  }
  return true;
}

void QueuePass::pass_unguarded(const QueueView& view, NodePool& pool, Starts& starts) {
  if (view.waiting.empty()) return;
  std::size_t next = 0;
  const bool is_kept = promise_.is_for(view, view.waiting[0]);
  if (!is_kept || view.now >= promise_.at || promise_.at.is_never()) {
    if (is_kept && !start(view.waiting[0], view, pool, starts)) {
      next = 1;
    } else {
      next = start_in_order(is_kept ? 1 : 0, view, pool, starts);
      promise_.job = kNoJob;
      if (next == view.waiting.size()) return;
      gather_ends(view, starts);
      promise_counted(view.waiting[next++], view, pool, false);
    }
  } else {
    next = 1;
  }
  for (; next < view.waiting.size() && pool.free_gpus() > 0; ++next) {
    start(view.waiting[next], view, pool, starts);
  }
}

void QueuePass::decide(const QueueView& view, NodePool& pool, Starts& starts) {
  if (variant_ == BackfillVariant::unguarded) return pass_unguarded(view, pool, starts);
  if (variant_ == BackfillVariant::fifo) return start_fifo(view, pool, starts);
  std::size_t blocked = start_in_order(0, view, pool, starts);
  if (variant_ == BackfillVariant::best_effort) {
    while (blocked < view.waiting.size() && pool.free_gpus() > 0) {
      blocked = start_in_order(blocked + 1, view, pool, starts);
    }
    return;
  }
  while (blocked + 1 < view.waiting.size()) {
    if (pool.free_gpus() == 0 && variant_ == BackfillVariant::easy) return;
    if (pass_head(blocked, view, pool, starts)) return;
    blocked = start_in_order(blocked + 1, view, pool, starts);
  }
}

}  // namespace orrery::cluster
