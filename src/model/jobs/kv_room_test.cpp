#include "model/jobs/kv_room.h"

#include <gtest/gtest.h>

#include <string>

#include "model/jobs/predict_serving.h"
#include "model/jobs/predict_sessions.h"
#include "model/jobs/service_fixture.h"

namespace orrery::jobs {
namespace {

TEST(KvRoom, replicas_share_the_rate_of_their_kv_tier) {
  const auto room = [](const std::string& tier, double replicas, int tp = 2) {
    const machine::Machine m = served(
        "arrivals: { rate: 1 /s, trace: chat }, kv_tier: { tier: " + tier + ", capacity: 500 GB }");
    ServingQuery q = query_on("llama-3-8b");
    q.split.tp = tp;
    return jobs::kv_room(m, only_serve(m), m.fleets[design::FleetIndex(0)], q, replicas);
  };
  const KvRoom host = room("host", 3);
  EXPECT_EQ(host.room, gigabytes(500));
  EXPECT_NEAR(host.rate.base(), 2 * 51.2e9, 1);
  EXPECT_EQ(host.first_byte, microseconds(50));
  const machine::Machine m = served("arrivals: { rate: 1 /s, trace: chat }");
  const KvRoom none = jobs::kv_room(m, only_serve(m), m.fleets[design::FleetIndex(0)], query_on("llama-3-8b"), 1);
  EXPECT_EQ(none.room, Bytes(0));
  const KvRoom near = room("near", 10);
  EXPECT_EQ(near.rate, gbytes_per_s(3)) << "a tenth of the tier";
  EXPECT_EQ(near.first_byte, milliseconds(2));
  const KvRoom far = room("far", 0.5);
  EXPECT_EQ(far.rate, gbytes_per_s(1)) << "limited by the line between the sites";
  EXPECT_NEAR(far.first_byte.base(), 23e-3, 1e-12);
  const machine::Tier& drives = *find_tier(m.tiers, "node-nvme");
  EXPECT_NEAR(room("node-nvme", 99).rate.base(), drives.read.base() / 4, 1)
      << "shared by the four replicas of a host";
  EXPECT_NEAR(room("node-nvme", 99, 8).rate.base(), drives.read.base(), 1);
}

}  // namespace
}  // namespace orrery::jobs
