#include "model/jobs/plain_network.h"

#include <gtest/gtest.h>

#include "model/jobs/service_fixture.h"

namespace orrery::jobs {
namespace {

// 0.35 of 989.4 TFLOP/s on a device, in proportion on a slice; 0.15 of the matrix rate on a host.
TEST(PlainNetwork, rate_is_a_share_of_the_peak) {
  const machine::Machine m = served("arrivals: { rate: 1 /s, trace: chat }");
  EXPECT_NEAR(plain_rate(m, m.fleets[design::FleetIndex(0)])->base(), 0.35 * 989.4e12, 1);
  const machine::Machine cut =
      served("arrivals: { rate: 1 /s, trace: chat }", ", mig: { 3g.40gb: 2 }");
  const double units = cut.fleets[design::FleetIndex(0)].slice()->profile->multiprocessors;
  EXPECT_NEAR(plain_rate(cut, cut.fleets[design::FleetIndex(0)])->base(), 0.35 * 989.4e12 * units / 132, 1e6);
  const machine::Machine cores = served("arrivals: { rate: 1 /s, trace: chat }",
                                        ", custom: { accelerators: 0, matrix_rate: 40 TFLOP/s }");
  EXPECT_NEAR(plain_rate(cores, cores.fleets[design::FleetIndex(0)])->base(), 0.15 * 40e12, 1);
}

}  // namespace
}  // namespace orrery::jobs
