#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/catalog/row_fixture.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A model of four layers; returns its attention kind or the error.
std::string attention_of(const char* kind) {
  Diagnostics faults;
  const auto m = row_of_table<ModelShape>({{"id", "x-1"},
                                           {"attention", kind},
                                           {"layers", "4"},
                                           {"hidden", "64"},
                                           {"heads", "8"},
                                           {"kv_heads", "8"},
                                           {"ffn", "256"},
                                           {"gated_mlp", "1"},
                                           {"vocab", "100"},
                                           {"tied_embeddings", "0"}},
                                          faults);
  if (faults.empty()) return m.attention == AttentionKind::mla ? "mla" : "gqa";
  std::string said;
  for (const Diagnostic& d : faults) said += d.code + ": " + d.what + ";";
  return said;
}

TEST(TablesParts, attention_is_gqa_or_mla) {
  EXPECT_EQ(attention_of("gqa"), "gqa");
  EXPECT_EQ(attention_of("mla"), "mla");
  const std::string neither = attention_of("mqa");
  EXPECT_THAT(neither, testing::StartsWith("catalog.attention: "));
  EXPECT_THAT(attention_of(""), testing::StartsWith("catalog.attention: "));
}

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

TEST(TablesParts, model_widths_are_read) {
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

TEST(TablesParts, model_experts_and_scans_are_read) {
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

TEST(TablesParts, accelerator_is_read) {
  const auto a = good_row<Accelerator>({{"id", "x-1"},
                                        {"vendor", "Acme"},
                                        {"name", "Acme X"},
                                        {"launch_year", "2027"},
                                        {"form_factor", "OAM"},
                                        {"fp64_tflops", "61"},
                                        {"fp32_tflops", "62"},
                                        {"tf32_tflops_dense", "63"},
                                        {"bf16_tflops_dense", "64"},
                                        {"fp16_tflops_dense", "65"},
                                        {"fp8_tflops_dense", "66"},
                                        {"int8_tops_dense", "67"},
                                        {"fp4_tflops_dense", "68"},
                                        {"mem_type", "HBM9"},
                                        {"mem_gb", "123"},
                                        {"mem_bw_gbs", "4567"},
                                        {"scaleup_link", "XLink"},
                                        {"scaleup_gbs_per_dir", "321"},
                                        {"scaleup_domain_accels", "36"},
                                        {"pcie_gen", "7"},
                                        {"tdp_w", "1101"},
                                        {"idle_w_est", "99"},
                                        {"price_low_usd", "20100"},
                                        {"price_high_usd", "30200"},
                                        {"price_note", "list"}});
  EXPECT_EQ(a.id, "x-1");
  EXPECT_EQ(a.vendor, "Acme");
  EXPECT_EQ(a.name, "Acme X");
  EXPECT_EQ(a.launch_year, 2027);
  EXPECT_EQ(a.form_factor, "OAM");
  for (int i = 0; i < kDtypeCount; ++i) {
    EXPECT_EQ(a.peak(static_cast<Dtype>(i)), tflops_per_s(61 + i)) << i;
  }
  EXPECT_EQ(a.memory_type, "HBM9");
  EXPECT_EQ(a.memory, gigabytes(123));
  EXPECT_EQ(a.memory_bandwidth, gbytes_per_s(4567));
  EXPECT_EQ(a.scaleup_link, "XLink");
  EXPECT_EQ(a.scaleup_per_direction, gbytes_per_s(321));
  EXPECT_EQ(a.scaleup_domain, 36);
  EXPECT_EQ(a.pcie_generation, 7);
  EXPECT_EQ(a.tdp, watts(1101));
  EXPECT_EQ(a.idle, watts(99));
  ASSERT_TRUE(a.price);
  EXPECT_EQ(a.price->low, usd(20100));
  EXPECT_EQ(a.price->high, usd(30200));
  EXPECT_EQ(a.price_note, "list");
}

TEST(TablesParts, node_is_read) {
  const auto n = good_row<Node>({{"id", "x-1"},
                                 {"vendor", "Acme"},
                                 {"name", "Acme node"},
                                 {"accelerators", "72"},
                                 {"accelerator_id", "acme-x"},
                                 {"host_cpus", "36"},
                                 {"compute_nics", "71"},
                                 {"nic_gbps_each", "800"},
                                 {"storage_mgmt_nics", "2x BF3"},
                                 {"scaleup_switches", "9 trays"},
                                 {"local_nvme_tb", "30.7"},
                                 {"rack_units", "48"},
                                 {"max_power_kw", "132"},
                                 {"typical_train_power_kw", "110"},
                                 {"idle_power_kw", "33"},
                                 {"psu_count_x_kw", "8x33"},
                                 {"psu_redundancy", "4+4"},
                                 {"cooling", "liquid"},
                                 {"price_low_kusd", "2900"},
                                 {"price_high_kusd", "3900"},
                                 {"accelerators_per_host", "4"},
                                 {"psu_total_kw", "264"}});
  EXPECT_EQ(n.id, "x-1");
  EXPECT_EQ(n.vendor, "Acme");
  EXPECT_EQ(n.name, "Acme node");
  EXPECT_EQ(n.accelerators, 72);
  EXPECT_EQ(n.accelerator_id, "acme-x");
  EXPECT_EQ(n.host_cpus, 36);
  EXPECT_EQ(n.compute_nics, 71);
  EXPECT_EQ(n.nic_rate, gbytes_per_s(100));
  EXPECT_EQ(n.storage_nics, "2x BF3");
  EXPECT_EQ(n.scaleup_switches, "9 trays");
  EXPECT_EQ(n.local_nvme, terabytes(30.7));
  EXPECT_EQ(n.rack_units, 48);
  EXPECT_EQ(n.max_power, kilowatts(132));
  EXPECT_EQ(n.typical_train_power, kilowatts(110));
  EXPECT_EQ(n.idle_power, kilowatts(33));
  EXPECT_EQ(n.psu, "8x33");
  EXPECT_EQ(n.psu_redundancy, "4+4");
  EXPECT_EQ(n.cooling, "liquid");
  ASSERT_TRUE(n.price);
  EXPECT_EQ(n.price->low, usd(2'900'000));
  EXPECT_EQ(n.price->high, usd(3'900'000));
  EXPECT_EQ(n.accelerators_per_host, 4);
  EXPECT_EQ(n.psu_capacity, kilowatts(264));
}

TEST(TablesParts, switch_is_read) {
  const auto s = good_row<Switch>({{"id", "x-1"},
                                   {"vendor", "Acme"},
                                   {"name", "Acme switch"},
                                   {"type", "Ethernet"},
                                   {"network", "ethernet"},
                                   {"co_packaged", "0"},
                                   {"asic", "T9"},
                                   {"ports", "64"},
                                   {"port_gbps", "800"},
                                   {"breakout_ports_x_gbps", "128x400G"},
                                   {"total_tbps_one_way", "51.2"},
                                   {"port_to_port_latency_ns", "650"},
                                   {"typ_power_w_no_optics", "940"},
                                   {"max_power_w", "2167"},
                                   {"rack_units", "2"},
                                   {"cooling", "air"},
                                   {"price_low_kusd", "45"},
                                   {"price_high_kusd", "75"}});
  EXPECT_EQ(s.id, "x-1");
  EXPECT_EQ(s.vendor, "Acme");
  EXPECT_EQ(s.name, "Acme switch");
  EXPECT_EQ(s.type, "Ethernet");
  EXPECT_EQ(s.asic, "T9");
  EXPECT_EQ(s.ports, 64);
  EXPECT_EQ(s.port_rate, gbytes_per_s(100));
  EXPECT_EQ(s.breakout, "128x400G");
  EXPECT_DOUBLE_EQ(s.total_one_way / gbytes_per_s(1), 6400);
  EXPECT_EQ(s.latency, nanoseconds(650));
  EXPECT_EQ(s.typical_power, watts(940));
  EXPECT_EQ(s.max_power, watts(2167));
  EXPECT_EQ(s.rack_units, 2);
  EXPECT_EQ(s.cooling, "air");
  ASSERT_TRUE(s.price);
  EXPECT_EQ(s.price->low, usd(45'000));
  EXPECT_EQ(s.price->high, usd(75'000));
}

TEST(TablesParts, nic_is_read) {
  const auto n = good_row<Nic>({{"id", "x-1"},
                                {"vendor", "Acme"},
                                {"name", "Acme NIC"},
                                {"ports", "2"},
                                {"port_gbps", "400"},
                                {"total_gbps", "720"},
                                {"protocols", "RoCE"},
                                {"pcie", "5x16"},
                                {"typ_power_w", "24"},
                                {"max_power_w", "31"},
                                {"latency_us_est", "1.5"},
                                {"price_low_usd", "1200"},
                                {"price_high_usd", "1900"}});
  EXPECT_EQ(n.id, "x-1");
  EXPECT_EQ(n.vendor, "Acme");
  EXPECT_EQ(n.name, "Acme NIC");
  EXPECT_EQ(n.ports, 2);
  EXPECT_EQ(n.port_rate, gbytes_per_s(50));
  EXPECT_EQ(n.total_rate, gbytes_per_s(90));
  EXPECT_EQ(n.protocols, "RoCE");
  EXPECT_EQ(n.pcie, "5x16");
  EXPECT_EQ(n.typical_power, watts(24));
  EXPECT_EQ(n.max_power, watts(31));
  EXPECT_EQ(n.latency, microseconds(1.5));
  ASSERT_TRUE(n.price);
  EXPECT_EQ(n.price->low, usd(1200));
  EXPECT_EQ(n.price->high, usd(1900));
}

TEST(TablesParts, optic_is_read) {
  const auto o = good_row<Optic>({{"id", "x-1"},
                                  {"kind", "AOC"},
                                  {"speed_gbps", "400"},
                                  {"reach_m", "30"},
                                  {"power_w_per_end", "8.5"},
                                  {"price_low_usd", "600"},
                                  {"price_high_usd", "900"},
                                  {"failure_note", "dust"}});
  EXPECT_EQ(o.id, "x-1");
  EXPECT_EQ(o.kind, "AOC");
  EXPECT_EQ(o.rate, gbytes_per_s(50));
  EXPECT_EQ(o.reach_m, 30);
  EXPECT_EQ(o.power_per_end, watts(8.5));
  ASSERT_TRUE(o.price);
  EXPECT_EQ(o.price->low, usd(600));
  EXPECT_EQ(o.price->high, usd(900));
  EXPECT_EQ(o.note, "dust");
}

TEST(TablesParts, drive_is_read) {
  const auto d = good_row<StorageDevice>({{"id", "x-1"},
                                          {"vendor", "Acme"},
                                          {"name", "Acme drive"},
                                          {"class", "TLC NVMe"},
                                          {"interface", "U.2"},
                                          {"capacity_tb", "15.36"},
                                          {"seq_read_gbs", "14"},
                                          {"seq_write_gbs", "9"},
                                          {"rand_read_kiops", "2500"},
                                          {"rand_write_kiops", "400"},
                                          {"read_latency_us", "70"},
                                          {"dwpd", "1.3"},
                                          {"active_power_w", "22"},
                                          {"idle_power_w", "5"},
                                          {"afr_pct", "0.5"},
                                          {"usd_per_tb_low", "80"},
                                          {"usd_per_tb_high", "130"},
                                          {"tier_role", "scratch"}});
  EXPECT_EQ(d.id, "x-1");
  EXPECT_EQ(d.vendor, "Acme");
  EXPECT_EQ(d.name, "Acme drive");
  EXPECT_EQ(d.device_class, "TLC NVMe");
  EXPECT_EQ(d.interface, "U.2");
  EXPECT_EQ(d.capacity, terabytes(15.36));
  EXPECT_EQ(d.read, gbytes_per_s(14));
  EXPECT_EQ(d.write, gbytes_per_s(9));
  EXPECT_EQ(d.random_read_iops, 2.5e6);
  EXPECT_EQ(d.random_write_iops, 4e5);
  EXPECT_EQ(d.read_latency, microseconds(70));
  EXPECT_EQ(d.drive_writes_per_day, 1.3);
  EXPECT_EQ(d.active_power, watts(22));
  EXPECT_EQ(d.idle_power, watts(5));
  EXPECT_EQ(d.annual_failure_rate, 0.005);
  EXPECT_EQ(d.price_per_tb.low, usd(80));
  EXPECT_EQ(d.price_per_tb.high, usd(130));
  EXPECT_EQ(d.tier_role, "scratch");
}

TEST(TablesParts, drive_form_follows_the_class_prefix) {
  const auto form = [](const char* text) { return form_of({.device_class = text}); };
  EXPECT_EQ(form("object HDD"), DeviceForm::server);
  for (const char* drive : {"TLC NVMe", "QLC NVMe", "NL-SSD", "HDD", "tape LTO-9"}) {
    EXPECT_EQ(form(drive), DeviceForm::drive) << drive;
  }
  EXPECT_EQ(form("PFS appliance"), DeviceForm::appliance);
  EXPECT_EQ(form("an object HDD"), DeviceForm::appliance);
}

TEST(TablesParts, storage_profile_and_emerging_part_are_read) {
  const auto p = good_row<StorageProfile>(
      {{"id", "x-1"}, {"title", "Fast"}, {"settings", "{a: 1}"}, {"why", "because"}});
  EXPECT_EQ(p.id, "x-1");
  EXPECT_EQ(p.title, "Fast");
  EXPECT_EQ(p.settings, "{a: 1}");
  EXPECT_EQ(p.why, "because");
  const auto e = good_row<EmergingPart>({{"id", "x-1"},
                                         {"name", "ULink"},
                                         {"kind", "scale-up link"},
                                         {"rate_gbps_per_dir", "1600"},
                                         {"latency_ns", "250"},
                                         {"status", "announced"},
                                         {"note", "soon"}});
  EXPECT_EQ(e.id, "x-1");
  EXPECT_EQ(e.name, "ULink");
  EXPECT_EQ(e.kind, kScaleUpLink);
  EXPECT_EQ(e.rate, gbytes_per_s(200));
  EXPECT_EQ(e.latency, nanoseconds(250));
  EXPECT_EQ(e.status, "announced");
  EXPECT_EQ(e.note, "soon");
}

MigProfile mig_named(const char* profile, const char* starts, Diagnostics& faults) {
  return row_of_table<MigProfile>({{"id", "x-1"},
                                   {"accelerator_id", "acme-x"},
                                   {"profile", profile},
                                   {"memory_slices", "4"},
                                   {"placements_start", starts},
                                   {"max_instances", "2"},
                                   {"memory_gib", "69.5"},
                                   {"sms", "60"}},
                                  faults);
}

TEST(TablesParts, mig_profile_is_read) {
  Diagnostics faults;
  const MigProfile m = mig_named("3g.71gb", "0 4", faults);
  EXPECT_THAT(faults, IsEmpty());
  EXPECT_EQ(m.id, "x-1");
  EXPECT_EQ(m.accelerator_id, "acme-x");
  EXPECT_EQ(m.profile, "3g.71gb");
  EXPECT_EQ(m.compute_slices, 3);
  EXPECT_EQ(m.memory_slices, 4);
  EXPECT_THAT(m.starts, ElementsAre(0, 4));
  EXPECT_EQ(m.max_instances, 2);
  EXPECT_EQ(m.memory, gib(69.5));
  EXPECT_EQ(m.multiprocessors, 60);
}

// A GPU has seven compute slices and eight slices of memory.
TEST(TablesParts, mig_slices_are_bounded) {
  const auto faulty = [](const char* profile, const char* starts) {
    Diagnostics faults;
    mig_named(profile, starts, faults);
    for (const Diagnostic& d : faults) EXPECT_EQ(d.code, "catalog.number");
    return faults.size();
  };
  EXPECT_EQ(faulty("1g.18gb", "0 7"), 0U);
  EXPECT_EQ(faulty("7g.141gb", "0"), 0U);
  EXPECT_EQ(faulty("0g.18gb", "0"), 1U);
  EXPECT_EQ(faulty("8g.18gb", "0"), 1U);
  EXPECT_EQ(faulty("xg.18gb", "0"), 1U);
  EXPECT_EQ(faulty("1g.18gb", "8"), 1U);
  EXPECT_EQ(faulty("1g.18gb", "-1"), 1U);
  EXPECT_EQ(faulty("1g.18gb", "a b"), 2U);
}

}  // namespace
}  // namespace orrery::catalog
