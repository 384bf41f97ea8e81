#include "model/jobs/apart_size.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "layers/serving/disaggregated.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

TEST(ApartSize, replicas_of_each_kind_follow_from_the_peak_and_the_token_bound) {
  const ServingQuery q = short_query();
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  const auto size = [&](Seconds tpot, double peak, std::optional<int> prefill = {}) {
    return apart_size(replica, costs, q.request, {.tpot_p99 = tpot}, gbytes_per_s(50),
                      {.peak = PerSecond(peak), .prefill = prefill, .load = 0.8});
  };
  EXPECT_EQ(size(microseconds(1), 5).running, 1) << "at least one request";
  const jobs::ApartSize open = size(Seconds(), 5);
  const double in_cache = replica.memory.requests(500 + 50);
  EXPECT_EQ(open.running, std::floor(std::min(in_cache, replica.limits.max_sequences)));
  EXPECT_EQ(open.decode, std::max(1.0, std::ceil(5 / (open.decode_rate.base() * 0.8))));
  EXPECT_EQ(open.prefill, std::max(1.0, std::ceil(5 / (open.prefill_rate.base() * 0.8))));
  EXPECT_EQ(open.infeasible, "");
  EXPECT_NEAR(
      open.per_replica().base(),
      std::min(open.prefill_rate.base() * open.prefill, open.decode_rate.base() * open.decode) /
          (open.prefill + open.decode),
      1e-9);
  const jobs::ApartSize given = size(Seconds(), 5, 7);
  EXPECT_EQ(given.prefill, 7);
  const double each = open.prefill_rate.base();
  EXPECT_EQ(size(Seconds(), each * 0.99, 1).infeasible, "");
  EXPECT_NE(size(Seconds(), each * 1.01, 1).infeasible, "");
  // The batch shrinks by a tenth at a time until a token is in time.
  const auto tpot = [&](double running) {
    return disaggregated_loop({.replica = replica, .costs = costs, .replicas = 1e6},
                              {.replica = replica, .costs = costs, .replicas = 1}, q.request,
                              running, gbytes_per_s(50))
        .tpot;
  };
  const Seconds bound = (tpot(open.running) + tpot(1)) / 2;
  double running = open.running;
  while (tpot(running) > bound) running = std::floor(running * 0.9);
  EXPECT_EQ(size(bound, 5).running, running);
  EXPECT_LT(running, open.running);
}

TEST(ApartSize, rates_are_those_of_a_full_batch) {
  const ServingQuery q{.model = *machine::known().catalog().model("llama-3-8b"),
                       .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                       .engine = "vllm",
                       .request = {.input = 500, .output = 100}};
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  const auto size = [&](double peak, std::optional<int> prefill) {
    return apart_size(replica, costs, q.request, {}, gbytes_per_s(50),
                      {.peak = PerSecond(peak), .prefill = prefill});
  };
  const jobs::ApartSize open = size(5, std::nullopt);
  ASSERT_GT(open.running, 1);
  const serving::DisaggregatedPoint full =
      disaggregated_loop({.replica = replica, .costs = costs, .replicas = 1e6},
                         {.replica = replica, .costs = costs, .replicas = 1}, q.request,
                         open.running, gbytes_per_s(50));
  EXPECT_EQ(open.decode_rate, full.requests);
  EXPECT_DOUBLE_EQ(open.prefill_rate.base(), 1 / full.prefill.base());
  const double each = open.prefill_rate.base();
  EXPECT_NE(size(3 * each, 2).infeasible, "");
  EXPECT_NE(size(2 * each, 2).infeasible, "") << "a queue at full load has no end";
}

}  // namespace
}  // namespace orrery::jobs
