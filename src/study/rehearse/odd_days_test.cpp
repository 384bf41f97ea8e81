// Rewinds over days of which some say nothing, rehearsals that run out of nodes, and what a
// controller finds when it is back.
#include <gtest/gtest.h>

#include <set>

#include "study/rehearse/rehearsal.h"
#include "study/rehearse/rewind.h"

namespace orrery::rehearse {
namespace {

using cluster::BackfillVariant;
using cluster::NodePool;
using failure::JobPhase;
using workload::JobRecord;

JobRecord day_job(double submit, double wait, int gpus = 1) {
  JobRecord job{.submit = seconds(submit), .run = seconds(10), .limit = seconds(10), .gpus = gpus};
  if (wait >= 0) job.wait = seconds(wait);
  return job;
}

RewindOptions first_in_first_out() { return {.policies = {BackfillVariant::fifo}, .shares = {1}}; }

// Forty jobs on the first day; forty that waited 20 s and 60 s within a day from noon of the third
// on. Nobody waits in the model but for the delay of 10 s. One day, drawn again, is the same day.
TEST(OddDays, a_day_begins_with_the_first_job_of_the_second_half) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(day_job(20.0 * i, 10));
  for (int i = 0; i < 20; ++i) jobs.push_back(day_job(2.5 * 86'400 + 20 * i, 20));
  for (int i = 0; i < 20; ++i) jobs.push_back(day_job(3.2 * 86'400 + 20 * i, 60));
  const auto r = rewind(jobs, NodePool({80}), first_in_first_out());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->start_delay_s, 10);
  EXPECT_DOUBLE_EQ(r->first.error, 0);
  EXPECT_DOUBLE_EQ(r->second.recorded_s, 40);
  EXPECT_DOUBLE_EQ(r->second.simulated_s, 10);
  EXPECT_DOUBLE_EQ(r->second.error, 30.0 / 40);
  EXPECT_DOUBLE_EQ(r->factor, 4);
  EXPECT_DOUBLE_EQ(r->factor_low, 4);
  EXPECT_DOUBLE_EQ(r->factor_high, 4);
}

// A job without a recorded wait, and one that could not run: neither is compared, on any day.
TEST(OddDays, what_cannot_be_compared_weighs_nothing) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 30; ++i) jobs.push_back(day_job(20.0 * i, 10));
  for (int i = 0; i < 28; ++i) jobs.push_back(day_job(1000 + 20.0 * i, 30));
  jobs.push_back(day_job(2000, -1));
  jobs.push_back(day_job(2020, 500, 81));
  const auto r = rewind(jobs, NodePool({80}), first_in_first_out());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->first.jobs, 30);
  EXPECT_EQ(r->second.jobs, 28);
  EXPECT_DOUBLE_EQ(r->factor, 3);
  EXPECT_DOUBLE_EQ(r->factor_low, 3);
  EXPECT_DOUBLE_EQ(r->factor_high, 3);
}

// On the first day of the second half every other job waits 5 s in the model and waited 10 s; on
// the next nobody waits in the model, and all waited a second. A draw of that day alone says
// nothing: of the others the lowest is 100 / 50 and the highest (100 + 20) / 50.
TEST(OddDays, days_on_which_nobody_waits_in_the_model_are_drawn_with_others) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(day_job(20.0 * i, 0));
  for (int i = 0; i < 10; ++i) {
    jobs.push_back(day_job(1000 + 100.0 * i, 0, 80));
    jobs.push_back(day_job(1005 + 100.0 * i, 10, 80));
  }
  for (int i = 0; i < 20; ++i) jobs.push_back(day_job(1000 + 86'400 + 20.0 * i, 1));
  const auto r = rewind(jobs, NodePool({80}), first_in_first_out());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->start_delay_s, 0);
  EXPECT_DOUBLE_EQ(r->factor, 120.0 / 50);
  EXPECT_DOUBLE_EQ(r->factor_low, 2);
  EXPECT_DOUBLE_EQ(r->factor_high, 120.0 / 50);
}

// Forty days, of which two have ten waits of 5 s in the model, recorded as 10 s; on the others
// nobody waits in the model and somebody waited 20 s. With both: (2 x 100 + 38 x 20) / 100. Draws
// without either say nothing; those with one, (100 + 39 x 20) / 50, are more than a tenth.
TEST(OddDays, draws_in_which_nobody_waits_in_the_model_say_nothing) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 58; ++i) jobs.push_back(day_job(i, 0));
  for (int day = 0; day < 40; ++day) {
    const double noon = 1000 + 86'400.0 * day;
    for (int i = 0; i < 10 && day < 2; ++i) {
      jobs.push_back(day_job(noon + 100 * i, 0, 80));
      jobs.push_back(day_job(noon + 5 + 100 * i, 10, 80));
    }
    if (day >= 2) jobs.push_back(day_job(noon, 20));
  }
  jobs.insert(jobs.begin(), 78 - 58, day_job(0, 0));
  const auto r = rewind(jobs, NodePool({80}), first_in_first_out());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->second.jobs, 78);
  EXPECT_DOUBLE_EQ(r->factor, 9.6);
  EXPECT_DOUBLE_EQ(r->factor_high, 17.6);
}

TEST(OddDays, both_halves_need_their_twenty) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 80; ++i) jobs.push_back(day_job(20.0 * i, i < 20 || i >= 40 ? 5 : -1));
  EXPECT_TRUE(rewind(jobs, NodePool({80}), first_in_first_out()));
  jobs[3].wait.reset();
  EXPECT_FALSE(rewind(jobs, NodePool({80}), first_in_first_out())) << "nineteen in the first";
}

struct Idler final : RehearsalDriver {
  std::optional<Seconds> tick() override { return minutes(10); }
  void on_fault(const InjectedFault& fault) override { told.push_back(fault); }
  std::vector<InjectedFault> told;
};

// Nothing is repaired in time: who died, was drained or fell silent is not struck again.
TEST(OddDays, a_node_that_does_not_work_is_not_struck_again) {
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
      EXPECT_EQ(out.size(), static_cast<std::size_t>(nodes)) << "sixty faults stop them all";
      EXPECT_LT(r.faults.size(), 60U) << "then nobody is left to strike";
      ASSERT_EQ(driver.told.size(), r.faults.size());
      for (std::size_t i = 0; i < r.faults.size(); ++i) {
        EXPECT_EQ(driver.told[i].node, r.faults[i].node);
        EXPECT_EQ(driver.told[i].at, r.faults[i].at);
        EXPECT_EQ(driver.told[i].kind, r.faults[i].kind);
      }
    }
  }
}

struct OddRig {
  explicit OddRig(const SimulatedOptions& options = {.nodes = 4}) : slurm(kernel, options) {}
  void until(double s) { kernel.run(sim::SimTime::from(seconds(s))); }
  failure::JobView job() { return slurm.look()->jobs.at(0); }
  sim::Kernel kernel;
  SimulatedSlurm slurm;
};

// Killed and back, it is only out of reach the next time: jobs are started meanwhile.
TEST(OddDays, a_controller_that_is_back_may_be_lost_without_harm) {
  OddRig r;
  r.until(1);
  r.slurm.kill_controller(seconds(2));
  r.until(4);
  r.slurm.lose_controller(seconds(10));
  r.slurm.submit(1);
  r.until(6);
  EXPECT_TRUE(r.slurm.is_running("1"));
  EXPECT_FALSE(r.slurm.look());
  r.slurm.fail_node("n1");
  r.until(13.9);
  EXPECT_FALSE(r.slurm.look());
  r.until(14);
  EXPECT_TRUE(r.slurm.look()->nodes[0].down) << "and a node's death is seen";
}

// Saved at 5 s as one that starts: back at 7 s it starts anew, on the run that is there.
TEST(OddDays, a_run_that_was_saved_as_it_started_is_known) {
  OddRig r({.nodes = 4, .starting = seconds(10)});
  r.slurm.submit(1);
  r.until(6);
  EXPECT_EQ(r.job().phase, JobPhase::starting);
  r.slurm.kill_controller(seconds(1));
  r.until(16.9);
  EXPECT_EQ(r.job().phase, JobPhase::starting);
  r.until(17);
  EXPECT_EQ(r.job().phase, JobPhase::running);
  ASSERT_EQ(r.slurm.runs("1").size(), 1U);
  EXPECT_EQ(r.slurm.runs("1")[0].end, Seconds());
  EXPECT_EQ(r.job().restarts, 0);
}

// Its node died and is back before the controller is: all nodes answer, and none has the run.
TEST(OddDays, a_run_that_nobody_has_is_requeued_when_all_its_nodes_answer) {
  OddRig r;
  r.slurm.submit(1);
  r.until(5.2);
  r.slurm.kill_controller(seconds(2));
  r.slurm.fail_node("n1");
  r.until(6);
  r.slurm.return_node("n1");
  r.until(7.3);
  EXPECT_EQ(r.job().phase, JobPhase::completing);
  EXPECT_EQ(r.job().restarts, 1);
  EXPECT_NEAR(r.slurm.runs("1")[0].end.base(), 1'700'000'005.2, 1e-6);
  r.until(7.6);
  EXPECT_EQ(r.job().phase, JobPhase::pending);
  EXPECT_FALSE(r.slurm.look()->nodes[0].silent);
  r.until(200);
  EXPECT_TRUE(r.slurm.is_running("1"));
  EXPECT_EQ(r.slurm.runs("1").size(), 2U);
}

}  // namespace
}  // namespace orrery::rehearse
