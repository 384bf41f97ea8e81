#include "layers/facility/power_cap.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"

namespace orrery::facility {

namespace {

// Returns the level s with sum_i min(want_i, s * demand_i) = give, found by removing feeds one by
// one in the order in which they are satisfied.
double fair_level(const std::vector<int>& children, const std::vector<Watts>& want,
                  std::span<const FeedState> states, Watts give) {
  std::vector<int> order = children;
  const auto fullness = [&](int c) {
    const auto i = static_cast<std::size_t>(c);
    return states[i].demand > Watts() ? want[i] / states[i].demand : 0.0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return fullness(a) < fullness(b); });
  Watts left = give;
  Watts demand;
  for (int c : order) demand += states[static_cast<std::size_t>(c)].demand;
  for (int c : order) {
    const auto i = static_cast<std::size_t>(c);
    if (demand <= Watts()) return 1;
    const double level = left / demand;
    if (fullness(c) > level) return level;
    left -= want[i];
    demand -= states[i].demand;
  }
  return 1;
}

void add_demands(std::span<const Feed> feeds, std::vector<FeedState>& states) {
  for (std::size_t i = feeds.size(); i-- > 0;) {
    states[i].demand += feeds[i].demand;
    if (feeds[i].parent >= 0) {
      states[static_cast<std::size_t>(feeds[i].parent)].demand += states[i].demand;
    }
  }
}

// Returns what each feed would draw if only limits at and below it applied.
std::vector<Watts> wants(std::span<const Feed> feeds) {
  std::vector<Watts> want(feeds.size());
  for (std::size_t i = feeds.size(); i-- > 0;) {
    want[i] += feeds[i].demand;
    if (feeds[i].limit > Watts()) want[i] = min(want[i], feeds[i].limit);
    if (feeds[i].parent >= 0) want[static_cast<std::size_t>(feeds[i].parent)] += want[i];
  }
  return want;
}

}  // namespace

double capped_speed(double cap_share, Boundness bound) {
  const double cut = 1 - std::clamp(cap_share, 0.0, 1.0);
  const double lost = bound == Boundness::compute ? 0.9 * math::pow(cut, 1.6) : 0.45 * cut * cut;
  return std::clamp(1 - lost, 0.0, 1.0);
}

double accelerator_cap(const NodePower& node, Watts limit) {
  if (node.nameplate <= limit || node.accelerators <= Watts()) return 1;
  const Watts rest = node.nameplate - node.accelerators;
  return std::max(0.0, (limit - rest) / node.accelerators);
}

TreeReview review_tree(std::span<const Feed> feeds) {
  TreeReview review;
  review.feeds.resize(feeds.size());
  std::vector<std::vector<int>> children(feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    review.feeds[i].name = feeds[i].name;
    review.feeds[i].limit = feeds[i].limit;
    if (feeds[i].parent >= 0) {
      children[static_cast<std::size_t>(feeds[i].parent)].push_back(static_cast<int>(i));
    }
  }
  add_demands(feeds, review.feeds);
  const std::vector<Watts> want = wants(feeds);

  for (std::size_t i = 0; i < feeds.size(); ++i) {
    FeedState& state = review.feeds[i];
    if (state.limit > Watts() && state.demand > state.limit) {
      state.over = state.demand - state.limit;
      review.overloaded = true;
    }
    if (feeds[i].parent < 0) state.cap = want[i];
    // Parents come first, so this feed's cap is final. Its own demand takes precedence over its
    // children.
    const Watts give = max(Watts(), state.cap - feeds[i].demand);
    const double level = fair_level(children[i], want, review.feeds, give);
    for (int c : children[i]) {
      const auto k = static_cast<std::size_t>(c);
      review.feeds[k].cap = min(want[k], review.feeds[k].demand * level);
    }
    if (children[i].empty() && state.demand > Watts()) {
      review.lowest_cap = std::min(review.lowest_cap, state.cap / state.demand);
    }
  }
  return review;
}

}  // namespace orrery::facility
