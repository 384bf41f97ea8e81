#include "model/jobs/autoscale.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/jobs/build_machine.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

TEST(Autoscale, whole_replicas_within_the_bounds) {
  const design::Autoscale scale{.min = 2, .max = 6};
  EXPECT_EQ(replicas_called(scale, 25, 10), 3);
  EXPECT_EQ(replicas_called(scale, 30, 10), 3);
  EXPECT_EQ(replicas_called(scale, 30.1, 10), 4);
  EXPECT_EQ(replicas_called(scale, 0, 10), 2);
  EXPECT_EQ(replicas_called(scale, 1000, 10), 6);
}

// 0.1 + 0.2 is slightly above 0.3 in doubles, but needs no fourth replica.
TEST(Autoscale, rounding_calls_no_extra_replica) {
  EXPECT_EQ(replicas_called({.min = 1, .max = 9}, 0.1 + 0.2, 0.1), 3);
}

// Requests in flight decode or wait for their first token; time spent on retrieval is not at a
// replica.
TEST(Autoscale, rate_at_the_target_has_the_target_in_flight) {
  const design::Design d = service_design(
      "  - serve: { name: s, model: llama-3-8b, arrivals: { rate: 1 /s, input_tokens: 2000, "
      "output_tokens: 200 } }\n");
  const machine::Machine m = build_machine(d, machine::known());
  serving::RequestShape r = request_of(m, serve_at(d, 0));
  const auto* model = find_model(d, m.catalog(), "llama-3-8b");
  const ServingQuery q = serving_query(m.models(), serve_at(d, 0), *model, m.fleets[design::FleetIndex(0)], r);
  const auto replica = replica_of(m.models(), q);
  ASSERT_TRUE(replica);
  const machine::Costs costs = serving_costs(m.models(), q);
  const auto source = serving_source(costs);
  const PerSecond rate = rate_in_flight(*replica, r, 16, source);
  double least = 16, most = 0;
  for (const double decoding : {4.0, 8.0, 12.0, 15.9}) {
    const auto p = steady_arrivals(*replica, r, decoding, source);
    if (p.requests <= rate) most = std::max(most, decoding + p.requests * p.ttft);
    if (p.requests > rate) least = std::min(least, decoding + p.requests * p.ttft);
  }
  EXPECT_LE(most, 16);
  EXPECT_GE(least, 16);
  r.before = seconds(30);
  EXPECT_NEAR(rate_in_flight(*replica, r, 16, source) / rate, 1, 1e-6);
}

}  // namespace
}  // namespace orrery::jobs
