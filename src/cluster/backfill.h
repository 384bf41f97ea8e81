// Which jobs may pass the head of the queue: named variants, since "EASY" is not one algorithm.
//
// On the same 10,000 jobs two programs that both say EASY gave mean waits of 11,146 s and 30,306 s:
// one keeps a reservation of named nodes until it falls due, the other counts GPUs and computes the
// shadow time anew at each event. So a variant is named here with its rules, and its decisions are
// pure functions that a simulation or a live scheduler drives.
//   shadow   earliest time at which running jobs that end leave enough for the head
//   surplus  what is free then beyond the head's need
//   EASY     a later job may start now if it ends by the shadow, or needs no more than the surplus
#pragma once

#include <span>

#include "base/quantity.h"

namespace orrery::cluster {

enum class BackfillVariant {
  fifo,            // nothing passes the head
  easy_counted,    // EASY over counts, shadow computed anew at each event
  easy_reserved,   // EASY, the head's nodes chosen once and kept until it starts
  conservative,    // every queued job has a reservation that no later one may delay
  slurm_periodic,  // conservative, run every bf_interval over bf_max_job_test jobs of bf_window
};
const char* to_text(BackfillVariant v);
const char* rules_of(BackfillVariant v);  // in one sentence, for reports

struct RunningEnd {
  Seconds end;  // expected, on the simulation's clock
  int nodes = 0;
};

struct Shadow {
  Seconds time;
  int surplus = 0;
  bool reachable = false;  // false: the head needs more than all nodes
};
// `running` in any order; `now` is the shadow where the head fits already.
Shadow shadow_of(std::span<const RunningEnd> running, int free, int head_nodes, Seconds now);

struct WaitingJob {
  int nodes = 0;
  Seconds limit;  // wall-clock limit the user gave
};
// EASY's test on counts; `free` is what is free now.
bool may_backfill(const WaitingJob& job, int free, const Shadow& shadow, Seconds now);

}  // namespace orrery::cluster
