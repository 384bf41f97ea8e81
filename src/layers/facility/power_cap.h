// Power caps: what an accelerator keeps of its speed under one, and which caps a feed needs.
//
//   speed(x) = clip(1 - a (1 - x)^b)     x = cap / TDP
//   compute bound a 0.9, b 1.6; memory bound a 0.45, b 2      (data/catalog/power_capping.csv)
//
// The fit is one shape for all parts and is low confidence: published points lie from 9 points
// below it (H100 at 0.86: 0.85 to 0.90) to 9 above (A100 at 0.63: 0.88 to 0.93), and below x = 0.43
// parts fall off a cliff that it does not have, so no cap under that is proposed.
// docs/models/power.md.
//
// A tree of feeds is fair to its leaves: where a feed is short, those below it that want more than
// their share are cut to one fraction of their demand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layers/facility/node_power.h"

namespace orrery::facility {

enum class Boundness { compute, memory };

inline constexpr double kLowestCap = 0.43;

double capped_speed(double cap_share, Boundness bound);

// Cap of the accelerators alone that keeps the node under `limit`: all else is left at nameplate.
// 1 where no cap is needed; below kLowestCap where the limit cannot be met by a sane cap.
double accelerator_cap(const NodePower& node, Watts limit);

// One feed of a power tree: the utility, a board, a PDU, a rack. Parents stand before children.
struct Feed {
  std::string name;
  int parent = -1;  // index; -1 for the root
  Watts limit;      // 0: none of its own
  Watts demand;     // of the feed itself; what it feeds is added
};

struct FeedState {
  std::string name;
  Watts demand;  // of all below it
  Watts limit;
  Watts over;  // demand - limit, where positive
  Watts cap;   // what it may draw under the proposed caps
};

struct TreeReview {
  std::vector<FeedState> feeds;  // as given
  bool overloaded = false;
  double lowest_cap = 1;  // smallest cap / demand of a leaf
};

TreeReview review_tree(std::span<const Feed> feeds);

}  // namespace orrery::facility
