#include "layers/traffic/retrieval.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/probability.h"

namespace orrery::traffic {
namespace {

constexpr double kLatest99 = 2.3263478740408408;
constexpr double kReach = 9;  // standard deviations to either side of the median
constexpr int kPointHalvings = 50;
constexpr int kPoints = 400;  // points for a mean over the quantiles of a hop

// Returns the z that a standard normal variable exceeds with this probability.
double normal_point(double above) {
  double low = -kReach;
  double high = kReach;
  for (int i = 0; i < kPointHalvings; ++i) {
    const double middle = (low + high) / 2;
    (normal_above(middle) > above ? low : high) = middle;
  }
  return low;
}

// Returns the quantile of a hop's time.
Seconds hop_at(const RetrievalLaw& law, double share) {
  const double above = -math::expm1(math::log(share) / std::max(1.0, law.reads));
  const double deviation = math::log(std::max(1.0, law.p99 / law.median)) / kLatest99;
  return law.sending + law.median * math::exp(deviation * normal_point(above));
}

Seconds hop_mean(const RetrievalLaw& law) {
  Seconds sum;
  for (int i = 0; i < kPoints; ++i) sum += hop_at(law, (i + 0.5) / kPoints);
  return sum / kPoints;
}

}  // namespace

Seconds retrieval_mean(const RetrievalLaw& law) { return hop_mean(law) * law.hops; }

Seconds retrieval_p99(const RetrievalLaw& law) {
  const Seconds mean = hop_mean(law);
  return mean * law.hops + (hop_at(law, 0.99) - mean) * std::sqrt(law.hops);
}

Seconds draw_retrieval(const RetrievalLaw& law, RandomStream& stream) {
  Seconds sum;
  for (int hop = 0; hop < law.hops; ++hop) sum += hop_at(law, 1 - stream.uniform());
  return sum;
}

}  // namespace orrery::traffic
