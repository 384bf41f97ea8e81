// Power caps: how much of its speed an accelerator keeps under a cap, and which caps a feed
// requires.
//
//   speed(x) = clip(1 - a (1 - x)^b)     x = cap / TDP
//   compute bound a 0.9, b 1.6; memory bound a 0.45, b 2      (data/catalog/power_capping.csv)
//
// The fit is one shape for all parts and of low confidence: published points range from 9
// percentage points below it (H100 at 0.86: 0.85 to 0.90) to 9 above (A100 at 0.63: 0.88 to 0.93).
// Below x = 0.43 the speed of real parts drops sharply, which the fit does not show, so no lower
// cap is proposed. See docs/models/power.md.
//
// A tree of feeds treats its leaves fairly: if a feed is short, the feeds below it that want more
// than their share are cut to the same fraction of their demand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layers/facility/node_power.h"

namespace orrery::facility {

enum class Boundness { compute, memory };

inline constexpr double kLowestCap = 0.43;

double capped_speed(double cap_share, Boundness bound);

// Returns the cap on the accelerators that keeps the node under `limit` while everything else stays
// at nameplate; 1 if no cap is needed, below kLowestCap if no reasonable cap meets the limit.
double accelerator_cap(const NodePower& node, Watts limit);

// One feed of a power tree: the utility, a board, a PDU, a rack. Parents come before children.
struct Feed {
  std::string name;
  int parent = -1;  // index; -1 for the root
  Watts limit;      // 0: no limit of its own
  Watts demand;     // the feed's own; its children's is added
};

struct FeedState {
  std::string name;
  Watts demand;  // sum of everything below it
  Watts limit;
  Watts over;  // demand - limit, if positive
  Watts cap;   // what it may draw under the proposed caps
};

struct TreeReview {
  std::vector<FeedState> feeds;  // in the order given
  bool overloaded = false;
  double lowest_cap = 1;  // smallest cap / demand of a leaf
};

TreeReview review_tree(std::span<const Feed> feeds);

}  // namespace orrery::facility
