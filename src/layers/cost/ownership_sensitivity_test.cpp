#include "layers/cost/ownership_sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/cost/cost_fixture.h"
#include "layers/cost/ownership.h"
#include "layers/cost/sensitivity.h"

namespace orrery::cost {
namespace {

const SensitivityBar& bar_named(const Tornado& t, const std::string& name) {
  for (const SensitivityBar& bar : t.bars) {
    if (bar.name == name) return bar;
  }
  ADD_FAILURE() << "no bar " << name;
  static const SensitivityBar none;
  return none;
}

// Each bar is the cost with one field at its ends and the others unchanged.
TEST(OwnershipSensitivity, every_range_moves_its_own_input) {
  OwnershipInput in = small_hall();
  const catalog::Catalog c = rows_of({"wacc", "server-depreciation", "residual",
                                      "server-failure-repair-opex", "colocation", "staff"});
  const ExtraRanges extra{.electricity_low = 0.03,
                          .electricity_high = 0.21,
                          .utilisation_low = 0.41,
                          .utilisation_high = 0.93,
                          .capex_below = 0.12,
                          .capex_above = 0.27};
  const Tornado t = ownership_tornado(in, c, extra);
  EXPECT_EQ(t.bars.size(), 10U);
  EXPECT_NEAR(t.value, hourly(in), 1e-12);
  const auto expect = [&](const char* name, double low, double high, const char* reference,
                          void (*set)(OwnershipInput&, double)) {
    const SensitivityBar& bar = bar_named(t, name);
    EXPECT_NEAR(bar.input_low, low, 1e-12) << name;
    EXPECT_NEAR(bar.input_high, high, 1e-12) << name;
    EXPECT_EQ(bar.reference, reference) << name;
    OwnershipInput at = in;
    set(at, low);
    EXPECT_NEAR(bar.at_low, hourly(at), 1e-9) << name;
    at = in;
    set(at, high);
    EXPECT_NEAR(bar.at_high, hourly(at), 1e-9) << name;
    EXPECT_GT(bar.span, 1e-6) << name;
    EXPECT_NEAR(bar.span, std::abs(bar.at_high - bar.at_low), 1e-12) << name;
  };
  using In = OwnershipInput;
  expect("rate", 1, 1.75, "tco_params/wacc", [](In& i, double v) { i.rate = v; });
  expect("years", 2, 2.75, "tco_params/server-depreciation", [](In& i, double v) { i.years = v; });
  expect("residual", 3, 3.75, "tco_params/residual", [](In& i, double v) { i.residual = v; });
  expect("repair", 4, 4.75, "tco_params/server-failure-repair-opex",
         [](In& i, double v) { i.repair = v; });
  expect("colocation", 5, 5.75, "tco_params/colocation",
         [](In& i, double v) { i.colocation = usd(v * 12) / (kilowatts(1) * years(1)); });
  expect("staff", 6, 6.75, "tco_params/staff", [](In& i, double v) { i.people = v * 0.016; });
  expect("salary", 120, 300, "docs/models/ownership.md",
         [](In& i, double v) { i.salary = usd(v * 1000); });
  expect("electricity", 0.03, 0.21, "grid_regions",
         [](In& i, double v) { i.electricity = usd(v) / kwh(1); });
  expect("utilisation", 0.41, 0.93, "docs/models/sensitivity.md",
         [](In& i, double v) { i.utilisation = v; });
  expect("capex", 0.88, 1.27, "price ranges of the bill", [](In& i, double v) {
    i.capex[0].amount = usd(1e6 * v);
    i.capex[1].amount = usd(1.3e5 * v);
  });
}

// An owner of the hall pays no rent, so rents have no effect.
TEST(OwnershipSensitivity, unpaid_rent_moves_nothing) {
  OwnershipInput in = small_hall();
  in.colocation = UsdPerJoule();
  const Tornado t = ownership_tornado(in, rows_of({"colocation"}), {});
  EXPECT_EQ(bar_named(t, "colocation").span, 0);
  EXPECT_EQ(bar_named(t, "electricity").input_low, 0.05);
  EXPECT_EQ(bar_named(t, "electricity").input_high, 0.15);
  EXPECT_EQ(bar_named(t, "utilisation").input_low, 0.5);
  EXPECT_EQ(bar_named(t, "utilisation").input_high, 0.95);
  EXPECT_NEAR(bar_named(t, "capex").input_low, 0.85, 1e-12);
  EXPECT_NEAR(bar_named(t, "capex").input_high, 1.15, 1e-12);
}

}  // namespace
}  // namespace orrery::cost
