#include "study/rehearse/rehearsal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::rehearse {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Does what the policy says, with its memory and no journal.
class PlainDriver final : public RehearsalDriver {
 public:
  explicit PlainDriver(failure::RecoveryPort& port) : port_(port) {}
  std::optional<Seconds> tick() override {
    if (ticks_left-- == 0) return std::nullopt;
    const auto view = port_.look();
    if (!view) return seconds(1);
    const failure::Decision decision = decide(*view, memory_, policy);
    for (const failure::RecoveryEvent& e : decision.events) apply(memory_, e, policy.lemon.memory);
    for (const failure::RecoveryAction& a : decision.actions) {
      if (a.kind == failure::ActionKind::alert) continue;
      const bool good = port_.act(a).has_value();
      const failure::RecoveryEvent tried{.kind = failure::RecoveryEventKind::tried,
                                         .at = port_.now(),
                                         .node = a.nodes.empty() ? "" : a.nodes.front(),
                                         .key = a.key,
                                         .good = good};
      apply(memory_, tried, policy.lemon.memory);
    }
    return seconds(0.5);
  }
  void on_fault(const InjectedFault& fault) override { faults.push_back(to_text(fault)); }

  failure::RecoveryPolicy policy;
  std::vector<std::string> faults;
  int ticks_left = 1'000'000;

 private:
  failure::RecoveryPort& port_;
  failure::RecoveryMemory memory_;
};

// Looks and does nothing.
struct Idle final : RehearsalDriver {
  std::optional<Seconds> tick() override { return seconds(10); }
  void on_fault(const InjectedFault&) override {}
};

TEST(Rehearsal, with_the_policy_jobs_are_back_in_seconds_and_without_it_in_minutes) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const RehearsalOptions options{.nodes = 16,
                                   .jobs = 6,
                                   .faults = 6,
                                   .length = minutes(15),
                                   .repair = minutes(2),
                                   .seed = seed};
    Rehearsal rehearsal(options);
    PlainDriver driver(rehearsal.port());
    const RehearsalResult with = rehearsal.run(driver);
    EXPECT_THAT(with.faults, SizeIs(6));
    EXPECT_THAT(driver.faults, SizeIs(6));
    ASSERT_FALSE(with.outages.empty());
    EXPECT_LT(with.outages.back(), seconds(5));
    EXPECT_THAT(with.waiting, IsEmpty());
    EXPECT_THAT(with.overlaps, IsEmpty());

    Rehearsal alone(options);
    Idle idle;
    const RehearsalResult without = alone.run(idle);
    ASSERT_FALSE(without.outages.empty());
    EXPECT_GT(without.outages.front(), seconds(120));
  }
}

TEST(Rehearsal, with_a_fence_nodes_fall_silent_and_no_job_runs_twice) {
  int silent = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Rehearsal rehearsal({.nodes = 16,
                         .spares = 2,
                         .jobs = 5,
                         .faults = 10,
                         .length = minutes(20),
                         .repair = minutes(2),
                         .has_fence = true,
                         .seed = seed});
    PlainDriver driver(rehearsal.port());
    driver.policy.fence = true;
    const RehearsalResult result = rehearsal.run(driver);
    for (const InjectedFault& f : result.faults) silent += f.kind == FaultKind::silent;
    EXPECT_THAT(result.waiting, IsEmpty()) << seed;
    EXPECT_THAT(result.overlaps, IsEmpty()) << seed;
  }
  EXPECT_GT(silent, 0);
}

TEST(Rehearsal, says_which_jobs_wait_at_its_end) {
  Rehearsal rehearsal({.nodes = 2, .jobs = 2, .job_nodes = 2, .faults = 0, .length = minutes(1)});
  Idle idle;
  EXPECT_THAT(rehearsal.run(idle).waiting, ElementsAre("2")) << "two nodes, and each wants two";
}

// Takes a silent node for a dead one: what runs there may run twice.
struct Reckless final : RehearsalDriver {
  explicit Reckless(failure::RecoveryPort& p) : port(p) {}
  std::optional<Seconds> tick() override { return seconds(10); }
  void on_fault(const InjectedFault& fault) override {
    if (fault.kind != FaultKind::silent) return;
    EXPECT_TRUE(port.act({.kind = failure::ActionKind::down_node, .nodes = {fault.node}}));
  }
  failure::RecoveryPort& port;
};

TEST(Rehearsal, says_where_a_job_may_have_run_twice) {
  int twice = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Rehearsal rehearsal({.nodes = 16,
                         .jobs = 8,
                         .job_nodes = 1,
                         .faults = 12,
                         .length = hours(1),
                         .repair = minutes(20),
                         .has_fence = true,
                         .seed = seed});
    Reckless driver(rehearsal.port());
    twice += static_cast<int>(rehearsal.run(driver).overlaps.size());
  }
  EXPECT_GT(twice, 0);
}

TEST(Rehearsal, the_same_seed_gives_the_same_run) {
  const auto run = [](std::uint64_t seed) {
    Rehearsal rehearsal({.nodes = 8, .jobs = 2, .faults = 4, .length = minutes(5), .seed = seed});
    PlainDriver driver(rehearsal.port());
    rehearsal.run(driver);
    return driver.faults;
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

TEST(Rehearsal, a_driver_that_cannot_go_on_ends_it) {
  Rehearsal rehearsal({.faults = 0, .length = hours(1)});
  PlainDriver driver(rehearsal.port());
  driver.ticks_left = 3;
  EXPECT_FALSE(rehearsal.run(driver).is_complete);
}

}  // namespace
}  // namespace orrery::rehearse
