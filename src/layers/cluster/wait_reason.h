// Why a waiting job waits, and what would start it.
//
// The answer is computed from the same view as a decision, so it agrees with what the scheduler
// saw. `earliest` is the time at which the job would have its place if no other job took it and
// running jobs used their full limits. If others wait before it, this is a lower bound.
// `limit_to_pass` is the longest time limit with which EASY would start it at once.
#pragma once

#include <string>

#include "layers/cluster/backfill.h"

namespace orrery::cluster {

enum class WaitReason {
  starts,      // nothing prevents it: the next decision starts it
  too_large,   // the fleet, or its partition, never has that much in one place
  not_yet,     // held, or requeued and not eligible yet
  limits,      // nodes are free, but a quota, QOS or the site's power does not admit it
  resources,   // too few GPUs are free
  fragmented,  // enough are free, but not together
  priority,    // it would fit, but jobs before it come first
  promise,     // it would fit, but would delay the job that was promised a place
  reserved,    // it would fit, but only on nodes that a reservation keeps from it
};
inline constexpr Word<WaitReason> kWaitReasonWords[] = {
    {WaitReason::starts, "starts"},       {WaitReason::too_large, "too-large"},
    {WaitReason::not_yet, "not-yet"},     {WaitReason::limits, "limits"},
    {WaitReason::resources, "resources"}, {WaitReason::fragmented, "fragmented"},
    {WaitReason::priority, "priority"},   {WaitReason::promise, "promise"},
    {WaitReason::reserved, "reserved"}};
constexpr WordTable<WaitReason> words_of(WaitReason) { return kWaitReasonWords; }

struct WaitAnswer {
  WaitReason reason = WaitReason::starts;
  int jobs_ahead = 0;
  int gpus_short = 0;          // GPUs that must become free before it fits
  sim::SimTime earliest;       // see above; never() if no end of running jobs gives it a place
  sim::SimTime limit_to_pass;  // zero if no limit would do
  JobIndex behind = kNoJob;    // the first job before it that cannot start
  std::string reservation;     // the one that bars it longest
  sim::SimTime reserved_until;
};

// `job` must be in view.waiting.
WaitAnswer explain_wait(BackfillVariant variant, const QueueView& view, const NodePool& pool,
                        JobIndex job);
// Explains the answer in a sentence or two; `now` is the view's time.
std::string to_text(const WaitAnswer& answer, sim::SimTime now);

}  // namespace orrery::cluster
