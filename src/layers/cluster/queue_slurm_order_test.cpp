// The slurm policy compared with a real Slurm (data/validation/slurm_order.csv): 44 small cases
// that ran side by side on 110 nodes of Slurm 22.05.8, each in its own partitions. Jobs' run times
// differ from their limits and their widths from whole nodes, so in every case some jobs overtake
// others. tests/slurm_order_live_test.cpp runs them on a Slurm on this machine.
#include <gtest/gtest.h>

#include <iostream>

#include "layers/cluster/slurm_order_fixture.h"

namespace orrery::cluster {
namespace {

TEST(SlurmOrder, jobs_start_in_the_order_in_which_real_slurm_starts_them) {
  int pairs = 0;
  int turned = 0;
  int cases_off = 0;
  int passed = 0;     // jobs overtaken by a job of lower priority in the same tier
  int preempted = 0;  // jobs that were started twice
  std::map<int, OrderCase> cases = measured_cases();
  ASSERT_EQ(cases.size(), 44u);
  for (auto& [name, c] : cases) {
    c.play();
    bool is_off = false;
    for (const OrderJob& a : c.jobs) {
      ASSERT_FALSE(a.real.empty());
      is_off = is_off || a.real.size() != a.simulated.size();
      preempted += a.real.size() > 1 ? 1 : 0;
      for (const OrderJob& b : c.jobs) {
        if (a.real.front() + kClearlyApart > b.real.front()) continue;
        ++pairs;
        if (a.ask.tier == b.ask.tier && a.ask.priority < b.ask.priority) ++passed;
        if (a.simulated.front() <= b.simulated.front()) continue;
        ++turned;
        is_off = true;
      }
    }
    cases_off += is_off ? 1 : 0;
    if (is_off) std::cout << "case " << name << " differs\n";
  }
  RecordProperty("pairs", pairs);
  EXPECT_GT(pairs, 500);
  EXPECT_GT(passed, 30);
  EXPECT_GT(preempted, 10);
  // Case 43: in its own estimate of a blocked job's start Slurm merges ends that are close
  // together, and lets a job start that ours holds back. Case 40: two jobs end within a second of
  // each other, and the order in which Slurm decides is chance.
  EXPECT_LE(turned, 3);
  EXPECT_LE(cases_off, 2);
}

}  // namespace
}  // namespace orrery::cluster
