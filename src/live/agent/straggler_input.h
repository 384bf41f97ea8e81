// Step times per rank, from a CSV file or the answer of a Prometheus range query.
//
//   CSV         step,rank,seconds[,host][,leaf]; one row per rank and step, in any order
//   Prometheus  the JSON of /api/v1/query_range: one series per rank, with the label `rank`. The
//               host is `host`, `Hostname`, `node` or `instance` (without port), the leaf `leaf`;
//               every time stamp of the query is a step
// `seconds` is the rank's own work in the step, before it waits for the other ranks.
#pragma once

#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "layers/failure/straggler_detector.h"

namespace orrery::agent {

// More ranks are refused: jobs are analysed one at a time.
inline constexpr std::size_t kStragglerRanksMax = 100'000;

// Detects the format by the first character: JSON begins with '{'.
Result<failure::StepTimes> read_step_times(std::string_view text, const std::string& file);
Result<failure::StepTimes> step_times_from_csv(std::string_view text, const std::string& file);
Result<failure::StepTimes> step_times_from_prometheus(std::string_view text,
                                                      const std::string& file);

}  // namespace orrery::agent
