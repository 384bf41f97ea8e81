// A job starts if the feed and the gates behind allow it.
#include "twin/world/power_gate.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "model/design/slurm_fleets.h"
#include "model/jobs/build_machine.h"
#include "twin/world/fleet_pool.h"
#include "twin/world/recorder.h"
#include "twin/world/sample_fixture.h"

namespace orrery::world {

namespace {

class CountingGate final : public cluster::StartGate {
 public:
  bool admits(const cluster::QueuedJob&) const override { return is_open; }
  void started(const cluster::QueuedJob& job) override { running += job.ask.gpus; }
  void ended(const cluster::QueuedJob& job) override { running -= job.ask.gpus; }
  std::size_t limits() const override { return 2; }
  void add_left(std::vector<double>& left) const override {
    left.push_back(11);
    left.push_back(22);
  }
  cluster::LimitUses uses_of(const cluster::QueuedJob&) const override {
    cluster::LimitUses uses;
    uses.add({.limit = 1, .amount = 7});
    return uses;
  }

  bool is_open = true;
  int running = 0;
};

cluster::QueuedJob job_of(int gpus) {
  cluster::QueuedJob job;
  job.ask.gpus = gpus;
  return job;
}

using Uses = std::vector<std::pair<std::uint32_t, double>>;

Uses uses_of(const PowerGate& gate, int gpus) {
  const cluster::LimitUses uses = gate.uses_of(job_of(gpus));
  Uses got;
  for (const cluster::LimitUse& u : uses) got.emplace_back(u.limit, u.amount);
  return got;
}

// A feed of 6000 W at a PUE of 1.2 with a constant 1000 W leaves 4000 W: eight slots of 500 W.
TEST(PowerGate, a_job_starts_if_the_feed_and_the_other_gates_allow_it) {
  CountingGate behind;
  facility::PowerRoom room{.feed = Watts(6000), .pue = 1.2, .always = Watts(1000)};
  PowerGate gate(behind, &room, Watts(500));
  EXPECT_TRUE(gate.admits(job_of(8)));
  EXPECT_FALSE(gate.admits(job_of(9)));
  gate.started(job_of(5));
  EXPECT_EQ(behind.running, 5);
  EXPECT_EQ(room.running, Watts(2500));
  EXPECT_TRUE(gate.admits(job_of(3)));
  EXPECT_FALSE(gate.admits(job_of(4)));
  EXPECT_EQ(gate.limits(), 3U);
  std::vector<double> left;
  gate.add_left(left);
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0], 11);
  EXPECT_EQ(left[1], 22);
  EXPECT_NEAR(left[2], 1500, 1e-3);
  EXPECT_EQ(uses_of(gate, 3), (Uses{{1, 7}, {2, 1500}}));
  gate.ended(job_of(5));
  EXPECT_EQ(behind.running, 0);
  EXPECT_EQ(room.running, Watts(0));
  behind.is_open = false;
  EXPECT_FALSE(gate.admits(job_of(1)));
}

TEST(PowerGate, without_a_power_limit_every_job_is_admitted) {
  CountingGate behind;
  PowerGate gate(behind, nullptr, Watts(500));
  EXPECT_TRUE(gate.admits(job_of(1000)));
  gate.started(job_of(4));
  EXPECT_EQ(behind.running, 4);
  gate.ended(job_of(4));
  EXPECT_EQ(gate.limits(), 3U);
  std::vector<double> left;
  gate.add_left(left);
  EXPECT_EQ(left.back(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(uses_of(gate, 3), (Uses{{1, 7}}));
}

}  // namespace
}  // namespace orrery::world
