#include "layers/cluster/wait_reason.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

bool is_admitted(const QueueView& view, const QueuedJob& job) {
  return view.gate == nullptr || view.gate->admits(job);
}

// Returns when running jobs' ends would give the job its place and room within its limits.
SimTime earliest_place(const QueueView& view, NodePool pool, const QueuedJob& job) {
  std::vector<NodeShare> where;
  LimitRoom room;
  room.reset(view.gate);
  const auto has_place = [&](SimTime at) {
    return room.admits(job) && pool.place(job.ask, view.mask_of(job, at), where);
  };
  if (has_place(view.now)) return view.now;
  for (const RunningEnd& end : view.running) {
    pool.give(view.job(end.job).shares);
    room.give(view.job(end.job));
    const SimTime at = std::max(view.now, end.end);
    if (has_place(at)) return at;
  }
  return SimTime::never();
}

WaitReason reason_without_room(const NodePool& pool, const QueuedJob& job) {
  return job.ask.gpus > pool.free_gpus() ? WaitReason::resources : WaitReason::fragmented;
}

bool lets_pass(BackfillVariant v) { return v != BackfillVariant::fifo; }

}  // namespace

WaitAnswer explain_wait(BackfillVariant variant, const QueueView& view, const NodePool& pool,
                        JobIndex index) {
  const QueuedJob& job = view.job(index);
  WaitAnswer answer;
  std::vector<NodeShare> where;
  const auto place = std::ranges::find(view.waiting, index);
  answer.jobs_ahead = static_cast<int>(place - view.waiting.begin());
  for (auto ahead = view.waiting.begin(); ahead != place && answer.behind == kNoJob; ++ahead) {
    const QueuedJob& other = view.job(*ahead);
    if (view.gate != nullptr && view.gate->passes_over(other)) continue;
    const bool starts =
        is_admitted(view, other) && pool.place(other.ask, view.mask_of(other), where);
    if (!starts) answer.behind = *ahead;
  }
  if (!pool.could_ever_fit(job.ask, view.partition_of(job))) {
    answer.reason = WaitReason::too_large;
    answer.earliest = SimTime::never();
    return answer;
  }
  answer.gpus_short = std::max(0, job.ask.gpus - pool.free_gpus());
  answer.earliest = earliest_place(view, pool, job);
  if (!pool.place(job.ask, view.mask_of(job), where)) {
    answer.reason = reason_without_room(pool, job);
    const int barrier = view.reservations == nullptr
                            ? -1
                            : view.reservations->barrier_of(job, view.now, answer.reserved_until);
    if (barrier >= 0 && pool.place(job.ask, view.partition_of(job), where)) {
      answer.reason = WaitReason::reserved;
      answer.reservation = view.reservations->all()[static_cast<std::size_t>(barrier)].name;
    }
  } else if (!is_admitted(view, job)) {
    answer.reason = WaitReason::limits;
  } else if (answer.behind == kNoJob || variant == BackfillVariant::best_effort) {
    answer.reason = WaitReason::starts;
  } else if (!lets_pass(variant)) {
    answer.reason = WaitReason::priority;
  } else {
    answer.reason = WaitReason::promise;
    const SimTime shadow = earliest_place(view, pool, view.job(answer.behind));
    answer.limit_to_pass = shadow.is_never() ? SimTime() : shadow - view.now;
  }
  return answer;
}

std::string to_text(const WaitAnswer& a, SimTime now) {
  const auto wait = [&] { return brief((a.earliest - now).seconds()); };
  const std::string after =
      a.earliest.is_never()
          ? "no running job's end makes room for it"
          : fmt::format("it can start in {} if running jobs use their full time limits", wait());
  switch (a.reason) {
    case WaitReason::starts:
      return "Nothing prevents it: it starts at the next decision.";
    case WaitReason::too_large:
      return "It requests more than the fleet or its partition has in one place, so it never "
             "starts. Request less, or GPUs on more nodes.";
    case WaitReason::not_yet:
      return "It is held, or was requeued and is not eligible yet.";
    case WaitReason::limits:
      return fmt::format(
          "GPUs are free, but its quota, its QOS or the site's power is used up; {}. A higher "
          "limit would start it sooner.",
          after);
    case WaitReason::resources:
      return fmt::format("{} more GPUs must be free; {}.", a.gpus_short, after);
    case WaitReason::fragmented:
      return fmt::format(
          "Enough GPUs are free, but not together; {}. With fewer GPUs per node it would start "
          "sooner.",
          after);
    case WaitReason::priority:
      return fmt::format(
          "It fits now, but {} jobs come before it and this policy lets no job overtake; "
          "backfill or a higher priority would start it.",
          a.jobs_ahead);
    case WaitReason::promise:
      return fmt::format(
          "It fits now, but would delay a job before it; with a time limit of {} or "
          "less it starts at once.",
          brief(a.limit_to_pass.seconds()));
    case WaitReason::reserved:
      return fmt::format(
          "It fits now, but reservation {} needs those nodes before its time limit is over; it "
          "waits until the reservation ends in {}, unless other nodes become free or its limit is "
          "shortened.",
          a.reservation, brief((a.reserved_until - now).seconds()));
  }
  return "";
}

}  // namespace orrery::cluster
