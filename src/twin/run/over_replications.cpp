#include "twin/run/over_replications.h"

#include <algorithm>
#include <utility>

#include "core/base/statistics.h"

namespace orrery::run {

Estimate OverReplications::estimate(const Of& of) const {
  std::vector<double> values;
  for (const Replication& r : done_) values.push_back(of(r));
  Estimate e{.value = mean(values), .reference = "docs/models/simulate.md"};
  e.low = std::min(e.value, quantile(values, 0.1));
  e.high = std::max(e.value, quantile(values, 0.9));
  return e;
}

void OverReplications::add(figures::Section& section, figures::FigureId id, const Of& of,
                           std::string formula) const {
  section.figures.push_back(
      {.kind = id, .estimate = estimate(of), .formula = std::move(formula), .inputs = {}});
}

void OverReplications::add_with(const Estimate& model, figures::Section& section,
                                figures::FigureId id, const Of& of, std::string formula) const {
  add(section, id, of, std::move(formula));
  Estimate& last = section.figures.back().estimate;
  last = last * model;
}

}  // namespace orrery::run
