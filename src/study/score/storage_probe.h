// Applies what `orrery probe storage` measured to a tier of a design.
//
// A probe is one client. The drives of a node are its own, so it measured the whole tier (of one
// node). A shared tier serves many clients: one client shows a request's latency and the rate of a
// stream, and its sum over all streams is a lower bound of the tier's rates, which therefore stay
// as planned unless the user says that this client had the whole tier. The interval is that of the
// repeats, at least 5 % to each side: days differ more than repeats do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "layers/storage/probe_sizes.h"
#include "model/machine/tier.h"

namespace orrery::score {

struct MeasuredFigure {
  std::string id;  // "sequential_read"
  double value = 0;
  double low = 0;
  double high = 0;
};

struct StorageProbe {
  std::string target;
  std::string kind;                                       // "folder", "file", "bucket"
  int streams = 4;                                        // for a bucket's figures
  std::size_t object_bytes = storage::kProbeObjectBytes;  // for a bucket's large objects
  std::vector<MeasuredFigure> figures;

  const MeasuredFigure* figure(std::string_view id) const;  // nullptr if it was not measured
};

// Reads the report of `orrery probe storage --format json`. Refuses any other text.
Result<StorageProbe> read_storage_probe(std::string_view text, const std::string& file);
// Returns true if the text is meant to be such a report, as opposed to a GPU probe's CSV.
bool looks_like_storage_probe(std::string_view text);

struct TierCalibrationOptions {
  std::string tier;
  bool whole_tier = false;  // the probe's client is the only one that the tier serves
};
Result<machine::TierMeasurement> tier_measurement(const StorageProbe& probe,
                                                  const TierCalibrationOptions& options);

// Returns the file that `calibrate` writes for `plan --calibration`:
// tier,parameter,value,error,fit.
std::string tier_calibration_csv(const machine::TierMeasurement& m);
std::string tier_calibration_text(const machine::TierMeasurement& m);
Result<std::vector<machine::TierMeasurement>> read_tier_calibration(const CsvTable& table);
bool is_tier_calibration(const CsvTable& table);

}  // namespace orrery::score
