// Every item of an owned year by hand, what the catalog's rows give, and what each range moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "layers/cost/break_even.h"
#include "layers/cost/ownership.h"
#include "layers/cost/ownership_sensitivity.h"

namespace orrery::cost {
namespace {

// 8 % over 4 years, 13 % left at the end: 1.08^4 = 1.36048896.
constexpr double kFourYears = 1.08 * 1.08 * 1.08 * 1.08;
constexpr double kPayment = (1 - 0.13 / kFourYears) * 0.08 / (1 - 1 / kFourYears);

OwnershipInput small_hall() {
  return {.capex = {{"servers", usd(1e6), "nodes/a"}, {"network", usd(1.3e5), "switches/b"}},
          .accelerators = 16,
          .it_power = kilowatts(23),
          .contracted = kilowatts(31),
          .pue = 1.37,
          .electricity = usd_per_kwh(0.071),
          .electricity_reference = "grid_regions/c",
          .colocation = usd(143) / (kilowatts(1) * months(1)),
          .hall = usd(9.3) / watts(1),
          .hall_years = 2,
          .people = 0.7,
          .salary = kilo_usd(187),
          .repair = 0.037,
          .rate = 0.08,
          .years = 4,
          .residual = 0.13,
          .availability = 0.97,
          .utilisation = 0.83,
          .goodput = 0.91};
}

const CostItem& item_named(const Ownership& cost, const std::string& name) {
  for (const CostItem& item : cost.items) {
    if (item.name == name) return item;
  }
  ADD_FAILURE() << "no item " << name;
  static const CostItem none;
  return none;
}

double hourly(const OwnershipInput& in) { return owned_cost(in).per_accelerator / usd_per_hour(1); }

const SensitivityBar& bar_named(const Tornado& t, const std::string& name) {
  for (const SensitivityBar& bar : t.bars) {
    if (bar.name == name) return bar;
  }
  ADD_FAILURE() << "no bar " << name;
  static const SensitivityBar none;
  return none;
}

// A catalog of these rows alone, each with its own three values.
catalog::Catalog rows_of(const std::vector<std::string>& ids) {
  catalog::Catalog c;
  double n = 1;
  for (const std::string& id : ids) {
    catalog::TcoParameter p{.id = id, .low = n, .typical = n + 0.25, .high = n + 0.75};
    p.unit = "unit of " + id;
    p.provenance.reference = "tco_params/" + id;
    c.tco_parameters.push_back(p);
    n += 1;
  }
  return c;
}

TEST(OwnedYear, every_item_by_hand) {
  const Ownership cost = owned_cost(small_hall());
  const double hall = 9.3 * 31000 * 0.08 / (1 - 1 / (1.08 * 1.08));
  const double power = 23 * 1.37 * 8760 * 0.071;
  const std::vector<CostItem> expected = {
      {"servers", usd(1e6 * kPayment), "nodes/a"},
      {"network", usd(1.3e5 * kPayment), "switches/b"},
      {"hall", usd(hall), "tco_params/facility-capex"},
      {"electricity", usd(power), "grid_regions/c"},
      {"colocation", usd(31.0 * 12 * 143), "tco_params/colocation"},
      {"staff", usd(187e3 * 0.7), "tco_params/staff"},
      {"repair", usd(1.13e6 * 0.037), "tco_params/server-failure-repair-opex"}};
  ASSERT_EQ(cost.items.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(cost.items[i].name, expected[i].name);
    EXPECT_EQ(cost.items[i].reference, expected[i].reference);
    EXPECT_NEAR(cost.items[i].per_year.base(), expected[i].per_year.base(), 1e-6)
        << expected[i].name;
  }
  const double capital = 1.13e6 * kPayment + hall;
  const double running = power + 31.0 * 12 * 143 + 187e3 * 0.7 + 1.13e6 * 0.037;
  EXPECT_NEAR(cost.capital.base(), capital, 1e-6);
  EXPECT_NEAR(cost.running.base(), running, 1e-6);
  EXPECT_NEAR(cost.annual.base(), capital + running, 1e-6);
  EXPECT_NEAR(cost.electricity_of_total, power / (capital + running), 1e-12);
  EXPECT_NEAR(cost.electricity_of_running, power / running, 1e-12);
  const double useful = 16 * 8760 * 0.97 * 0.83 * 0.91;
  EXPECT_NEAR(cost.useful_hours, useful, 1e-6);
  EXPECT_NEAR(cost.per_accelerator / usd_per_hour(1), (capital + running) / useful, 1e-9);
}

// Without a contract, what is drawn is what is billed and built for.
TEST(OwnedYear, what_is_drawn_stands_for_what_is_contracted) {
  OwnershipInput in = small_hall();
  in.contracted = Watts();
  const Ownership cost = owned_cost(in);
  EXPECT_NEAR(item_named(cost, "colocation").per_year.base(), 23.0 * 12 * 143, 1e-6);
  EXPECT_NEAR(item_named(cost, "hall").per_year.base(),
              9.3 * 23000 * 0.08 / (1 - 1 / (1.08 * 1.08)), 1e-6);
}

TEST(OwnedYear, neither_hall_nor_rent_where_none_is_paid) {
  OwnershipInput in = small_hall();
  in.hall = UsdPerWatt();
  in.colocation = UsdPerJoule();
  const Ownership cost = owned_cost(in);
  ASSERT_EQ(cost.items.size(), 5U);
  for (const CostItem& item : cost.items) {
    EXPECT_TRUE(item.name != "hall" && item.name != "colocation") << item.name;
  }
}

TEST(OwnedYear, of_nothing_costs_nothing) {
  const Ownership cost = owned_cost({});
  EXPECT_EQ(cost.annual, Usd());
  EXPECT_EQ(cost.useful_hours, 0);
  EXPECT_EQ(cost.per_accelerator, UsdPerSecond());
  EXPECT_EQ(cost.electricity_of_total, 0);
  EXPECT_EQ(cost.electricity_of_running, 0);
  EXPECT_EQ(Ownership{}.useful_hours, 0);
}

// The assumptions of the header: 8 c/kWh at a PUE of 1.3, 200 kUSD a person, 4 % repair, 10 % over
// 5 years to a tenth of the price, nine tenths used.
TEST(OwnedYear, what_is_not_said_is_assumed) {
  const Ownership cost = owned_cost({.capex = {{"servers", usd(1e5), "r"}},
                                     .accelerators = 3,
                                     .it_power = kilowatts(7),
                                     .people = 0.5});
  const double five = 1.1 * 1.1 * 1.1 * 1.1 * 1.1;
  EXPECT_NEAR(item_named(cost, "servers").per_year.base(),
              1e5 * (1 - 0.1 / five) * 0.1 / (1 - 1 / five), 1e-6);
  EXPECT_NEAR(item_named(cost, "electricity").per_year.base(), 7 * 1.3 * 8760 * 0.08, 1e-6);
  EXPECT_EQ(item_named(cost, "electricity").reference, "assumed");
  EXPECT_NEAR(item_named(cost, "staff").per_year.base(), 1e5, 1e-6);
  EXPECT_NEAR(item_named(cost, "repair").per_year.base(), 4000, 1e-6);
  EXPECT_NEAR(cost.useful_hours, 3 * 8760 * 0.9, 1e-6);
  EXPECT_EQ(OwnershipInput{}.hall_years, 20);
  EXPECT_EQ(OwnershipInput{}.accelerators, 0);
  EXPECT_EQ(OwnershipInput{}.people, 0);
}

TEST(Annuity, of_no_time_and_of_no_interest) {
  EXPECT_EQ(annuity(0.1, 0, 0.2), 0);
  EXPECT_EQ(annuity(0.1, -1, 0.2), 0);
  EXPECT_NEAR(annuity(0, 4, 0.12), 0.22, 1e-15);
  EXPECT_NEAR(annuity(0.08, 4, 0.13), kPayment, 1e-12);
  EXPECT_NEAR(annuity(0.08, 0.5, 0), 0.08 / (1 - 1 / std::sqrt(1.08)), 1e-12);
}

TEST(OwnershipRanges, are_the_rows_of_the_catalog_and_the_salary) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"rate", "wacc"},
      {"years", "server-depreciation"},
      {"residual", "residual"},
      {"repair", "server-failure-repair-opex"},
      {"colocation", "colocation"},
      {"staff", "staff"},
      {"network adder", "network-capex-adder"},
      {"storage adder", "storage-capex-adder"},
      {"hall", "facility-capex"},
      {"goodput loss", "goodput-loss"}};
  std::vector<std::string> ids;
  for (const auto& [name, id] : rows) ids.push_back(id);
  const auto ranges = ownership_ranges(rows_of(ids));
  ASSERT_EQ(ranges.size(), 11U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double n = static_cast<double>(i) + 1;
    EXPECT_EQ(ranges[i].name, rows[i].first);
    EXPECT_EQ(ranges[i].low, n) << rows[i].first;
    EXPECT_EQ(ranges[i].typical, n + 0.25) << rows[i].first;
    EXPECT_EQ(ranges[i].high, n + 0.75) << rows[i].first;
    EXPECT_EQ(ranges[i].unit, "unit of " + rows[i].second);
    EXPECT_EQ(ranges[i].reference, "tco_params/" + rows[i].second);
  }
  const auto bare = ownership_ranges({});
  ASSERT_EQ(bare.size(), 1U);
  EXPECT_EQ(bare[0].name, "salary");
  EXPECT_EQ(bare[0].low, 120);
  EXPECT_EQ(bare[0].typical, 200);
  EXPECT_EQ(bare[0].high, 300);
  EXPECT_EQ(bare[0].unit, "kUSD a year");
  EXPECT_EQ(bare[0].reference, "docs/models/ownership.md");
  const OwnershipRange none;
  EXPECT_THAT((std::vector{none.low, none.typical, none.high}), testing::Each(0));
}

TEST(OwnershipDefaults, are_typical_values_or_what_is_assumed) {
  const catalog::Catalog c =
      rows_of({"colocation", "staff", "server-failure-repair-opex", "wacc", "server-depreciation",
               "facility-life", "network-capex-adder", "storage-capex-adder"});
  const OwnershipInput in = ownership_defaults(c, 640, kilowatts(70));
  EXPECT_EQ(in.accelerators, 640);
  EXPECT_EQ(in.it_power, kilowatts(70));
  EXPECT_NEAR(in.colocation * (kilowatts(1) * months(1)) / usd(1), 1.25, 1e-12);
  EXPECT_NEAR(in.people, 0.64 * 2.25, 1e-12);
  EXPECT_EQ(in.repair, 3.25);
  EXPECT_EQ(in.rate, 4.25);
  EXPECT_EQ(in.years, 5.25);
  EXPECT_EQ(in.hall_years, 6.25);
  const OwnershipInput bare = ownership_defaults({}, 640, kilowatts(70));
  EXPECT_NEAR(bare.colocation * (kilowatts(1) * months(1)) / usd(1), 160, 1e-9);
  EXPECT_NEAR(bare.people, 0.64 * 2.5, 1e-12);
  EXPECT_EQ(bare.repair, 0.04);
  EXPECT_EQ(bare.rate, 0.10);
  EXPECT_EQ(bare.years, 5);
  EXPECT_EQ(bare.hall_years, 20);

  const auto told = capex_with_adders(c, usd(1000));
  const auto assumed = capex_with_adders({}, usd(1000));
  ASSERT_EQ(told.size(), 3U);
  ASSERT_EQ(assumed.size(), 3U);
  EXPECT_NEAR(told[0].amount.base(), 1000, 1e-9);
  EXPECT_NEAR(told[1].amount.base(), 7250, 1e-9);
  EXPECT_NEAR(told[2].amount.base(), 8250, 1e-9);
  EXPECT_NEAR(assumed[1].amount.base(), 150, 1e-9);
  EXPECT_NEAR(assumed[2].amount.base(), 60, 1e-9);
  EXPECT_EQ(told[0].name + " " + told[0].reference, "servers nodes");
  EXPECT_EQ(told[1].name + " " + told[1].reference, "network tco_params/network-capex-adder");
  EXPECT_EQ(told[2].name + " " + told[2].reference, "storage tco_params/storage-capex-adder");
}

TEST(CapexOf, sums_sections_over_bills_and_keeps_the_first_reference) {
  const catalog::PriceRange cheap{usd(10), usd(14)};
  const catalog::PriceRange dear{usd(100), usd(120)};
  catalog::Bill a;
  a.lines = {{"fleet", "x", "", 3, cheap, Watts(), "first"},
             {"fabric", "y", "", 2, std::nullopt, Watts(), "unpriced"},
             {"fleet", "z", "", 2, dear, Watts(), "second"}};
  catalog::Bill b;
  b.lines = {{"fabric", "y", "", 5, cheap, Watts(), "third"},
             {"fleet", "x", "", 1, dear, Watts(), "fourth"}};
  const std::vector<catalog::Bill> bills{a, b};
  const auto capex = capex_of(bills);
  ASSERT_EQ(capex.size(), 2U);
  EXPECT_EQ(capex[0].name + " " + capex[0].reference, "fleet first");
  EXPECT_NEAR(capex[0].amount.base(), 3 * 12 + 2 * 110 + 110, 1e-9);
  EXPECT_EQ(capex[1].name + " " + capex[1].reference, "fabric third");
  EXPECT_NEAR(capex[1].amount.base(), 60, 1e-9);
}

// Each bar is the cost with one field at its ends, the others as they are.
TEST(OwnershipTornado, every_range_moves_its_own_field) {
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

// Who owns his hall pays no rent, whatever rents are.
TEST(OwnershipTornado, a_rent_that_is_not_paid_moves_nothing) {
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

TEST(Tornado, keeps_what_was_given_and_sorts_by_span) {
  // x + 10 y at (2, 3) is 32: x from 0 spans 5, y from 2.5 to 3.5 spans 10, z nothing.
  const std::vector<SensitivityInput> inputs{
      {.name = "x", .value = 2, .high = 5, .reference = "rx"},
      {.name = "y", .low = 2.5, .value = 3, .high = 3.5, .reference = "ry"},
      {.name = "z"},
      {.name = "u"}};
  const Tornado t = tornado(inputs, [](std::span<const double> v) { return v[0] + 10 * v[1]; });
  EXPECT_DOUBLE_EQ(t.value, 32);
  ASSERT_EQ(t.bars.size(), 4U);
  EXPECT_EQ(t.bars[0].name + t.bars[1].name + t.bars[2].name + t.bars[3].name, "yxzu");
  EXPECT_DOUBLE_EQ(t.bars[0].at_low, 27);
  EXPECT_DOUBLE_EQ(t.bars[0].at_high, 37);
  EXPECT_DOUBLE_EQ(t.bars[0].span, 10);
  EXPECT_EQ(t.bars[0].reference, "ry");
  EXPECT_DOUBLE_EQ(t.bars[1].at_low, 30);
  EXPECT_DOUBLE_EQ(t.bars[1].at_high, 35);
  EXPECT_DOUBLE_EQ(t.bars[1].span, 5);
  EXPECT_EQ(t.bars[1].input_low, 0);
  EXPECT_EQ(t.bars[1].input_high, 5);
  EXPECT_EQ(t.bars[2].input_low, 0);
  EXPECT_EQ(t.bars[2].input_high, 0);
  const SensitivityBar none;
  EXPECT_THAT((std::vector{none.at_low, none.at_high, none.input_low, none.input_high, none.span,
                           Tornado{}.value, SensitivityInput{}.value}),
              testing::Each(0));
}

// At a price per useful hour of the owned machine in full use, times its use.
TEST(BreakEvenUse, is_the_owned_cost_in_full_use_over_the_rent) {
  OwnershipInput full = small_hall();
  full.utilisation = 1;
  EXPECT_NEAR(*break_even_utilisation(small_hall(), usd_per_hour(7)), hourly(full) / 7, 1e-12);
  EXPECT_FALSE(break_even_utilisation(small_hall(), usd_per_hour(0)));
  OwnershipInput never = small_hall();
  never.availability = 0;
  EXPECT_FALSE(break_even_utilisation(never, usd_per_hour(7)));
}

}  // namespace
}  // namespace orrery::cost
