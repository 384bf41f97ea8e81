#include "layers/traffic/failover.h"

#include <algorithm>
#include <utility>

namespace orrery::traffic {
namespace {

// Returns what each region asks of the region at position `rank` in its list.
std::vector<RegionMove> asked_at(std::size_t rank, std::span<const Region> regions,
                                 std::span<const double> left, const std::vector<bool>& given_up) {
  std::vector<RegionMove> asked;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    if (left[r] <= 0 || rank >= regions[r].ways.size()) continue;
    const RegionWay& way = regions[r].ways[rank];
    if (!given_up[r] && way.round_trip > regions[r].farthest) continue;
    asked.push_back({.from = r, .to = way.to, .rate = left[r]});
  }
  return asked;
}

}  // namespace

double RegionRouting::away(std::size_t region) const {
  double sum = 0;
  for (const RegionMove& m : moves) sum += m.from == region ? m.rate : 0;
  return sum;
}

double RegionRouting::guests(std::size_t region) const {
  double sum = 0;
  for (const RegionMove& m : moves) sum += m.to == region ? m.rate : 0;
  return sum;
}

RegionRouting route(std::span<const Region> regions, std::span<const RegionNow> now,
                    const std::vector<bool>& given_up) {
  const std::size_t n = regions.size();
  RegionRouting out{.stays = std::vector<double>(n), .refused = std::vector<double>(n)};
  std::vector<double> left(n);
  std::vector<double> room(n);
  std::size_t longest = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const bool is_down = now[r].capacity <= 0;
    const double carried = is_down ? 0 : std::min(now[r].load, now[r].capacity);
    room[r] = is_down ? 0 : now[r].capacity - carried;
    out.stays[r] = carried;
    // The loss is not noticed yet: requests still go there and get no answer.
    const bool is_lost = is_down && !given_up[r];
    left[r] = is_lost ? 0 : now[r].load - carried;
    out.refused[r] = is_lost ? now[r].load : 0;
    longest = std::max(longest, regions[r].ways.size());
  }
  for (std::size_t rank = 0; rank < longest; ++rank) {
    std::vector<RegionMove> asked = asked_at(rank, regions, left, given_up);
    std::vector<double> wanted(n);
    for (const RegionMove& m : asked) wanted[m.to] += m.rate;
    for (RegionMove& m : asked) {
      m.rate *= std::min(1.0, room[m.to] / wanted[m.to]);
      if (m.rate <= 0) continue;
      left[m.from] -= m.rate;
      out.moves.push_back(m);
    }
    for (std::size_t r = 0; r < n; ++r) room[r] -= std::min(room[r], wanted[r]);
  }
  for (std::size_t r = 0; r < n; ++r) {
    (now[r].capacity <= 0 ? out.refused : out.stays)[r] += left[r];
  }
  return out;
}

FailoverPolicy::FailoverPolicy(std::vector<Region> regions)
    : regions_(std::move(regions)), down_since_(regions_.size(), kForever) {}

RegionRouting FailoverPolicy::look(double at, std::span<const RegionNow> now) {
  std::vector<bool> given_up(regions_.size());
  next_ = kForever;
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    double& since = down_since_[r];
    since = now[r].capacity > 0 ? kForever : std::min(since, at);
    if (since == kForever) continue;
    given_up[r] = since + regions_[r].after <= at;
    if (!given_up[r]) next_ = std::min(next_, since + regions_[r].after);
  }
  return route(regions_, now, given_up);
}

double region_availability(const RegionLosses& l) {
  const double unseen = std::min(l.unseen, l.dark);
  return 1 - unseen - (l.dark - unseen) * (1 - l.carried * l.others) -
         (1 - l.dark) * l.few * (1 - l.spilled * l.others);
}

}  // namespace orrery::traffic
