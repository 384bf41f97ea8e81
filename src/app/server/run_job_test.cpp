// Runs as jobs: what they give is what the library gives, cancelled ones give what was done, and a
// run can be looked at in time however the server was started since.
#include "app/server/run_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/server/job_store.h"
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

using testing::HasSubstr;
using namespace std::chrono_literals;

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
      std::this_thread::sleep_for(1ms);
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

TEST_F(RunJob, gives_what_the_simulation_gives) {
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

TEST_F(RunJob, is_seen_in_time_by_a_server_that_did_not_run_it) {
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
  EXPECT_EQ(*run, *later.first_replication(*jobs->find(1))) << "it is run again once, and kept";
}

TEST_F(RunJob, cancelled_gives_the_replications_that_were_done) {
  const auto jobs = board(runs);
  const auto started =
      jobs->start(runs.job_of(request(R"(,"span":"1 y","replications":256)")).value());
  while (jobs->find(started->id)->evaluated < 1) std::this_thread::sleep_for(1ms);
  jobs->cancel_or_remove(started->id);
  const Job job = ended(*jobs, started->id);
  EXPECT_EQ(job.state, JobState::cancelled);
  EXPECT_THAT(job.result, HasSubstr("\"is_whole\": false"));
  EXPECT_LT(job.done, job.candidates);
}

TEST_F(RunJob, refuses_before_there_is_a_job) {
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
