// A spare that replaces a lost host serves the partition that lost it; hosts of other partitions
// are not used.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/design_text/read_design.h"
#include "twin/run/run_fixture.h"

namespace orrery::run {
namespace {

TEST(SparePartition, a_spare_replaces_a_host_of_any_partition) {
  const auto d = design_text::read_design(R"(orrery: 1
name: halves
site: { region: usa }
fleet: [{ name: f, node: dgx-h100, count: 4, spares: 1, failures: { node_mtbf: 8 d, repair: 60 d } }]
storage: [{ name: hot, tier: hot, kind: parallel-fs, read: 20 GB/s, write: 10 GB/s, capacity: 90 TB }]
scheduler: { partitions: [{ name: day, nodes: 2 }, { name: night, nodes: 2 }] }
workloads:
  - train: { name: run, partition: night, nodes: 2, network: { params: 1B, forward: 20 GFLOP }, samples: 900B, batch: 8192, checkpoint: { every: 10 min, to: [hot], keep: { hot: 2 } } }
)",
                                          machine::known().catalog());
  ASSERT_TRUE(d) << to_text(d.error());
  int with_spare = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Simulated sim(*d, {.horizon = days(20), .seed = seed});
    EXPECT_TRUE(sim.done.front().is_sound);
    bool has_spare = false;
    for (const world::HostChange& c : sim.done.front().host_log) {
      if (c.holder != 0) continue;
      EXPECT_GE(c.host, 2U) << "the other partition's";
      has_spare = has_spare || c.host == 4;
    }
    with_spare += has_spare ? 1 : 0;
  }
  EXPECT_GE(with_spare, 3);
}

}  // namespace
}  // namespace orrery::run
