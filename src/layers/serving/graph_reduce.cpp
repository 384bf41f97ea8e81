#include "layers/serving/graph_reduce.h"

namespace orrery::serving {
namespace {

constexpr double kLinkShare = 0.65;
constexpr Seconds kSync = microseconds(3);
constexpr Seconds kAlpha = microseconds(4.5);
constexpr Seconds kAlphaNvlink5 = microseconds(7);

}  // namespace

Seconds graph_all_reduce(Bytes buffer, int ranks, BytesPerSecond link, double link_generation) {
  if (ranks <= 1) return Seconds(0);
  const BytesPerSecond rate = link * kLinkShare;
  const Seconds one_shot = buffer * (ranks - 1.0) / rate;
  const Seconds two_shots = buffer * (2 * (ranks - 1.0) / ranks) / rate + kSync;
  return (link_generation >= 5 ? kAlphaNvlink5 : kAlpha) + min(one_shot, two_shots);
}

}  // namespace orrery::serving
