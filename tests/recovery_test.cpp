// The recovery policy on a simulated Slurm: what it does after each kind of failure, that it may be
// killed at any point, and that a journal recorded on a real Slurm leads to the same actions here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/base/random.h"
#include "recovery_bench.h"

namespace orrery {
namespace {

using rehearse::SimulatedOptions;
using rehearse::SimulatedSlurm;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_recovery::Bench;
using testing_recovery::kInterval;
using testing_recovery::words_of;

TEST(Recovery, a_job_runs_again_on_healthy_nodes_in_seconds) {
  Bench bench;
  const std::string job = bench.slurm.submit(2);
  bench.run(seconds(3));
  ASSERT_TRUE(bench.slurm.is_running(job));
  const Seconds struck = bench.slurm.now();
  bench.slurm.fail_node("n1");
  bench.run(seconds(5));
  ASSERT_TRUE(bench.slurm.is_running(job));
  ASSERT_THAT(bench.slurm.runs(job), SizeIs(2));
  EXPECT_LT(bench.slurm.runs(job)[1].start - struck, seconds(3));
  EXPECT_THAT(bench.slurm.runs(job)[1].nodes, ElementsAre("n2", "n3"));
  EXPECT_THAT(bench.actions, ElementsAre("drain_node n1", "release_job 1"));
}

TEST(Recovery, without_the_agent_jobs_wait_until_the_hold_ends) {
  sim::Kernel kernel;
  SimulatedSlurm slurm(kernel, {});
  const std::string job = slurm.submit(2);
  kernel.run(sim::SimTime::from(seconds(3)));
  slurm.fail_node("n1");
  kernel.run(sim::SimTime::from(seconds(103)));
  EXPECT_FALSE(slurm.is_running(job));
  kernel.run(sim::SimTime::from(seconds(133)));
  EXPECT_TRUE(slurm.is_running(job));
}

// The node is back before it was seen down, so all nodes of the run are avoided.
TEST(Recovery, a_node_that_comes_back_at_once_is_avoided) {
  Bench bench;
  const std::string job = bench.slurm.submit(1);
  bench.run(seconds(3));
  bench.slurm.flap_node("n1");
  bench.run(seconds(5));
  ASSERT_THAT(bench.slurm.runs(job), SizeIs(2));
  EXPECT_THAT(bench.slurm.runs(job)[1].nodes, ElementsAre("n2"));
  EXPECT_THAT(bench.actions, ElementsAre("exclude_nodes 1n1", "release_job 1"));
}

TEST(Recovery, work_moves_off_a_node_that_a_health_check_drained_as_unfit) {
  Bench bench;
  const std::string job = bench.slurm.submit(2);
  bench.run(seconds(3));
  bench.slurm.break_node("n2");
  bench.run(seconds(6));
  EXPECT_TRUE(bench.slurm.is_running(job));
  EXPECT_THAT(bench.slurm.runs(job).back().nodes, ElementsAre("n1", "n3"));
  EXPECT_THAT(bench.actions, ElementsAre("requeue_job 1", "release_job 1"));
}

// A collective library often notices first: the job ends with an error, and then its node goes
// down.
TEST(Recovery, a_job_that_failed_with_its_node_is_requeued_and_one_that_failed_alone_is_not) {
  Bench bench;
  const std::string with_node = bench.slurm.submit(2);
  const std::string alone = bench.slurm.submit(2);
  bench.run(seconds(3));
  bench.slurm.crash_job(with_node);
  bench.slurm.crash_job(alone);
  bench.run(seconds(2));
  bench.slurm.fail_node("n2");
  bench.run(seconds(6));
  EXPECT_TRUE(bench.slurm.is_running(with_node));
  EXPECT_FALSE(bench.slurm.is_running(alone));
  EXPECT_THAT(bench.slurm.runs(alone), SizeIs(1));
}

TEST(Recovery, a_begin_time_set_by_the_user_is_left_alone) {
  Bench bench({.hold = minutes(20)});  // longer than any hold by the scheduler
  const std::string job = bench.slurm.submit(1);
  bench.run(seconds(3));
  bench.slurm.requeue_job(job);
  bench.run(seconds(10));
  EXPECT_THAT(bench.actions, IsEmpty());
}

TEST(Recovery, a_silent_node_is_left_alone_without_a_fence_and_taken_off_with_one) {
  Bench careful;
  careful.slurm.submit(1);
  careful.run(seconds(3));
  careful.slurm.silence_node("n1");
  const auto alerts = careful.run(seconds(30));
  EXPECT_THAT(careful.actions, IsEmpty());
  ASSERT_THAT(alerts, SizeIs(1));
  EXPECT_THAT(alerts.front(), HasSubstr("n1 does not answer"));

  failure::RecoveryPolicy policy;
  policy.fence = true;
  Bench fenced({}, policy);
  const std::string job = fenced.slurm.submit(1);
  fenced.run(seconds(3));
  fenced.slurm.silence_node("n1");
  fenced.run(seconds(20));
  EXPECT_TRUE(fenced.slurm.is_running(job));
  EXPECT_THAT(fenced.slurm.overlaps(), IsEmpty());
  EXPECT_THAT(fenced.actions,
              ElementsAre("fence_node n1", "down_node n1", "drain_node n1", "release_job 1"));
}

TEST(Recovery, a_spare_replaces_a_failed_node) {
  Bench bench({.nodes = 4});
  bench.slurm.make_spare("n4");
  const std::string job = bench.slurm.submit(3);
  bench.run(seconds(3));
  bench.slurm.fail_node("n2");
  bench.run(seconds(6));
  EXPECT_TRUE(bench.slurm.is_running(job));
  EXPECT_THAT(bench.slurm.runs(job).back().nodes, ElementsAre("n1", "n3", "n4"));
  EXPECT_THAT(bench.actions, testing::Contains("resume_spare n4").Times(1));
}

// A whole leaf is lost: draining a quarter of the fleet would only make it worse.
TEST(Recovery, a_mass_failure_raises_an_alert_and_drains_nothing) {
  Bench bench({.nodes = 32});
  std::vector<std::string> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back(bench.slurm.submit(1));
  bench.run(seconds(3));
  for (int i = 1; i <= 8; ++i) bench.slurm.fail_node("n" + std::to_string(i));
  const auto alerts = bench.run(seconds(8));
  EXPECT_THAT(alerts, SizeIs(1));
  EXPECT_THAT(alerts.front(), HasSubstr("8 of 32 nodes are out"));
  for (const std::string& job : jobs) EXPECT_TRUE(bench.slurm.is_running(job)) << job;
  EXPECT_THAT(bench.actions, testing::Not(testing::Contains(HasSubstr("drain_node"))));
}

TEST(Recovery, a_job_that_breaks_every_node_it_lands_on_is_held) {
  failure::RecoveryPolicy policy;
  policy.out_share_max = 1;
  Bench bench({.nodes = 16}, policy);
  const std::string killer = bench.slurm.submit(1);
  std::vector<std::string> alerts;
  for (int i = 0; i < 8; ++i) {
    for (const std::string& a : bench.run(seconds(5))) alerts.push_back(a);
    if (bench.slurm.is_running(killer))
      bench.slurm.fail_node(bench.slurm.runs(killer).back().nodes[0]);
  }
  EXPECT_THAT(bench.slurm.runs(killer), SizeIs(4));
  ASSERT_THAT(alerts, SizeIs(1));
  EXPECT_THAT(alerts.front(), HasSubstr("job 1 is held"));
}

TEST(Recovery, a_node_that_fails_again_and_again_is_drained_as_a_lemon) {
  failure::RecoveryPolicy policy;
  policy.crash_loop = 0;
  Bench bench({}, policy);
  bench.slurm.submit(1);
  for (int i = 0; i < 3; ++i) {
    bench.run(seconds(5));
    bench.slurm.fail_node("n1");
    bench.run(seconds(5));
    bench.slurm.repair_node("n1");
  }
  bench.actions.clear();
  bench.run(seconds(5));
  EXPECT_THAT(bench.actions, ElementsAre("drain_node n1"));
  bench.slurm.repair_node("n1");  // a person repairs it again
  bench.actions.clear();
  bench.run(seconds(60));
  EXPECT_THAT(bench.actions, IsEmpty());
}

// Ends a driver before or after an action takes effect.
class DyingPort final : public failure::RecoveryPort {
 public:
  DyingPort(SimulatedSlurm& slurm, std::uint64_t& left, RandomStream& random)
      : slurm_(slurm), left_(left), random_(random) {}
  Result<failure::ClusterLook> look() override { return slurm_.look(); }
  Result<void> act(const failure::RecoveryAction& action) override {
    const bool before = random_.below(2) == 0;
    if (dies() && before) return fail({.code = "killed"});
    return slurm_.act(action);
  }
  Seconds now() const override { return slurm_.now(); }

  bool dies() {
    if (left_ > 0) --left_;
    return left_ == 0;
  }

 private:
  SimulatedSlurm& slurm_;
  std::uint64_t& left_;
  RandomStream& random_;
};

TEST(Recovery, fences_that_hang_delay_no_other_job) {
  failure::RecoveryPolicy policy;
  policy.fence = true;
  policy.out_share_max = 0.5;
  Bench bench({.nodes = 16}, policy);
  std::vector<std::string> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(bench.slurm.submit(1));
  bench.run(seconds(3));
  for (int i = 1; i <= 3; ++i) bench.slurm.hang_fence("n" + std::to_string(i));
  const Seconds struck = bench.slurm.now();
  for (int i = 1; i <= 5; ++i) bench.slurm.fail_node("n" + std::to_string(i));
  bench.run(seconds(8));
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(bench.slurm.is_running(jobs[static_cast<std::size_t>(i)]));
  for (const std::string& job : {jobs[3], jobs[4]}) {
    ASSERT_TRUE(bench.slurm.is_running(job));
    EXPECT_LT(bench.slurm.runs(job).back().start - struck, seconds(5));
  }
  EXPECT_THAT(bench.slurm.overlaps(), IsEmpty());
}

TEST(Recovery, a_lost_answer_does_no_harm) {
  Bench bench({.nodes = 4});
  bench.slurm.make_spare("n4");
  const std::string job = bench.slurm.submit(3);
  bench.run(seconds(3));
  bench.slurm.fail_node("n1");
  bench.slurm.lose_answers(3);
  bench.run(seconds(10));
  EXPECT_TRUE(bench.slurm.is_running(job));
  EXPECT_THAT(bench.slurm.runs(job), SizeIs(2));
  EXPECT_THAT(bench.slurm.overlaps(), IsEmpty());
}

// The agent is killed at random before or after any journal line and any action while nodes fail:
// every job runs in the end, none ran twice at the same time, and no action was omitted.
TEST(Recovery, an_agent_killed_at_any_point_continues) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStream random(seed, "recovery/kills");
    failure::RecoveryPolicy policy;
    policy.crash_loop = 0;
    policy.losses_max = 1000;
    policy.out_share_max = 0.5;
    Bench bench({.nodes = 24}, policy);
    std::vector<std::string> jobs;
    for (int i = 0; i < 6; ++i)
      jobs.push_back(bench.slurm.submit(1 + static_cast<int>(random.below(2))));
    bench.run(seconds(3));
    for (int kill = 0; kill < 10; ++kill) {
      const auto& runs = bench.slurm.runs(jobs[random.below(jobs.size())]);
      bench.slurm.fail_node(runs.back().nodes.front());
      // The agent dies inside a tick, after this many appends and actions.
      std::uint64_t left = random.below(12);
      DyingPort port(bench.slurm, left, random);
      agent::RecoverAgent doomed(
          port,
          [&](const std::vector<std::string>& lines) -> Result<void> {
            if (port.dies()) return fail({.code = "journal.killed"});
            bench.journal.insert(bench.journal.end(), lines.begin(), lines.end());
            return {};
          },
          policy, bench.agent->memory());
      for (int i = 0; i < 8 && left > 0; ++i) {
        if (!doomed.tick()) break;
        bench.advance(kInterval);
      }
      bench.advance(seconds(static_cast<double>(random.below(5))));
      bench.restart();
      bench.run(seconds(6));
      const auto look = bench.slurm.look();
      for (const auto& node : look->nodes) {
        if (node.down) bench.slurm.repair_node(node.name);
      }
    }
    bench.run(seconds(30));
    for (const std::string& job : jobs) EXPECT_TRUE(bench.slurm.is_running(job)) << seed << job;
    EXPECT_THAT(bench.slurm.overlaps(), IsEmpty()) << seed;
  }
}

// The journal alone restores the memory, also after it was reduced to a snapshot.
TEST(Recovery, the_journal_restores_the_memory) {
  Bench bench({.nodes = 12});
  bench.slurm.make_spare("n12");
  for (int i = 0; i < 3; ++i) bench.slurm.submit(2);
  bench.run(seconds(3));
  bench.slurm.fail_node("n3");
  bench.run(seconds(1));
  bench.slurm.silence_node("n9");
  bench.run(seconds(20));
  const failure::RecoveryMemory before = bench.agent->memory();
  EXPECT_FALSE(before.jobs.empty());
  bench.restart();
  EXPECT_EQ(bench.agent->memory(), before);
  bench.journal = {agent::line_of(before)};
  bench.restart();
  EXPECT_EQ(bench.agent->memory(), before);
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

TEST(Recovery, the_same_observations_give_the_same_decisions) {
  Bench bench({.nodes = 12});
  for (int i = 0; i < 3; ++i) bench.slurm.submit(2);
  bench.run(seconds(3));
  bench.slurm.fail_node("n3");
  bench.slurm.flap_node("n1");
  bench.run(seconds(20));
  const auto ticks = agent::replay(text_of(bench.journal), "journal");
  ASSERT_TRUE(ticks) << to_text(ticks.error());
  failure::RecoveryMemory memory;
  const failure::RecoveryPolicy policy;
  for (const agent::JournalTick& tick : *ticks) {
    EXPECT_EQ(decide(tick.view, memory, policy), tick.decision);
    for (const failure::RecoveryEvent& e : tick.decision.events)
      apply(memory, e, policy.lemon.memory);
    for (const failure::RecoveryEvent& e : tick.tried) apply(memory, e, policy.lemon.memory);
  }
  EXPECT_EQ(memory, bench.agent->memory());
}

std::vector<agent::JournalTick> recorded() {
  std::ifstream in(ORRERY_SOURCE_DIR "/tests/data/recovery_live.jsonl");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto ticks = agent::replay(text, "recovery_live.jsonl");
  EXPECT_TRUE(ticks) << to_text(ticks.error());
  return ticks ? *ticks : std::vector<agent::JournalTick>();
}

failure::RecoveryPolicy recorded_policy() {
  failure::RecoveryPolicy policy;
  policy.out_share_max = 0.5;
  return policy;
}

TEST(RecoveryRecorded, replaying_a_journal_repeats_the_live_decisions) {
  const auto ticks = recorded();
  ASSERT_THAT(ticks, SizeIs(testing::Gt(5u)));
  failure::RecoveryMemory memory;
  const failure::RecoveryPolicy policy = recorded_policy();
  for (const agent::JournalTick& tick : ticks) {
    EXPECT_EQ(decide(tick.view, memory, policy), tick.decision);
    for (const failure::RecoveryEvent& e : tick.decision.events)
      apply(memory, e, policy.lemon.memory);
    for (const failure::RecoveryEvent& e : tick.tried) apply(memory, e, policy.lemon.memory);
  }
}

// Applies what happened to the real cluster between two recorded looks to the simulated one.
void do_to(SimulatedSlurm& slurm, const failure::ClusterLook& before,
           const agent::JournalTick& tick) {
  for (std::size_t i = 0; i < before.nodes.size(); ++i) {
    const failure::NodeView& was = before.nodes[i];
    const failure::NodeView& is = tick.view.nodes[i];
    if (is.down && !was.down) slurm.fail_node(is.name);
    if (is.broken && !was.broken) slurm.break_node(is.name);
    if (was.down && !is.down) slurm.return_node(is.name);
  }
  for (const failure::JobView& job : tick.view.jobs) {
    if (job.phase == failure::JobPhase::ended) slurm.finish_job(job.id);
  }
}

// Each job's next run is placed as its next recorded run was.
void place_next(SimulatedSlurm& slurm, const std::vector<agent::JournalTick>& ticks) {
  for (const agent::JournalTick& tick : ticks) {
    for (const failure::RecoveryEvent& e : tick.decision.events) {
      if (e.kind == failure::RecoveryEventKind::job_started && slurm.knows(e.job) &&
          slurm.runs(e.job).size() == static_cast<std::size_t>(e.restarts)) {
        slurm.place(e.job, e.nodes);
      }
    }
  }
}

// The same failures in simulated time, with the jobs where the real Slurm put them, lead to the
// same actions.
TEST(RecoveryRecorded, the_same_failures_give_the_same_actions_in_the_simulation) {
  const auto ticks = recorded();
  ASSERT_THAT(ticks, SizeIs(testing::Gt(5u)));
  Bench bench({.nodes = static_cast<int>(ticks[0].view.nodes.size()), .epoch = ticks[0].view.now},
              recorded_policy());
  std::vector<std::string> live;
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    // It happened before it was observed; the simulated cluster has until the next look to react.
    while (bench.slurm.now() < ticks[i].view.now - seconds(0.3)) {
      bench.run(seconds(0.1));
      place_next(bench.slurm, ticks);
    }
    for (const failure::RecoveryEvent& e : ticks[i].decision.events) {
      if (e.kind != failure::RecoveryEventKind::job_started) continue;
      if (e.restarts > 0) continue;
      EXPECT_EQ(bench.slurm.submit(static_cast<int>(e.nodes.size())), e.job);
    }
    place_next(bench.slurm, ticks);
    do_to(bench.slurm, ticks[i - 1].view, ticks[i]);
    for (const failure::RecoveryAction& a : ticks[i].decision.actions) live.push_back(words_of(a));
  }
  bench.run(seconds(5));
  EXPECT_THAT(bench.actions, testing::ElementsAreArray(live));
  EXPECT_THAT(bench.slurm.overlaps(), IsEmpty());
}

TEST(RecoveryJournal, an_invalid_line_is_reported_with_its_number) {
  const auto memory = agent::recall(
      "{\"kind\":\"watch_began\",\"at_s\":1}\n{\"kind\":\"nonsense\"}\n", "j.jsonl", {});
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().front().place.line, 2);
  EXPECT_FALSE(agent::recall("[1", "j", {}));
  EXPECT_FALSE(agent::recall("{\"kind\":7}", "j", {}));
}

}  // namespace
}  // namespace orrery
