// The time and energy of matrix products and memory passes, each term of the model separately.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "layers/compute/kernel.h"
#include "layers/compute/power.h"

namespace orrery::compute {
namespace {

constexpr auto kBf16 = static_cast<std::size_t>(catalog::Dtype::bf16);
constexpr auto kFp8 = static_cast<std::size_t>(catalog::Dtype::fp8);
constexpr auto kFp32 = static_cast<std::size_t>(catalog::Dtype::fp32);
constexpr double kNever = 1e30;
// Edges of the tiles as powers of two of 64, in the libraries' order.
constexpr int kRowsOf[kTileCount] = {2, 1, 1, 1, 0, 0};
constexpr int kColumnsOf[kTileCount] = {1, 2, 1, 0, 1, 0};

// Four units; the only tile takes 10 ms per step of K.
GemmModel one_tile(std::size_t which) {
  GemmModel g;
  g.peak = 1;
  g.launch = seconds(3);
  g.split_launch = seconds(0.001);
  g.k_overhead = 10;
  g.tail = 0.25;
  g.pass = {1.1, 1.3, 1.7};
  for (std::size_t i = 0; i < kTileCount; ++i) {
    g.tiles[i] = {
        .rows = kRowsOf[i], .columns = kColumnsOf[i], .seconds_per_k = i == which ? 0.01 : kNever};
  }
  return g;
}

DeviceModel made_up(const GemmModel& g, double units = 4) {
  DeviceModel d;
  d.units = units;
  d.gemm.fill(g);
  d.grouped.fill(g);
  d.attention_rate.fill(1);
  return d;
}

// 200 x 300 elements are 4 x 5 smallest tiles, the last ones partial: 2 x 3 of twice the edge, 1 x
// 2 of four times it.
TEST(KernelProducts, tiles_cover_the_result_and_fill_waves) {
  const double tiles[kTileCount] = {1 * 3, 2 * 2, 2 * 3, 2 * 5, 4 * 3, 4 * 5};
  for (std::size_t i = 0; i < kTileCount; ++i) {
    const double load = tiles[i] / 4;
    const double waves = load <= 1 ? 1 : load + 0.25 * (std::ceil(load) - load);
    const KernelCost c =
        kernel_cost(made_up(one_tile(i)), workload::Gemm{.m = 200, .n = 300, .k = 50});
    EXPECT_NEAR(c.time.base(), 3 + waves * 0.01 * (50 + 10) * 1.1, 1e-12) << i;
    EXPECT_NEAR(c.clocked.base(), waves * 0.01 * 60 * 1.1, 1e-12) << i;
  }
}

// Rows that fill a tile exactly, and one more.
TEST(KernelProducts, extra_row_starts_another_tile) {
  const auto waves = [](double m, double n, std::size_t tile) {
    const KernelCost c =
        kernel_cost(made_up(one_tile(tile), 1), workload::Gemm{.m = m, .n = n, .k = 90});
    return c.clocked.base() / 1.1;  // each 0.01 x (90 + 10)
  };
  EXPECT_NEAR(waves(256, 64, 5), 4, 1e-9);
  EXPECT_NEAR(waves(257, 64, 5), 5, 1e-9);
  EXPECT_NEAR(waves(256, 64, 3), 2, 1e-9);
  EXPECT_NEAR(waves(257, 64, 3), 3, 1e-9);
  EXPECT_NEAR(waves(256, 128, 0), 1, 1e-9);
  EXPECT_NEAR(waves(257, 128, 0), 2, 1e-9);
  EXPECT_NEAR(waves(512, 256, 1), 4, 1e-9);
  EXPECT_NEAR(waves(64, 193, 5), 4, 1e-9);
}

// With tail 0 the last wave costs its fraction, but never less than one wave in total; with tail 1
// it costs a whole one.
TEST(KernelProducts, last_wave_is_spread_or_whole) {
  const auto time = [](double tail, double groups) {
    GemmModel g = one_tile(5);
    g.tail = tail;
    const workload::Gemm one{.m = 64, .n = 64, .k = 90, .groups = groups};
    return kernel_cost(made_up(g), one).clocked.base() / 1.1;
  };
  EXPECT_NEAR(time(0, 6), 1.5, 1e-12);
  EXPECT_NEAR(time(1, 6), 2, 1e-12);
  EXPECT_NEAR(time(0, 4), 1, 1e-12);
  EXPECT_NEAR(time(1, 8), 2, 1e-12);
}

TEST(KernelProducts, backward_layouts_have_their_own_factors) {
  const DeviceModel d = made_up(one_tile(5));
  const auto clocked = [&](workload::GemmPass pass) {
    return kernel_cost(d, workload::Gemm{.m = 64, .n = 256, .k = 50, .pass = pass}).clocked.base();
  };
  EXPECT_NEAR(clocked(workload::GemmPass::forward), 0.6 * 1.1, 1e-12);
  EXPECT_NEAR(clocked(workload::GemmPass::dgrad), 0.6 * 1.3, 1e-12);
  EXPECT_NEAR(clocked(workload::GemmPass::wgrad), 0.6 * 1.7, 1e-12);
}

// One tile and 64 units: K of 1000 in s parts takes 0.01 (1000 / s + 10), plus 8 bytes for each of
// 64 x 64 sums per part.
TEST(KernelProducts, k_is_split_over_idle_units) {
  const workload::Gemm g{.m = 64, .n = 64, .k = 1000};
  GemmModel model = one_tile(5);
  EXPECT_NEAR(kernel_cost(made_up(model, 64), g).clocked.base(),
              (0.01 * (1000.0 / 32 + 10) + 0.001) * 1.1, 1e-12)
      << "in 32 parts at most";
  EXPECT_NEAR(kernel_cost(made_up(model, 8), g).clocked.base(),
              (0.01 * (1000.0 / 8 + 10) + 0.001) * 1.1, 1e-12)
      << "as many as there are units";
  EXPECT_NEAR(kernel_cost(made_up(model, 7), g).clocked.base(),
              (0.01 * (1000.0 / 4 + 10) + 0.001) * 1.1, 1e-12);
  EXPECT_NEAR(kernel_cost(made_up(model, 1), g).clocked.base(), 0.01 * 1010 * 1.1, 1e-12);
  // 0.2 s per part for the sums: 8 parts cost 1.35 + 1.6, 4 cost 2.6 + 0.8, 16 cost 0.725 + 3.2.
  model.split_seconds = 0.2 / (8 * 64 * 64);
  EXPECT_NEAR(kernel_cost(made_up(model, 64), g).clocked.base(), (1.35 + 1.6 + 0.001) * 1.1, 1e-9);
  // Two groups have twice the sums: 4 parts 2.6 + 1.6, 8 parts 1.35 + 3.2.
  workload::Gemm two = g;
  two.groups = 2;
  EXPECT_NEAR(kernel_cost(made_up(model, 64), two).clocked.base(), (2.6 + 1.6 + 0.001) * 1.1, 1e-9);
  model.split_launch = seconds(100);
  EXPECT_NEAR(kernel_cost(made_up(model, 64), g).clocked.base(), 0.01 * 1010 * 1.1, 1e-12);
}

// 64 rows use the small tile, 128 the flat one, more the square one; K is never split.
TEST(KernelProducts, library_that_chooses_tiles_by_rows) {
  GemmModel model = one_tile(0);
  model.tile_by_rows = true;
  model.tiles[0].seconds_per_k = 0.001;
  model.tiles[2].seconds_per_k = 0.07;
  model.tiles[4].seconds_per_k = 0.03;
  model.tiles[5].seconds_per_k = 0.02;
  const auto per_step = [&](double m, double groups, double units) {
    const workload::Gemm g{.m = m, .n = 384, .k = 90, .groups = groups};
    return kernel_cost(made_up(model, units), g).clocked.base() / 100 / 1.1;
  };
  EXPECT_NEAR(per_step(64, 1, 64), 0.02, 1e-12);
  EXPECT_NEAR(per_step(65, 1, 64), 0.03, 1e-12);
  EXPECT_NEAR(per_step(128, 1, 64), 0.03, 1e-12);
  EXPECT_NEAR(per_step(129, 1, 64), 0.07, 1e-12);
  EXPECT_NEAR(per_step(64, 3, 4), (4.5 + 0.25 * 0.5) * 0.02, 1e-12) << "3 x 6 tiles over 4";
  EXPECT_NEAR(per_step(129, 5, 4), (7.5 + 0.25 * 0.5) * 0.07, 1e-12) << "5 x 2 x 3 over 4";
}

// Compute takes 0.66 s in one wave. Bytes in bf16: 2 (64 x 50 + 50 x 256 + 64 x 256) = 64,768.
TEST(KernelProducts, loads_and_products_overlap_in_part) {
  GemmModel model = one_tile(5);
  model.overlap_loss = 0.2;
  const workload::Gemm g{.m = 64, .n = 256, .k = 50};
  model.memory_seconds = 0.33 / 64768;
  KernelCost c = kernel_cost(made_up(model), g);
  EXPECT_NEAR(c.time.base(), 3 + 0.66 + 0.2 * 0.33 * 0.33 / 0.66, 1e-12);
  EXPECT_NEAR(c.clocked.base(), 0.66 - 0.2 * 0.33 * 0.33 / 0.66, 1e-12);
  model.memory_seconds = 1.32 / 64768;
  c = kernel_cost(made_up(model), g);
  EXPECT_NEAR(c.time.base(), 3 + 1.32 + 0.2 * 0.66 * 0.66 / 1.32, 1e-12);
  EXPECT_NEAR(c.clocked.base(), 2 * 0.2 * 0.66 * 0.66 / 1.32, 1e-12);
}

// Bytes by format: operands in their own format, the result in at least two bytes.
TEST(KernelProducts, bytes_and_energies_of_a_product) {
  GemmModel model = one_tile(5);
  model.joules_per_flop = 0.5;
  DeviceModel d = made_up(model);
  d.power.joules_per_byte = 0.25;
  workload::Gemm g{.m = 3, .n = 5, .k = 7, .groups = 2};
  KernelCost c = kernel_cost(d, g);
  EXPECT_NEAR(c.core.base(), 0.5 * 2 * 3 * 5 * 7 * 2, 1e-9);
  EXPECT_NEAR(c.memory.base(), 0.25 * 2 * (2 * 7 * (3 + 5) + 2 * 15), 1e-9);
  g.dtype = catalog::Dtype::fp8;
  EXPECT_NEAR(kernel_cost(d, g).memory.base(), 0.25 * 2 * (7 * (3 + 5) + 2 * 15), 1e-9);
  g.dtype = catalog::Dtype::fp32;
  EXPECT_NEAR(kernel_cost(d, g).memory.base(), 0.25 * 2 * 4 * (7 * (3 + 5) + 15), 1e-9);
  g.dtype = catalog::Dtype::bf16;
  g.stored = 0.5;
  EXPECT_NEAR(kernel_cost(d, g).memory.base(), 0.25 * 2 * (7 * (2 * 3 + 0.5 * 5) + 2 * 15), 1e-9);
}

// A launch of 0.7, 0.01 per row, and m x k elements read in two bytes and written in one.
TEST(KernelProducts, quantising_library_pays_before_the_product) {
  GemmModel model = one_tile(5);
  model.quantise_launch = seconds(0.7);
  model.quantise_row_seconds = 0.01;
  model.quantise_seconds = 1e-4;
  const workload::Gemm g{.m = 20, .n = 64, .k = 50, .dtype = catalog::Dtype::fp8, .groups = 3};
  const KernelCost c = kernel_cost(made_up(model), g);
  EXPECT_NEAR(c.time.base(), 3 + 0.66 + 0.7 + 60 * 0.01 + 60 * 50 * (2 + 1) * 1e-4, 1e-12);
  EXPECT_NEAR(c.clocked.base(), 0.66, 1e-12) << "the pass does not stretch with the clock";
}

TEST(KernelProducts, grouped_products_have_their_own_model) {
  DeviceModel d = made_up(one_tile(5));
  d.grouped[kBf16].launch = seconds(5);
  EXPECT_NEAR(kernel_time(d, workload::Gemm{.m = 64, .n = 256, .k = 50}).base(), 3.66, 1e-12);
  // Six tiles over four units: 1.5, with the tail 1.625 waves of 0.6 x 1.1.
  EXPECT_NEAR(kernel_time(d, workload::Gemm{.m = 64, .n = 256, .k = 50, .groups = 1.5}).base(),
              5 + 1.625 * 0.66, 1e-12);
  d.gemm[kFp32].peak = 0;
  const KernelCost none =
      kernel_cost(d, workload::Gemm{.m = 64, .n = 64, .k = 50, .dtype = catalog::Dtype::fp32});
  EXPECT_EQ(none.time.base(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(none.core, Joules(0));
  EXPECT_EQ(kernel_time(d, workload::Gemm{.m = 64, .n = 0, .k = 50}), Seconds());
}

TEST(KernelProducts, launch_time_remains_on_an_infinitely_fast_device) {
  GemmModel model;
  model.peak = 1;
  model.launch = seconds(2);
  const KernelCost c = kernel_cost(made_up(model), workload::Gemm{.m = 1, .n = 1, .k = 1});
  EXPECT_EQ(c.time, seconds(2));
  EXPECT_EQ(c.clocked, Seconds());
}

TEST(KernelProducts, memory_pass_is_bytes_over_bandwidth) {
  DeviceModel d;
  d.pass_launch = seconds(0.5);
  d.pass_seconds = 0.001;
  d.power.joules_per_byte = 0.25;
  const workload::MemoryPass pass{.read = Bytes(300), .written = Bytes(100)};
  const KernelCost c = kernel_cost(d, workload::Operation(pass));
  EXPECT_NEAR(c.time.base(), 0.9, 1e-12);
  EXPECT_EQ(c.clocked, Seconds());
  EXPECT_EQ(c.core, Joules(0));
  EXPECT_NEAR(c.memory.base(), 100, 1e-12);
  EXPECT_EQ(kernel_time(d, workload::MemoryPass{}), Seconds()) << "nothing is launched for nothing";
}

TEST(KernelProducts, costs_add_and_scale_by_part) {
  const KernelCost a{
      .time = seconds(1), .clocked = seconds(2), .core = Joules(3), .memory = Joules(4)};
  const KernelCost b{
      .time = seconds(10), .clocked = seconds(20), .core = Joules(30), .memory = Joules(40)};
  const KernelCost sum = a + b;
  EXPECT_EQ(sum.time, seconds(11));
  EXPECT_EQ(sum.clocked, seconds(22));
  EXPECT_EQ(sum.core, Joules(33));
  EXPECT_EQ(sum.memory, Joules(44));
  const KernelCost thrice = a * 3;
  EXPECT_EQ(thrice.time, seconds(3));
  EXPECT_EQ(thrice.clocked, seconds(6));
  EXPECT_EQ(thrice.core, Joules(9));
  EXPECT_EQ(thrice.memory, Joules(12));
}

// A slice with 3 of 12 units, a fifth of the memory and a tenth of the power.
TEST(KernelProducts, slice_has_its_share_of_everything) {
  DeviceModel d = made_up(one_tile(5), 12);
  d.bandwidth = 1000;
  d.pass_seconds = 0.001;
  for (auto* set : {&d.gemm, &d.grouped}) {
    for (GemmModel& g : *set) g.memory_seconds = 2, g.split_seconds = 3, g.quantise_seconds = 4;
  }
  for (AttentionModel& a : d.attention) a.memory_seconds = 5;
  d.power = {.idle = Watts(70), .active = Watts(80), .limit = Watts(900)};
  const DeviceModel s = slice_of(d, {.units = 3, .memory_share = 0.2, .power_share = 0.1});
  EXPECT_EQ(s.units, 3);
  EXPECT_DOUBLE_EQ(s.bandwidth, 200);
  EXPECT_DOUBLE_EQ(s.pass_seconds, 0.005);
  for (const auto* set : {&s.gemm, &s.grouped}) {
    EXPECT_DOUBLE_EQ((*set)[kFp8].peak, 0.25);
    EXPECT_DOUBLE_EQ((*set)[kFp8].memory_seconds, 10);
    EXPECT_DOUBLE_EQ((*set)[kFp8].split_seconds, 15);
    EXPECT_DOUBLE_EQ((*set)[kFp8].quantise_seconds, 20);
  }
  for (const AttentionModel& a : s.attention) EXPECT_DOUBLE_EQ(a.memory_seconds, 25);
  EXPECT_DOUBLE_EQ(s.power.idle.base(), 7);
  EXPECT_DOUBLE_EQ(s.power.active.base(), 8);
  EXPECT_DOUBLE_EQ(s.power.limit.base(), 90);
}

DeviceModel powered() {
  DeviceModel d;
  d.power = {.idle = Watts(10),
             .active = Watts(20),
             .limit = Watts(50),
             .held = 0.9,
             .voltage_share = 0.5,
             .lowest_clock = 0.25};
  return d;
}

const KernelCost kWork{
    .time = seconds(4), .clocked = seconds(3), .core = Joules(100), .memory = Joules(8)};

// Full clock: 6 s; 10 x 6 + 20 x 4 + 100 + 8 = 248 J. Half clock: busy 4 + 3 (2 - 1) = 7, 9 s in
// total; 10 x 9 + 20 x 7 + 100 (1 - 0.5 x 0.75) + 8 = 300.5 J.
TEST(KernelProducts, clock_under_a_power_limit) {
  const DeviceModel d = powered();
  const Throttled full = throttle(d, kWork, seconds(2));
  EXPECT_EQ(full.clock, 1);
  EXPECT_EQ(full.time, seconds(6));
  EXPECT_NEAR(full.power.base(), 248.0 / 6, 1e-12);
  const Throttled half = throttle(d, kWork, seconds(2), Watts(300.5 / 9 / 0.9));
  EXPECT_NEAR(half.clock, 0.5, 1e-6);
  EXPECT_LE(half.clock, 0.5 + 1e-12) << "never above what the limit allows";
  EXPECT_NEAR(half.time.base(), 9, 2e-5);
  EXPECT_NEAR(half.power.base(), 300.5 / 9, 1e-4);
  // At the lowest clock: busy 4 + 9, 15 s; 150 + 260 + 100 (1 - 0.5 x 0.9375) + 8 J.
  const Throttled low = throttle(d, kWork, seconds(2), Watts(1));
  EXPECT_EQ(low.clock, 0.25);
  EXPECT_NEAR(low.time.base(), 15, 1e-12);
  EXPECT_NEAR(low.power.base(), (150 + 260 + 53.125 + 8) / 15, 1e-12);
}

TEST(KernelProducts, memory_time_is_not_throttled) {
  const KernelCost moved{.time = seconds(4), .clocked = {}, .core = {}, .memory = Joules(1000)};
  const Throttled t = throttle(powered(), moved, Seconds(), Watts(100));
  EXPECT_EQ(t.clock, 1);
  EXPECT_NEAR(t.power.base(), (40 + 80 + 1000) / 4.0, 1e-12);
  const Throttled nothing = throttle(powered(), KernelCost{}, Seconds());
  EXPECT_EQ(nothing.power, Watts(10));
  EXPECT_EQ(nothing.time, Seconds());
  EXPECT_EQ(nothing.clock, 1);
}

}  // namespace
}  // namespace orrery::compute
