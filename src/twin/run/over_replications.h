// A figure over the replications of a run: their mean, with their p10 and p90 as its interval.
// Errors of what all replications assume (a step's time, a host's draw) do not show in their
// spread: if a figure depends on such a value, its own error is added.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "model/figures/section.h"
#include "twin/run/simulation.h"

namespace orrery::run {

class OverReplications {
 public:
  using Of = std::function<double(const Replication&)>;

  explicit OverReplications(std::span<const Replication> done) : done_(done) {}

  std::span<const Replication> done() const { return done_; }
  Estimate estimate(const Of& of) const;
  void add(figures::Section& section, figures::FigureId id, const Of& of,
           std::string formula = {}) const;
  // `model` has the value 1 and the error of what all replications assume.
  void add_with(const Estimate& model, figures::Section& section, figures::FigureId id,
                const Of& of, std::string formula = {}) const;

 private:
  std::span<const Replication> done_;
};

}  // namespace orrery::run
