// A figure over the replications of a run: their mean, with p10 and p90 of them as its interval.
// What every replication takes for granted (a step's time, a host's draw) they cannot tell apart
// from the truth: where a figure hangs on it, its own error joins theirs.
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
  // `model`: 1, with the error of what the replications take for granted.
  void add_with(const Estimate& model, figures::Section& section, figures::FigureId id,
                const Of& of, std::string formula = {}) const;

 private:
  std::span<const Replication> done_;
};

}  // namespace orrery::run
