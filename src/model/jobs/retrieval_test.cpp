#include "model/jobs/retrieval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/jobs/build_machine.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/tier_purchase.h"

namespace orrery::jobs {
namespace {

// 32 drives; reads take longer the more the tier is loaded.
TEST(Retrieval, reads_slow_down_as_their_tier_fills) {
  const auto text = [](double rate) {
    return "  - serve: { name: s, model: llama-3-8b, arrivals: { rate: " + std::to_string(rate) +
           " /s, peak: 2, input_tokens: 500, output_tokens: 100 }, retrieval: { tier: fast, index: "
           "2 TB, reads: 40, hops: 4, read_size: 4 KiB, tokens: 1500 } }\n";
  };
  const design::Design calm = service_design(text(1));
  const machine::Machine m = build_machine(calm, machine::known());
  const auto ask = retrieval_of(m, serve_at(calm, 0), m.fleets[design::FleetIndex(0)]);
  ASSERT_TRUE(ask);
  EXPECT_DOUBLE_EQ(ask->asked.base(), 80);
  EXPECT_DOUBLE_EQ(ask->law.reads, 10);
  EXPECT_EQ(ask->law.hops, 4);
  const machine::Tier& tier = m.tiers.front();
  EXPECT_NEAR(ask->law.median / (tier.latency.total / (1 - ask->load())), 1, 1e-9);
  EXPECT_NEAR(ask->law.p99 / ask->law.median, 4, 1e-9);
  const double drives =
      *m.catalog().storage_device("tlc-gen4")->random_read_iops * 32 * options_of(tier).delivered;
  EXPECT_NEAR(ask->gives.base(), std::min(drives, 40e9 / 4096), 1);

  const double half = ask->gives.base() / 80 / 2;  // requests per second at half of its rate
  const design::Design busy = service_design(text(half));
  const machine::Machine b = build_machine(busy, machine::known());
  const auto slow = retrieval_of(b, serve_at(busy, 0), b.fleets[design::FleetIndex(0)]);
  EXPECT_NEAR(slow->law.median / tier.latency.total, 2, 1e-3);

  serving::RequestShape r = request_of(m, serve_at(calm, 0));
  EXPECT_DOUBLE_EQ(r.input, 2000);
  add_retrieval(r, m, serve_at(calm, 0), m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(r.before.base(), traffic::retrieval_mean(ask->law).base());
  EXPECT_GT(r.before_p99, r.before);
}

// Two services at their peaks read 3 x 2 x 10 + 5 x 1 x 4 times per second.
TEST(Retrieval, services_share_the_reads_of_a_tier) {
  const auto service = [](const std::string& name, const std::string& load,
                          const std::string& index) {
    return "  - serve: { name: " + name + ", model: llama-3-8b, arrivals: { " + load +
           ", trace: chat }, retrieval: { index: 1 TB, " + index + " } }\n";
  };
  const machine::Machine m = asked_machine(
      service("s", "rate: 3 /s, peak: 2", "tier: fast, reads: 10, hops: 2") +
      service("t", "rate: 5 /s", "tier: fast, reads: 4, read_size: 1 MB, read_p99: 200 ms") +
      service("u", "rate: 900 /s", "tier: own, reads: 8") +
      "  - batch: { name: b, core_hours: 3 }\n"
      "  - serve: { name: v, model: llama-3-8b, arrivals: { rate: 7 /s } }\n");
  const machine::Fleet& fleet = m.fleets[design::FleetIndex(0)];
  const auto small = retrieval_of(m, asked_serve(m, 0), fleet);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->tier->label, "fast");
  EXPECT_DOUBLE_EQ(small->asked.base(), 80);
  EXPECT_EQ(small->law.hops, 2);
  EXPECT_EQ(small->law.reads, 5);
  const BytesPerSecond rate = weights_rate(m, *small->tier, fleet, 1000);
  EXPECT_DOUBLE_EQ(small->law.sending.base(), 4096 * 5 / rate.base());
  // Reads of 1 MB: the tier's rate allows 40,000 per second, fewer than 32 drives can seek.
  const auto large = retrieval_of(m, asked_serve(m, 1), fleet);
  ASSERT_TRUE(large);
  EXPECT_TRUE(large->by_rate);
  EXPECT_NEAR(large->gives.base(), 40e3, 1e-6);
  EXPECT_DOUBLE_EQ(large->load(), 80.0 / 40e3);
  const machine::Tier& tier = *large->tier;
  const double idle = tier.latency.total.base() + (1e6 - 4096) / tier.stream_rate.base();
  EXPECT_NEAR(large->law.median.base(), idle / (1 - 80.0 / 40e3), 1e-12);
  EXPECT_NEAR(large->law.p99.base(), 0.2 / (1 - 80.0 / 40e3), 1e-9) << "given in the design";
  EXPECT_NEAR(large->law.sending.base(), 1e6 * 4 / rate.base(), 1e-12);
  // Every host has its own drives: 7,200 reads per second on four hosts.
  const auto own = retrieval_of(m, asked_serve(m, 2), fleet);
  ASSERT_TRUE(own);
  EXPECT_DOUBLE_EQ(own->asked.base(), 7200);
  const catalog::StorageDevice* drive = device_or_usual(*own->tier, m.catalog());
  ASSERT_NE(drive, nullptr);
  const double by_rate = own->tier->read.base() / 4096 * 4;
  const double seeks = drive->random_read_iops.value_or(1e18) * own->tier->devices * 4;
  EXPECT_NEAR(own->gives.base() / std::min(by_rate, own->tier->devices > 0 ? seeks : by_rate), 1,
              1e-9);
  serving::RequestShape none{.input = 1};
  const machine::Machine plain = plain_service("arrivals: { rate: 1 /s }");
  add_retrieval(none, plain, asked_serve(plain), plain.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(none.before, Seconds(0));
  EXPECT_FALSE(retrieval_of(plain, asked_serve(plain), plain.fleets[design::FleetIndex(0)]));
}

// An overloaded tier is as slow as at a load of 99 %. A given p99 below the median has no effect.
TEST(Retrieval, overloaded_tier_is_as_slow_as_at_99_percent) {
  const machine::Machine m = plain_service(
      "arrivals: { rate: 1e6 /s, trace: chat }, retrieval: { tier: fast, index: 1 TB, reads: 100, "
      "read_p99: 1 us }");
  const auto ask = retrieval_of(m, asked_serve(m), m.fleets[design::FleetIndex(0)]);
  ASSERT_TRUE(ask);
  EXPECT_GT(ask->load(), 1);
  EXPECT_NEAR(ask->law.median / ask->tier->latency.total, 100, 1e-6);
  EXPECT_EQ(ask->law.p99, ask->law.median);
}

}  // namespace
}  // namespace orrery::jobs
