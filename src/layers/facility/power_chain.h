// The power chain from the utility to the rack, stage by stage, with efficiency depending on load.
//
//   loss / rated = k + q x^2 (+ l x)      x = load / rated, of one unit
//   eta(x)       = x / (x + loss / rated)
//
// Each stage's typical efficiency (data/catalog/power_chain.csv) is taken at half load and its loss
// is split by kind of stage: a transformer's is half no-load and half load squared; a
// double-conversion UPS's 60 % no-load; a conductor's all I^2 R; a converter's two thirds
// proportional. Redundancy multiplies the UPS units, and from 2N on the whole path, and divides the
// load of each: 2N runs every UPS at half its load, where it is less efficient, so it costs energy
// as well as capital (its transformers and conductors gain a little). Wrong by about the spread of
// the rows (low to high) for a particular product.
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
  double no_load = 0;  // share of the rating
  double linear = 0;   // share of the load
  double squared = 0;  // share of the rating, at rated load
  std::string reference;
};

StageKind stage_kind(const catalog::PowerStage& stage);
StageCurve stage_curve(const catalog::PowerStage& stage);
double loss_share(const StageCurve& stage, double load_share);  // share of the rating
double efficiency(const StageCurve& stage, double load_share);

struct StageLoad {
  std::string id;
  std::string name;
  Watts output;
  Watts loss;
  Watts rated;           // installed, all units
  double unit_load = 0;  // share of one unit's rating
  double efficiency = 1;
  bool overloaded = false;  // above the load it was sized for
  std::string reference;
};

struct ChainResult {
  std::vector<StageLoad> stages;  // utility side first
  Watts input;
  Watts loss;
  double efficiency() const { return input > Watts() ? (input - loss) / input : 1; }
};

struct ChainRequest {
  Watts design;  // load at the rack end for which the chain is sized; 0: the present one
  Watts load;    // load at the rack end now
  double capacity_multiplier = 1;  // from the redundancy scheme
};

// Stages come utility side first. Sizing and losses are computed from the rack end upwards.
ChainResult run_chain(std::span<const StageCurve> stages, const ChainRequest& request);

// Returns the named stages, utility side first; ids that the catalog lacks are skipped. If none is
// named, returns the usual chain of transformer, double-conversion UPS, PDU transformer and busway.
// Under the scheme "flex", which relies on checkpoints instead, the UPS is left out.
std::vector<StageCurve> chain_of(const catalog::Catalog& catalog, std::span<const std::string> ids,
                                 std::string_view redundancy_id);

}  // namespace orrery::facility
