// Compares an nccl-tests log with what its machine should reach, line by line, with the likely
// reasons of a gap.
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
  // Returns true if the time is above the 80 % interval.
  bool slow() const { return seconds() > expected.seconds.high; }
  bool fast() const { return seconds() < expected.seconds.low; }
};

struct LogStanding {
  std::vector<LogLine> lines;
  std::vector<fabric::GapReason> reasons;
};

// Returns the accelerators of a host that the scale-up link joins, as nccl-tests sees them: the
// rack's if the accelerator's link spans hosts.
int domain_of_host(const catalog::Accelerator& accelerator, int per_host);

// `ranks` must be at least 2.
LogStanding stand_log(const fabric::NcclLog& log, int ranks, const machine::Wiring& wiring,
                      const fabric::CollectiveParameters& parameters);

}  // namespace orrery::score
