#include "core/catalog/catalog.h"

#include <gtest/gtest.h>

namespace orrery::catalog {
namespace {

const Catalog& shipped() {
  static const Catalog catalog = [] {
    auto loaded = load_embedded_catalog();
    if (!loaded) ADD_FAILURE() << to_text(loaded.error());
    return loaded ? std::move(*loaded) : Catalog{};
  }();
  return catalog;
}

TEST(Catalog, loads_every_table) {
  const Catalog& c = shipped();
  EXPECT_EQ(c.accelerators.size(), 40u);
  EXPECT_GE(c.nodes.size(), 29u);
  EXPECT_EQ(c.switches.size(), 15u);
  EXPECT_EQ(c.nics.size(), 10u);
  EXPECT_EQ(c.optics.size(), 14u);
  EXPECT_EQ(c.storage_devices.size(), 17u);
  EXPECT_GE(c.mig_profiles.size(), 25u);
  EXPECT_EQ(c.regions.size(), 39u);
  EXPECT_EQ(c.cloud_prices.size(), 106u);
  EXPECT_GE(c.models.size(), 60u);
  EXPECT_FALSE(c.emerging.empty());
}

// DGX H100 user guide: 8 H100, 8 ports of 400 Gb/s, 10.2 kW.
TEST(Catalog, units_are_converted_once) {
  const Node* node = shipped().node("dgx-h100");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->accelerators, 8);
  EXPECT_DOUBLE_EQ(node->nic_rate / gbytes_per_s(1), 50);
  EXPECT_DOUBLE_EQ(*node->max_power / kilowatts(1), 10.2);
  EXPECT_DOUBLE_EQ(node->price->low / usd(1), 300'000);
  const Accelerator* h100 = shipped().accelerator(node->accelerator_id);
  ASSERT_NE(h100, nullptr);
  EXPECT_DOUBLE_EQ(*h100->peak(Dtype::bf16) / tflops_per_s(1), 989.4);
  EXPECT_FALSE(h100->peak(Dtype::fp4));
  EXPECT_DOUBLE_EQ(shipped().region("gcp-us-east4")->price_low / usd_per_kwh(1), 0.07);
  EXPECT_DOUBLE_EQ(*shipped().switch_part("qm9700")->latency / nanoseconds(1), 150);
}

TEST(Catalog, models_and_regions_are_found_by_alias_in_any_case) {
  const Catalog& c = shipped();
  EXPECT_EQ(c.model("llama-3.3-70b"), c.model("llama-3-70b"));
  EXPECT_EQ(c.model("META-LLAMA/llama-3.1-70b"), c.model("llama-3-70b"));
  EXPECT_EQ(c.region("aws-us-east-1"), c.region("gcp-us-east4"));
  EXPECT_EQ(c.model("llama-9"), nullptr);
  EXPECT_EQ(c.node("DGX-H100"), nullptr);
}

TEST(Catalog, missing_and_skipped_dtypes_are_known) {
  const Catalog& c = shipped();
  EXPECT_LT(*c.accelerator("b300-sxm")->peak(Dtype::int8),
            *c.accelerator("b300-sxm")->peak(Dtype::bf16));
  EXPECT_DOUBLE_EQ(
      *c.accelerator("gb300")->peak(Dtype::fp4) / *c.accelerator("gb300")->peak(Dtype::fp8), 3);
}

TEST(Catalog, engines_and_export_controls_answer_the_rules) {
  const Catalog& c = shipped();
  EXPECT_EQ(c.engine("tgi")->status, EngineStatus::archived);
  EXPECT_EQ(c.engine("tgi")->status_since, "2026-03-21");
  EXPECT_NE(c.export_control("h100-sxm", "chn"), nullptr);
  EXPECT_EQ(c.export_control("h100-sxm", "deu"), nullptr);
  EXPECT_EQ(c.export_control("t4", "chn"), nullptr);
}

TEST(Catalog, facts_become_estimates_by_their_confidence) {
  const Accelerator& h100 = *shipped().accelerator("h100-sxm");
  const Estimate watts_fact = fact(*h100.tdp / watts(1), h100.provenance);
  EXPECT_DOUBLE_EQ(watts_fact.low, 700 * (1 - kHighConfidenceWidth));
  EXPECT_DOUBLE_EQ(watts_fact.high, 700 * (1 + kHighConfidenceWidth));
  EXPECT_EQ(watts_fact.reference, "accelerators/h100-sxm");
  const Estimate price = fact(*h100.price, h100.provenance);
  EXPECT_DOUBLE_EQ(price.value, 31'000);
  EXPECT_DOUBLE_EQ(price.low, 22'000);
  EXPECT_DOUBLE_EQ(price.high, 40'000);
}

TEST(Catalog, missing_file_is_reported) {
  const auto loaded = load_catalog([](std::string_view path) -> Result<std::string> {
    return fail({.code = "file.missing", .place = {std::string(path), 0, 0}, .what = "absent"});
  });
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().size(), 27u) << "each table is reported, not the first alone";
}

// Written in per cent and kept as a fraction: makers' fleets report 0.44 % per year.
TEST(Catalog, failure_rates_of_drives_are_fractions) {
  const StorageDevice* drive = shipped().storage_device("tlc-gen4");
  ASSERT_NE(drive, nullptr);
  ASSERT_TRUE(drive->annual_failure_rate.has_value());
  EXPECT_DOUBLE_EQ(*drive->annual_failure_rate, 0.0044);
}

}  // namespace
}  // namespace orrery::catalog
