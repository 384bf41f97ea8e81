// The life of data: stages from ingest to the served model, and what each stage waits for.
//
// Stages that compute are workloads of the design; stages that move bytes say from which tier to
// which. A stage of a cycle starts when everything that it waits for has ended and the previous
// cycle has left the stage.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"

namespace orrery::design {

enum class DataStage { ingest, prepare, train, validate, enrol, deploy, serve, archive };

// The word for the start of the cycle in the list of what a stage waits for.
inline constexpr std::string_view kCycleBegins = "begin";

struct Stage {
  DataStage stage = DataStage::ingest;
  std::string name;      // empty: the kind's word
  std::string workload;  // workload that does the stage's work; empty: it moves bytes
  std::string from;      // tiers
  std::string to;
  std::optional<Bytes> size;  // bytes moved per cycle
  // rate of the line from outside, or the most that a copy may take
  std::optional<BytesPerSecond> rate;
  std::optional<Seconds> keep;     // how long the target keeps the data
  std::vector<std::string> after;  // earlier stages; empty: the one above

  std::string_view label() const;  // the name, or the kind's word

  bool operator==(const Stage&) const = default;
};

struct Pipeline {
  std::optional<Seconds> every;  // none: one cycle
  std::vector<Stage> stages;

  bool operator==(const Pipeline&) const = default;
};

// Returns true for a kind of stage that computes.
constexpr bool computes(DataStage kind) {
  return kind == DataStage::prepare || kind == DataStage::train || kind == DataStage::validate;
}
constexpr bool moves_bytes(DataStage kind) { return !computes(kind) && kind != DataStage::serve; }

}  // namespace orrery::design
