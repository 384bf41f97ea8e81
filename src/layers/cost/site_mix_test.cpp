// Several sites as one bill, computed by hand.
#include "layers/cost/site_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace orrery::cost {
namespace {

SiteBill site_bill(double mean_mw, double nameplate_mw, double pue, double cents, bool own) {
  return {.mean = megawatts(mean_mw),
          .nameplate = megawatts(nameplate_mw),
          .pue = pue,
          .price = usd_per_kwh(cents / 100),
          .reference = "grid/" + std::to_string(static_cast<int>(cents)),
          .owns_hall = own};
}

double cents(const SiteMix& mix) { return mix.price * kwh(1) / usd(1) * 100; }

// 1 MW x 1.3 at 7 cents, 3 MW x 1.1 at 30 and 2 MW x 1.5 at 12: 1.3, 3.3 and 3.0 MW at the meter.
TEST(SiteMix, weighs_prices_by_what_is_drawn_at_the_meter) {
  const std::vector<SiteBill> sites = {site_bill(1, 1.5, 1.3, 7, false),
                                       site_bill(3, 4.5, 1.1, 30, true),
                                       site_bill(2, 4, 1.5, 12, false)};
  const SiteMix mix = mix_of(sites);
  EXPECT_NEAR(mix.mean / megawatts(1), 6, 1e-12);
  EXPECT_NEAR(mix.nameplate / megawatts(1), 10, 1e-12);
  EXPECT_NEAR(mix.pue, 7.6 / 6, 1e-12);
  EXPECT_NEAR(cents(mix), (1.3 * 7 + 3.3 * 30 + 3.0 * 12) / 7.6, 1e-9);
  EXPECT_NEAR(mix.owned_share, 0.45, 1e-12);
}

TEST(SiteMix, single_site_keeps_its_figures) {
  const SiteMix mix = mix_of(std::vector{site_bill(1, 1.5, 1.3, 7, true)});
  EXPECT_NEAR(mix.pue, 1.3, 1e-12);
  EXPECT_NEAR(cents(mix), 7, 1e-12);
  EXPECT_EQ(mix.owned_share, 1);
  EXPECT_EQ(mix.reference, "grid/7");
  const SiteMix twice =
      mix_of(std::vector{site_bill(1, 1.5, 1.3, 7, true), site_bill(2, 3, 1.3, 7, true)});
  EXPECT_EQ(twice.reference, "grid/7");
  EXPECT_NEAR(cents(twice), 7, 1e-12);
}

TEST(SiteMix, without_a_draw_there_is_only_a_price) {
  const SiteMix still = mix_of(std::vector{site_bill(0, 0, 1.3, 7, true)});
  EXPECT_NEAR(cents(still), 7, 1e-12);
  EXPECT_EQ(still.pue, 1);
  EXPECT_EQ(still.owned_share, 0);
  EXPECT_EQ(mix_of({}).pue, 1);
  EXPECT_EQ(mix_of({}).mean, Watts());
}

}  // namespace
}  // namespace orrery::cost
