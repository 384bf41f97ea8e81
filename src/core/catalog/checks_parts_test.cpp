#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/catalog/bill.h"
#include "core/catalog/catalog.h"
#include "core/catalog/checks.h"
#include "core/catalog/checks_fixture.h"

namespace orrery::catalog {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Provenance row_at(const char* reference, int line = 4) {
  return {.reference = reference, .source = "s", .date = "2026", .line = line};
}

using Check = void (*)(const Catalog&, Diagnostics&);

std::vector<std::string> codes_by(Check check, const Catalog& c) {
  Diagnostics faults;
  check(c, faults);
  std::vector<std::string> codes;
  for (const Diagnostic& d : faults) codes.push_back(d.code);
  return codes;
}

// 1000 W, 1000 dense 16-bit TFLOP/s (1 per watt), 200 FLOP per byte.
Catalog with_part() {
  Catalog c;
  Accelerator a{.id = "x", .vendor = "Acme", .name = "X 80GB", .launch_year = 2024};
  a.dense_peak[static_cast<std::size_t>(Dtype::bf16)] = tflops_per_s(1000);
  a.memory = gigabytes(80);
  a.memory_bandwidth = gbytes_per_s(5000);
  a.scaleup_link = "none";
  a.tdp = watts(1000);
  a.provenance = row_at("accelerators/x", 7);
  c.accelerators.push_back(a);
  return c;
}

void set_peak(Catalog& c, Dtype d, double tflops) {
  c.accelerators[0].dense_peak[static_cast<std::size_t>(d)] = tflops_per_s(tflops);
}

TEST(ChecksParts, row_fault_names_file_line_and_id) {
  const Diagnostic d = row_fault(row_at("nodes/a/b", 12), "catalog.x", "is odd", "because");
  EXPECT_EQ(d.code, "catalog.x");
  EXPECT_EQ(d.place, (Place{"catalog/nodes.csv", 12, 1}));
  EXPECT_THAT(d.what, testing::HasSubstr("a/b"));
  EXPECT_EQ(d.why, "because");
  EXPECT_EQ(d.severity, Severity::error);
}

TEST(ChecksParts, sixteen_bit_rate_per_watt_is_bounded) {
  const auto codes = [](double tflops) {
    Catalog c = with_part();
    set_peak(c, Dtype::bf16, tflops);
    c.accelerators[0].memory_bandwidth = gbytes_per_s(tflops * 5);  // 200 FLOP per byte
    return codes_by(check_accelerators, c);
  };
  EXPECT_THAT(codes(299), ElementsAre("catalog.tflops-per-watt"));
  EXPECT_THAT(codes(300), IsEmpty());
  EXPECT_THAT(codes(4000), IsEmpty());
  EXPECT_THAT(codes(4001), ElementsAre("catalog.tflops-per-watt"));
}

TEST(ChecksParts, part_without_bf16_is_judged_by_fp16) {
  Catalog c = with_part();
  c.accelerators[0].dense_peak[static_cast<std::size_t>(Dtype::bf16)].reset();
  set_peak(c, Dtype::fp16, 299);
  c.accelerators[0].memory_bandwidth = gbytes_per_s(1495);
  EXPECT_THAT(codes_by(check_accelerators, c),
              ElementsAre("catalog.ratio-unknown", "catalog.tflops-per-watt"))
      << "fp16 counts as bf16 at a ratio of 1, and Acme has no rule";
}

// Per watt: at most 12 in 8 bits, 24 in 4.
TEST(ChecksParts, narrow_rate_per_watt_is_bounded) {
  const auto codes = [](Dtype d, double tflops) {
    Catalog c = with_part();
    set_peak(c, d, tflops);
    const bool four = d == Dtype::fp4;
    if (four) set_peak(c, Dtype::fp8, 12000);
    c.dense_ratios = {{.vendor = "Acme", .dtype = Dtype::fp8, .ratio = 12},
                      {.vendor = "Acme", .dtype = Dtype::int8, .ratio = 12},
                      {.vendor = "Acme", .dtype = Dtype::fp4, .of = Dtype::fp8, .ratio = 2}};
    return codes_by(check_accelerators, c);
  };
  for (const Dtype eight : {Dtype::fp8, Dtype::int8}) {
    EXPECT_THAT(codes(eight, 12000), IsEmpty());
    EXPECT_THAT(codes(eight, 12001), ElementsAre("catalog.tflops-per-watt"));
  }
  EXPECT_THAT(codes(Dtype::fp4, 24000), IsEmpty());
  EXPECT_THAT(codes(Dtype::fp4, 24001), ElementsAre("catalog.tflops-per-watt"));
}

// 30 to 700 FLOP per byte: 1000 TFLOP/s over 33.3 and 1.43 TB/s.
TEST(ChecksParts, ridge_is_bounded) {
  const auto codes = [](double ridge) {
    Catalog c = with_part();
    c.accelerators[0].memory_bandwidth = BytesPerSecond(1e15 / ridge);
    return codes_by(check_accelerators, c);
  };
  EXPECT_THAT(codes(29.9), ElementsAre("catalog.ridge"));
  EXPECT_THAT(codes(30.1), IsEmpty());
  EXPECT_THAT(codes(699), IsEmpty());
  EXPECT_THAT(codes(701), ElementsAre("catalog.ridge"));
  Catalog c = with_part();
  c.accelerators[0].memory_bandwidth = gbytes_per_s(1000);
}

// A rule applies within 3 % on either side; a part's own rule takes precedence over its vendor's.
TEST(ChecksParts, dense_ratio_rules_hold_within_three_percent) {
  Catalog c = with_part();
  c.dense_ratios = {
      {.vendor = "Acme", .dtype = Dtype::fp8, .ratio = 2, .reason = "twice"},
      {.vendor = "Acme", .accelerator_id = "y", .dtype = Dtype::fp8, .ratio = 3},
      {.vendor = "Other", .dtype = Dtype::fp8, .ratio = 4},
      {.vendor = "Acme", .dtype = Dtype::fp8, .of = Dtype::fp16, .ratio = 5},
      {.vendor = "Acme", .dtype = Dtype::int8, .ratio = 6},
  };
  c.dense_ratios[0].provenance = row_at("dense_ratios/acme-fp8");
  const auto codes = [&c](double tflops) {
    set_peak(c, Dtype::fp8, tflops);
    return codes_by(check_accelerators, c);
  };
  EXPECT_THAT(codes(1939), ElementsAre("catalog.sparse"));
  EXPECT_THAT(codes(1941), IsEmpty());
  EXPECT_THAT(codes(2059), IsEmpty());
  EXPECT_THAT(codes(2061), ElementsAre("catalog.sparse"));
  Diagnostics faults;
  set_peak(c, Dtype::fp8, 4000);
  check_accelerators(c, faults);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].what, "x: fp8 is 4 x bf16, dense is 2 x");
  EXPECT_THAT(faults[0].why,
              AllOf(HasSubstr("2:4"), HasSubstr("dense_ratios"), HasSubstr("acme-fp8")));
  c.dense_ratios[1].accelerator_id = "x";
  EXPECT_THAT(codes(3000), IsEmpty());
  c.dense_ratios.clear();
  EXPECT_THAT(codes(2000), ElementsAre("catalog.ratio-unknown"));
}

TEST(ChecksParts, every_narrow_rate_has_a_ratio_and_fp64_has_none) {
  for (const Dtype d : {Dtype::fp16, Dtype::tf32, Dtype::fp8, Dtype::int8}) {
    Catalog c = with_part();
    set_peak(c, d, 1000);
    EXPECT_THAT(codes_by(check_accelerators, c), ElementsAre("catalog.ratio-unknown"));
  }
  Catalog c = with_part();
  set_peak(c, Dtype::fp64, 70);
  set_peak(c, Dtype::fp32, 140);
  set_peak(c, Dtype::fp4, 4000);
  EXPECT_THAT(codes_by(check_accelerators, c), IsEmpty()) << "fp4 is judged by fp8";
}

// What a vendor sold in certain years: both end years are included, and the ceiling itself passes.
TEST(ChecksParts, vendor_ceilings_apply_to_their_years) {
  const auto codes = [](int year, double ceiling, const char* vendor = "Acme") {
    Catalog c = with_part();
    c.accelerators[0].launch_year = year;
    c.dense_ceilings = {
        {.vendor = vendor, .from_year = 2022, .to_year = 2024, .tflops_per_watt = ceiling}};
    return codes_by(check_accelerators, c);
  };
  EXPECT_THAT(codes(2021, 0.9), IsEmpty());
  EXPECT_THAT(codes(2022, 0.9), ElementsAre("catalog.sparse-row"));
  EXPECT_THAT(codes(2024, 0.9), ElementsAre("catalog.sparse-row"));
  EXPECT_THAT(codes(2025, 0.9), IsEmpty());
  EXPECT_THAT(codes(2023, 1.0), IsEmpty());
  EXPECT_THAT(codes(2023, 0.9, "Other"), IsEmpty());
  Catalog c = with_part();
  c.dense_ceilings = {
      {.vendor = "Acme", .from_year = 2022, .to_year = 2024, .tflops_per_watt = 0.9}};
}

TEST(ChecksParts, links_match_by_prefix) {
  const auto codes = [](const char* link, double rate) {
    Catalog c = with_part();
    c.accelerators[0].scaleup_link = link;
    c.accelerators[0].scaleup_per_direction = gbytes_per_s(rate);
    c.link_rates = {{.link = "XLink4", .per_direction = gbytes_per_s(450)},
                    {.link = "YLink", .per_direction = gbytes_per_s(100)}};
    return codes_by(check_accelerators, c);
  };
  EXPECT_THAT(codes("XLink4 (18)", 450), IsEmpty());
  EXPECT_THAT(codes("XLink4", 450.4), IsEmpty()) << "within a thousandth";
  EXPECT_THAT(codes("XLink4", 450.5), ElementsAre("catalog.link-both-directions"));
  EXPECT_THAT(codes("YLink", 101), ElementsAre("catalog.link-both-directions"));
  EXPECT_THAT(codes("XLink", 10), ElementsAre("catalog.link-unknown"));
  EXPECT_THAT(codes("none", 1e6), IsEmpty());
}

// AWS counts in steps of 16 GiB: 96 GiB is 103.08 GB, recognised within half a per cent.
TEST(ChecksParts, memory_in_gib_is_detected) {
  const auto aws = [](double gb) {
    Catalog c = with_part();
    c.accelerators[0].vendor = "AWS";
    c.accelerators[0].name = "T2";
    c.accelerators[0].memory = gigabytes(gb);
    return codes_by(check_accelerators, c);
  };
  EXPECT_THAT(aws(103.08), IsEmpty());
  EXPECT_THAT(aws(103), IsEmpty()) << "rounded to a GB";
  EXPECT_THAT(aws(103.55), IsEmpty()) << "6.027 steps; half a per cent of six is 0.03";
  EXPECT_THAT(aws(103.7), ElementsAre("catalog.gib-as-gb")) << "6.036 steps";
  EXPECT_THAT(aws(96), ElementsAre("catalog.gib-as-gb"));
  const auto named = [](const char* name, double gb) {
    Catalog c = with_part();
    c.accelerators[0].name = name;
    c.accelerators[0].memory = gigabytes(gb);
    return codes_by(check_accelerators, c);
  };
  EXPECT_THAT(named("X 80GB", 80.39), IsEmpty());
  EXPECT_THAT(named("X 80GB", 80.41), ElementsAre("catalog.gib-as-gb"));
  EXPECT_THAT(named("X 80GB", 79.61), IsEmpty());
  EXPECT_THAT(named("X 80GB", 79.59), ElementsAre("catalog.gib-as-gb"));
  EXPECT_THAT(named("GB200", 186), IsEmpty()) << "there is no figure before the unit";
  EXPECT_THAT(named("XGB", 186), IsEmpty());
  EXPECT_THAT(named("180GB", 180), IsEmpty());
}

TEST(ChecksParts, idle_power_is_below_tdp) {
  Catalog c = with_part();
  c.accelerators[0].idle = watts(999);
  EXPECT_THAT(codes_by(check_accelerators, c), IsEmpty());
  c.accelerators[0].idle = watts(1000);
  EXPECT_THAT(codes_by(check_accelerators, c), ElementsAre("catalog.power-order"));
}

// The name of a MIG profile rounds up: "18 GB" may have 19.26 GB (7 % more) but no more.
TEST(ChecksParts, mig_profile_is_no_larger_than_its_name) {
  const auto codes = [](const char* profile, double gb, const char* part = "x") {
    Catalog c = with_part();
    c.mig_profiles = {{.id = "m",
                       .accelerator_id = part,
                       .profile = profile,
                       .memory = gigabytes(gb),
                       .provenance = row_at("mig_profiles/m")}};
    return codes_by(check_accelerators, c);
  };
  EXPECT_THAT(codes("1g.18gb", 19.25), IsEmpty());
  EXPECT_THAT(codes("1g.18gb", 19.27), ElementsAre("catalog.gib-as-gb"));
  EXPECT_THAT(codes("1g.18gb", 1, "y"), ElementsAre("catalog.reference"));
  EXPECT_THAT(codes("1g18gb", 100), IsEmpty()) << "it says no size";
}

TEST(ChecksParts, duplicate_ids_are_refused) {
  const auto twice = [](auto Catalog::* table) {
    Catalog c;
    auto& rows = c.*table;
    rows.resize(3);
    rows[0].provenance = row_at("t/a", 2);
    rows[1].provenance = row_at("t/b", 3);
    rows[2].provenance = row_at("t/a", 4);
    int seen = 0;
    for (const Diagnostic& d : check_catalog(c)) {
      if (d.code != "catalog.duplicate-id") continue;
      EXPECT_EQ(d.place, (Place{"catalog/t.csv", 4, 1})) << "the later of the two";
      ++seen;
    }
    return seen;
  };
  EXPECT_EQ(twice(&Catalog::accelerators), 1);
  EXPECT_EQ(twice(&Catalog::nodes), 1);
  EXPECT_EQ(twice(&Catalog::switches), 1);
  EXPECT_EQ(twice(&Catalog::nics), 1);
  EXPECT_EQ(twice(&Catalog::optics), 1);
  EXPECT_EQ(twice(&Catalog::storage_devices), 1);
  EXPECT_EQ(twice(&Catalog::emerging), 1);
  EXPECT_EQ(twice(&Catalog::mig_profiles), 1);
  EXPECT_EQ(twice(&Catalog::cooling_methods), 1);
  EXPECT_EQ(twice(&Catalog::ashrae_classes), 1);
  EXPECT_EQ(twice(&Catalog::pue_by_climate), 1);
  EXPECT_EQ(twice(&Catalog::power_stages), 1);
  EXPECT_EQ(twice(&Catalog::redundancies), 1);
  EXPECT_EQ(twice(&Catalog::regions), 1);
  EXPECT_EQ(twice(&Catalog::lead_times), 1);
  EXPECT_EQ(twice(&Catalog::cloud_prices), 1);
  EXPECT_EQ(twice(&Catalog::reserved_discounts), 1);
  EXPECT_EQ(twice(&Catalog::storage_prices), 1);
  EXPECT_EQ(twice(&Catalog::spot_bands), 1);
  EXPECT_EQ(twice(&Catalog::tco_parameters), 1);
  EXPECT_EQ(twice(&Catalog::models), 1);
  EXPECT_EQ(twice(&Catalog::engines), 1);
  EXPECT_EQ(twice(&Catalog::export_controls), 1);
  EXPECT_EQ(twice(&Catalog::dense_ratios), 1);
  EXPECT_EQ(twice(&Catalog::dense_ceilings), 1);
  EXPECT_EQ(twice(&Catalog::link_rates), 1);
}

TEST(ChecksParts, duplicate_aliases_are_refused) {
  const auto codes = [](const char* first, const char* second) {
    Catalog c;
    c.regions = {{.id = "a", .aliases = {first}, .provenance = row_at("grid_regions/a", 2)},
                 {.id = "b", .aliases = {second}, .provenance = row_at("grid_regions/b", 3)}};
    std::vector<int> lines;
    for (const Diagnostic& d : check_catalog(c)) {
      if (d.code == "catalog.duplicate-id") lines.push_back(d.place.line);
    }
    return lines;
  };
  EXPECT_THAT(codes("one", "two"), IsEmpty());
  EXPECT_THAT(codes("one", "ONE"), ElementsAre(3));
  EXPECT_THAT(codes("B", "two"), ElementsAre(2));
}

// Eight ports of 100 Gb/s and the uplinks after the plus: 0.8 + 0.4 Tb/s.
TEST(ChecksParts, switch_capacity_equals_its_ports) {
  const auto with = [](auto change) {
    return checked(check_network_parts, &Catalog::switches,
                   Switch{.id = "r",
                          .ports = 8,
                          .port_rate = gbits_per_s(100),
                          .breakout = "+4x100G",
                          .total_one_way = gbits_per_s(1200),
                          .typical_power = watts(100),
                          .max_power = watts(100)},
                   change);
  };
  EXPECT_THAT(with([](Switch&) {}), IsEmpty());
  EXPECT_THAT(with([](Switch& s) { s.breakout = "4x100G"; }), ElementsAre("catalog.radix"));
  EXPECT_THAT(with([](Switch& s) { s.breakout = "+4x200G", s.total_one_way = gbits_per_s(1600); }),
              IsEmpty());
  EXPECT_THAT(with([](Switch& s) { s.breakout = "+4100", s.total_one_way = gbits_per_s(800); }),
              IsEmpty());
  EXPECT_THAT(with([](Switch& s) { s.breakout = "+G4x1", s.total_one_way = gbits_per_s(800); }),
              IsEmpty());
  EXPECT_THAT(with([](Switch& s) { s.total_one_way = gbits_per_s(1211); }), IsEmpty());
  EXPECT_EQ(with([](Switch& s) { s.total_one_way = gbits_per_s(1213); }).size(), 1U);
  EXPECT_THAT(with([](Switch& s) { s.total_one_way = gbits_per_s(1189); }), IsEmpty());
  EXPECT_EQ(with([](Switch& s) { s.total_one_way = gbits_per_s(1187); }).size(), 1U);
  EXPECT_THAT(with([](Switch& s) { s.max_power = watts(99); }), ElementsAre("catalog.power-order"));
  EXPECT_THAT(with([](Switch& s) { s.price = PriceRange{usd(2), usd(1)}; }),
              ElementsAre("catalog.price-order"));
  EXPECT_THAT(with([](Switch& s) { s.price = PriceRange{usd(2), usd(2)}; }), IsEmpty());
}

TEST(ChecksParts, nic_capacity_is_at_most_its_ports) {
  const auto with = [](auto change) {
    return checked(check_network_parts, &Catalog::nics,
                   Nic{.id = "r",
                       .ports = 2,
                       .port_rate = gbits_per_s(400),
                       .total_rate = gbits_per_s(400),
                       .typical_power = watts(20),
                       .max_power = watts(20)},
                   change);
  };
  EXPECT_THAT(with([](Nic&) {}), IsEmpty());
  EXPECT_THAT(with([](Nic& n) { n.total_rate = gbits_per_s(807); }), IsEmpty());
  EXPECT_THAT(with([](Nic& n) { n.total_rate = gbits_per_s(809); }), ElementsAre("catalog.radix"));
  EXPECT_THAT(with([](Nic& n) { n.max_power = watts(19); }), ElementsAre("catalog.power-order"));
  EXPECT_EQ(with([](Nic& n) { n.price = PriceRange{usd(2), usd(1)}; }).size(), 1U);
}

TEST(ChecksParts, optics_and_drives_are_checked) {
  EXPECT_THAT(checked(check_network_parts, &Catalog::optics, Optic{.id = "r"},
                      [](Optic& o) { o.price = PriceRange{usd(9), usd(8)}; }),
              ElementsAre("catalog.price-order"));
  const auto with = [](auto change) {
    return checked(check_network_parts, &Catalog::storage_devices,
                   StorageDevice{.id = "r",
                                 .active_power = watts(9),
                                 .idle_power = watts(9),
                                 .price_per_tb = {usd(1), usd(2)}},
                   change);
  };
  EXPECT_THAT(with([](StorageDevice&) {}), IsEmpty());
  EXPECT_THAT(with([](StorageDevice& d) { d.idle_power = watts(9.1); }),
              ElementsAre("catalog.power-order"));
  EXPECT_THAT(with([](StorageDevice& d) { d.annual_failure_rate = 0.199; }), IsEmpty());
  EXPECT_THAT(with([](StorageDevice& d) { d.annual_failure_rate = 0.2; }),
              ElementsAre("catalog.fraction"));
  EXPECT_EQ(with([](StorageDevice& d) { d.price_per_tb.low = usd(3); }).size(), 1U);
}

std::vector<std::string> network_codes(void (*check)(const Catalog&, Diagnostics&),
                                       const Catalog& c) {
  Diagnostics faults;
  check(c, faults);
  std::vector<std::string> said;
  for (const Diagnostic& d : faults) said.push_back(d.code);
  return said;
}

TEST(ChecksParts, uplinks_are_read_as_count_and_rate) {
  const auto with = [](const char* breakout, double total) {
    Catalog c;
    c.switches = {{.id = "r",
                   .ports = 8,
                   .port_rate = gbits_per_s(100),
                   .breakout = breakout,
                   .total_one_way = gbits_per_s(total)}};
    return network_codes(check_network_parts, c);
  };
  EXPECT_THAT(with("+4x100G", 1200), IsEmpty());
  EXPECT_THAT(with("+4x100", 800), IsEmpty()) << "no unit, no uplinks";
  EXPECT_EQ(with("+4x100", 1200).size(), 1u);
}

}  // namespace
}  // namespace orrery::catalog
