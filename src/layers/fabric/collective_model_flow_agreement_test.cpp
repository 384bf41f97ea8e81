// The closed form and the flows share only the topology code: where the theory is exact they must
// agree.
#include <gtest/gtest.h>

#include "layers/fabric/collective_model.h"
#include "layers/fabric/traffic_fixture.h"

namespace orrery::fabric {
namespace {

// A machine without overheads: bandwidth only.
LinkHierarchy ideal(BytesPerSecond nic) {
  LinkHierarchy l;
  l.domain = 1;
  l.nic_rate = nic;
  l.scaleup.launch = Seconds(0);
  l.scaleup.fill = Seconds(0);
  l.network = {.share = 1, .pair_share = 1, .latency = Seconds(0), .ramp = 0, .fill = Seconds(0)};
  l.protocol.extra = 0;
  return l;
}

FabricGraph hosts(int leaves) {
  return build_tree({.leaves_per_group = leaves, .latency = Seconds(0)});
}

// A ring all_gather of n chunks takes n - 1 steps, in each of which every host passes one chunk on.
TEST(CollectiveFlowAgreement, ring_time_agrees_with_flows) {
  const FabricGraph g = hosts(4);
  const int n = g.endpoints;
  const Bytes chunk = megabytes(8);
  Router router(g, {});
  const double step = run_traffic(g, router, ring_shift(n, 1, chunk)).last;
  const workload::CollectiveCall call{
      workload::Collective::all_gather, chunk * n, {.ranks = n, .per_domain = 1}};
  const double closed = collective_time(ideal(gbytes_per_s(50)), call).time.base();
  EXPECT_NEAR(closed, (n - 1) * step, 1e-3 * closed);
}

TEST(CollectiveFlowAgreement, all_to_all_time_agrees_with_flows) {
  const FabricGraph g = hosts(4);
  const int n = g.endpoints;
  Router router(g, {});
  const double flows = run_traffic(g, router, all_to_all(n, megabytes(1))).last;
  const workload::CollectiveCall call{
      workload::Collective::all_to_all, megabytes(1) * n, {.ranks = n, .per_domain = 1}};
  const double closed = collective_time(ideal(gbytes_per_s(50)), call).time.base();
  EXPECT_NEAR(closed, flows, 1e-3 * closed);
}

// Storage traffic on the same NIC: max-min fairness gives each half, as the closed form says.
TEST(CollectiveFlowAgreement, shared_nic_agrees_with_flows) {
  const FabricGraph g = hosts(2);
  Router router(g, {});
  const std::vector<Message> alone{{0, 40, 100e6}};
  const std::vector<Message> shared{{0, 40, 100e6}, {0, 41, 400e6}};
  const double ratio =
      run_traffic(g, router, alone).last / run_traffic(g, router, shared).finish[0];
  EXPECT_NEAR(free_share({.capacity = gbytes_per_s(50), .storage = gbytes_per_s(50)}), ratio, 1e-6);
}

}  // namespace
}  // namespace orrery::fabric
