// Columns of the tables of models, prices, sites and checks: each in its own field and unit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/catalog/row_fixture.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ModelShape shape_row() {
  return good_row<ModelShape>({{"id", "x-1"},
                               {"aliases", "acme/Y| y2 "},
                               {"attention", "mla"},
                               {"layers", "61"},
                               {"hidden", "7168"},
                               {"heads", "128"},
                               {"kv_heads", "64"},
                               {"head_dim", "134.75"},
                               {"ffn", "18432"},
                               {"gated_mlp", "0"},
                               {"vocab", "129280"},
                               {"tied_embeddings", "1"},
                               {"experts", "256"},
                               {"top_k", "8"},
                               {"expert_ffn", "2048"},
                               {"shared_experts", "3"},
                               {"shared_expert_ffn", "2047"},
                               {"first_dense_layers", "2"},
                               {"q_lora_rank", "1536"},
                               {"kv_lora_rank", "512"},
                               {"qk_nope_dim", "127"},
                               {"qk_rope_dim", "66"},
                               {"v_head_dim", "129"},
                               {"sliding_window", "4096"},
                               {"full_attention_every", "6"},
                               {"mtp_layers", "5"},
                               {"state_space_layers", "20"},
                               {"mlp_only_layers", "30"},
                               {"scan_heads", "96"},
                               {"scan_head_dim", "80"},
                               {"scan_state", "130"},
                               {"scan_groups", "9"},
                               {"biased_experts", "1"},
                               {"expert_groups", "7"},
                               {"expert_groups_per_token", "4"},
                               {"expert_hidden", "1025"}});
}

TEST(FactRows, a_models_widths) {
  const ModelShape m = shape_row();
  EXPECT_EQ(m.id, "x-1");
  EXPECT_THAT(m.aliases, ElementsAre("acme/Y", "y2"));
  EXPECT_EQ(m.attention, AttentionKind::mla);
  EXPECT_EQ(m.layers, 61);
  EXPECT_EQ(m.hidden, 7168);
  EXPECT_EQ(m.heads, 128);
  EXPECT_EQ(m.kv_heads, 64);
  EXPECT_EQ(m.head_dim, 134.75);
  EXPECT_EQ(m.ffn, 18432);
  EXPECT_FALSE(m.gated_mlp);
  EXPECT_EQ(m.vocab, 129280);
  EXPECT_TRUE(m.tied_embeddings);
  EXPECT_EQ(m.q_lora_rank, 1536);
  EXPECT_EQ(m.kv_lora_rank, 512);
  EXPECT_EQ(m.qk_nope_dim, 127);
  EXPECT_EQ(m.qk_rope_dim, 66);
  EXPECT_EQ(m.v_head_dim, 129);
  EXPECT_EQ(m.sliding_window, 4096);
  EXPECT_EQ(m.full_attention_every, 6);
}

TEST(FactRows, a_models_experts_and_scans) {
  const ModelShape m = shape_row();
  EXPECT_EQ(m.experts, 256);
  EXPECT_EQ(m.top_k, 8);
  EXPECT_EQ(m.expert_ffn, 2048);
  EXPECT_EQ(m.shared_experts, 3);
  EXPECT_EQ(m.shared_expert_ffn, 2047);
  EXPECT_EQ(m.first_dense_layers, 2);
  EXPECT_EQ(m.mtp_layers, 5);
  EXPECT_EQ(m.state_space_layers, 20);
  EXPECT_EQ(m.mlp_only_layers, 30);
  EXPECT_EQ(m.scan_heads, 96);
  EXPECT_EQ(m.scan_head_dim, 80);
  EXPECT_EQ(m.scan_state, 130);
  EXPECT_EQ(m.scan_groups, 9);
  EXPECT_TRUE(m.biased_experts);
  EXPECT_EQ(m.expert_groups, 7);
  EXPECT_EQ(m.expert_groups_per_token, 4);
  EXPECT_EQ(m.expert_hidden, 1025);
  EXPECT_EQ(m.attention_layers(), 11) << "61 - 20 - 30";
  EXPECT_TRUE(m.is_moe());
  EXPECT_TRUE(m.has_scan());
  EXPECT_TRUE(m.scan_is_modelled());
}

TEST(FactRows, a_shape_that_says_nothing_has_nothing) {
  const ModelShape m;
  EXPECT_FALSE(m.is_moe());
  EXPECT_FALSE(m.has_scan());
  EXPECT_FALSE(m.biased_experts);
  EXPECT_FALSE(m.tied_embeddings);
  EXPECT_TRUE(m.gated_mlp);
  EXPECT_TRUE(m.scan_is_modelled()) << "there is none";
  EXPECT_EQ(m.attention, AttentionKind::gqa);
  const ModelShape scan{.layers = 9, .state_space_layers = 1, .scan_heads = 1, .scan_head_dim = 1};
  EXPECT_FALSE(scan.scan_is_modelled()) << "no state";
}

TEST(FactRows, prices_of_a_cloud) {
  const auto p = good_row<CloudPrice>({{"id", "x-1"},
                                       {"provider", "acme"},
                                       {"accelerator_id", "acme-x"},
                                       {"sku", "x8"},
                                       {"ondemand_min_usd_per_accel_h", "2.1"},
                                       {"ondemand_median_usd_per_accel_h", "3.2"},
                                       {"ondemand_max_usd_per_accel_h", "4.3"},
                                       {"spot_min_usd_per_accel_h", "1.1"},
                                       {"spot_median_usd_per_accel_h", "1.2"},
                                       {"spot_max_usd_per_accel_h", "1.3"},
                                       {"spot_discount_median", "0.625"}});
  EXPECT_EQ(p.id, "x-1");
  EXPECT_EQ(p.provider, "acme");
  EXPECT_EQ(p.accelerator_id, "acme-x");
  EXPECT_EQ(p.sku, "x8");
  EXPECT_EQ(p.on_demand_low, usd_per_hour(2.1));
  EXPECT_EQ(p.on_demand_median, usd_per_hour(3.2));
  EXPECT_EQ(p.on_demand_high, usd_per_hour(4.3));
  EXPECT_EQ(p.spot_low, usd_per_hour(1.1));
  EXPECT_EQ(p.spot_median, usd_per_hour(1.2));
  EXPECT_EQ(p.spot_high, usd_per_hour(1.3));
  EXPECT_EQ(p.spot_discount_median, 0.625);
}

TEST(FactRows, discounts_and_prices_by_the_gigabyte) {
  const auto d = good_row<ReservedDiscount>({{"id", "x-1"},
                                             {"term_years", "3"},
                                             {"discount_low", "0.3"},
                                             {"discount_high", "0.55"},
                                             {"note", "prepaid"}});
  EXPECT_EQ(d.id, "x-1");
  EXPECT_EQ(d.term, years(3));
  EXPECT_EQ(d.low, 0.3);
  EXPECT_EQ(d.high, 0.55);
  EXPECT_EQ(d.note, "prepaid");
  const auto s = good_row<StorageCloudPrice>({{"id", "x-1"},
                                              {"provider", "acme"},
                                              {"item", "standard"},
                                              {"usd", "0.023"},
                                              {"unit", "GB-month"},
                                              {"note", "first 50 TB"}});
  EXPECT_EQ(s.id, "x-1");
  EXPECT_EQ(s.provider, "acme");
  EXPECT_EQ(s.item, "standard");
  EXPECT_EQ(s.usd, 0.023);
  EXPECT_EQ(s.unit, "GB-month");
  EXPECT_EQ(s.note, "first 50 TB");
}

TEST(FactRows, spot_bands_are_fractions_and_parameters_keep_their_unit) {
  const auto b = good_row<SpotBand>({{"id", "x-1"},
                                     {"family", "p5"},
                                     {"band_low_pct_per_month", "5"},
                                     {"band_high_pct_per_month", "10"},
                                     {"notice_s", "120"},
                                     {"note", "adviser"},
                                     {"accelerator_id", "acme-x"}});
  EXPECT_EQ(b.id, "x-1");
  EXPECT_EQ(b.family, "p5");
  EXPECT_EQ(b.low_month, 0.05);
  EXPECT_EQ(b.high_month, 0.1);
  EXPECT_EQ(b.notice, seconds(120));
  EXPECT_EQ(b.note, "adviser");
  EXPECT_EQ(b.accelerator_id, "acme-x");
  const auto t = good_row<TcoParameter>({{"id", "x-1"},
                                         {"name", "staff"},
                                         {"low", "1.5"},
                                         {"typical", "2.5"},
                                         {"high", "3.5"},
                                         {"unit", "people/MW"},
                                         {"note", "shifts"}});
  EXPECT_EQ(t.id, "x-1");
  EXPECT_EQ(t.name, "staff");
  EXPECT_EQ(t.low, 1.5);
  EXPECT_EQ(t.typical, 2.5);
  EXPECT_EQ(t.high, 3.5);
  EXPECT_EQ(t.unit, "people/MW");
  EXPECT_EQ(t.note, "shifts");
}

TEST(FactRows, engines_and_export_rules) {
  const auto e = good_row<ServingEngine>({{"id", "x-1"},
                                          {"name", "Yserve"},
                                          {"status", "maintenance"},
                                          {"status_since", "2026-01-02"},
                                          {"replaced_by", "zserve"},
                                          {"note", "fixes only"}});
  EXPECT_EQ(e.id, "x-1");
  EXPECT_EQ(e.name, "Yserve");
  EXPECT_EQ(e.status, EngineStatus::maintenance);
  EXPECT_EQ(e.status_since, "2026-01-02");
  EXPECT_EQ(e.replaced_by, "zserve");
  EXPECT_EQ(e.note, "fixes only");
  const auto c = good_row<ExportControl>({{"id", "x-1"},
                                          {"accelerator_id", "acme-x"},
                                          {"rule", "3A090"},
                                          {"countries", "chn  rus"},
                                          {"note", "ask"}});
  EXPECT_EQ(c.id, "x-1");
  EXPECT_EQ(c.accelerator_id, "acme-x");
  EXPECT_EQ(c.rule, "3A090");
  EXPECT_THAT(c.countries, ElementsAre("chn", "rus"));
  EXPECT_TRUE(c.covers("rus"));
  EXPECT_FALSE(c.covers("deu"));
  EXPECT_EQ(c.note, "ask");
}

TEST(FactRows, a_way_of_cooling) {
  const auto c = good_row<CoolingMethod>({{"id", "x-1"},
                                          {"rack_kw_low", "20"},
                                          {"rack_kw_practical_max", "140"},
                                          {"liquid_heat_fraction", "0.8"},
                                          {"supply_temp_c_typ", "32"},
                                          {"pue_low", "1.1"},
                                          {"pue_high", "1.3"},
                                          {"wue_l_per_kwh_low", "0.2"},
                                          {"wue_l_per_kwh_high", "1.4"},
                                          {"capex_usd_per_kw_it_low", "700"},
                                          {"capex_usd_per_kw_it_high", "1500"},
                                          {"retrofit_ease", "hard"},
                                          {"note", "cold plates"}});
  EXPECT_EQ(c.id, "x-1");
  EXPECT_EQ(c.rack_low, kilowatts(20));
  EXPECT_EQ(c.rack_practical_max, kilowatts(140));
  EXPECT_EQ(c.liquid_heat_fraction, 0.8);
  EXPECT_EQ(c.supply_temperature_c, 32);
  EXPECT_EQ(c.pue_low, 1.1);
  EXPECT_EQ(c.pue_high, 1.3);
  EXPECT_EQ(c.wue_low_l_per_kwh, 0.2);
  EXPECT_EQ(c.wue_high_l_per_kwh, 1.4);
  EXPECT_EQ(c.capex_per_kw.low, usd(700));
  EXPECT_EQ(c.capex_per_kw.high, usd(1500));
  EXPECT_EQ(c.retrofit, "hard");
  EXPECT_EQ(c.note, "cold plates");
}

TEST(FactRows, climates_and_classes) {
  const auto a = good_row<AshraeClass>(
      {{"id", "x-1"}, {"kind", "water"}, {"note", "n"}, {"low_c", "2"}, {"high_c", "45"}});
  EXPECT_EQ(a.id, "x-1");
  EXPECT_EQ(a.kind, "water");
  EXPECT_EQ(a.note, "n");
  EXPECT_EQ(a.low_c, 2);
  EXPECT_EQ(a.high_c, 45);
  const auto p = good_row<PueByClimate>({{"id", "x-1"},
                                         {"climate", "cool"},
                                         {"cooling_id", "air"},
                                         {"pue_p10", "1.1"},
                                         {"pue_p50", "1.2"},
                                         {"pue_p90", "1.4"}});
  EXPECT_EQ(p.climate, "cool");
  EXPECT_EQ(p.cooling_id, "air");
  EXPECT_EQ(p.p10, 1.1);
  EXPECT_EQ(p.p50, 1.2);
  EXPECT_EQ(p.p90, 1.4);
}

TEST(FactRows, stages_and_spares_of_power) {
  const auto s = good_row<PowerStage>({{"id", "x-1"},
                                       {"name", "UPS"},
                                       {"efficiency_low", "0.91"},
                                       {"efficiency_typ", "0.95"},
                                       {"efficiency_high", "0.97"},
                                       {"model", "curve"},
                                       {"redundancy_effect", "half load"}});
  EXPECT_EQ(s.id, "x-1");
  EXPECT_EQ(s.name, "UPS");
  EXPECT_EQ(s.efficiency_low, 0.91);
  EXPECT_EQ(s.efficiency_typical, 0.95);
  EXPECT_EQ(s.efficiency_high, 0.97);
  EXPECT_EQ(s.model, "curve");
  EXPECT_EQ(s.redundancy_effect, "half load");
  const auto r = good_row<Redundancy>({{"id", "x-1"},
                                       {"name", "N+1"},
                                       {"capacity_multiplier", "1.25"},
                                       {"usable_fraction", "0.8"},
                                       {"availability_note", "one may fail"},
                                       {"extra_capex_low", "0.2"},
                                       {"extra_capex_high", "0.3"}});
  EXPECT_EQ(r.id, "x-1");
  EXPECT_EQ(r.name, "N+1");
  EXPECT_EQ(r.capacity_multiplier, 1.25);
  EXPECT_EQ(r.usable_fraction, 0.8);
  EXPECT_EQ(r.note, "one may fail");
  EXPECT_EQ(r.extra_capex_low, 0.2);
  EXPECT_EQ(r.extra_capex_high, 0.3);
}

TEST(FactRows, a_region_and_a_lead_time) {
  const auto g = good_row<GridRegion>({{"id", "x-1"},
                                       {"aliases", "aws-y|gcp-y"},
                                       {"name", "Yland"},
                                       {"carbon_g_per_kwh", "321"},
                                       {"carbon_year", "2024"},
                                       {"elec_price_low_uscents_per_kwh", "6.5"},
                                       {"elec_price_high_uscents_per_kwh", "9.5"},
                                       {"price_note", "industry"},
                                       {"country", "yla"},
                                       {"climate", "cool"},
                                       {"confidence_price", "high"}});
  EXPECT_EQ(g.id, "x-1");
  EXPECT_THAT(g.aliases, ElementsAre("aws-y", "gcp-y"));
  EXPECT_EQ(g.name, "Yland");
  EXPECT_EQ(g.carbon, grams_per_kwh(321));
  EXPECT_EQ(g.carbon_year, 2024);
  EXPECT_EQ(g.price_low, usd_per_kwh(0.065));
  EXPECT_EQ(g.price_high, usd_per_kwh(0.095));
  EXPECT_EQ(g.price_note, "industry");
  EXPECT_EQ(g.country, "yla");
  EXPECT_EQ(g.climate, "cool");
  EXPECT_EQ(g.price_confidence, Confidence::high);
  const auto t = good_row<LeadTime>({{"id", "x-1"},
                                     {"item", "chiller"},
                                     {"weeks_low", "20"},
                                     {"weeks_typ", "31"},
                                     {"weeks_high", "52"},
                                     {"note", "in 2026"}});
  EXPECT_EQ(t.id, "x-1");
  EXPECT_EQ(t.item, "chiller");
  EXPECT_EQ(t.low, weeks(20));
  EXPECT_EQ(t.typical, weeks(31));
  EXPECT_EQ(t.high, weeks(52));
  EXPECT_EQ(t.note, "in 2026");
}

TEST(FactRows, what_the_checks_compare_with) {
  const auto r = good_row<DenseRatio>({{"id", "x-1"},
                                       {"vendor", "Acme"},
                                       {"accelerator_id", "acme-x"},
                                       {"dtype", "fp4"},
                                       {"of_dtype", "fp8"},
                                       {"ratio", "1.5"},
                                       {"reason", "so said"}});
  EXPECT_EQ(r.id, "x-1");
  EXPECT_EQ(r.vendor, "Acme");
  EXPECT_EQ(r.accelerator_id, "acme-x");
  EXPECT_EQ(r.dtype, Dtype::fp4);
  EXPECT_EQ(r.of, Dtype::fp8);
  EXPECT_EQ(r.ratio, 1.5);
  EXPECT_EQ(r.reason, "so said");
  EXPECT_EQ(DenseRatio{}.ratio, 1);
  const auto c = good_row<DenseCeiling>({{"id", "x-1"},
                                         {"vendor", "Acme"},
                                         {"from_year", "2021"},
                                         {"to_year", "2025"},
                                         {"bf16_tflops_per_w_max", "1.7"},
                                         {"reason", "best"}});
  EXPECT_EQ(c.id, "x-1");
  EXPECT_EQ(c.vendor, "Acme");
  EXPECT_EQ(c.from_year, 2021);
  EXPECT_EQ(c.to_year, 2025);
  EXPECT_EQ(c.tflops_per_watt, 1.7);
  EXPECT_EQ(c.reason, "best");
  const auto l = good_row<LinkRate>(
      {{"id", "x-1"}, {"link", "XLink"}, {"gbs_per_dir_max", "450"}, {"reason", "18 links"}});
  EXPECT_EQ(l.id, "x-1");
  EXPECT_EQ(l.link, "XLink");
  EXPECT_EQ(l.per_direction, gbytes_per_s(450));
  EXPECT_EQ(l.reason, "18 links");
}

TEST(FactRows, a_dtype_is_one_of_ours) {
  Diagnostics faults;
  const auto r = row_of_table<DenseRatio>({{"id", "x-1"},
                                           {"vendor", "Acme"},
                                           {"accelerator_id", ""},
                                           {"dtype", "fp5"},
                                           {"of_dtype", "bf16"},
                                           {"ratio", "2"},
                                           {"reason", "r"}},
                                          faults);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].code, "catalog.dtype");
  EXPECT_EQ(faults[0].what, "column 'dtype' names no dtype");
  EXPECT_EQ(r.of, Dtype::bf16);
}

}  // namespace
}  // namespace orrery::catalog
