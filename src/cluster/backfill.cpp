#include "cluster/backfill.h"

#include <algorithm>
#include <vector>

namespace orrery::cluster {

const char* to_text(BackfillVariant v) {
  switch (v) {
    case BackfillVariant::fifo:
      return "fifo";
    case BackfillVariant::easy_counted:
      return "easy-counted";
    case BackfillVariant::easy_reserved:
      return "easy-reserved";
    case BackfillVariant::conservative:
      return "conservative";
    case BackfillVariant::slurm_periodic:
      return "slurm-periodic";
  }
  return "";
}

const char* rules_of(BackfillVariant v) {
  switch (v) {
    case BackfillVariant::fifo:
      return "Jobs start in the order they came; nothing passes the head.";
    case BackfillVariant::easy_counted:
      return "The head is promised a time, counted in nodes and computed anew at each event; a "
             "later job starts if it ends by then or leaves the head enough.";
    case BackfillVariant::easy_reserved:
      return "The head is promised named nodes, kept until it starts; a later job starts if it "
             "ends by then or stays off those nodes.";
    case BackfillVariant::conservative:
      return "Every waiting job is promised a time; a job starts early only if no promise slips.";
    case BackfillVariant::slurm_periodic:
      return "As conservative, but looked at every bf_interval, for the first bf_max_job_test jobs "
             "and within bf_window, on a grid of bf_resolution.";
  }
  return "";
}

Shadow shadow_of(std::span<const RunningEnd> running, int free, int head_nodes, Seconds now) {
  if (free >= head_nodes) return {.time = now, .surplus = free - head_nodes, .reachable = true};
  std::vector<RunningEnd> ends(running.begin(), running.end());
  std::stable_sort(ends.begin(), ends.end(),
                   [](const RunningEnd& a, const RunningEnd& b) { return a.end < b.end; });
  for (std::size_t i = 0; i < ends.size(); ++i) {
    free += ends[i].nodes;
    // Jobs that end together free their nodes together.
    const bool last_of_its_time = i + 1 == ends.size() || ends[i].end < ends[i + 1].end;
    if (last_of_its_time && free >= head_nodes) {
      return {.time = max(now, ends[i].end), .surplus = free - head_nodes, .reachable = true};
    }
  }
  return {};
}

bool may_backfill(const WaitingJob& job, int free, const Shadow& shadow, Seconds now) {
  if (job.nodes > free) return false;
  if (!shadow.reachable) return true;
  return now + job.limit <= shadow.time || job.nodes <= shadow.surplus;
}

}  // namespace orrery::cluster
