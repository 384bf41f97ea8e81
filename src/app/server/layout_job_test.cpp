#include "app/server/layout_job.h"

#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/server/console.h"
#include "app/server/fault_fixture.h"
#include "app/server/job_board.h"
#include "app/server/job_fixture.h"
#include "app/server/job_store.h"
#include "app/server/json_body.h"
#include "app/server/problem.h"
#include "app/server/run_job.h"
#include "core/base/json_writer.h"
#include "live/agent/test_folder.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSearch =
    R"({"kind":"search-layout","model":"llama-3-8b","gpus":64,"batch":256,"pareto":true,"keep":3})";

class LayoutJob : public testing::Test {
 protected:
  std::unique_ptr<JobBoard> board(const std::string& path) const {
    auto opened = JobBoard::open(
        open_store(path),
        {{kLayoutTask, [this](JobRun& run) { return run_layout_job(jobs(), run); }}});
    if (!opened) throw std::runtime_error(to_text(opened.error()));
    return std::move(*opened);
  }
  LayoutJobs jobs() const { return {.models = models}; }

  std::string fault_of(const std::string& request) const {
    const auto job = layout_job(jobs(), request);
    return job ? "none" : job.error().front().code;
  }

  const catalog::Catalog& catalog = machine::known().catalog();
  const machine::Models& models = machine::known();
};

Json searched(const std::string& request) {
  const LayoutJobs jobs{.models = machine::known()};
  const auto board =
      JobBoard::open(JobStore::open(kStoreInMemory).value(),
                     {{kLayoutTask, [&](JobRun& run) { return run_layout_job(jobs, run); }}})
          .value();
  const auto job = layout_job(jobs, request);
  EXPECT_TRUE(job) << (job ? "" : to_text(job.error()));
  if (!job) return {};
  EXPECT_TRUE(board->start(*job));
  EXPECT_TRUE(comes_true([&] { return board->find(1)->has_ended(); }));
  const Job done = *board->find(1);
  EXPECT_EQ(done.state, JobState::done) << done.problem;
  Json j = Json::parse(done.result);
  j["job"] = {{"candidates", done.candidates}, {"done", done.done}, {"evaluated", done.evaluated}};
  return j;
}

// Returns the result of a search with most of the layout fixed, as text.
std::string layout_found(const std::string& more) {
  const LayoutJobs jobs{machine::known()};
  const std::string request =
      R"({"kind":"search-layout","model":"llama-3-8b","gpus":16,"batch":16,"keep":1,)"
      R"("fixed":{"tp":1,"pp":1})" +
      more + "}";
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun run(**board, {.task = kLayoutTask, .title = "t", .request = request});
  const auto done = run_layout_job(jobs, run);
  EXPECT_TRUE(done) << to_text(done.error());
  return run.job.result;
}

TEST(LayoutJobEdges, every_field_of_a_search_acts) {
  const std::string usual = layout_found("");
  EXPECT_TRUE(Json::accept(usual)) << usual;
  EXPECT_NE(usual, layout_found(R"(,"accelerator":"h200-sxm")"));
  EXPECT_NE(usual, layout_found(R"(,"nic":"100 Gb/s")"));
  EXPECT_NE(usual, layout_found(R"(,"sequence":2048)"));
  EXPECT_NE(usual, layout_found(R"(,"precision":"fp8")"));
  EXPECT_NE(usual, layout_found(R"(,"framework":"torchtitan")"));
}

// A job's counts are the sums of its searches, and fixed values stay fixed.
TEST(LayoutJobLaws, counts_are_those_of_the_searches) {
  const Json j = searched(
      R"({"kind":"search-layout","model":"llama-3-8b","gpus":32,"batch":64,"pareto":true,"keep":2,
          "fixed":{"tp":2,"pp":1,"vp":1,"cp":1,"microbatch":1}})");
  ASSERT_EQ(j["searches"].size(), 6U) << "32, 16, 8, 4, 2, 1";
  std::int64_t candidates = 0, evaluated = 0;
  for (const Json& s : j["searches"]) {
    candidates += s["candidates"].get<std::int64_t>();
    evaluated += s["evaluated"].get<std::int64_t>();
    EXPECT_LE(s["layouts"].size(), 2U);
    EXPECT_TRUE(s["complete"]);
    for (const Json& l : s["layouts"]) {
      EXPECT_THAT(l["layout"].get<std::string>(), HasSubstr("tp2 "));
    }
  }
  EXPECT_EQ(j["job"]["candidates"], candidates);
  EXPECT_EQ(j["job"]["done"], candidates);
  EXPECT_EQ(j["job"]["evaluated"], evaluated);
  const Json one = searched(
      R"({"kind":"search-layout","model":"llama-3-8b","gpus":32,"batch":64,"fixed":{"vp":1}})");
  EXPECT_EQ(one["searches"].size(), 1U);
}

TEST(LayoutJobLaws, a_search_takes_a_design_or_a_model) {
  const LayoutJobs jobs{.models = machine::known()};
  const std::string design = json_escaped(design_text::find_template("superpod-h100")->text);
  const auto fault = [&](const std::string& more) {
    const auto job =
        layout_job(jobs, "{\"kind\":\"search-layout\",\"design\":" + design + more + "}");
    return job ? job->title : job.error().front().code;
  };
  EXPECT_EQ(fault(R"(,"model":"llama-3-8b")"), "body.field");
  EXPECT_EQ(fault(R"(,"workload":"assistant")"), "search.unknown") << "it serves";
  EXPECT_THAT(fault(R"(,"workload":"pretrain")"), HasSubstr("960"));
}

// A line of a checkpoint for another number of GPUs, or beyond the end, is ignored.
TEST(LayoutJobLaws, a_foreign_checkpoint_is_ignored) {
  const LayoutJobs jobs{.models = machine::known()};
  const std::string request =
      R"({"kind":"search-layout","model":"llama-3-8b","gpus":16,"batch":64,"keep":2,"fixed":{"vp":1}})";
  const auto result_from = [&](const std::string& checkpoint) {
    const agent::TestFolder folder;
    Job job = layout_job(jobs, request).value();
    job.state = JobState::running;
    job.checkpoint = checkpoint;
    EXPECT_TRUE(JobStore::open(folder.at("jobs.db")).value()->add(job));
    const auto board =
        JobBoard::open(JobStore::open(folder.at("jobs.db")).value(),
                       {{kLayoutTask, [&](JobRun& run) { return run_layout_job(jobs, run); }}})
            .value();
    EXPECT_TRUE(comes_true([&] { return board->find(1)->has_ended(); }));
    return board->find(1)->result;
  };
  const std::string plain = result_from("");
  EXPECT_EQ(result_from("8 1 7 7 7 7 7\n"), plain) << "of 8 GPUs";
  EXPECT_EQ(result_from("16 999 7 7 7 7 7\n"), plain);
  EXPECT_EQ(result_from("16 -1 7 7 7 7 7\n"), plain);
  EXPECT_EQ(result_from("16 1\n"), plain);
}

TEST_F(LayoutJob, an_invalid_request_starts_no_job) {
  EXPECT_EQ(fault_of(kSearch), "none");
  EXPECT_EQ(fault_of("{"), "body.json");
  EXPECT_EQ(fault_of(R"({"kind":"dance"})"), "body.field");
  EXPECT_EQ(fault_of(R"({"kind":"search-layout"})"), "body.field");
  EXPECT_EQ(fault_of(R"({"kind":"search-layout","model":"x"})"), "search.unknown");
  EXPECT_EQ(fault_of(R"({"kind":"search-layout","model":"llama-3-8b","gpus":2000000})"),
            "search.range");
  EXPECT_EQ(fault_of(R"({"kind":"search-layout","model":"llama-3-8b","fixed":{"zp":1}})"),
            "body.unknown");
}

// Stops the search at many places and continues on another board; the answer stays the same.
TEST_F(LayoutJob, a_resumed_search_gives_the_same_result) {
  const auto whole = board(kStoreInMemory);
  ASSERT_TRUE(whole->start(layout_job(jobs(), kSearch).value()));
  ASSERT_TRUE(soon([&] { return whole->find(1)->has_ended(); }));
  const Job expected = *whole->find(1);
  ASSERT_EQ(expected.state, JobState::done) << expected.problem;
  EXPECT_THAT(expected.result, HasSubstr("\"gpus\": 32"));
  EXPECT_THAT(expected.best, HasSubstr("\"step_time_s\":"));

  const agent::TestFolder folder;
  int stops = 0;
  {
    const auto first = board(folder.at("jobs.db"));
    ASSERT_TRUE(first->start(layout_job(jobs(), kSearch).value()));
  }
  for (; stops < 200; ++stops) {
    const auto next = board(folder.at("jobs.db"));
    if (next->find(1)->has_ended()) break;
    const std::int64_t before = next->find(1)->done;
    ASSERT_TRUE(soon([&] { return next->find(1)->has_ended() || next->find(1)->done > before; }));
  }
  const Job resumed = *board(folder.at("jobs.db"))->find(1);
  EXPECT_GT(stops, 1);
  EXPECT_EQ(resumed.state, JobState::done);
  EXPECT_EQ(resumed.result, expected.result);
  EXPECT_EQ(resumed.evaluated, expected.evaluated);
}

TEST_F(LayoutJob, a_broken_checkpoint_restarts_the_search) {
  const agent::TestFolder folder;
  Job job = layout_job(jobs(), kSearch).value();
  job.state = JobState::running;
  job.checkpoint = "64 999999 1 2 3 4 5 -7 zz\nnonsense\n32 1";
  ASSERT_TRUE(open_store(folder.at("jobs.db"))->add(job));
  const auto spoilt = board(folder.at("jobs.db"));
  const auto whole = board(kStoreInMemory);
  ASSERT_TRUE(whole->start(layout_job(jobs(), kSearch).value()));
  ASSERT_TRUE(soon([&] { return whole->find(1)->has_ended() && spoilt->find(1)->has_ended(); }));
  EXPECT_EQ(spoilt->find(1)->result, whole->find(1)->result);
}

LayoutJobs known_layout_jobs() { return {.models = machine::known()}; }

// Returns the title, or the fault, of a search of llama-3-8b with one more field.
std::string said_of_search(const std::string& more) {
  const auto job = layout_job(known_layout_jobs(),
                              R"({"kind":"search-layout","model":"llama-3-8b",)" + more + "}");
  return job ? job->title : fault_text(job.error().front());
}

TEST(LayoutBounds, numbers_have_bounds) {
  for (const std::string name : {"gpus", "batch", "sequence"}) {
    const std::string outside = "body.field " + name;
    EXPECT_EQ(said_of_search("\"" + name + "\":0"), outside);
    EXPECT_EQ(said_of_search("\"" + name + "\":-1"), outside);
    EXPECT_EQ(said_of_search("\"" + name + "\":1000000001"), outside);
    EXPECT_THAT(said_of_search("\"" + name + "\":1000000000"),
                testing::Not(testing::StartsWith("body.")));
    EXPECT_EQ(said_of_search("\"" + name + "\":1.5"), "body.field " + name);
  }
}

TEST(LayoutBounds, fixed_degrees_have_bounds) {
  for (const std::string name : {"tp", "pp", "vp", "cp", "ep", "microbatch"}) {
    const auto fixed = [&](const std::string& number) {
      return said_of_search("\"gpus\":8,\"fixed\":{\"" + name + "\":" + number + "}");
    };
    const std::string outside = "body.field fixed." + name;
    EXPECT_EQ(fixed("0"), outside);
    EXPECT_EQ(fixed("1000000001"), outside);
    EXPECT_EQ(fixed("1"), "llama-3-8b on 8 x h100-sxm") << name;
    EXPECT_THAT(fixed("1000000000"), testing::Not(testing::StartsWith("body."))) << name;
  }
}

TEST(LayoutBounds, names_have_at_most_200_bytes) {
  const std::string fits(200, 'x');
  for (const std::string name : {"accelerator", "precision", "framework", "nic", "workload"}) {
    EXPECT_EQ(said_of_search("\"" + name + "\":\"" + fits + "x\""), "body.field " + name);
    EXPECT_THAT(said_of_search("\"" + name + "\":\"" + fits + "\""),
                testing::Not(testing::StartsWith("body.")));
    EXPECT_EQ(said_of_search("\"" + name + "\":7"), "body.field " + name);
  }
  EXPECT_EQ(said_of_search("\"pareto\":1"), "body.field pareto");
}

TEST(LayoutBounds, a_design_needs_a_training_workload) {
  const std::string trains = json_escaped(design_text::find_template("superpod-h100")->text);
  const auto said = [](const std::string& design, const std::string& more) {
    const auto job = layout_job(known_layout_jobs(),
                                R"({"kind":"search-layout","design":)" + design + more + "}");
    return job ? job->title : fault_text(job.error().front());
  };
  EXPECT_EQ(said(trains, R"(,"workload":"no-such")"), "search.unknown");
  EXPECT_THAT(said(trains, ""), HasSubstr(" on 960 x h100-sxm"));
  const auto neither = layout_job(known_layout_jobs(), R"({"kind":"search-layout"})");
  ASSERT_FALSE(neither);
  EXPECT_FALSE(neither.error().front().code.empty());
  const auto both = layout_job(known_layout_jobs(),
                               R"({"kind":"search-layout","model":"llama-3-8b","design":"x"})");
  ASSERT_FALSE(both);
  EXPECT_FALSE(both.error().front().code.empty());
}

// A model of 405 billion parameters does not fit on 4 GPUs: the searches of 2 and of 1 are skipped,
// and the time left covers only the remaining candidates.
TEST(LayoutBounds, time_left_follows_the_pace) {
  const LayoutJobs jobs = known_layout_jobs();
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun run(
      **board,
      layout_job(jobs, R"({"kind":"search-layout","model":"llama-3.1-405b","gpus":4,"batch":8,)"
                       R"("pareto":true,"fixed":{"vp":1,"microbatch":1}})")
          .value());
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_layout_job(jobs, run));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto done = static_cast<double>(run.job.done);
  const auto left = static_cast<double>(run.job.candidates - run.job.done);
  ASSERT_GT(done, 0);
  ASSERT_GT(left, 0);
  ASSERT_TRUE(run.job.remaining_s);
  EXPECT_GT(*run.job.remaining_s, 0);
  EXPECT_LE(*run.job.remaining_s, took.count() / done * left);
}

TEST(LayoutBounds, a_finished_search_has_no_time_left) {
  const LayoutJobs jobs = known_layout_jobs();
  const std::string request =
      R"({"kind":"search-layout","model":"llama-3-8b","gpus":8,"batch":16,"keep":2,)"
      R"("fixed":{"vp":1,"microbatch":1,"cp":1}})";
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun first(**board, layout_job(jobs, request).value());
  ASSERT_TRUE(run_layout_job(jobs, first));
  EXPECT_EQ(first.job.remaining_s, 0);
  JobRun again(**board, layout_job(jobs, request).value());
  again.job.checkpoint = first.job.checkpoint;
  ASSERT_TRUE(run_layout_job(jobs, again));
  EXPECT_EQ(again.job.remaining_s, std::nullopt);
  EXPECT_EQ(again.job.candidates, first.job.candidates);
}

// What does not fit on sixteen GPUs does not fit on eight: smaller counts are not searched.
TEST(LayoutWords, a_search_stops_if_nothing_fits) {
  const LayoutJobs jobs{machine::known()};
  const std::string request =
      R"({"kind":"search-layout","model":"llama-3.1-405b","gpus":4,"batch":8,"pareto":true,)"
      R"("fixed":{"vp":1,"microbatch":1}})";
  const auto job = layout_job(jobs, request);
  ASSERT_TRUE(job);
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun run(**board, *job);
  ASSERT_TRUE(run_layout_job(jobs, run));
  const Json result = Json::parse(run.job.result);
  ASSERT_EQ(result["searches"].size(), 1u);
  EXPECT_THAT(result["searches"][0]["layouts"], IsEmpty());
  EXPECT_EQ(run.job.best, "");
  EXPECT_THAT(run.job.checkpoint, testing::StartsWith("4 ")) << run.job.checkpoint;
  EXPECT_EQ(run.job.checkpoint.back(), '\n');
}

}  // namespace
}  // namespace orrery::server
