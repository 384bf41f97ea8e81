// The weather at a site, as hours of wet-bulb and dry-bulb temperature; the plant rejects heat into
// it.
//
// A year is a normal distribution of dry-bulb and one of wet-bulb temperature that move together:
// 25 points from -3 to +3 standard deviations. The four climates are those of the PUE table; their
// means and deviations are rounded station normals (Dublin and Stockholm; Frankfurt and northern
// Virginia; Phoenix and Riyadh; Singapore), assumed here to be within 2 K. Wrong in the tails (heat
// waves), which determine the size of a plant but hardly its annual energy. A caller with measured
// hours provides its own points.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace orrery::facility {

struct WeatherPoint {
  double share = 0;  // share of the year
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

// Accepts "cool", "temperate", "hot-dry" and "hot-humid".
std::optional<Climate> climate_of(std::string_view id);

// Shares sum to 1; wet bulb never exceeds dry bulb.
std::vector<WeatherPoint> weather_of(const Climate& climate);

}  // namespace orrery::facility
