// What the workloads turn out to hold of each fleet: the machine's ledger, filled in stage by
// stage.
//
//   service  replicas x accelerators, all the time; needed: the replicas that the peak and the
//            promised availability need
//   run      the accelerators of its layout, for runs x run time per year, or for each repetition;
//            all the time if neither is given: such runs follow one another
//   jobs     arrivals x duration x size, at least the largest job
//   batch    the hosts of its tasks, for its duration in each repetition
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

// Returns the share of a year, or of the time between two repetitions; above 1 if the runs do not
// fit into it.
double share_of_time(const TrainView& train);

}  // namespace orrery::review
