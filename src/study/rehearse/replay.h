// A stream of jobs on a fleet, in simulated time: how long jobs wait under each policy.
//
// Jobs arrive when the trace says and run as long as it says; the queue (queue.h) decides when and
// where. Nodes may fail: times between failures and repairs are exponential, a job on a lost node
// goes back into the queue and starts again from its last checkpoint. Every GPU-second of the fleet
// from the first submission to the last end is booked as one of: productive, lost (done again after
// a failure), idle, down.
//
// The wait of a job is from its submission to its first start.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/workload/job_trace.h"
#include "layers/cluster/queue.h"

namespace orrery::rehearse {

struct ReplayOptions {
  cluster::QueueOptions queue;
  Seconds node_mtbf;   // zero: nodes do not fail
  Seconds repair;      // mean
  Seconds checkpoint;  // between saves; zero: a stopped job starts from the beginning
  std::uint64_t seed = 1;
  // When to ask waiting jobs why they wait, and how many of them; none: no job is asked.
  std::optional<Seconds> ask_at;
  int ask_jobs = 10;
};

struct ReplayAnswer {
  std::size_t job = 0;  // index in the trace
  cluster::WaitAnswer why;
  std::string text;
};

struct ReplayWait {
  double mean_s = 0;
  double median_s = 0;
  double p90_s = 0;
  double p99_s = 0;
  double max_s = 0;
};

struct ReplayResult {
  int jobs = 0;      // in the trace
  int rejected = 0;  // larger than the fleet
  int finished = 0;
  int node_failures = 0;
  int stops = 0;  // stops of jobs because of lost nodes
  std::uint64_t events = 0;
  Seconds span;  // from the first submission to the last end
  ReplayWait wait;
  ReplayWait wait_wide;  // of jobs with 8 GPUs or more
  double slowdown = 0;   // mean of (wait + run) / max(run, 10 s)
  // In GPU-seconds; they add up to the fleet times the span.
  double productive = 0;
  double lost = 0;
  double idle = 0;
  double down = 0;
  std::vector<ReplayAnswer> answers;
  std::size_t waiting_when_asked = 0;
  std::vector<Seconds> waits;  // by job of the trace; negative if it was rejected

  double used_share() const { return productive / (productive + lost + idle + down); }
};

ReplayWait wait_of(std::span<const double> waits_s);

ReplayResult replay_jobs(std::span<const workload::JobRecord> jobs, const cluster::NodePool& pool,
                         const ReplayOptions& options);

}  // namespace orrery::rehearse
