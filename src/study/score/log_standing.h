// An nccl-tests log held against what the machine it ran on should reach, line by line, with the
// likely reasons of a gap.
#pragma once

#include <vector>

#include "layers/fabric/hazards.h"
#include "layers/fabric/nccl_log.h"
#include "model/machine/links.h"

namespace orrery::score {

struct LogLine {
  fabric::NcclLine measured;
  machine::CollectivePrediction expected;

  double seconds() const { return measured.time_us * 1e-6; }
  // Outside the 80 % interval.
  bool slow() const { return seconds() > expected.seconds.high; }
  bool fast() const { return seconds() < expected.seconds.low; }
};

struct LogStanding {
  std::vector<LogLine> lines;
  std::vector<fabric::GapReason> reasons;
};

// Accelerators of a host that the scale-up link joins, as nccl-tests sees them: the rack's where
// the accelerator's link spans hosts.
int domain_of_host(const catalog::Accelerator& accelerator, int per_host);

// `ranks` at least 2.
LogStanding stand_log(const fabric::NcclLog& log, int ranks, const machine::Wiring& wiring,
                      const fabric::CollectiveParameters& parameters);

}  // namespace orrery::score
