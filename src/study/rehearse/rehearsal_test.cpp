#include "study/rehearse/rehearsal.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "study/rehearse/job_fixture.h"
#include "study/rehearse/replay.h"
#include "study/rehearse/simulated_places.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {
namespace {

using cluster::NodePool;
using failure::ActionKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using workload::JobRecord;

struct Idler final : RehearsalDriver {
  std::optional<Seconds> tick() override { return minutes(10); }
  void on_fault(const InjectedFault& fault) override { got.push_back(fault); }
  std::vector<InjectedFault> got;
};

// A driver that only watches.
struct Watcher final : RehearsalDriver {
  std::optional<Seconds> tick() override {
    ++ticks;
    return seconds(10);
  }
  void on_fault(const InjectedFault&) override {}
  int ticks = 0;
};

TEST(Rehearsal, the_last_nodes_are_spares) {
  Rehearsal rehearsal({.nodes = 4, .spares = 2, .jobs = 0, .faults = 0});
  const auto view = rehearsal.port().look();
  ASSERT_TRUE(view);
  std::map<std::string, bool> spare;
  for (const failure::NodeView& n : view->nodes) spare[n.name] = n.spare;
  EXPECT_EQ(spare, (std::map<std::string, bool>{
                       {"n1", false}, {"n2", false}, {"n3", true}, {"n4", true}}));
}

// Nodes fail and are repaired with their mean times; each stop loses half an interval.
TEST(Rehearsal, lives_repairs_and_losses_have_their_means) {
  const std::vector<JobRecord> jobs = {a_job(0, 5e6, 1)};
  const ReplayResult r = replay_jobs(
      jobs, NodePool({8, 8}),
      {.node_mtbf = seconds(1000), .repair = seconds(100), .checkpoint = seconds(10), .seed = 2});
  ASSERT_GT(r.node_failures, 8000);
  EXPECT_NEAR(r.down / r.node_failures / 8, 100, 4);
  EXPECT_NEAR(2 * r.span.base() / r.node_failures, 1100, 35);
  EXPECT_NEAR(r.lost / r.stops, 5, 0.2);
}

TEST(Rehearsal, faults_have_their_shares_and_nodes_are_repaired) {
  Rehearsal rehearsal({.nodes = 100,
                       .spares = 4,
                       .jobs = 20,
                       .faults = 120,
                       .length = hours(4),
                       .repair = minutes(5),
                       .has_fence = true,
                       .seed = 11});
  Watcher watcher;
  const RehearsalResult r = rehearsal.run(watcher);
  EXPECT_TRUE(r.is_complete);
  EXPECT_EQ(watcher.ticks, 1441);
  ASSERT_EQ(r.faults.size(), 120u);
  std::map<FaultKind, int> kinds;
  Seconds last;
  for (const InjectedFault& fault : r.faults) {
    ++kinds[fault.kind];
    last = max(last, fault.at);
    EXPECT_LE(std::stoi(fault.node.substr(1)), 96);
  }
  EXPECT_NEAR(kinds[FaultKind::dies], 60, 18);
  EXPECT_NEAR(kinds[FaultKind::flaps], 24, 14);
  EXPECT_NEAR(kinds[FaultKind::unfit], 24, 14);
  EXPECT_NEAR(kinds[FaultKind::silent], 12, 10);
  EXPECT_LE(last, hours(3.6));
  EXPECT_GT(last, hours(3.3));
  // A job without help is away for at least Slurm's own hold of two minutes.
  for (const Seconds outage : r.outages) EXPECT_GE(outage, seconds(120));
}

// Nothing is repaired in time: a node that died, was drained or stopped answering is not struck
// again.
TEST(Rehearsal, a_failed_node_is_not_struck_again) {
  for (const int nodes : {1, 4}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      Rehearsal rehearsal({.nodes = nodes,
                           .jobs = 1,
                           .job_nodes = 1,
                           .faults = 60,
                           .length = minutes(15),
                           .repair = hours(3),
                           .has_fence = true,
                           .seed = seed});
      Idler driver;
      const RehearsalResult r = rehearsal.run(driver);
      std::set<std::string> out;
      for (const InjectedFault& fault : r.faults) {
        EXPECT_FALSE(out.contains(fault.node)) << fault.node;
        if (fault.kind != FaultKind::flaps) out.insert(fault.node);
      }
      EXPECT_EQ(out.size(), static_cast<std::size_t>(nodes));
      EXPECT_LT(r.faults.size(), 60U);
      ASSERT_EQ(driver.got.size(), r.faults.size());
      for (std::size_t i = 0; i < r.faults.size(); ++i) {
        EXPECT_EQ(driver.got[i].node, r.faults[i].node);
        EXPECT_EQ(driver.got[i].at, r.faults[i].at);
        EXPECT_EQ(driver.got[i].kind, r.faults[i].kind);
      }
    }
  }
}

// The clock of a rehearsal begins at a midnight; a driver that ends at once has seen no fault.
TEST(Rehearsal, a_rehearsal_begins_at_midnight) {
  Rehearsal rehearsal({.nodes = 3, .spares = 1, .jobs = 2, .job_nodes = 1, .faults = 0});
  EXPECT_EQ(rehearsal.port().now(), seconds(1'700'006'400));
  struct Minute final : RehearsalDriver {
    std::optional<Seconds> tick() override {
      ++ticks;
      return minutes(30);
    }
    void on_fault(const InjectedFault&) override { ADD_FAILURE() << "none was asked for"; }
    int ticks = 0;
  } driver;
  const RehearsalResult r = rehearsal.run(driver);
  EXPECT_EQ(driver.ticks, 3);
  EXPECT_TRUE(r.is_complete);
  EXPECT_TRUE(r.waiting.empty());
  EXPECT_TRUE(r.outages.empty());
  EXPECT_EQ(rehearsal.port().now(), seconds(1'700'006'400 + 3600));
}

// Two jobs on two nodes and a third that finds none.
TEST(Rehearsal, waiting_jobs_are_named_at_the_end) {
  Rehearsal rehearsal({.nodes = 3, .spares = 1, .jobs = 3, .job_nodes = 1, .faults = 0});
  struct Once final : RehearsalDriver {
    std::optional<Seconds> tick() override { return hours(2); }
    void on_fault(const InjectedFault&) override {}
  } driver;
  EXPECT_THAT(rehearsal.run(driver).waiting, ElementsAre("3"));
}

// Does what the policy says, with its memory and without a journal.
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

TEST(Rehearsal, the_policy_restores_jobs_in_seconds) {
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

TEST(Rehearsal, fencing_prevents_double_runs) {
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

TEST(Rehearsal, waiting_jobs_are_reported) {
  Rehearsal rehearsal({.nodes = 2, .jobs = 2, .job_nodes = 2, .faults = 0, .length = minutes(1)});
  Idle idle;
  EXPECT_THAT(rehearsal.run(idle).waiting, ElementsAre("2"));
}

// Takes a silent node for a dead one: a job that runs there may run twice.
struct Reckless final : RehearsalDriver {
  explicit Reckless(failure::RecoveryPort& p) : port(p) {}
  std::optional<Seconds> tick() override { return seconds(10); }
  void on_fault(const InjectedFault& fault) override {
    if (fault.kind != FaultKind::silent) return;
    EXPECT_TRUE(port.act({.kind = failure::ActionKind::down_node, .nodes = {fault.node}}));
  }
  failure::RecoveryPort& port;
};

TEST(Rehearsal, possible_double_runs_are_reported) {
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

TEST(Rehearsal, a_failing_driver_ends_the_rehearsal) {
  Rehearsal rehearsal({.faults = 0, .length = hours(1)});
  PlainDriver driver(rehearsal.port());
  driver.ticks_left = 3;
  EXPECT_FALSE(rehearsal.run(driver).is_complete);
}

}  // namespace
}  // namespace orrery::rehearse
