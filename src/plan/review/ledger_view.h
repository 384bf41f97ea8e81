// What the workloads turn out to hold of each fleet: the machine's ledger, filled in stage by
// stage.
//
//   service  replicas x accelerators, all the time; needed: the replicas that the peak and the
//            promised availability take
//   run      the accelerators of its layout, for runs x run time of a year, or of each repetition;
//            all the time where neither is given: such runs follow one another
//   jobs     arrivals x duration x size, at least the largest job
//   batch    what its tasks spread over, for its duration of each repetition
#pragma once

#include "plan/review/serve_view.h"
#include "plan/review/train_view.h"
#include "plan/review/work_view.h"

namespace orrery::review {

void book_services(machine::Ledger& ledger, const machine::Machine& machine,
                   const std::vector<ServeView>& serves);
void book_trains(machine::Ledger& ledger, const std::vector<TrainView>& trains);
void book_jobs(machine::Ledger& ledger, const std::vector<JobsView>& jobs);
void book_batches(machine::Ledger& ledger, const std::vector<BatchView>& batches);

// Of a year, or of the time between two repetitions; above 1 where the runs do not fit in it.
double share_of_time(const TrainView& train);

}  // namespace orrery::review
