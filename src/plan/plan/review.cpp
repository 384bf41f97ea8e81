#include "plan/plan/review.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>

#include "core/base/text.h"
#include "model/design/write_design.h"
#include "model/figures/goals.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/tier_asks.h"
#include "plan/plan/invariants.h"
#include "plan/plan/ledger_view.h"
#include "plan/plan/rules.h"
#include "plan/plan/sections.h"
#include "plan/plan/spend.h"

namespace orrery::plan {
namespace {

// Debug builds check every verdict; an optimised one has a keystroke to answer.
#ifdef __OPTIMIZE__
constexpr bool kInsists = false;
#else
constexpr bool kInsists = true;
#endif

// What data sets, kept checkpoints, event streams, stages and indexes occupy on each tier.
std::vector<Bytes> use_of_tiers(const machine::Machine& m, const std::vector<TrainView>& trains) {
  std::vector<Bytes> used(m.tiers.size());
  const auto add = [&](const machine::TierAsk& ask) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (m.tiers[i].label == ask.tier) used[i] += ask.demand.capacity;
    }
  };
  for (const TrainView& t : trains) {
    if (t.feasible()) std::ranges::for_each(jobs::asks_of(t, m), add);
  }
  std::ranges::for_each(jobs::asks_of_pipeline(m), add);
  std::ranges::for_each(jobs::asks_of_indexes(m), add);
  return used;
}

std::string summary_of(const Verdict& v) {
  const auto broken = std::ranges::count(v.findings, Severity::error, &Finding::severity);
  const auto warned = std::ranges::count(v.findings, Severity::warning, &Finding::severity);
  const auto missed = std::ranges::count(v.goals, false, &figures::GoalOutcome::met);
  std::string text = v.passes() ? "The design passes" : "The design does not pass";
  text += fmt::format(": {} rule{} broken, {} warning{}, {} of {} goals met.", broken,
                      broken == 1 ? "" : "s", warned, warned == 1 ? "" : "s",
                      v.goals.size() - static_cast<std::size_t>(missed), v.goals.size());
  for (const figures::Section& s : v.sections) {
    if (s.layer == figures::Layer::failure && !s.limit.empty()) {
      text += fmt::format(" Most of what {} loses: {}.", s.name, s.limit);
      break;
    }
  }
  return text;
}

std::vector<std::string> coarse_layers(const Review& r) {
  std::vector<std::string> coarse;
  for (const TrainView& t : r.trains) {
    if (t.feasible() && t.model == nullptr) {
      coarse.push_back(
          fmt::format("{}: a plain network is a roofline at an assumed efficiency, {} either way",
                      t.label, show(t.step.error, figures::Unit::ratio)));
    }
  }
  if (!r.serves.empty()) {
    coarse.push_back(
        "serving: steady state in closed form; bursts and long tails need simulated time");
  }
  if (!r.jobs.empty()) {
    coarse.push_back(
        "cluster: queue waits are an M/G/c closed form, off by a factor of two or more; "
        "a replayed trace says more");
  }
  if (!r.trains.empty()) {
    coarse.push_back(
        "failure: published fleets differ by a factor of six at equal size; give your fleet's own "
        "`failures.node_mtbf` and `observed`");
  }
  if (!std::ranges::any_of(r.machine->sites, &machine::Site::hours)) {
    coarse.push_back(
        "facility: carbon is by the grid's mean of a year, PUE by the climate's; a site's own "
        "`hours` say more");
  }
  coarse.push_back("cost: list prices are street ranges; see the tornado in `--format json`");
  return coarse;
}

}  // namespace

Review run_stages(design::Design design, const machine::Models& models, const Review* same_steps) {
  Review r;
  r.machine =
      std::make_shared<const machine::Machine>(jobs::build_machine(std::move(design), models));
  const machine::Machine& m = *r.machine;
  r.ledger = m.ledger;
  r.serves = view_serves(m, same_steps ? &same_steps->serves : nullptr);
  book_services(r.ledger, m, r.serves);
  r.trains = view_trains(m, r.ledger, same_steps ? &same_steps->trains : nullptr);
  r.used = use_of_tiers(m, r.trains);
  book_trains(r.ledger, m, r.trains);
  r.jobs = view_jobs(m, r.ledger);
  book_jobs(r.ledger, m, r.jobs);
  r.batches = view_batches(m, r.ledger);
  book_batches(r.ledger, m, r.batches);
  r.mig = view_mig(m);
  r.pipeline = view_pipeline(m, r.trains, r.serves, r.batches);
  r.sites = view_sites({m, r.ledger, r.trains, same_steps ? &same_steps->sites : nullptr});
  settle_availability(r.serves, m, r.sites);
  r.cost = view_cost({m, r.ledger, r.trains, r.used, r.sites});
  return r;
}

std::vector<figures::Section> all_sections(const Review& review) {
  std::vector<figures::Section> all;
  for (auto* part :
       {compute_sections, training_sections, serving_sections, fabric_sections, storage_sections,
        cluster_sections, pipeline_sections, facility_sections, cost_sections}) {
    for (figures::Section& s : part(review)) all.push_back(std::move(s));
  }
  std::ranges::stable_sort(all, {}, &figures::Section::layer);
  return all;
}

Verdict verdict_of(const Review& r, ReviewOptions options) {
  Verdict v{.design = r.design().name,
            .version = r.design().version,
            .digest = design::design_digest(r.design())};
  v.sections = all_sections(r);
  v.findings = check_rules(r);
  v.goals = judge_goals(r.design(), v.sections);
  v.bill = r.cost.bill;
  v.coarse = coarse_layers(r);
  if (options.spends) v.spends = best_spends(r);
  v.summary = summary_of(v);
  assert(!(kInsists && options.insist) || broken_invariants(r, v).empty());
  return v;
}

Verdict review(const design::Design& design, const machine::Models& models, ReviewOptions options) {
  return verdict_of(run_stages(design, models), options);
}

}  // namespace orrery::plan
