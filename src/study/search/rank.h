// Accelerators side by side for one model that is served: what each gives, per device, watt, rack
// and dollar, and which of two is ahead as far as the intervals can say.
//
//   tokens/s    the most that a replica serves within the targets / its devices, over splits that
//   fit per watt    tokens/s / (nameplate of the node / its accelerators) per rack    nodes that
//   the rack feeds x accelerators x tokens/s per dollar  tokens/s x 3600 / the list price of an
//   hour, median of the providers decided     |ln(a/b)| > k sqrt(ln(a/a_low)^2 + ln(b_high/b)^2), a
//   the faster
// Intervals are of 80 %, and k makes the ratio's one: two parts share the error of the model and of
// the engine (k < 1 for dense models), while the kernels of a mixture of experts are another story
// on every part (k > 1). docs/models/rank.md says on which pairs k was fitted. Each accelerator
// runs in the format asked for, or in the next wider one that it has. Wrong where an engine has no
// kernels for a part that the catalog knows: it says what the part could do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/estimate.h"
#include "model/figures/assumptions.h"
#include "model/jobs/predict_serving.h"

namespace orrery::search {

struct RankQuery {
  catalog::ModelShape model;
  serving::RequestShape request;
  serving::ServingTarget target;  // none: as much as it can, however long a request waits
  catalog::Dtype format = catalog::Dtype::fp8;  // of weights and cache, at the narrowest
  std::string engine = "vllm";
  std::vector<std::string> accelerators;  // catalog ids; empty: all that are sold in a node
  Watts rack = figures::assumptions::kRankRack;
};

struct RankRow {
  const catalog::Accelerator* accelerator = nullptr;
  const catalog::Node* node = nullptr;  // the one that it is counted in
  std::string refused;                  // why it has no figures
  int devices = 1;                      // of a replica
  catalog::Dtype format = catalog::Dtype::fp8;
  Estimate tokens_per_s;  // output, of one accelerator
  double per_watt = 0;    // 0 where nothing is known, here and below
  double per_rack = 0;
  double per_usd = 0;  // tokens for a dollar of list rent
};

struct RankPair {
  std::size_t faster = 0;  // rows
  std::size_t slower = 0;
  double ratio = 1;
  double factor = 1;  // its 80 % interval, either way
  bool decided = false;
};

struct Ranking {
  std::vector<RankRow> rows;    // fastest first, those without figures last
  std::vector<RankPair> pairs;  // of rows with figures
};

// Faults: an accelerator that the catalog does not have.
Result<Ranking> rank_accelerators(const machine::Models& models, const RankQuery& query);

// Half of the 80 % interval of ln(faster / slower); infinite where one of them is nothing.
double ratio_error(const Estimate& faster, const Estimate& slower, bool mixture);
// Whether that leaves the order of the two in no doubt.
bool is_decided(const Estimate& faster, const Estimate& slower, bool mixture);

}  // namespace orrery::search
