// A figure over the replications of a run: their mean, with p10 and p90 of them as its interval.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "machine/section.h"
#include "twin/simulation.h"

namespace orrery::twin {

class OverReplications {
 public:
  using Of = std::function<double(const Replication&)>;

  explicit OverReplications(std::span<const Replication> done) : done_(done) {}

  std::span<const Replication> done() const { return done_; }
  Estimate estimate(const Of& of) const;
  void add(machine::Section& section, std::string id, std::string label, machine::Unit unit,
           const Of& of, std::string formula = {}) const;

 private:
  std::span<const Replication> done_;
};

}  // namespace orrery::twin
