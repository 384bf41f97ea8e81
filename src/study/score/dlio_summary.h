// What DLIO, the benchmark behind MLPerf Storage, measured of a tier: its summary.json.
//
//   reads   metric.train_io_mean_MB_per_second, in MiB/s, of all accelerators together
//   saves   metric.checkpoint_size_GB, in GiB, over save_checkpoint_duration_mean_seconds; loads
//           likewise. If no time is given, the mean of the rates, which counts fast runs most
// The tier served all of DLIO's hosts together, so the rates apply to the tier as a whole. In two
// cases a rate does not show the tier's limit and the planned rate is kept, with the reason:
// accelerators that hardly waited (utilisation above the pass mark of 90 %: the tier delivered all
// that was asked for), and several epochs over data that fits the hosts' memory
// (`potential_caching`). The interval is 1.28 standard deviations of the repeats, at least 5 %.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "model/machine/tier.h"

namespace orrery::score {

// Returns true for a JSON with DLIO's counts and metrics, as opposed to a report of `orrery probe
// storage`.
bool looks_like_dlio_summary(std::string_view text);

struct DlioCalibration {
  machine::TierMeasurement tier;
  std::vector<std::string> left_out;  // why a planned rate is kept
};
// Returns "calibrate.dlio" faults if the text is not a summary, or says nothing about a tier.
Result<DlioCalibration> calibrate_from_dlio(std::string_view text, const std::string& file,
                                            const std::string& tier);

}  // namespace orrery::score
