// The weather a site rejects heat into, as hours of wet and dry bulb temperature.
//
// A year is a normal distribution of dry bulb and one of wet bulb, taken as moving together: 25
// points from -3 to +3 deviations. The four climates are those of the PUE table; their means and
// deviations are rounded station normals (Dublin and Stockholm; Frankfurt and northern Virginia;
// Phoenix and Riyadh; Singapore), assumed here to 2 K. Wrong in the tails (heat waves), which size
// a plant but hardly move its annual energy. A caller with measured hours hands in its own points.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace orrery::facility {

struct WeatherPoint {
  double share = 0;  // of the year
  double dry_c = 0;
  double wet_c = 0;
};

struct Climate {
  std::string_view id;
  double dry_mean_c = 0;
  double dry_deviation = 0;
  double wet_mean_c = 0;
  double wet_deviation = 0;
};

// "cool", "temperate", "hot-dry", "hot-humid".
std::optional<Climate> climate_of(std::string_view id);

// Shares sum to 1; wet bulb never exceeds dry bulb.
std::vector<WeatherPoint> weather_of(const Climate& climate);

}  // namespace orrery::facility
