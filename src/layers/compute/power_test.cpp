#include "layers/compute/power.h"

#include <gtest/gtest.h>

#include <string_view>

#include "core/catalog/shipped_fixture.h"
#include "layers/compute/calibration.h"
#include "layers/compute/kernel.h"

namespace orrery::compute {
namespace {

DeviceModel usual_device(std::string_view id) {
  static const catalog::Catalog catalog = *catalog::load_embedded_catalog();
  static const Calibration calibration = read_calibration(catalog::shipped()).value();
  return device_model(*catalog.accelerator(id), calibration);
}

const workload::Gemm kLarge{.m = 8192, .n = 8192, .k = 8192};

// h200_gemm.csv: 70b_o at m = 8192 runs at 693 TFLOP/s, 70b_up at 694, at the 700 W limit.
TEST(Power, large_product_settles_near_700_tflops_on_an_h200) {
  const Throttled t =
      throttle(usual_device("h200-sxm"), kernel_cost(usual_device("h200-sxm"), kLarge));
  const double tflops = flops_of(kLarge).base() / t.time.base() / 1e12;
  EXPECT_NEAR(tflops, 693, 0.05 * 693);
  EXPECT_LT(t.clock, 0.95);
  EXPECT_NEAR(t.power.base(), 692, 1);
}

// The controller was measured to hold 691 to 693 W of 700.
TEST(Power, nothing_draws_more_than_its_limit_above_the_lowest_clock) {
  const DeviceModel d = usual_device("h200-sxm");
  for (const double limit : {300.0, 400.0, 550.0, 700.0}) {
    const Throttled t = throttle(d, kernel_cost(d, kLarge), Seconds(0), Watts(limit));
    EXPECT_LE(t.power.base(), limit);
    EXPECT_GE(t.clock, d.power.lowest_clock);
  }
}

TEST(Power, lower_limit_never_speeds_up) {
  const DeviceModel d = usual_device("h200-sxm");
  Seconds before(0);
  for (double limit = 800; limit >= 200; limit -= 25) {
    const Seconds time = throttle(d, kernel_cost(d, kLarge), Seconds(0), Watts(limit)).time;
    EXPECT_GE(time, before);
    before = time;
  }
}

// power_capping.csv: an H100 at 600 W of 700 trains in bf16 at 0.85 to 0.90 of its speed, and
// serves a memory-bound model at 0.92 to 0.95.
TEST(Power, caps_as_published) {
  const DeviceModel d = usual_device("h100-sxm");
  const KernelCost product = kernel_cost(d, kLarge);
  const double capped =
      throttle(d, product).time / throttle(d, product, Seconds(0), Watts(600)).time;
  EXPECT_GE(capped, 0.85);
  EXPECT_LE(capped, 0.92);
  const KernelCost reading = kernel_cost(d, workload::Gemm{.m = 64, .n = 8192, .k = 8192});
  const double bound =
      throttle(d, reading).time / throttle(d, reading, Seconds(0), Watts(600)).time;
  EXPECT_GE(bound, 0.92);
}

TEST(Power, waiting_draws_idle_power) {
  const DeviceModel d = usual_device("h200-sxm");
  const Throttled t = throttle(d, KernelCost{}, seconds(1));
  EXPECT_EQ(t.power, d.power.idle);
  const KernelCost product = kernel_cost(d, kLarge);
  EXPECT_LT(throttle(d, product, product.time).power, throttle(d, product).power);
}

// A 500 W part of the same silicon uses the same energy per FLOP.
TEST(Power, same_silicon_under_a_lower_limit_clocks_lower) {
  const Throttled full =
      throttle(usual_device("h100-sxm"), kernel_cost(usual_device("h100-sxm"), kLarge));
  const DeviceModel low = usual_device("h100-96-500w");
  const Throttled capped = throttle(low, kernel_cost(low, kLarge));
  EXPECT_LT(capped.clock, full.clock);
  EXPECT_LT(capped.power.base(), 500);
}

TEST(Power, decode_step_draws_less_than_a_product) {
  const DeviceModel d = usual_device("h200-sxm");
  const auto power = [&d](const workload::Operation& op) {
    return throttle(d, kernel_cost(d, op)).power;
  };
  const Watts reading = power(workload::Gemm{.m = 1, .n = 14336, .k = 4096});
  EXPECT_NEAR(reading.base(), 430, 60);  // h200_steps.csv: 424 to 442 W at batch 1
  EXPECT_LT(reading, power(kLarge));
}

}  // namespace
}  // namespace orrery::compute
