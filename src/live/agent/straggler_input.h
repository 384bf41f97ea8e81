// Step times per rank as people have them: a CSV file, or the answer of a Prometheus range query.
//
//   CSV         step,rank,seconds[,host][,leaf]; one row a rank and step, any order
//   Prometheus  the JSON of /api/v1/query_range: a series a rank, told apart by its label `rank`;
//               `host`, `Hostname`, `node` or `instance` (without port) is the host, `leaf` the
//               leaf; every time stamp of the query is a step
// `seconds` is the rank's own work in the step, before it waits for the others.
#pragma once

#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "layers/failure/straggler_detector.h"

namespace orrery::agent {

// More is refused: a fleet is judged a job at a time.
inline constexpr std::size_t kStragglerRanksMax = 100'000;

// By its first character: JSON begins with '{'.
Result<failure::StepTimes> read_step_times(std::string_view text, const std::string& file);
Result<failure::StepTimes> step_times_from_csv(std::string_view text, const std::string& file);
Result<failure::StepTimes> step_times_from_prometheus(std::string_view text,
                                                      const std::string& file);

}  // namespace orrery::agent
