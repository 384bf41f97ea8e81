// Predictions against the measured rows embedded in the binary (data/validation), point by point.
//
// The scores are those of `orrery score` on the same rows, without a file; kinds without embedded
// rows are not offered. A kind takes from milliseconds (steps) to seconds (training, which searches
// for the layouts that rows leave open): ask once and keep the answer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "model/machine/models.h"

namespace orrery::report {

struct AccuracyKind {
  std::string_view name;  // name of score_kinds()
  std::string_view label;
  std::string_view file;  // path below data/
};
std::span<const AccuracyKind> accuracy_kinds();

std::string accuracy_kinds_json(const catalog::Knowledge& knowledge);
// Fails with "accuracy.unknown", or with a fault in reading the embedded rows.
Result<std::string> accuracy_view_json(std::string_view kind, const machine::Models& models);

}  // namespace orrery::report
