#include "layers/facility/climate.h"

#include <gtest/gtest.h>

#include "layers/facility/hours.h"

namespace orrery::facility {
namespace {

// Dry and wet bulb at three deviations below the mean, at it, and above.
TEST(Climate, four_climates_by_their_extremes) {
  struct Ends {
    const char* id;
    double dry_low, dry_mean, dry_high, wet_low, wet_mean, wet_high;
  };
  for (const Ends& e : {Ends{"cool", -13, 8, 29, -13, 6, 24},
                        Ends{"temperate", -14.5, 12.5, 39.5, -14.5, 9.5, 33.5},
                        Ends{"hot-dry", -3.5, 25, 53.5, -3.5, 14, 29},
                        Ends{"hot-humid", 20, 27.5, 35, 20, 25, 28.6}}) {
    const auto points = weather_of(climate_of(e.id).value());
    ASSERT_EQ(points.size(), 25U);
    EXPECT_NEAR(points[0].dry_c, e.dry_low, 1e-9) << e.id;
    EXPECT_NEAR(points[12].dry_c, e.dry_mean, 1e-9) << e.id;
    EXPECT_NEAR(points[24].dry_c, e.dry_high, 1e-9) << e.id;
    EXPECT_NEAR(points[0].wet_c, e.wet_low, 1e-9) << e.id;
    EXPECT_NEAR(points[12].wet_c, e.wet_mean, 1e-9) << e.id;
    EXPECT_NEAR(points[24].wet_c, e.wet_high, 1e-9) << e.id;
    // A normal density: a quarter of a deviation away, e^(-1/32); at three deviations, e^(-4.5).
    EXPECT_NEAR(points[13].share / points[12].share, 0.9692332344763441, 1e-9);
    EXPECT_NEAR(points[24].share / points[12].share, 0.011108996538242306, 1e-9);
    double sum = 0;
    for (const WeatherPoint& p : points) sum += p.share;
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  EXPECT_FALSE(climate_of("lunar"));
}

TEST(Climate, hours_make_a_year_and_wet_stays_below_dry) {
  for (const char* id : {"cool", "temperate", "hot-dry", "hot-humid"}) {
    double sum = 0;
    double mean = 0;
    for (const WeatherPoint& p : weather_of(*climate_of(id))) {
      sum += p.share;
      mean += p.share * p.dry_c;
      EXPECT_LE(p.wet_c, p.dry_c);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(mean, climate_of(id)->dry_mean_c, 1e-9);
  }
}

}  // namespace
}  // namespace orrery::facility
