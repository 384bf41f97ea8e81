// Kernels on MIG slices compared with measurements, and a slice's share of its GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "core/catalog/shipped_fixture.h"
#include "layers/compute/calibration.h"
#include "layers/compute/kernel.h"

namespace orrery::compute {
namespace {

DeviceModel h200() {
  static const catalog::Catalog catalog = *catalog::load_embedded_catalog();
  static const Calibration calibration = read_calibration(catalog::shipped()).value();
  return device_model(*catalog.accelerator("h200-sxm"), calibration,
                      {.products = "pytorch", .attention = "pytorch"});
}

// As the catalog's profiles say; a whole device in MIG mode has all its units.
DeviceModel h200_slice(const std::string& profile) {
  static const std::map<std::string, DeviceSlice> slices{
      {"1g.18gb", {.units = 16, .memory_share = 1.0 / 8}},
      {"1g.35gb", {.units = 26, .memory_share = 2.0 / 8}},
      {"2g.35gb", {.units = 32, .memory_share = 2.0 / 8}},
      {"3g.71gb", {.units = 60, .memory_share = 4.0 / 8}},
      {"4g.71gb", {.units = 64, .memory_share = 4.0 / 8}}};
  const auto found = slices.find(profile);
  return found == slices.end() ? h200() : slice_of(h200(), found->second);
}

struct Measured {
  std::string profile;
  bool beside = false;  // all other slices are busy
  workload::Operation op;
  double seconds = 0;
};

workload::Operation operation_of(const CsvTable& t, const CsvRow& r) {
  const auto op = t.text(r, "op");
  const double m = *t.number(r, "m");
  if (op == "copy") {
    const Bytes half(*t.number(r, "bytes") / 2);
    return workload::MemoryPass{.read = half, .written = half};
  }
  if (op == "product") {
    return workload::Gemm{
        .m = m, .n = *t.number(r, "n"), .k = *t.number(r, "k"), .dtype = catalog::Dtype::bf16};
  }
  return workload::Attention{.batch = *t.number(r, "batch"),
                             .q_heads = 32,
                             .kv_heads = 8,
                             .qk_dim = 128,
                             .v_dim = 128,
                             .q_len = m,
                             .kv_len = *t.number(r, "kv_len"),
                             .causal = op == "prefill"};
}

std::vector<Measured> measured() {
  const CsvTable t = catalog::embedded_table("validation/h200_slices.csv").value();
  std::vector<Measured> rows;
  for (const CsvRow& r : t.rows()) {
    rows.push_back({.profile = std::string(t.text(r, "profile")),
                    .beside = *t.number(r, "neighbours") > 0,
                    .op = operation_of(t, r),
                    .seconds = *t.number(r, "seconds")});
  }
  return rows;
}

std::map<std::string, std::vector<double>> errors_by_profile() {
  std::map<std::string, std::vector<double>> errors;
  for (const Measured& m : measured()) {
    const double time = kernel_time(h200_slice(m.profile), m.op).base();
    errors[m.profile].push_back(std::abs(time / m.seconds - 1));
  }
  for (auto& [profile, all] : errors) std::ranges::sort(all);
  return errors;
}

TEST(KernelSlice, kernels_take_as_long_as_measured) {
  const auto errors = errors_by_profile();
  ASSERT_EQ(errors.size(), 7u);
  for (const auto& [profile, all] : errors) {
    SCOPED_TRACE(profile);
    ASSERT_GE(all.size(), 28u);
    EXPECT_LT(all[all.size() / 2], 0.10);
    EXPECT_LT(all[all.size() * 9 / 10], 0.20);
  }
}

// A slice keeps its time whatever runs on the others: all but a few of 112 kernels within a tenth.
TEST(KernelSlice, neighbours_do_not_slow_it) {
  std::map<std::pair<std::string, std::size_t>, double> alone;
  std::map<std::string, std::size_t> seen, seen_beside;
  std::vector<double> slower;
  for (const Measured& m : measured()) {
    if (m.beside) {
      slower.push_back(m.seconds / alone.at({m.profile, seen_beside[m.profile]++}));
    } else {
      alone[{m.profile, seen[m.profile]++}] = m.seconds;
    }
  }
  ASSERT_EQ(slower.size(), 112u);
  std::ranges::sort(slower);
  EXPECT_NEAR(slower[slower.size() / 2], 1, 0.01);
  EXPECT_LT(slower[slower.size() * 9 / 10], 1.07);
}

// All slices of a layout together are no faster than the whole.
TEST(KernelSlice, parts_add_up_to_no_more_than_the_whole) {
  const workload::Gemm product{.m = 8192, .n = 8192, .k = 8192, .dtype = catalog::Dtype::bf16};
  const workload::MemoryPass copy{.read = mib(256), .written = mib(256)};
  const struct {
    const char* profile;
    int fit;
  } cuts[] = {{"1g.18gb", 7}, {"1g.35gb", 4}, {"2g.35gb", 3}, {"3g.71gb", 2}};
  for (const auto& cut : cuts) {
    SCOPED_TRACE(cut.profile);
    const DeviceModel slice = h200_slice(cut.profile);
    EXPECT_GE(kernel_time(slice, product) / cut.fit, kernel_time(h200(), product));
    EXPECT_GE(kernel_time(slice, copy) / cut.fit, kernel_time(h200(), copy) * 0.96);
  }
}

TEST(KernelSlice, draws_its_share_of_the_board) {
  const DeviceModel whole = h200();
  const DeviceModel half =
      slice_of(whole, {.units = whole.units / 2, .memory_share = 0.5, .power_share = 0.5});
  EXPECT_DOUBLE_EQ(half.power.idle.base(), whole.power.idle.base() / 2);
  EXPECT_DOUBLE_EQ(half.power.limit.base(), whole.power.limit.base() / 2);
  EXPECT_DOUBLE_EQ(half.bandwidth, whole.bandwidth / 2);
  const auto bf16 = static_cast<std::size_t>(catalog::Dtype::bf16);
  EXPECT_DOUBLE_EQ(half.gemm[bf16].peak, whole.gemm[bf16].peak / 2);
}

}  // namespace
}  // namespace orrery::compute
