// Why a waiting job waits, and what would start it.
//
// The answer is computed from the same view that a decision is made of, so it cannot differ from
// what the scheduler saw. `earliest` is the time at which the job would have its place if nobody
// passed it and running jobs used their limits to the end: a bound from below where others wait
// before it. `limit_to_pass` is the longest limit with which EASY would let it start at once.
#pragma once

#include <string>

#include "layers/cluster/backfill.h"

namespace orrery::cluster {

enum class WaitReason {
  starts,      // nothing is in its way: the next decision starts it
  too_large,   // the fleet, or its partition, has never so much in one place
  not_yet,     // held, or requeued and not eligible yet
  limits,      // nodes are free, and a quota, QOS or the site's power does not admit it
  resources,   // too few GPUs are free
  fragmented,  // enough are free, but not together
  priority,    // it would fit, but those before it come first
  promise,     // it would fit, but would delay what the head was promised
  reserved,    // it would fit, but on nodes that a reservation keeps from it
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
  int gpus_short = 0;          // to be freed before it fits
  sim::SimTime earliest;       // see above; never() where no end of running jobs gives it a place
  sim::SimTime limit_to_pass;  // zero where none would do
  JobIndex behind = kNoJob;    // the first job before it that cannot start
  std::string reservation;     // that bars it longest
  sim::SimTime reserved_until;
};

// `job` must be in view.waiting.
WaitAnswer explain_wait(BackfillVariant variant, const QueueView& view, const NodePool& pool,
                        JobIndex job);
// In a sentence or two; `now` is the view's.
std::string to_text(const WaitAnswer& answer, sim::SimTime now);

}  // namespace orrery::cluster
