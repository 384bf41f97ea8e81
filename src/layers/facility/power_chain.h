// The power chain from the utility to the rack, stage by stage, with efficiency against load.
//
//   loss / rated = k + q x^2 (+ l x)      x = load / rated, of one unit
//   eta(x)       = x / (x + loss / rated)
//
// Each stage's typical efficiency (data/catalog/power_chain.csv) is taken at half load and split by
// kind: a transformer half no-load, half load squared; a double-conversion UPS 60 % no-load; a
// conductor all I^2 R; a converter two thirds proportional. Redundancy multiplies the UPS units,
// and from 2N on the whole path, and divides the load of each: 2N runs every UPS at half its load,
// down its curve, so it costs energy as well as capital (its transformers and conductors gain a
// little back). Wrong by about the spread of the rows (low to high) for a given product.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"

namespace orrery::facility {

// NEC: a circuit carries 80 % of its rating continuously.
inline constexpr double kContinuousDerate = 0.8;

enum class StageKind { transformer, ups, conductor, converter };

struct StageCurve {
  std::string id;
  std::string name;
  StageKind kind = StageKind::converter;
  double no_load = 0;  // of rated
  double linear = 0;   // of the load
  double squared = 0;  // of rated, at rated load
  std::string reference;
};

StageKind stage_kind(const catalog::PowerStage& stage);
StageCurve stage_curve(const catalog::PowerStage& stage);
double loss_share(const StageCurve& stage, double load_share);  // of rated
double efficiency(const StageCurve& stage, double load_share);

struct StageLoad {
  std::string id;
  std::string name;
  Watts output;
  Watts loss;
  Watts rated;           // installed, all units
  double unit_load = 0;  // of one unit's rating
  double efficiency = 1;
  bool overloaded = false;  // above what it was sized for
  std::string reference;
};

struct ChainResult {
  std::vector<StageLoad> stages;  // utility side first
  Watts input;
  Watts loss;
  double efficiency() const { return input > Watts() ? (input - loss) / input : 1; }
};

struct ChainRequest {
  Watts design;  // load at the rack end that the chain is sized for; 0: the present one
  Watts load;    // load at the rack end now
  double capacity_multiplier = 1;  // of the redundancy scheme
};

// Stages utility side first. Sizing and losses are computed from the rack end up.
ChainResult run_chain(std::span<const StageCurve> stages, const ChainRequest& request);

// The stages named, utility side first; ids that the catalog lacks are left out. None named: the
// usual chain of transformer, double-conversion UPS, PDU transformer and busway, without the UPS
// under the scheme "flex", which leaves training to its checkpoints.
std::vector<StageCurve> chain_of(const catalog::Catalog& catalog, std::span<const std::string> ids,
                                 std::string_view redundancy_id);

}  // namespace orrery::facility
