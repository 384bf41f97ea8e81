#include "plan/verdict/verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>

#include "core/base/text.h"
#include "model/design_text/write_design.h"
#include "plan/rules/rules.h"
#include "plan/rules/spend.h"
#include "plan/verdict/invariants.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

// Debug builds check every verdict; an optimised build skips this because it answers keystrokes.
#ifdef __OPTIMIZE__
constexpr bool kInsists = false;
#else
constexpr bool kInsists = true;
#endif

std::string summary_of(const Verdict& v) {
  const auto broken = std::ranges::count(v.findings, Severity::error, &rules::Finding::severity);
  const auto warned = std::ranges::count(v.findings, Severity::warning, &rules::Finding::severity);
  const auto missed = std::ranges::count(v.goals, false, &figures::GoalOutcome::met);
  std::string text = v.passes() ? "The design passes" : "The design does not pass";
  text += fmt::format(": {} rule{} broken, {} warning{}, {} of {} goals met.", broken,
                      broken == 1 ? "" : "s", warned, warned == 1 ? "" : "s",
                      v.goals.size() - static_cast<std::size_t>(missed), v.goals.size());
  for (const figures::Section& s : v.sections) {
    if (s.layer == figures::Layer::failure && !s.limit.empty()) {
      text += fmt::format(" {} loses most to: {}.", s.name, s.limit);
      break;
    }
  }
  return text;
}

std::vector<std::string> coarse_layers(const review::Review& r) {
  std::vector<std::string> coarse;
  for (const review::TrainView& t : r.trains) {
    if (t.feasible() && t.model == nullptr) {
      coarse.push_back(
          fmt::format("{}: a network that is not a transformer is a roofline at an assumed "
                      "efficiency, {} either way",
                      t.label, show(t.step.error, figures::Unit::ratio)));
    }
  }
  if (!r.serves.empty()) {
    coarse.push_back(
        "serving: steady state in closed form; bursts and long tails need a simulated run");
  }
  if (!r.jobs.empty()) {
    coarse.push_back(
        "cluster: queue waits are an M/G/c closed form, off by a factor of two or more; a replayed "
        "trace is more exact");
  }
  if (!r.trains.empty()) {
    coarse.push_back(
        "failure: published fleets differ by a factor of six at equal size; set your fleet's own "
        "`failures.node_mtbf` and `observed`");
  }
  if (!std::ranges::any_of(r.machine->sites, &machine::Site::hours)) {
    coarse.push_back(
        "facility: carbon uses the grid's yearly mean, PUE the climate's; the site's own `hours` "
        "are more exact");
  }
  coarse.push_back("cost: list prices are street ranges; see the tornado in `--format json`");
  return coarse;
}

}  // namespace

const figures::Figure* Verdict::figure(figures::Layer layer, std::string_view id,
                                       std::string_view section) const {
  for (const figures::Section& s : sections) {
    if (s.layer != layer || (!section.empty() && s.name != section)) continue;
    for (const figures::Figure& f : s.figures) {
      if (f.id() == id) return &f;
    }
  }
  return nullptr;
}

bool Verdict::passes() const {
  for (const rules::Finding& f : findings) {
    if (f.severity == Severity::error) return false;
  }
  for (const figures::GoalOutcome& g : goals) {
    if (!g.met) return false;
  }
  return true;
}

Verdict verdict_of(const review::Review& r, VerdictOptions options) {
  Verdict v{.design = r.design().name,
            .version = r.design().version,
            .digest = design_text::design_digest(r.design())};
  v.sections = all_sections(r);
  v.findings = rules::check_rules(r);
  v.goals = judge_goals(r.design(), v.sections);
  v.bill = r.cost.bill;
  v.coarse = coarse_layers(r);
  if (options.spends) v.spends = rules::best_spends(r);
  v.summary = summary_of(v);
  assert(!(kInsists && options.insist) || broken_invariants(r, v).empty());
  return v;
}

Verdict verdict_of(const design::Design& design, const machine::Models& models,
                   VerdictOptions options) {
  return verdict_of(review::run_stages(design, models), options);
}

}  // namespace orrery::verdict
