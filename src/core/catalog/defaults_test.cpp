// Rows that say nothing hold nothing, facts carry the width of their confidence, bills add up, and
// the sentences that name a part say it whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/catalog/bill.h"
#include "core/catalog/catalog.h"
#include "core/catalog/checks.h"
#include "core/catalog/config_json.h"
#include "core/catalog/model_shape.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CatalogDefaults, a_part_without_figures_has_none) {
  const Accelerator a;
  EXPECT_EQ(a.launch_year, 0);
  EXPECT_EQ(a.scaleup_domain, 1) << "alone";
  EXPECT_EQ(a.pcie_generation, 0);
  for (const auto& peak : a.dense_peak) EXPECT_FALSE(peak);
  const Node n;
  EXPECT_EQ(n.accelerators, 0);
  EXPECT_EQ(n.accelerators_per_host, 0);
  EXPECT_EQ(n.host_cpus, 0);
  EXPECT_EQ(n.compute_nics, 0);
  EXPECT_EQ(Switch{}.ports, 0);
  EXPECT_EQ(Nic{}.ports, 0);
  EXPECT_EQ(Optic{}.reach_m, 0);
  const MigProfile mig;
  EXPECT_EQ(mig.compute_slices + mig.memory_slices, 0);
  EXPECT_EQ(mig.max_instances + mig.multiprocessors, 0);
  const Provenance p;
  EXPECT_EQ(p.line, 0);
  EXPECT_EQ(p.basis, FactBasis::recall);
  EXPECT_EQ(p.confidence, Confidence::low);
  EXPECT_EQ(BillLine{}.count, 0);
  EXPECT_EQ(PowerPhase{}.share, 0);
}

TEST(CatalogDefaults, prices_and_sites_without_figures_change_nothing) {
  const ReservedDiscount discount;
  EXPECT_EQ(discount.low, 0);
  EXPECT_EQ(discount.high, 0);
  EXPECT_EQ(StorageCloudPrice{}.usd, 0);
  const TcoParameter tco;
  EXPECT_EQ(tco.low, 0);
  EXPECT_EQ(tco.typical, 0);
  EXPECT_EQ(tco.high, 0);
  const CoolingMethod cooling;
  EXPECT_EQ(cooling.liquid_heat_fraction, 0);
  EXPECT_EQ(cooling.supply_temperature_c, 0);
  EXPECT_EQ(cooling.pue_low, 1);
  EXPECT_EQ(cooling.pue_high, 1);
  EXPECT_EQ(cooling.wue_low_l_per_kwh, 0);
  EXPECT_EQ(cooling.wue_high_l_per_kwh, 0);
  const AshraeClass ashrae;
  EXPECT_EQ(ashrae.low_c, 0);
  EXPECT_EQ(ashrae.high_c, 0);
  const PueByClimate pue;
  EXPECT_EQ(pue.p10, 1);
  EXPECT_EQ(pue.p50, 1);
  EXPECT_EQ(pue.p90, 1);
  const PowerStage stage;
  EXPECT_EQ(stage.efficiency_low, 1);
  EXPECT_EQ(stage.efficiency_typical, 1);
  EXPECT_EQ(stage.efficiency_high, 1);
  const Redundancy redundancy;
  EXPECT_EQ(redundancy.capacity_multiplier, 1);
  EXPECT_EQ(redundancy.usable_fraction, 1);
  EXPECT_EQ(redundancy.extra_capex_low, 0);
  EXPECT_EQ(redundancy.extra_capex_high, 0);
  EXPECT_EQ(GridRegion{}.carbon_year, 0);
  EXPECT_EQ(GridRegion{}.price_confidence, Confidence::low);
  EXPECT_EQ(ServingEngine{}.status, EngineStatus::active);
}

TEST(CatalogDefaults, a_model_without_a_shape_is_dense_and_empty) {
  const ModelShape m;
  EXPECT_EQ(m.attention, AttentionKind::gqa);
  EXPECT_EQ(m.layers + m.heads + m.kv_heads + m.experts + m.top_k, 0);
  EXPECT_EQ(m.shared_experts + m.first_dense_layers + m.full_attention_every + m.mtp_layers, 0);
  EXPECT_EQ(m.state_space_layers + m.mlp_only_layers, 0);
  EXPECT_EQ(m.expert_groups + m.expert_groups_per_token, 0);
  for (const double width :
       {m.hidden, m.head_dim, m.ffn, m.vocab, m.expert_ffn, m.shared_expert_ffn, m.q_lora_rank,
        m.kv_lora_rank, m.qk_nope_dim, m.qk_rope_dim, m.v_head_dim, m.sliding_window, m.scan_heads,
        m.scan_head_dim, m.scan_state, m.scan_groups, m.expert_hidden}) {
    EXPECT_EQ(width, 0);
  }
  EXPECT_TRUE(m.gated_mlp);
  EXPECT_FALSE(m.tied_embeddings);
  EXPECT_FALSE(m.biased_experts);
  EXPECT_FALSE(m.is_moe());
  EXPECT_FALSE(m.has_scan());
  EXPECT_TRUE(m.scan_is_modelled());
  ModelShape hybrid{.layers = 10, .state_space_layers = 6, .mlp_only_layers = 3};
  EXPECT_EQ(hybrid.attention_layers(), 1);
  EXPECT_FALSE(hybrid.scan_is_modelled());
  hybrid.scan_heads = 1;
  hybrid.scan_head_dim = 1;
  EXPECT_FALSE(hybrid.scan_is_modelled());
  hybrid.scan_state = 1;
  EXPECT_TRUE(hybrid.scan_is_modelled());
  hybrid.scan_head_dim = 0;
  EXPECT_FALSE(hybrid.scan_is_modelled());
  hybrid.experts = 1;
  EXPECT_TRUE(hybrid.is_moe());
}

TEST(CatalogDefaults, a_fact_is_as_wide_as_it_is_unsure) {
  const auto of = [](FactBasis basis, Confidence confidence) {
    return fact(200, {.reference = "t/r", .basis = basis, .confidence = confidence});
  };
  const Estimate high = of(FactBasis::seen, Confidence::high);
  EXPECT_DOUBLE_EQ(high.low, 196);
  EXPECT_DOUBLE_EQ(high.high, 204);
  EXPECT_EQ(high.basis, Basis::vendor);
  EXPECT_EQ(high.reference, "t/r");
  const Estimate medium = of(FactBasis::measured, Confidence::medium);
  EXPECT_DOUBLE_EQ(medium.low, 180);
  EXPECT_DOUBLE_EQ(medium.high, 220);
  EXPECT_EQ(medium.basis, Basis::measured);
  const Estimate low = of(FactBasis::derived, Confidence::low);
  EXPECT_DOUBLE_EQ(low.low, 140);
  EXPECT_DOUBLE_EQ(low.high, 260);
  EXPECT_EQ(low.basis, Basis::derived);
  EXPECT_EQ(of(FactBasis::recall, Confidence::low).basis, Basis::vendor);
  const Estimate price = fact(PriceRange{usd(30), usd(50)}, {.reference = "p"});
  EXPECT_DOUBLE_EQ(price.value, 40);
  EXPECT_DOUBLE_EQ(price.low, 30);
  EXPECT_DOUBLE_EQ(price.high, 50);
}

TEST(CatalogDefaults, a_bill_adds_up_by_section_and_item) {
  const Bill bill{
      {{.section = "s",
        .item = "i",
        .count = 3,
        .unit_price = PriceRange{usd(7), usd(9)},
        .unit_power = watts(11)},
       {.section = "s",
        .item = "i",
        .count = 2,
        .unit_price = PriceRange{usd(1), usd(2)},
        .unit_power = watts(13)},
       {.section = "s", .item = "j", .count = 5, .unit_price = {}, .unit_power = watts(1)},
       {.section = "t", .item = "i", .count = 0, .unit_price = {}}}};
  EXPECT_EQ(bill.count("s", "i"), 5);
  EXPECT_EQ(bill.count("s", "j"), 5);
  EXPECT_EQ(bill.count("t", "j"), 0);
  EXPECT_DOUBLE_EQ(bill.power().base(), 64);       // 33 + 26 + 5
  EXPECT_DOUBLE_EQ(bill.price().low.base(), 23);   // 21 + 2
  EXPECT_DOUBLE_EQ(bill.price().high.base(), 31);  // 27 + 4
  EXPECT_THAT(bill.unpriced(), ElementsAre("s: j")) << "nothing of none is missing";
}

std::vector<std::string> said_by(void (*check)(const Catalog&, Diagnostics&), const Catalog& c) {
  Diagnostics faults;
  check(c, faults);
  std::vector<std::string> said;
  for (const Diagnostic& d : faults) said.push_back(d.what + " | " + d.why);
  return said;
}

TEST(CatalogDefaults, a_link_that_is_not_known_is_named_whole) {
  Catalog c;
  Accelerator part{.id = "x", .vendor = "v", .name = "X"};
  part.scaleup_link = "XLink";
  part.provenance.reference = "accelerators/x";
  c.accelerators = {part};
  EXPECT_THAT(said_by(check_accelerators, c),
              testing::Contains("x: link_rates.csv does not know 'XLink' | "));
  c.link_rates = {{.link = "XLink", .per_direction = gbytes_per_s(450), .reason = "their reason"}};
  c.accelerators[0].scaleup_per_direction = gbytes_per_s(900);
  EXPECT_THAT(
      said_by(check_accelerators, c),
      testing::Contains("x: 900 GB/s a direction, XLink has at most 450 | headlines add both "
                        "directions (their reason)"));
}

// Power is said to four digits: 12.3456 kW is 12.35.
TEST(CatalogDefaults, a_nodes_power_is_said_to_four_digits) {
  Catalog c;
  Node n{.id = "r", .max_power = watts(12'345.6), .psu_capacity = watts(11'111.1)};
  n.provenance.reference = "nodes/r";
  c.nodes = {n};
  EXPECT_THAT(said_by(check_nodes, c),
              ElementsAre("r: draws 12.35 kW from supplies of 11.11 kW | "));
}

TEST(CatalogDefaults, uplinks_are_a_count_and_a_rate_in_gigabits) {
  const auto with = [](const char* breakout, double total) {
    Catalog c;
    c.switches = {{.id = "r",
                   .ports = 8,
                   .port_rate = gbits_per_s(100),
                   .breakout = breakout,
                   .total_one_way = gbits_per_s(total)}};
    return said_by(check_network_parts, c);
  };
  EXPECT_THAT(with("+4x100G", 1200), IsEmpty());
  EXPECT_THAT(with("+4x100", 800), IsEmpty()) << "no unit, no uplinks";
  EXPECT_EQ(with("+4x100", 1200).size(), 1u);
}

// One layer in one has attention: none is a scan.
TEST(CatalogDefaults, a_period_of_one_leaves_no_scan) {
  const auto read = [](const std::string& period) {
    return model_from_config_json(
        R"({"model_type": "jamba", "hidden_act": "silu", "hidden_size": 960,
            "num_attention_heads": 12, "num_hidden_layers": 8, "vocab_size": 1000,
            "intermediate_size": 2560, "attn_layer_period": )" +
            period + "}",
        "m");
  };
  const auto one = read("1");
  ASSERT_TRUE(one) << to_text(one.error());
  EXPECT_EQ(one->state_space_layers, 0);
  const auto none = read("0");
  EXPECT_TRUE(!none || none->state_space_layers == 0);
}

}  // namespace
}  // namespace orrery::catalog
