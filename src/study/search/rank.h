// Compares accelerators for serving one model: what each delivers per device, watt, rack and
// dollar, and which of two is ahead as far as the intervals can tell.
//
//   tokens/s    the most that a replica serves within the targets / its devices, over the splits
//               that fit
//   per watt    tokens/s / (nameplate of the node / its accelerators)
//   per rack    nodes that the rack feeds x accelerators x tokens/s
//   per dollar  tokens/s x 3600 / the list price of an hour, median of the providers
//   decided     |ln(a/b)| > k sqrt(ln(a/a_low)^2 + ln(b_high/b)^2), a the faster
// Intervals are 80 % intervals, and k turns them into that of the ratio: two parts share the error
// of the model and of the engine (k < 1 for dense models), while the kernels of a mixture of
// experts differ on every part (k > 1). docs/models/rank.md says on which pairs k was fitted. Each
// accelerator runs in the format asked for, or in the next wider one that it has. Wrong if an
// engine has no kernels for a part that the catalog knows: the figure is then what the part could
// do.
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
  catalog::Dtype format = catalog::Dtype::fp8;  // narrowest format of weights and cache
  std::string engine = "vllm";
  std::vector<std::string> accelerators;  // catalog ids; empty: all that are sold in a node
  Watts rack = figures::assumptions::kRankRack;
};

struct RankRow {
  const catalog::Accelerator* accelerator = nullptr;
  const catalog::Node* node = nullptr;  // the node that it is counted in
  std::string refused;                  // why it has no figures
  int devices = 1;                      // per replica
  catalog::Dtype format = catalog::Dtype::fp8;
  Estimate tokens_per_s;  // output tokens per accelerator
  double per_watt = 0;    // 0 if nothing is known, here and below
  double per_rack = 0;
  double per_usd = 0;  // tokens per dollar of list rent
};

struct RankPair {
  std::size_t faster = 0;  // index into rows
  std::size_t slower = 0;
  double ratio = 1;
  double factor = 1;  // 80 % interval of the ratio, as a factor either way
  bool decided = false;
};

struct Ranking {
  std::vector<RankRow> rows;    // fastest first, those without figures last
  std::vector<RankPair> pairs;  // of rows with figures
};

// Returns a fault for an accelerator that the catalog does not have.
Result<Ranking> rank_accelerators(const machine::Models& models, const RankQuery& query);

// Returns half of the 80 % interval of ln(faster / slower); infinite if one of them is zero.
double ratio_error(const Estimate& faster, const Estimate& slower, bool mixture);
// Returns true if the order of the two is certain within that interval.
bool is_decided(const Estimate& faster, const Estimate& slower, bool mixture);

}  // namespace orrery::search
