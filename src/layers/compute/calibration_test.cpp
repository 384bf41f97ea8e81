#include "layers/compute/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/catalog/shipped_fixture.h"
#include "layers/compute/kernel.h"

namespace orrery::compute {
namespace {

constexpr auto kWide = static_cast<std::size_t>(catalog::Dtype::bf16);
constexpr auto kHalf = static_cast<std::size_t>(catalog::Dtype::fp16);
constexpr auto kNarrow = static_cast<std::size_t>(catalog::Dtype::fp8);
constexpr auto kDouble = static_cast<std::size_t>(catalog::Dtype::fp64);

catalog::Accelerator unknown() {
  catalog::Accelerator a;
  a.id = "new";
  a.dense_peak[kWide] = FlopsPerSecond(400e12);
  a.dense_peak[kNarrow] = FlopsPerSecond(1000e12);
  a.memory_bandwidth = BytesPerSecond(2e12);
  return a;
}

CalibrationValue row(const char* accelerator, const char* dtype, const char* parameter,
                     double value, const char* library = "") {
  return {.accelerator = accelerator,
          .library = library,
          .dtype = dtype,
          .parameter = parameter,
          .value = value};
}

Calibration rows(const std::vector<CalibrationValue>& values) {
  Calibration all;
  for (const CalibrationValue& v : values) all.set(v);
  return all;
}

TEST(Calibration, unmeasured_device_products) {
  const DeviceModel d = device_model(unknown(), {});
  EXPECT_EQ(d.units, 1);
  EXPECT_EQ(d.bandwidth, 2e12);
  EXPECT_EQ(d.pass_launch, microseconds(2.5));
  EXPECT_NEAR(d.pass_seconds * 2e12 * 0.85, 1, 1e-12);
  for (const auto* set : {&d.gemm, &d.grouped}) {
    const GemmModel& g = (*set)[kWide];
    EXPECT_EQ(g.peak, 400e12);
    EXPECT_EQ(g.launch, microseconds(2.5));
    EXPECT_EQ(g.split_launch, microseconds(2.8));
    EXPECT_EQ(g.k_overhead, 135);
    EXPECT_EQ(g.tail, 0);
    EXPECT_EQ(g.overlap_loss, 0.32);
    EXPECT_NEAR(g.memory_seconds * 2e12 * 0.86, 1, 1e-12);
    EXPECT_NEAR(g.split_seconds / g.memory_seconds, 1, 1e-12);
    EXPECT_FALSE(g.tile_by_rows);
    EXPECT_EQ(g.quantise_launch, Seconds());
    EXPECT_EQ(g.quantise_row_seconds + g.quantise_seconds, 0);
    EXPECT_EQ(g.pass, (std::array<double, 3>{1, 1, 1}));
    // 256 x 128, 128 x 256, 128 x 128, 128 x 64, 64 x 128, 64 x 64.
    const double areas[kTileCount] = {32768, 32768, 16384, 8192, 8192, 4096};
    for (std::size_t i = 0; i < kTileCount; ++i) {
      EXPECT_NEAR(g.tiles[i].seconds_per_k * 400e12 * 0.85, 2 * areas[i], 1e-6) << i;
      EXPECT_EQ(4096 << (g.tiles[i].rows + g.tiles[i].columns), areas[i]) << i;
    }
    EXPECT_EQ(g.tiles[0].rows, 2);
    EXPECT_EQ(g.tiles[1].columns, 2);
    EXPECT_EQ((*set)[kDouble].peak, 0) << "it has none";
    EXPECT_EQ((*set)[kNarrow].peak, 1000e12);
  }
  // 1.3 of 700 W at the 16-bit peak; 8-bit products draw the same at theirs.
  EXPECT_NEAR(d.gemm[kWide].joules_per_flop, 1.3 * 700 / 400e12, 1e-24);
  EXPECT_NEAR(d.gemm[kNarrow].joules_per_flop, 1.3 * 700 / 1000e12, 1e-24);
  EXPECT_NEAR(d.error[kWide], std::sqrt(0.15 * 0.15 + 0.35 * 0.35), 1e-9);
  EXPECT_NEAR(d.memory_error, std::sqrt(0.08 * 0.08 + 0.35 * 0.35), 1e-9);
  EXPECT_EQ(d.borrowed_error, 0.35);
  EXPECT_EQ(d.attention_rate[kNarrow], 1);
}

TEST(Calibration, unmeasured_device_attention_and_power) {
  const DeviceModel d = device_model(unknown(), {});
  for (const AttentionModel& a : d.attention) {
    EXPECT_EQ(a.launch, microseconds(12));
    EXPECT_NEAR(a.flop_seconds * 400e12 * 0.7, 1, 1e-12);
    EXPECT_EQ(a.pair_seconds + a.plain_pair_seconds + a.narrow_rate + a.tail, 0);
    EXPECT_EQ(a.most_queries, 16);
    EXPECT_TRUE(a.splits && a.packs);
    EXPECT_EQ(a.tile_rows, 128);
    EXPECT_EQ(a.key_overhead, 300);
    EXPECT_EQ(a.overlap_loss, 0.5);
    EXPECT_NEAR(a.memory_seconds * 2e12 * 0.85, 1, 1e-12);
    EXPECT_NEAR(a.joules_per_flop, 1.3 * 700 / 400e12, 1e-24);
  }
  EXPECT_EQ(d.power.limit, Watts(700));
  EXPECT_EQ(d.power.held, 1);
  EXPECT_EQ(d.power.idle, Watts(87.5));
  EXPECT_NEAR(d.power.active.base(), 42, 1e-9);
  EXPECT_NEAR(d.power.joules_per_byte, 90e-12, 1e-20);
  EXPECT_EQ(d.power.voltage_share, 0.4);
  EXPECT_EQ(d.power.lowest_clock, 0.2);
  catalog::Accelerator known = unknown();
  known.tdp = Watts(400);
  known.idle = Watts(33);
  const DeviceModel k = device_model(known, {});
  EXPECT_EQ(k.power.limit, Watts(400));
  EXPECT_EQ(k.power.idle, Watts(33));
  EXPECT_NEAR(k.power.active.base(), 24, 1e-9);
  EXPECT_NEAR(k.gemm[kWide].joules_per_flop, 1.3 * 400 / 400e12, 1e-24);
}

// Every parameter of a product, each with a different number.
Calibration measured_products() {
  return rows({row("new", "bf16", "launch_us", 3), row("new", "bf16", "split_us", 4),
               row("new", "bf16", "k_overhead", 50), row("new", "bf16", "tail", 0.6),
               row("new", "bf16", "overlap_loss", 0.7),
               row("new", "bf16", "memory_efficiency", 0.8), row("new", "bf16", "split_cost", 1.9),
               row("new", "bf16", "tile_by_rows", 1), row("new", "bf16", "quantise_launch_us", 11),
               row("new", "bf16", "quantise_row_ns", 12),
               row("new", "bf16", "quantise_efficiency", 0.25), row("new", "bf16", "forward", 1.1),
               row("new", "bf16", "dgrad", 1.2), row("new", "bf16", "wgrad", 1.3),
               row("new", "bf16", "efficiency", 0.5), row("new", "bf16", "latency_ns", 2),
               row("new", "bf16", "error", 0.05)});
}

TEST(Calibration, product_parameters_are_read) {
  Calibration c = measured_products();
  c.relatives.push_back({.accelerator = "new",
                         .measured = "new",
                         .units = 16,
                         .efficiency = 0.9,
                         .memory_efficiency = 0.75,
                         .error = 0.12});
  const DeviceModel d = device_model(unknown(), c);
  const GemmModel& g = d.gemm[kWide];
  EXPECT_EQ(d.units, 16);
  EXPECT_EQ(g.launch, microseconds(3));
  EXPECT_EQ(g.split_launch, microseconds(4));
  EXPECT_EQ(g.k_overhead, 50);
  EXPECT_EQ(g.tail, 0.6);
  EXPECT_EQ(g.overlap_loss, 0.7);
  EXPECT_NEAR(g.memory_seconds * 2e12 * 0.8 * 0.75, 1, 1e-12);
  EXPECT_NEAR(g.split_seconds / g.memory_seconds, 1.9, 1e-12);
  EXPECT_TRUE(g.tile_by_rows);
  EXPECT_EQ(g.quantise_launch, microseconds(11));
  EXPECT_NEAR(g.quantise_row_seconds, 12e-9, 1e-18);
  EXPECT_NEAR(g.quantise_seconds * 2e12 * 0.25, 1, 1e-12);
  EXPECT_EQ(g.pass, (std::array<double, 3>{1.1, 1.2, 1.3}));
  EXPECT_NEAR(g.tiles[5].seconds_per_k, 2 * 4096 / (400e12 * 0.5 * 0.9 / 16) + 2e-9, 1e-20);
  EXPECT_NEAR(d.error[kWide], 0.13, 1e-9) << "5 and 12 of a hundred in quadrature";
  EXPECT_NEAR(d.error[kNarrow], 0.13, 1e-9) << "as bf16";
  EXPECT_EQ(d.borrowed_error, 0.12);
  EXPECT_NEAR(d.pass_seconds * 2e12 * 0.85 * 0.75, 1, 1e-12);
  EXPECT_NEAR(d.attention[0].flop_seconds * 400e12 / 16 * 0.7 * 0.9, 1, 1e-12);
  EXPECT_NEAR(d.attention[0].memory_seconds * 2e12 * 0.85 * 0.75, 1, 1e-12);
  // 8 bits borrow bf16's rows except those of quantising; efficiencies are limited to 1.
  EXPECT_EQ(d.gemm[kNarrow].launch, microseconds(3));
  EXPECT_EQ(d.gemm[kNarrow].quantise_launch, Seconds());
  c.relatives[0].efficiency = 3;
  EXPECT_NEAR(device_model(unknown(), c).gemm[kWide].tiles[5].seconds_per_k,
              2 * 4096 / (400e12 / 16) + 2e-9, 1e-20);
}

TEST(Calibration, grouped_products_fall_back_to_plain_rows) {
  Calibration c = measured_products();
  c.set(row("new", "bf16", "grouped.k_overhead", 77));
  c.set(row("new", "fp8", "grouped.tail", 0.9));
  c.set(row("new", "fp8", "tail", 0.1));
  const DeviceModel d = device_model(unknown(), c);
  EXPECT_EQ(d.grouped[kWide].k_overhead, 77);
  EXPECT_EQ(d.gemm[kWide].k_overhead, 50);
  EXPECT_EQ(d.grouped[kWide].tail, 0.6);
  EXPECT_EQ(d.grouped[kNarrow].k_overhead, 77);
  EXPECT_EQ(d.grouped[kNarrow].tail, 0.9);
  EXPECT_EQ(d.gemm[kNarrow].tail, 0.1);
  EXPECT_EQ(d.grouped[kWide].quantise_launch, Seconds()) << "only plain products quantise";
  EXPECT_EQ(d.grouped[kWide].quantise_row_seconds + d.grouped[kWide].quantise_seconds, 0);
}

TEST(Calibration, attention_parameters_are_read) {
  Calibration c = rows(
      {row("new", "bf16", "decode.launch_us", 3), row("new", "bf16", "decode.efficiency", 0.5),
       row("new", "bf16", "decode.pair_flop", 40), row("new", "bf16", "decode.narrow_rate", 1.5),
       row("new", "bf16", "decode.most_queries", 8), row("new", "bf16", "decode.splits", 0),
       row("new", "bf16", "decode.packs", 0), row("new", "bf16", "decode.tile_rows", 64),
       row("new", "bf16", "decode.key_overhead", 90), row("new", "bf16", "decode.tail", 0.4),
       row("new", "bf16", "decode.overlap_loss", 0.3),
       row("new", "bf16", "decode.memory_efficiency", 0.6), row("new", "bf16", "decode.energy", 2),
       row("new", "fp8", "attention_rate", 1.4)});
  DeviceModel d = device_model(unknown(), c);
  const AttentionModel& a = d.attention[2];
  EXPECT_EQ(a.launch, microseconds(3));
  EXPECT_NEAR(a.flop_seconds * 400e12 * 0.5, 1, 1e-12);
  EXPECT_NEAR(a.pair_seconds * 400e12, 40, 1e-9);
  EXPECT_NEAR(a.plain_pair_seconds * 400e12, 40, 1e-9);
  EXPECT_EQ(a.narrow_rate, 1.5);
  EXPECT_EQ(a.most_queries, 8);
  EXPECT_FALSE(a.splits || a.packs);
  EXPECT_EQ(a.tile_rows, 64);
  EXPECT_EQ(a.key_overhead, 90);
  EXPECT_EQ(a.tail, 0.4);
  EXPECT_EQ(a.overlap_loss, 0.3);
  EXPECT_NEAR(a.memory_seconds * 2e12 * 0.6, 1, 1e-12);
  EXPECT_NEAR(a.joules_per_flop, 2 * 1.3 * 700 / 400e12, 1e-24);
  EXPECT_EQ(d.attention_rate[kNarrow], 1.4);
  EXPECT_EQ(d.attention_rate[kWide], 1);
  EXPECT_EQ(d.attention[0].tile_rows, 128) << "of decode alone";
  c.set(row("new", "bf16", "decode.plain_pair_flop", 10));
  c.set(row("new", "bf16", "prefill.tail", 0.11));
  c.set(row("new", "bf16", "backward.tail", 0.22));
  c.set(row("new", "bf16", "latent.tail", 0.44));
  d = device_model(unknown(), c);
  EXPECT_NEAR(d.attention[2].plain_pair_seconds * 400e12, 10, 1e-9);
  EXPECT_EQ(d.attention[0].tail, 0.11);
  EXPECT_EQ(d.attention[1].tail, 0.22);
  EXPECT_EQ(d.attention[3].tail, 0.44);
}

TEST(Calibration, power_parameters_are_read) {
  const DeviceModel d = device_model(
      unknown(), rows({row("new", "", "held_share", 0.99), row("new", "", "active_share", 0.1),
                       row("new", "", "pj_per_byte", 50), row("new", "", "voltage_share", 0.7),
                       row("new", "", "lowest_clock", 0.3), row("new", "", "matrix_share", 2),
                       row("new", "", "pass_launch_us", 7), row("new", "", "pass_efficiency", 0.5),
                       row("new", "", "memory_error", 0.12)}));
  EXPECT_EQ(d.power.held, 0.99);
  EXPECT_NEAR(d.power.active.base(), 70, 1e-9);
  EXPECT_NEAR(d.power.joules_per_byte, 50e-12, 1e-20);
  EXPECT_EQ(d.power.voltage_share, 0.7);
  EXPECT_EQ(d.power.lowest_clock, 0.3);
  EXPECT_NEAR(d.gemm[kWide].joules_per_flop, 2 * 700 / 400e12, 1e-24);
  EXPECT_EQ(d.pass_launch, microseconds(7));
  EXPECT_NEAR(d.pass_seconds * 2e12 * 0.5, 1, 1e-12);
  EXPECT_NEAR(d.memory_error, 0.37, 1e-9) << "12 and 35 of a hundred in quadrature";
}

// A device's own row takes precedence over its relative's, the library's over the vendor's.
TEST(Calibration, nearest_row_applies) {
  Calibration c =
      rows({row("old", "bf16", "tail", 0.1), row("old", "bf16", "tail", 0.2, "vllm"),
            row("old", "bf16", "prefill.tail", 0.3), row("old", "bf16", "prefill.tail", 0.4, "f2"),
            row("new", "bf16", "k_overhead", 5), row("old", "bf16", "k_overhead", 6, "vllm")});
  c.relatives.push_back({.accelerator = "new", .measured = "old", .units = 4, .error = 0.1});
  EXPECT_EQ(device_model(unknown(), c).gemm[kWide].tail, 0.1);
  EXPECT_EQ(device_model(unknown(), c).attention[0].tail, 0.3);
  const DeviceModel d = device_model(unknown(), c, {.products = "vllm", .attention = "f2"});
  EXPECT_EQ(d.gemm[kWide].tail, 0.2);
  EXPECT_EQ(d.attention[0].tail, 0.4);
  EXPECT_EQ(d.gemm[kWide].k_overhead, 5) << "its own of the vendor before another's of the library";
  EXPECT_EQ(device_model(unknown(), c, {.products = "none"}).gemm[kWide].tail, 0.1);
}

// The same silicon uses the same energy per FLOP; other silicon the same share of its limit.
TEST(Calibration, energies_carry_over_only_on_the_same_silicon) {
  Calibration c = rows({row("old", "", "pj_per_flop", 0.6)});
  c.relatives.push_back({.accelerator = "new", .measured = "old", .same_silicon = true});
  EXPECT_NEAR(device_model(unknown(), c).gemm[kWide].joules_per_flop, 0.6e-12, 1e-21);
  EXPECT_NEAR(device_model(unknown(), c).gemm[kNarrow].joules_per_flop, 0.24e-12, 1e-21);
  c.relatives[0].same_silicon = false;
  EXPECT_NEAR(device_model(unknown(), c).gemm[kWide].joules_per_flop, 1.3 * 700 / 400e12, 1e-24);
  c.set(row("new", "", "pj_per_flop", 0.8));
  EXPECT_NEAR(device_model(unknown(), c).gemm[kWide].joules_per_flop, 0.8e-12, 1e-21);
}

// A device that no table names is treated as an H100, with a wider error.
TEST(Calibration, unknown_device_is_like_an_h100) {
  Calibration c = rows({row("h100-sxm", "bf16", "tail", 0.7)});
  c.relatives.push_back(
      {.accelerator = "h100-sxm", .measured = "h100-sxm", .units = 132, .error = 0.01});
  const DeviceModel d = device_model(unknown(), c);
  EXPECT_EQ(d.units, 132);
  EXPECT_EQ(d.gemm[kWide].tail, 0.7);
  EXPECT_EQ(d.borrowed_error, 0.35);
  c.set(row("new", "bf16", "tail", 0.2));
  EXPECT_EQ(device_model(unknown(), c).gemm[kWide].tail, 0.2) << "its own row still counts";
  catalog::Accelerator h100 = unknown();
  h100.id = "h100-sxm";
  EXPECT_EQ(device_model(h100, c).borrowed_error, 0.01);
}

// Older devices have fp16 instead of bf16.
TEST(Calibration, device_without_bf16_computes_in_fp16) {
  catalog::Accelerator old = unknown();
  old.dense_peak = {};
  old.dense_peak[kHalf] = FlopsPerSecond(100e12);
  const DeviceModel d = device_model(old, {});
  EXPECT_EQ(d.gemm[kWide].peak, 100e12);
  EXPECT_EQ(d.gemm[kHalf].peak, 100e12);
  EXPECT_EQ(d.gemm[kNarrow].peak, 0);
  EXPECT_NEAR(d.gemm[kHalf].joules_per_flop, 1.3 * 700 / 100e12, 1e-24);
  EXPECT_NEAR(d.attention[0].joules_per_flop, 1.3 * 700 / 100e12, 1e-24);
  EXPECT_NEAR(d.attention[0].flop_seconds * 100e12 * 0.7, 1, 1e-12);
}

TEST(Calibration, set_value_replaces_the_row) {
  Calibration c;
  c.set(row("b", "bf16", "tail", 1));
  c.set(row("a", "bf16", "tail", 2));
  c.set(row("a", "bf16", "tail", 3, "vllm"));
  c.set(row("a", "", "tail", 4));
  c.set(row("a", "bf16", "tail", 5));
  ASSERT_EQ(c.values.size(), 4U);
  EXPECT_EQ(c.find("a", "", "bf16", "tail")->value, 5);
  EXPECT_EQ(c.find("a", "vllm", "bf16", "tail")->value, 3);
  EXPECT_EQ(c.find("a", "", "", "tail")->value, 4);
  EXPECT_EQ(c.find("b", "", "bf16", "tail")->value, 1);
  EXPECT_EQ(c.find("c", "", "bf16", "tail"), nullptr);
  EXPECT_EQ(c.find("a", "", "bf16", "head"), nullptr);
  EXPECT_EQ(c.relative("a"), nullptr);
}

// The shipped tables, with one of them replaced by another text.
Result<Calibration> read_with(std::string_view path, const char* text) {
  std::vector<catalog::EmbeddedFile> files;
  for (catalog::EmbeddedFile file : catalog::embedded_files()) {
    if (file.path == path) file.text = text;
    files.push_back(file);
  }
  return read_calibration(load_knowledge(files).value());
}

TEST(Calibration, malformed_rows_are_refused) {
  const auto bad = read_with("calibration/memory.csv",
                             "accelerator,library,dtype,parameter,value\n"
                             "x,,bf16,tail,\n,,bf16,tail,1\nx,,bf16,,1\nx,,,tail,1\n");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bad.error()[i].code, "calibration.row");
    EXPECT_EQ(bad.error()[i].what, "incomplete parameter");
    EXPECT_EQ(bad.error()[i].place.line, static_cast<int>(i) + 2);
    EXPECT_EQ(bad.error()[i].place.file, "data/calibration/memory.csv");
  }
  const auto torn =
      read_with("calibration/memory.csv", "accelerator,library,dtype,parameter,value\nx\n");
  ASSERT_FALSE(torn);
  EXPECT_EQ(torn.error()[0].code, "csv.ragged");
}

TEST(Calibration, relative_needs_units_and_a_measured_device) {
  const auto read =
      read_with("calibration/gemm_relatives.csv",
                "accelerator,measured,units,efficiency,memory_efficiency,same_silicon,error\n"
                "a,b,1,0.5,0.25,1,0.07\nc,d,9,,,0,\ne,f,9,,,,\n");
  ASSERT_TRUE(read) << to_text(read.error());
  const Relative& a = *read->relative("a");
  EXPECT_EQ(a.measured, "b");
  EXPECT_EQ(a.units, 1);
  EXPECT_EQ(a.efficiency, 0.5);
  EXPECT_EQ(a.memory_efficiency, 0.25);
  EXPECT_TRUE(a.same_silicon);
  EXPECT_EQ(a.error, 0.07);
  const Relative& c = *read->relative("c");
  EXPECT_EQ(c.units, 9);
  EXPECT_EQ(c.efficiency, 1);
  EXPECT_EQ(c.memory_efficiency, 1);
  EXPECT_FALSE(c.same_silicon);
  EXPECT_EQ(c.error, 0.35);
  EXPECT_FALSE(read->relative("e")->same_silicon);
  const auto bad = read_with("calibration/gemm_relatives.csv",
                             "accelerator,measured,units\na,,3\nb,c,0.5\nd,e,\n");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().size(), 3U);
}

}  // namespace
}  // namespace orrery::compute
