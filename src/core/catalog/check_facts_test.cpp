// The checks of nodes, network parts, models, sites and prices at their bounds, on made-up rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/catalog/checks.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> faults_by(void (*check)(const Catalog&, Diagnostics&), const Catalog& c) {
  Diagnostics faults;
  check(c, faults);
  std::vector<std::string> lines;
  for (const Diagnostic& d : faults) lines.push_back(d.code + " | " + d.what);
  return lines;
}

// One of each: `with` changes the one row that is then checked.
template <class Row, class With>
std::vector<std::string> checked(void (*check)(const Catalog&, Diagnostics&),
                                 std::vector<Row> Catalog::* table, Row row, With with) {
  Catalog c;
  c.accelerators = {{.id = "x", .tdp = watts(700)}};
  c.cooling_methods = {{.id = "air"}};
  c.pue_by_climate = {{.climate = "cool", .cooling_id = "air"}};
  row.provenance.reference = "t/r";
  with(row);
  (c.*table) = {row};
  return faults_by(check, c);
}

// Eight parts of 700 W in 8 units of air: 6 supplies of 3.3 kW (19.8), two of which may fail.
template <class With>
std::vector<std::string> node_with(With with) {
  return checked(check_nodes, &Catalog::nodes,
                 Node{.id = "r",
                      .accelerators = 8,
                      .accelerator_id = "x",
                      .accelerators_per_host = 4,
                      .rack_units = 8,
                      .max_power = kilowatts(10),
                      .typical_train_power = kilowatts(8),
                      .idle_power = kilowatts(2),
                      .psu = "6x3.3",
                      .psu_capacity = kilowatts(19.8),
                      .psu_redundancy = "4+2",
                      .cooling = "air"},
                 with);
}

TEST(CheckFacts, a_node_names_what_it_carries) {
  EXPECT_THAT(node_with([](Node&) {}), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.accelerators = 0; }),
              ElementsAre("catalog.reference | r: no accelerators, and yet one is named"));
  EXPECT_THAT(node_with([](Node& n) { n.accelerators = 0, n.accelerator_id = ""; }), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.accelerator_id = "y"; }),
              ElementsAre("catalog.reference | r: no accelerator 'y'"));
  const std::string hosts =
      "catalog.node-hosts | r: accelerators_per_host does not divide "
      "accelerators";
  EXPECT_THAT(node_with([](Node& n) { n.accelerators_per_host = 3; }), ElementsAre(hosts));
  EXPECT_THAT(node_with([](Node& n) { n.accelerators_per_host = 0; }), ElementsAre(hosts));
  EXPECT_THAT(node_with([](Node& n) { n.accelerators_per_host = 1; }), IsEmpty());
}

TEST(CheckFacts, a_nodes_powers_rise) {
  EXPECT_THAT(node_with([](Node& n) {
                n.max_power = kilowatts(5.6);  // 8 x 700 W
                n.typical_train_power = kilowatts(5.5);
              }),
              IsEmpty());
  EXPECT_THAT(
      node_with([](Node& n) {
        n.max_power = kilowatts(5.5);
        n.typical_train_power = kilowatts(5.4);
      }),
      ElementsAre("catalog.node-tdp | r: its accelerators may draw 5.6 kW, the node only 5.5 kW"));
  const std::string order = "catalog.power-order | r: idle, typical and maximum power do not rise";
  EXPECT_THAT(node_with([](Node& n) { n.typical_train_power = kilowatts(10); }),
              ElementsAre(order));
  EXPECT_THAT(node_with([](Node& n) { n.typical_train_power = kilowatts(9.99); }), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.idle_power = kilowatts(8); }), ElementsAre(order));
  EXPECT_THAT(node_with([](Node& n) { n.idle_power = kilowatts(7.99); }), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.psu = "", n.psu_capacity = kilowatts(10); }), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.psu = "", n.psu_capacity = kilowatts(9.9); }),
              ElementsAre("catalog.node-psu | r: draws 10 kW from supplies of 9.9 kW"));
}

TEST(CheckFacts, supplies_add_up_and_their_spares_hold) {
  const auto psu = [](const char* text, double kw, const char* spare, double draws = 10) {
    return node_with([&](Node& n) {
      n.psu = text, n.psu_capacity = kilowatts(kw), n.psu_redundancy = spare;
      n.max_power = kilowatts(draws), n.rack_units = 20;
    });
  };
  EXPECT_THAT(psu("6x3.3", 19.99, "4+2"), IsEmpty()) << "within a per cent";
  EXPECT_THAT(psu("6x3.3", 20.01, "4+2"),
              ElementsAre("catalog.node-psu | r: 6x3.3 is 19.8 kW, psu_total_kw says otherwise"));
  EXPECT_THAT(psu("6x3.3", 19.8, "4+3"),
              ElementsAre("catalog.node-psu | r: 6x3.3 supplies cannot be 4+3"));
  EXPECT_THAT(psu("6x3.3", 19.8, "4+2", 13.2), IsEmpty()) << "4 x 3.3";
  EXPECT_THAT(psu("6x3.3", 19.8, "4+2", 13.3),
              ElementsAre("catalog.node-psu | r: 4+2 of 6x3.3 leaves less than the node draws"));
  EXPECT_THAT(psu("busbar", 12, "4+2"), IsEmpty());
  EXPECT_THAT(psu("0x3.3", 12, "4+2"), IsEmpty()) << "no count";
  EXPECT_THAT(psu("1001x3.3", 12, "4+2"), IsEmpty());
  EXPECT_EQ(psu("1000x3.3", 12, "4+2").size(), 2U);
  EXPECT_THAT(psu("6x3.3", 19.8, "n+1"), IsEmpty());
  EXPECT_EQ(psu("6x3.3", 19.8, "6+1").size(), 1U);
  EXPECT_THAT(psu("6x3.3", 19.8, "6+0"), IsEmpty());
  EXPECT_THAT(psu("6x3.3", 19.8, "0+6"), IsEmpty()) << "nothing need live: not a redundancy";
  EXPECT_THAT(psu("6x3.3", 19.8, "7+-1"), IsEmpty());
  EXPECT_THAT(psu("1x10", 10, "1+0"), IsEmpty());
}

// 2 kW a unit with air, 8 with liquid; 1 to 60 units.
TEST(CheckFacts, a_node_is_as_dense_as_is_built) {
  const auto dense = [](int units, double kw, const char* cooling) {
    return node_with([&](Node& n) {
      n.psu = "", n.psu_capacity.reset();
      n.rack_units = units, n.max_power = kilowatts(kw), n.cooling = cooling;
    });
  };
  EXPECT_THAT(dense(8, 16, "air"), IsEmpty());
  EXPECT_THAT(dense(8, 16.1, "air"),
              ElementsAre("catalog.node-density | r: 2.01 kW a rack unit with air cooling, at most "
                          "2 is built"));
  EXPECT_THAT(dense(8, 64, "liquid"), IsEmpty());
  EXPECT_THAT(dense(8, 64.1, "liquid"),
              ElementsAre("catalog.node-density | r: 8.01 kW a rack unit with liquid cooling, at "
                          "most 8 is built"));
  EXPECT_THAT(dense(60, 10, "air"), IsEmpty());
  EXPECT_THAT(dense(61, 10, "air"), ElementsAre("catalog.node-density | r: 61 rack units"));
  EXPECT_THAT(dense(0, 10, "air"), ElementsAre("catalog.node-density | r: 0 rack units"));
  EXPECT_THAT(dense(1, 8.1, "liquid").size(), 1U);
}

// Eight ports of 100 Gb/s and what stands behind the plus: 0.8 + 0.4 Tb/s.
TEST(CheckFacts, a_switch_is_its_ports) {
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
  EXPECT_THAT(with([](Switch& s) { s.breakout = "4x100G"; }),
              ElementsAre("catalog.radix | r: ports x speed is 0.8 Tb/s, the row says 1.2"));
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
  EXPECT_THAT(with([](Switch& s) { s.max_power = watts(99); }),
              ElementsAre("catalog.power-order | r: typical power is above the maximum"));
  EXPECT_THAT(with([](Switch& s) { s.price = PriceRange{usd(2), usd(1)}; }),
              ElementsAre("catalog.price-order | r: the low price is above the high one"));
  EXPECT_THAT(with([](Switch& s) { s.price = PriceRange{usd(2), usd(2)}; }), IsEmpty());
}

TEST(CheckFacts, an_adapter_is_at_most_its_ports) {
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
  EXPECT_THAT(with([](Nic& n) { n.total_rate = gbits_per_s(809); }),
              ElementsAre("catalog.radix | r: the total is above ports x speed"));
  EXPECT_THAT(with([](Nic& n) { n.max_power = watts(19); }),
              ElementsAre("catalog.power-order | r: typical power is above the maximum"));
  EXPECT_EQ(with([](Nic& n) { n.price = PriceRange{usd(2), usd(1)}; }).size(), 1U);
}

TEST(CheckFacts, optics_and_drives) {
  EXPECT_THAT(checked(check_network_parts, &Catalog::optics, Optic{.id = "r"},
                      [](Optic& o) { o.price = PriceRange{usd(9), usd(8)}; }),
              ElementsAre("catalog.price-order | r: the low price is above the high one"));
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
              ElementsAre("catalog.power-order | r: idle power is above active power"));
  EXPECT_THAT(with([](StorageDevice& d) { d.annual_failure_rate = 0.199; }), IsEmpty());
  EXPECT_THAT(with([](StorageDevice& d) { d.annual_failure_rate = 0.2; }),
              ElementsAre("catalog.fraction | r: more than a fifth of the drives would fail a "
                          "year"));
  EXPECT_EQ(with([](StorageDevice& d) { d.price_per_tb.low = usd(3); }).size(), 1U);
}

TEST(CheckFacts, a_model_has_a_shape) {
  const auto with = [](auto change) {
    return checked(check_models, &Catalog::models,
                   ModelShape{.id = "r",
                              .layers = 1,
                              .hidden = 1,
                              .heads = 6,
                              .kv_heads = 3,
                              .head_dim = 1,
                              .vocab = 1},
                   change);
  };
  const std::string code = "catalog.model-shape | r: ";
  const std::string sized = code + "layers, hidden, heads and vocab must be above 0";
  const std::string groups = code + "kv_heads does not divide heads";
  const std::string experts = code + "top_k must be within the experts, and expert_ffn given";
  const std::string latent = code + "latent attention without its ranks";
  EXPECT_THAT(with([](ModelShape&) {}), IsEmpty());
  EXPECT_THAT(with([](ModelShape& m) { m.layers = 0; }), ElementsAre(sized));
  EXPECT_THAT(with([](ModelShape& m) { m.hidden = 0; }), ElementsAre(sized));
  EXPECT_THAT(with([](ModelShape& m) { m.heads = 0; }), ElementsAre(sized));
  EXPECT_THAT(with([](ModelShape& m) { m.vocab = 0; }), ElementsAre(sized));
  EXPECT_THAT(with([](ModelShape& m) { m.kv_heads = 0; }), ElementsAre(groups));
  EXPECT_THAT(with([](ModelShape& m) { m.kv_heads = 4; }), ElementsAre(groups));
  EXPECT_THAT(with([](ModelShape& m) { m.head_dim = 0; }), ElementsAre(code + "head_dim is blank"));
  const auto moe = [&](int k, double width) {
    return with([&](ModelShape& m) { m.experts = 4, m.top_k = k, m.expert_ffn = width; });
  };
  EXPECT_THAT(moe(4, 1), IsEmpty());
  EXPECT_THAT(moe(5, 1), ElementsAre(experts));
  EXPECT_THAT(moe(0, 1), ElementsAre(experts));
  EXPECT_THAT(moe(1, 0), ElementsAre(experts));
  const auto mla = [&](double kv, double rope, double v) {
    return with([&](ModelShape& m) {
      m.attention = AttentionKind::mla, m.head_dim = 0;
      m.kv_lora_rank = kv, m.qk_rope_dim = rope, m.v_head_dim = v;
    });
  };
  EXPECT_THAT(mla(1, 1, 1), IsEmpty());
  EXPECT_THAT(mla(0, 1, 1), ElementsAre(latent));
  EXPECT_THAT(mla(1, 0, 1), ElementsAre(latent));
  EXPECT_THAT(mla(1, 1, 0), ElementsAre(latent));
}

TEST(CheckFacts, a_region_pays_and_emits_what_grids_do) {
  const auto with = [](auto change) {
    return checked(check_site_facts, &Catalog::regions,
                   GridRegion{.id = "r",
                              .country = "usa",
                              .climate = "cool",
                              .carbon = grams_per_kwh(1200),
                              .price_low = usd_per_kwh(0.005),
                              .price_high = usd_per_kwh(0.6)},
                   change);
  };
  const std::string price = "catalog.power-price | r: electricity outside 0.5 to 60 US cents a kWh";
  EXPECT_THAT(with([](GridRegion&) {}), IsEmpty());
  EXPECT_THAT(with([](GridRegion& r) { r.price_low = usd_per_kwh(0.0049); }), ElementsAre(price));
  EXPECT_THAT(with([](GridRegion& r) { r.price_high = usd_per_kwh(0.601); }), ElementsAre(price));
  EXPECT_THAT(with([](GridRegion& r) { r.price_low = usd_per_kwh(0.61); }),
              ElementsAre("catalog.price-order | r: the low price is above the high one"));
  EXPECT_THAT(with([](GridRegion& r) { r.price_low = r.price_high; }), IsEmpty());
  EXPECT_THAT(with([](GridRegion& r) { r.carbon = grams_per_kwh(1201); }),
              ElementsAre("catalog.carbon | r: more than 1,200 g CO2 a kWh"));
  EXPECT_THAT(with([](GridRegion& r) { r.country = "us"; }),
              ElementsAre("catalog.country | r: country is not ISO alpha-3"));
  EXPECT_THAT(with([](GridRegion& r) { r.country = "usab"; }).size(), 1U);
  EXPECT_THAT(with([](GridRegion& r) { r.climate = "mild"; }),
              ElementsAre("catalog.reference | r: no climate 'mild'"));
}

}  // namespace
}  // namespace orrery::catalog
