#include "plan/review/stages.h"

#include <algorithm>

#include "model/jobs/tier_asks.h"
#include "plan/review/ledger_view.h"

namespace orrery::review {
namespace {

// Returns what data sets, kept checkpoints, event streams, stages and indexes occupy on each tier.
IndexedVector<design::TierIndex, Bytes> use_of_tiers(const machine::Machine& m,
                                                     const std::vector<TrainView>& trains) {
  IndexedVector<design::TierIndex, Bytes> used(m.tiers.size());
  const auto add = [&](const machine::TierAsk& ask) {
    for (const machine::Tier& t : m.tiers) {
      if (t.label == ask.tier) used[t.index] += ask.demand.capacity;
    }
  };
  for (const TrainView& t : trains) {
    if (t.feasible()) std::ranges::for_each(jobs::asks_of(t, m), add);
  }
  std::ranges::for_each(jobs::asks_of_pipeline(m), add);
  std::ranges::for_each(jobs::asks_of_indexes(m), add);
  return used;
}

}  // namespace

Review run_stages(design::Design design, const machine::Models& models, const Review* same_steps) {
  return run_stages(jobs::load_machine(std::move(design), models,
                                       same_steps ? same_steps->resolved.get() : nullptr),
                    same_steps);
}

Review run_stages(jobs::LoadedMachine loaded, const Review* same_steps) {
  Review r;
  r.machine = std::move(loaded.machine);
  r.resolved = std::move(loaded.jobs);
  const machine::Machine& m = *r.machine;
  const jobs::Jobs& jobs = *r.resolved;
  r.ledger = m.ledger;
  r.serves = view_serves(jobs, m, same_steps ? &same_steps->serves : nullptr);
  book_services(r.ledger, m, r.serves);
  r.trains = view_trains(jobs);
  r.used = use_of_tiers(m, r.trains);
  book_trains(r.ledger, r.trains);
  r.jobs = view_jobs(jobs, m, r.ledger);
  book_jobs(r.ledger, r.jobs);
  r.batches = view_batches(jobs, m, r.ledger);
  book_batches(r.ledger, r.batches);
  r.mig = view_mig(m);
  r.pipeline = view_pipeline(m, r.trains, r.serves, r.batches);
  r.sites = view_sites({m, r.ledger, r.trains, same_steps ? &same_steps->sites : nullptr});
  settle_availability(r.serves, m, r.sites);
  r.cost = view_cost({m, r.ledger, r.trains, r.used, r.sites});
  return r;
}

}  // namespace orrery::review
