// What DLIO, the benchmark behind MLPerf Storage, measured of a tier: its summary.json.
//
//   reads   metric.train_io_mean_MB_per_second, in MiB/s, of all accelerators together
//   saves   metric.checkpoint_size_GB, in GiB, over save_checkpoint_duration_mean_seconds; loads
//           likewise. Where no time is given, the mean of the rates, which counts fast runs most
// All of DLIO's hosts together are what the tier served, so its rates are laid over the tier as a
// whole. Two things keep a rate from saying what a tier gives, and it is then left as planned, with
// the reason: accelerators that hardly waited (utilisation above the pass mark of 90 %: the tier
// gave all it was asked for), and several epochs over data that fits the hosts' memory
// (`potential_caching`). The interval is 1.28 standard deviations of the repeats, at least 5 %.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "model/machine/tier.h"

namespace orrery::score {

// A JSON with DLIO's counts and metrics, as against a report of `orrery probe storage`.
bool looks_like_dlio_summary(std::string_view text);

struct DlioCalibration {
  machine::TierMeasurement tier;
  std::vector<std::string> left_out;  // why a rate stays as planned
};
// Faults: "calibrate.dlio" where the text is no summary, or says nothing of a tier.
Result<DlioCalibration> calibrate_from_dlio(std::string_view text, const std::string& file,
                                            const std::string& tier);

}  // namespace orrery::score
