#include "layers/cluster/quota_gate.h"

#include <gtest/gtest.h>

#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

QueuedJob job_of(int group, int gpus) {
  QueuedJob job{.ask = {.gpus = gpus}};
  job.group = static_cast<std::uint16_t>(group);
  return job;
}

TEST(QuotaGate, quota_is_lent_only_within_a_cohort) {
  QuotaGate gate;
  const int kept = gate.add_group(0, {.tenant = "run", .guaranteed = 16});
  const int a = gate.add_group(1, {.tenant = "a", .guaranteed = 8, .may_borrow = 8});
  const int b = gate.add_group(1, {.tenant = "b", .guaranteed = 8, .may_borrow = 4});
  EXPECT_TRUE(gate.admits(job_of(a, 16)));   // all of b's guarantee is idle
  EXPECT_FALSE(gate.admits(job_of(b, 13)));  // more than it may borrow
  gate.started(job_of(b, 4));
  EXPECT_FALSE(gate.admits(job_of(a, 16)));
  EXPECT_TRUE(gate.admits(job_of(a, 12)));
  gate.started(job_of(a, 12));
  EXPECT_FALSE(gate.admits(job_of(b, 1)));  // lent to a
  EXPECT_TRUE(gate.admits(job_of(kept, 16)));
  EXPECT_FALSE(gate.admits(job_of(kept, 17)));
  gate.ended(job_of(a, 12));
  EXPECT_TRUE(gate.admits(job_of(b, 4)));
  EXPECT_TRUE(gate.could_admit(a, 16));
  EXPECT_FALSE(gate.could_admit(kept, 17));
}

}  // namespace
}  // namespace orrery::cluster
