// How long a review takes, and how long until a process can start one.
#include <algorithm>

#include "bench/figure.h"
#include "core/catalog/embedded.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "plan/verdict/verdict.h"

namespace orrery {
namespace {

constexpr const char* kSample = "templates/superpod-h100.yaml";
// Number of tries, of which the minimum counts: a review is a pure function, so any time above the
// minimum is caused by the machine.
constexpr int kTries = 7;

Result<double> review_sample() {
  const auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  const auto design = design_text::read_design(*catalog::embedded_file(kSample), models->catalog());
  if (!design) return std::unexpected(design.error());
  double least = 1e9;
  for (int i = 0; i < kTries; ++i) {
    least = std::min(least, seconds_of([&] { verdict::verdict_of(*design, *models); }));
  }
  return least;
}

// Time of a review after a price was edited: only the later stages run again.
Result<double> review_after_price() {
  const auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  auto design = design_text::read_design(*catalog::embedded_file(kSample), models->catalog());
  if (!design) return std::unexpected(design.error());
  const review::Review before = review::run_stages(*design, *models);
  double least = 1e9;
  for (int i = 0; i < kTries; ++i) {
    design->economics.power_price = usd_per_kwh(0.08 + 0.001 * i);
    least = std::min(least, seconds_of([&] {
                       verdict::verdict_of(review::run_stages(*design, *models, &before));
                     }));
  }
  return least;
}

Result<double> load_all() {
  Diagnostics faults;
  const double taken = seconds_of([&] {
    const auto models = machine::load_models(catalog::embedded_files());
    if (!models) faults = models.error();
  });
  if (!faults.empty()) return std::unexpected(faults);
  return taken;
}

}  // namespace

std::vector<SpeedFigure> plan_figures() {
  return {{.name = "plan_sample",
           .unit = "s",
           .what = "review of the 1,016-GPU sample, with layout search and spending options",
           .measure = review_sample},
          {.name = "plan_price",
           .unit = "s",
           .what = "the same after a price was edited; steps and services are reused",
           .measure = review_after_price},
          {.name = "plan_load",
           .unit = "s",
           .what = "loading and checking the catalog and the fitted models",
           .measure = load_all}};
}

}  // namespace orrery
