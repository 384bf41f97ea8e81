// The life of data: the stages from where it comes in to the model that is served, and what each
// waits for.
//
// Stages that compute are workloads of the design; stages that move bytes say from which tier to
// which. A stage of a cycle starts when all that it waits for has ended and the cycle before it has
// left the stage.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"

namespace orrery::design {

enum class DataStage { ingest, prepare, train, validate, enrol, deploy, serve, archive };

// The word that stands for the cycle's beginning among what a stage waits for.
inline constexpr std::string_view kCycleBegins = "begin";

struct Stage {
  DataStage stage = DataStage::ingest;
  std::string name;      // empty: the kind's word
  std::string workload;  // that it is; empty: it moves bytes
  std::string from;      // tiers
  std::string to;
  std::optional<Bytes> size;           // moved in a cycle
  std::optional<BytesPerSecond> rate;  // of the line from outside, or the most that it may take
  std::optional<Seconds> keep;         // how long the target holds what came
  std::vector<std::string> after;      // stages above it; empty: the one above it

  std::string_view label() const;  // the name, or the kind's word

  bool operator==(const Stage&) const = default;
};

struct Pipeline {
  std::optional<Seconds> every;  // none: one cycle
  std::vector<Stage> stages;

  bool operator==(const Pipeline&) const = default;
};

// What a kind of stage is made of.
constexpr bool computes(DataStage kind) {
  return kind == DataStage::prepare || kind == DataStage::train || kind == DataStage::validate;
}
constexpr bool moves_bytes(DataStage kind) { return !computes(kind) && kind != DataStage::serve; }

}  // namespace orrery::design
