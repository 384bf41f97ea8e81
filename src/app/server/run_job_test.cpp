#include "app/server/run_job.h"

#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/console.h"
#include "app/server/console_fixture.h"
#include "app/server/fault_fixture.h"
#include "app/server/job_board.h"
#include "app/server/job_fixture.h"
#include "app/server/job_store.h"
#include "app/server/metrics.h"
#include "core/base/json_writer.h"
#include "live/agent/test_folder.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "output/report/run_report.h"
#include "output/report/view_run.h"
#include "twin/run/simulation.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

// The job store of an earlier version may contain a request that this version refuses.
TEST(RunJobEdges, an_outdated_request_fails_its_job) {
  const RunJobs runs(machine::known());
  for (const char* request : {"{}", "", "{\"design\":\"orrery: 1\"}"}) {
    EXPECT_FALSE(runs.first_replication({.id = 5, .task = kRunTask, .request = request}));
    EXPECT_FALSE(runs.job_of(request)) << request;
  }
}

TEST(KeptRuns, the_four_latest_runs_are_cached) {
  const RunJobs runs(machine::known());
  std::vector<std::shared_ptr<const run::Run>> seen;
  for (std::int64_t id = 1; id <= 4; ++id) seen.push_back(*runs.first_replication(kept_job(id)));
  for (std::int64_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(*runs.first_replication(kept_job(id)), seen[static_cast<std::size_t>(id - 1)]) << id;
  }
  const auto fifth = *runs.first_replication(kept_job(5));
  EXPECT_EQ(*runs.first_replication(kept_job(5)), fifth);
  for (std::int64_t id = 2; id <= 4; ++id) {
    EXPECT_EQ(*runs.first_replication(kept_job(id)), seen[static_cast<std::size_t>(id - 1)]) << id;
  }
  EXPECT_NE(*runs.first_replication(kept_job(1)), seen[0]);
  EXPECT_NE(*runs.first_replication(kept_job(2)), seen[1]);
  EXPECT_EQ(*runs.first_replication(kept_job(5)), fifth);
}

TEST(KeptRuns, a_repeated_job_takes_one_cache_entry) {
  const RunJobs runs(machine::known());
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  std::vector<std::shared_ptr<const run::Run>> seen;
  for (std::int64_t id = 1; id <= 4; ++id) seen.push_back(*runs.first_replication(kept_job(id)));
  JobRun again(**board, kept_job(4));
  ASSERT_TRUE(runs.work(again));
  EXPECT_EQ(*runs.first_replication(kept_job(1)), seen[0]);
  const auto latest = *runs.first_replication(kept_job(4));
  EXPECT_NE(latest, seen[3]);
}

TEST(KeptRuns, seeds_and_replications_have_bounds) {
  const RunJobs runs(machine::known());
  const auto said = [&](const std::string& more) {
    const auto job = runs.job_of(kept_request(more));
    return job ? job->title : fault_text(job.error().front());
  };
  EXPECT_THAT(said(R"(,"seed":0)"), Not(HasSubstr("body.")));
  EXPECT_THAT(said(R"(,"seed":1000000000)"), Not(HasSubstr("body.")));
  EXPECT_EQ(said(R"(,"seed":1000000001)"), "body.field seed");
  EXPECT_EQ(said(R"(,"seed":-1)"), "body.field seed");
  EXPECT_THAT(said(R"(,"replications":256)"), Not(HasSubstr("body.")));
  EXPECT_EQ(said(R"(,"replications":257)"), "body.field replications");
  EXPECT_EQ(said(R"(,"replications":0)"), "body.field replications");
  EXPECT_EQ(said(",\"span\":\"" + std::string(201, '1') + "\""), "body.field span");
}

// At the last part, the time left is the mean time of the parts before it.
TEST(KeptRuns, time_left_is_that_of_the_last_part) {
  const RunJobs runs(machine::known());
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun run(**board, kept_job(1));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(runs.work(run));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(run.job.remaining_s);
  EXPECT_GT(*run.job.remaining_s, 0);
  EXPECT_LE(*run.job.remaining_s, took.count() / (world::kParts - 1));
}

// A run that an earlier server left unfinished restarts, and its counts start at zero.
TEST(RunWords, a_run_counts_its_own_parts) {
  const RunJobs runs(machine::known());
  const std::string request =
      "{\"design\":" + json_escaped(kSmallDesign) + R"(,"span":"1 d","replications":2,"seed":9})";
  const auto job = runs.job_of(request);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->task, kRunTask);
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun run(**board, *job);
  run.job.done = 77;
  run.job.evaluated = 78;
  run.job.candidates = 79;
  ASSERT_TRUE(runs.work(run));
  EXPECT_EQ(run.job.candidates, 2 * world::kParts);
  EXPECT_EQ(run.job.done, 2 * world::kParts);
  EXPECT_EQ(run.job.evaluated, 2);
  EXPECT_TRUE(Json::accept(run.job.result));
  const auto one =
      runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + R"(,"replications":1})");
  ASSERT_TRUE(one);
  const auto usual = runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + "}");
  ASSERT_TRUE(usual);
  const auto bad = runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + R"(,"span":"11 y"})");
  ASSERT_FALSE(bad);
  EXPECT_FALSE(bad.error().front().code.empty());
  for (const char* good : {"1 s", "10 y"}) {
    EXPECT_TRUE(
        runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + ",\"span\":\"" + good + "\"}"))
        << good;
  }
  EXPECT_FALSE(runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + R"(,"span":"0.99 s"})"));
}

std::string request(const std::string& more = R"(,"span":"20 d","replications":3,"seed":5)",
                    const char* name = "superpod-h100") {
  return "{\"design\":" + json_escaped(design_text::find_template(name)->text) + more + "}";
}

class RunJob : public testing::Test {
 protected:
  std::unique_ptr<JobBoard> board(const RunJobs& tasks, const std::string& path = kStoreInMemory) {
    return JobBoard::open(JobStore::open(path).value(),
                          {{kRunTask, [&tasks](JobRun& run) { return tasks.work(run); }}})
        .value();
  }

  Job ended(const JobBoard& board, std::int64_t id) {
    for (int i = 0; i < 30'000 && !board.find(id)->has_ended(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return *board.find(id);
  }

  run::Run by_hand(int replications) {
    const auto design = design_text::read_design(design_text::find_template("superpod-h100")->text,
                                                 machine::known().catalog());
    const machine::Machine machine = jobs::build_machine(*design, machine::known());
    const run::Simulation simulation(
        machine, {.horizon = days(20), .seed = 5, .replications = replications});
    std::vector<run::Replication> done;
    for (int n = 0; n < replications; ++n) done.push_back(*simulation.replicate(n));
    return simulation.run_of(done);
  }

  const RunJobs runs{machine::known()};
};

TEST_F(RunJob, a_run_job_equals_a_simulation) {
  const auto jobs = board(runs);
  const auto started = jobs->start(runs.job_of(request()).value());
  ASSERT_TRUE(started);
  EXPECT_THAT(started->title, HasSubstr("superpod-h100"));
  EXPECT_THAT(started->title, HasSubstr("3 replications, seed 5"));
  const Job job = ended(*jobs, started->id);
  EXPECT_EQ(job.state, JobState::done);
  EXPECT_EQ(job.evaluated, 3);
  EXPECT_EQ(job.done, job.candidates);
  EXPECT_EQ(job.result, report::console_json_of(by_hand(3)));
}

TEST_F(RunJob, a_restarted_server_can_show_a_timeline) {
  const agent::TestFolder folder;
  const std::string path = folder.at("jobs.db");
  std::string before;
  {
    const auto jobs = board(runs, path);
    const Job job = ended(*jobs, jobs->start(runs.job_of(request()).value())->id);
    before = report::run_timeline_json(**runs.first_replication(job));
  }
  const RunJobs later(machine::known());
  const auto jobs = board(later, path);
  const auto run = later.first_replication(*jobs->find(1));
  ASSERT_TRUE(run);
  EXPECT_EQ(report::run_timeline_json(**run), before);
  EXPECT_EQ(*run, *later.first_replication(*jobs->find(1)));
}

TEST_F(RunJob, a_cancelled_run_has_its_finished_replications) {
  const auto jobs = board(runs);
  const auto started =
      jobs->start(runs.job_of(request(R"(,"span":"1 y","replications":256)")).value());
  while (jobs->find(started->id)->evaluated < 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  jobs->cancel_or_remove(started->id);
  const Job job = ended(*jobs, started->id);
  EXPECT_EQ(job.state, JobState::cancelled);
  EXPECT_THAT(job.result, HasSubstr("\"is_whole\": false"));
  EXPECT_LT(job.done, job.candidates);
}

TEST_F(RunJob, an_invalid_request_starts_no_job) {
  for (const auto& [more, code] : {std::pair{R"(,"span":"soon")", "simulate.usage"},
                                   {R"(,"span":"11 y")", "simulate.usage"},
                                   {R"(,"span":"0 s")", "simulate.usage"},
                                   {R"(,"replications":0)", "body.field"},
                                   {R"(,"replications":257)", "body.field"},
                                   {R"(,"seed":-1)", "body.field"},
                                   {R"(,"horizon":"30 d")", "body.unknown"}}) {
    const auto job = runs.job_of(request(more));
    ASSERT_FALSE(job) << more;
    EXPECT_EQ(job.error().front().code, code) << more;
  }
  EXPECT_FALSE(runs.job_of(R"({"design":"orrery: 1\nname: x"})"));
  EXPECT_FALSE(runs.job_of("{}"));
  EXPECT_FALSE(runs.job_of("run"));
}

}  // namespace
}  // namespace orrery::server
