// The bounds of what a search for layouts may be asked, and what its job says of the time left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "app/server/job_board.h"
#include "app/server/job_store.h"
#include "app/server/layout_job.h"
#include "core/base/json_writer.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using testing::HasSubstr;

LayoutJobs known_layout_jobs() { return {.models = machine::known()}; }

// What is said of a search of llama-3-8b with one more field.
std::string said_of_search(const std::string& more) {
  const auto job = layout_job(known_layout_jobs(),
                              R"({"kind":"search-layout","model":"llama-3-8b",)" + more + "}");
  return job ? job->title : job.error().front().code + ": " + job.error().front().what;
}

TEST(LayoutBounds, every_number_is_of_one_to_a_thousand_million) {
  for (const std::string name : {"gpus", "batch", "sequence"}) {
    const std::string outside = "body.field: `" + name + "` is not between 1 and 1e+09";
    EXPECT_EQ(said_of_search("\"" + name + "\":0"), outside);
    EXPECT_EQ(said_of_search("\"" + name + "\":-1"), outside);
    EXPECT_EQ(said_of_search("\"" + name + "\":1000000001"), outside);
    EXPECT_THAT(said_of_search("\"" + name + "\":1000000000"),
                testing::Not(testing::StartsWith("body.")));
    EXPECT_EQ(said_of_search("\"" + name + "\":1.5"),
              "body.field: `" + name + "` is not a whole number");
  }
}

TEST(LayoutBounds, what_is_fixed_has_the_same_bounds) {
  for (const std::string name : {"tp", "pp", "vp", "cp", "ep", "microbatch"}) {
    const auto fixed = [&](const std::string& number) {
      return said_of_search("\"gpus\":8,\"fixed\":{\"" + name + "\":" + number + "}");
    };
    const std::string outside = "body.field: `fixed." + name + "` is not between 1 and 1e+09";
    EXPECT_EQ(fixed("0"), outside);
    EXPECT_EQ(fixed("1000000001"), outside);
    EXPECT_EQ(fixed("1"), "llama-3-8b on 8 x h100-sxm") << name;
    EXPECT_THAT(fixed("1000000000"), testing::Not(testing::StartsWith("body."))) << name;
  }
}

TEST(LayoutBounds, one_to_a_hundred_layouts_are_kept) {
  EXPECT_EQ(said_of_search("\"keep\":0"), "body.field: `keep` is not between 1 and 100");
  EXPECT_EQ(said_of_search("\"keep\":101"), "body.field: `keep` is not between 1 and 100");
  EXPECT_EQ(said_of_search("\"gpus\":16,\"keep\":1"), "llama-3-8b on 16 x h100-sxm");
  EXPECT_EQ(said_of_search("\"gpus\":1024,\"keep\":100"), "llama-3-8b on 1,024 x h100-sxm");
}

TEST(LayoutBounds, names_are_of_two_hundred_bytes) {
  const std::string fits(200, 'x');
  for (const std::string name : {"accelerator", "precision", "framework", "nic", "workload"}) {
    EXPECT_EQ(said_of_search("\"" + name + "\":\"" + fits + "x\""),
              "body.field: `" + name + "` is longer than 200 bytes");
    EXPECT_THAT(said_of_search("\"" + name + "\":\"" + fits + "\""),
                testing::Not(testing::StartsWith("body.")));
    EXPECT_EQ(said_of_search("\"" + name + "\":7"), "body.field: `" + name + "` is not a text");
  }
  EXPECT_EQ(said_of_search("\"pareto\":1"), "body.field: `pareto` is neither true nor false");
}

TEST(LayoutBounds, a_design_has_a_workload_that_trains) {
  const std::string trains = json_escaped(design_text::find_template("superpod-h100")->text);
  const auto said = [](const std::string& design, const std::string& more) {
    const auto job = layout_job(known_layout_jobs(),
                                R"({"kind":"search-layout","design":)" + design + more + "}");
    return job ? job->title : job.error().front().code + ": " + job.error().front().what;
  };
  EXPECT_EQ(said(trains, R"(,"workload":"nobody")"),
            "search.unknown: no workload nobody trains a transformer");
  EXPECT_THAT(said(trains, ""), HasSubstr(" on 960 x h100-sxm"));
  const auto neither = layout_job(known_layout_jobs(), R"({"kind":"search-layout"})");
  ASSERT_FALSE(neither);
  EXPECT_EQ(neither.error().front().what, "either `design` or `model` says what is searched");
  EXPECT_EQ(neither.error().front().fix, "\"model\": \"llama-3-70b\"");
  const auto both = layout_job(known_layout_jobs(),
                               R"({"kind":"search-layout","model":"llama-3-8b","design":"x"})");
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().front().what, "either `design` or `model` says what is searched");
}

// A model of 405 thousand million parameters is in no 4 GPUs: the searches of 2 and of 1 are left
// out, and their candidates are what is left. What is left takes as long as its share of the pace.
TEST(LayoutBounds, the_time_left_is_of_the_pace_so_far) {
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

TEST(LayoutBounds, a_search_that_is_over_has_no_time_left_and_one_taken_up_at_its_end_no_pace) {
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

}  // namespace
}  // namespace orrery::server
