#include "layers/facility/climate.h"

#include <algorithm>
#include <array>

#include "core/base/math.h"

namespace orrery::facility {

namespace {

constexpr std::array<Climate, 4> kClimates = {{
    {"cool", 8, 7, 6, 6},
    {"temperate", 12.5, 9, 9.5, 8},
    {"hot-dry", 25, 9.5, 14, 5},
    {"hot-humid", 27.5, 2.5, 25, 1.2},
}};

constexpr int kPoints = 25;
constexpr double kSpan = 3.0;

}  // namespace

std::optional<Climate> climate_of(std::string_view id) {
  for (const Climate& c : kClimates) {
    if (c.id == id) return c;
  }
  return std::nullopt;
}

std::vector<WeatherPoint> weather_of(const Climate& climate) {
  std::vector<WeatherPoint> points;
  double total = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double z = -kSpan + 2 * kSpan * i / (kPoints - 1);
    const double weight = math::exp(-z * z / 2);
    const double dry = climate.dry_mean_c + z * climate.dry_deviation;
    const double wet = std::min(dry, climate.wet_mean_c + z * climate.wet_deviation);
    points.push_back({.share = weight, .dry_c = dry, .wet_c = wet});
    total += weight;
  }
  for (WeatherPoint& p : points) p.share /= total;
  return points;
}

}  // namespace orrery::facility
