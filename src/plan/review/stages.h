// The design review: joins the layers in closed form and finds what holds, what limits, and what
// breaks a rule.
//
//   design -> fleets -> networks -> training and serving -> checkpoints and failures -> power ->
//   money
// Each stage takes what the earlier ones found, so that a change in one layer moves the figures of
// the others: a slower disk lengthens the stall, the stall lowers goodput, goodput raises the price
// of a useful hour.
//
// A review shares its machine, which never changes; views point into the machine and its design,
// never into one another, so a review can be copied and outlives what it was made from. The Models
// behind the machine must outlive it.
#pragma once

#include <memory>
#include <vector>

#include "model/jobs/resolve_jobs.h"
#include "model/machine/machine.h"
#include "plan/review/cost_view.h"
#include "plan/review/pipeline_view.h"
#include "plan/review/serve_view.h"
#include "plan/review/site_view.h"
#include "plan/review/train_view.h"
#include "plan/review/work_view.h"

namespace orrery::review {

struct Review {
  std::shared_ptr<const machine::Machine> machine;
  std::shared_ptr<const jobs::Jobs> resolved;  // the workloads, as the views below found them
  std::vector<TrainView> trains;
  IndexedVector<design::TierIndex, Bytes> used;  // used by data sets and kept checkpoints
  std::vector<ServeView> serves;
  std::vector<JobsView> jobs;
  std::vector<BatchView> batches;
  std::vector<MigView> mig;
  PipelineView pipeline;
  machine::Ledger ledger;       // the machine's ledger, plus what the workloads turn out to hold
  std::vector<SiteView> sites;  // one per site of the machine
  CostView cost;

  const design::Design& design() const { return machine->design(); }
  const machine::Models& models() const { return machine->models(); }
  const catalog::Catalog& catalog() const { return machine->catalog(); }
  const machine::Fleets& fleets() const { return machine->fleets; }
  // Returns the networks of the first site that has machines of its own.
  const machine::Networks& networks() const { return machine->main_networks(); }
  const machine::Tiers& tiers() const { return machine->tiers; }
  const machine::FleetBook& book_of(const machine::Fleet& fleet) const {
    return ledger.fleets[fleet.index];
  }
  Bytes used_of(const machine::Tier& tier) const { return used[tier.index]; }
};

// Runs the stages in order. `same_steps` is the review of a design that
// has the same training steps, services and build schedule; their results are reused.
Review run_stages(design::Design design, const machine::Models& models,
                  const Review* same_steps = nullptr);
// The same of a machine whose jobs are resolved.
Review run_stages(jobs::LoadedMachine loaded, const Review* same_steps = nullptr);

}  // namespace orrery::review
