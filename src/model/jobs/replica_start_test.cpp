#include "model/jobs/replica_start.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "layers/traffic/fleet.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/kv_room.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

// Each device's process loads 5.9 GB/s, up to the rate of the tier. A start is the time for the
// weights plus fixed parts, or as long as the design says.
TEST(ReplicaStart, start_is_the_time_to_load_the_weights_and_fixed_parts) {
  const std::string text =
      "  - serve: { name: s, model: llama-3-8b, tp: 2, arrivals: { rate: 1 /s }, kv_tier: { tier: "
      "fast, capacity: 1 TB }, autoscale: { min: 1, max: 4, target: 8, image: 40 s } }\n"
      "  - serve: { name: t, model: llama-3-8b, tp: 2, arrivals: { rate: 1 /s } }\n";
  const design::Design d = service_design(text);
  const machine::Machine m = build_machine(d, machine::known());
  const machine::Fleet& fleet = m.fleets[design::FleetIndex(0)];
  const machine::Tier* tier = weights_tier(m, serve_at(d, 1), fleet);
  ASSERT_NE(tier, nullptr);
  EXPECT_EQ(tier->label, "fast");
  EXPECT_NEAR(weights_rate(m, *tier, fleet, 2).base(), 2 * 5.9e9, 1);
  EXPECT_LE(weights_rate(m, *tier, fleet, 8).base(), 40e9);
  machine::Tier direct = *tier;
  direct.gpu_path = storage::GpuPath::direct;
  EXPECT_GT(weights_rate(m, direct, fleet, 1).base(), 5.9e9)
      << "GPUDirect bypasses the host's memory";
  const Seconds one = replica_start(m, serve_at(d, 1), fleet, 1);
  const Seconds two = replica_start(m, serve_at(d, 1), fleet, 2);
  // 8.03e9 parameters of two bytes: 2.72 s by one process, half of it by two.
  EXPECT_NEAR((one - two).base(), 8.03e9 * 2 / 5.9e9 / 2, 0.01);
  EXPECT_NEAR((replica_start(m, serve_at(d, 0), fleet, 2) - two).base(), 40, 1e-9);
  const auto* model = find_model(d, m.catalog(), "llama-3-8b");
  ServingQuery q =
      serving_query(m.models(), serve_at(d, 0), *model, fleet, request_of(m, serve_at(d, 0)));
  q.split.tp = 2;
  EXPECT_NEAR(jobs::kv_room(m, serve_at(d, 0), fleet, q, 8).rate.base(), 40e9 / 8, 1)
      << "shared by all replicas";
  EXPECT_LE(jobs::kv_room(m, serve_at(d, 0), fleet, q, 0).rate.base(), 40e9);
  EXPECT_EQ(jobs::kv_room(m, serve_at(d, 0), fleet, q, 8).room, terabytes(1));
  EXPECT_EQ(jobs::kv_room(m, serve_at(d, 1), fleet, q, 8).room, Bytes(0));
  design::Design given = d;
  given.scheduler.recovery.restart = seconds(77);
  const machine::Machine g = build_machine(given, machine::known());
  EXPECT_EQ(replica_start(g, serve_at(given, 0), g.fleets[design::FleetIndex(0)], 2), seconds(77));
}

TEST(ReplicaStart, weights_come_from_the_nearest_hot_tier) {
  const machine::Machine m = served("arrivals: { rate: 1 /s, trace: chat }");
  const design::Serve& s = only_serve(m);
  EXPECT_EQ(weights_tier(m, s, m.fleets[design::FleetIndex(0)])->label, "near");
  EXPECT_EQ(weights_tier(m, s, m.fleets[design::FleetIndex(1)])->label, "far");
  EXPECT_EQ(weights_tier(m, s, m.fleets[design::FleetIndex(2)])->label, "far") << "no tier in its own site";
  design::Serve named = s;
  named.weights_tier = "node-nvme";
  EXPECT_EQ(weights_tier(m, named, m.fleets[design::FleetIndex(0)])->label, "node-nvme");
  const machine::Tier& near = *find_tier(m.tiers, "near");
  EXPECT_NEAR(weights_rate(m, near, m.fleets[design::FleetIndex(0)], 2).base(), 2 * 5.9e9, 1);
  const BytesPerSecond wires = m.storage_wires(m.fleets[design::FleetIndex(0)]).per_node();
  EXPECT_GT(wires, BytesPerSecond(0));
  EXPECT_EQ(weights_rate(m, near, m.fleets[design::FleetIndex(0)], 99), min(wires, gbytes_per_s(30)));
  EXPECT_EQ(weights_rate(m, *find_tier(m.tiers, "far"), m.fleets[design::FleetIndex(0)], 99), gbytes_per_s(1));
}

// Two storage ports of 10 Gb/s carry 2.5 GB/s; drives in the node are not behind them.
TEST(ReplicaStart, storage_wires_limit_the_loading_rate) {
  const machine::Machine m = edge_service("arrivals: { rate: 1 /s, trace: chat }", "",
                                          "fabric:\n  storage: { port_rate: 10 Gb/s }\n");
  const machine::Tier& drives = *find_tier(m.tiers, "node-nvme");
  ASSERT_GT(drives.read, gbytes_per_s(2.5));
  EXPECT_EQ(weights_rate(m, drives, m.fleets[design::FleetIndex(0)], 1000), drives.read);
  EXPECT_DOUBLE_EQ(weights_rate(m, *find_tier(m.tiers, "fast"), m.fleets[design::FleetIndex(0)], 1000).base(), 2.5e9);
  // The wires of a rented fleet are unknown and do not limit it.
  const machine::Machine rented =
      edge_service("arrivals: { rate: 1 /s, trace: chat }", ", rent: { provider: aws }");
  EXPECT_EQ(weights_rate(rented, *find_tier(rented.tiers, "fast"), rented.fleets[design::FleetIndex(0)], 1000),
            gbytes_per_s(40));
}

TEST(ReplicaStart, unknown_read_rate_gives_the_usual_start) {
  machine::Machine m = edge_service("arrivals: { rate: 1 /s, trace: chat }, weights_tier: fast");
  const Seconds with = replica_start(m, edge_serve(m), m.fleets[design::FleetIndex(0)], 1);
  for (machine::Tier& t : m.tiers) t.read = BytesPerSecond(0);
  const Seconds without = replica_start(m, edge_serve(m), m.fleets[design::FleetIndex(0)], 1);
  EXPECT_DOUBLE_EQ(without.base(), traffic::ColdStart{}.total());
  EXPECT_NE(without, with);
}

}  // namespace
}  // namespace orrery::jobs
