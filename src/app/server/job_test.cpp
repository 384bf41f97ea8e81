// Jobs: kept, run, cancelled, taken up again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "app/server/job_board.h"
#include "app/server/job_store.h"
#include "app/server/layout_job.h"
#include "live/agent/test_folder.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::unique_ptr<JobStore> open_store(const std::string& path) {
  auto store = JobStore::open(path);
  if (!store) throw std::runtime_error(to_text(store.error()));
  return std::move(*store);
}

std::unique_ptr<JobBoard> open_board(const std::string& path, JobTask task, JobLimits limits = {}) {
  auto board = JobBoard::open(open_store(path), {{"task", std::move(task)}}, limits);
  if (!board) throw std::runtime_error(to_text(board.error()));
  return std::move(*board);
}

template <class Condition>
bool soon(const Condition& condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

JobState state_of(const JobBoard& board, std::int64_t id) { return board.find(id)->state; }

TEST(JobStore, only_its_owner_may_read_it) {
  namespace fs = std::filesystem;
  const agent::TestFolder folder;
  const std::string path = folder.at("jobs.db");
  folder.write("jobs.db", "");  // as an older version made it
  fs::permissions(path, fs::perms(0644));
  for (const std::string& file : {path, folder.at("new.db")}) {
    const auto store = JobStore::open(file);
    ASSERT_TRUE(store);
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      if (entry.path().string().starts_with(file)) {
        EXPECT_EQ(entry.status().permissions() & fs::perms(0077), fs::perms::none) << entry;
      }
    }
  }
}

TEST(JobStore, keeps_what_it_is_given) {
  const agent::TestFolder folder;
  const std::string path = folder.at("deep/er/jobs.db");
  Job job{.task = "task", .title = "a 'title'", .request = "{\"x\":\"\\u0000\"}"};
  job.created_ms = 1;
  {
    const auto store = open_store(path);
    EXPECT_EQ(store->add(job).value(), 1);
    job.id = store->add(job).value();
    job.state = JobState::done;
    job.updated_ms = 7;
    job.candidates = std::int64_t{1} << 40;
    job.result = std::string("{\"a\":\n\"\xc3\xa9\"}");
    ASSERT_TRUE(store->update(job));
    ASSERT_TRUE(store->remove(1));
  }
  const auto jobs = open_store(path)->load().value();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].id, 2);
  EXPECT_EQ(jobs[0].title, job.title);
  EXPECT_EQ(jobs[0].request, job.request);
  EXPECT_EQ(jobs[0].state, JobState::done);
  EXPECT_EQ(jobs[0].candidates, job.candidates);
  EXPECT_EQ(jobs[0].result, job.result);
}

TEST(JobStore, numbers_are_never_used_twice) {
  const agent::TestFolder folder;
  {
    const auto store = open_store(folder.at("jobs.db"));
    EXPECT_EQ(store->add({}).value(), 1);
    ASSERT_TRUE(store->remove(1));
  }
  EXPECT_EQ(open_store(folder.at("jobs.db"))->add({}).value(), 2);
}

TEST(JobStore, is_held_by_one_server_at_a_time) {
  const agent::TestFolder folder;
  const auto first = open_store(folder.at("jobs.db"));
  const auto second = JobStore::open(folder.at("jobs.db"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "serve.state-in-use");
}

TEST(JobStore, leaves_alone_what_is_no_state_file) {
  const agent::TestFolder folder;
  folder.write("letter", std::string(5000, 'x'));
  const auto letter = JobStore::open(folder.at("letter"));
  ASSERT_FALSE(letter);
  EXPECT_EQ(letter.error().front().code, "serve.state");
  EXPECT_EQ(std::filesystem::file_size(folder.at("letter")), 5000U);
  EXPECT_FALSE(JobStore::open("/proc/no/such/folder/jobs.db"));
}

TEST(JobBoard, runs_jobs_in_their_order_and_keeps_the_results) {
  const agent::TestFolder folder;
  std::vector<std::int64_t> order;
  const JobTask task = [&order](JobRun& run) -> Result<void> {
    order.push_back(run.job.id);
    run.job.result = "{}";
    return {};
  };
  {
    const auto board = open_board(folder.at("jobs.db"), task);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(board->start({.task = "task"}));
    ASSERT_TRUE(soon([&] { return state_of(*board, 3) == JobState::done; }));
  }
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  const auto later = open_board(folder.at("jobs.db"), task);
  ASSERT_EQ(later->jobs().size(), 3U);
  EXPECT_EQ(later->jobs().front().id, 3);
  EXPECT_EQ(order.size(), 3U);
}

TEST(JobBoard, a_fault_is_the_jobs_problem) {
  const auto board = open_board(kStoreInMemory, [](JobRun& run) -> Result<void> {
    if (run.job.title == "throws") throw std::runtime_error("thrown");
    return fail({.code = "task.fault", .what = "no"});
  });
  ASSERT_TRUE(board->start({.task = "task"}));
  ASSERT_TRUE(board->start({.task = "task", .title = "throws"}));
  ASSERT_TRUE(board->start({.task = "unheard of"}));
  ASSERT_TRUE(soon([&] { return board->find(3)->has_ended(); }));
  EXPECT_EQ(state_of(*board, 1), JobState::failed);
  EXPECT_THAT(board->find(1)->problem, HasSubstr("task.fault"));
  EXPECT_THAT(board->find(2)->problem, HasSubstr("thrown"));
  EXPECT_THAT(board->find(3)->problem, HasSubstr("unheard of"));
}

TEST(JobBoard, cancels_what_runs_and_what_waits_and_removes_what_ended) {
  const auto board = open_board(kStoreInMemory, [](JobRun& run) -> Result<void> {
    while (!run.should_stop()) {
      ++run.job.done;
      run.report();
      std::this_thread::sleep_for(1ms);
    }
    if (run.cancelled()) run.job.result = "{\"partial\":true}";
    return {};
  });
  ASSERT_TRUE(board->start({.task = "task"}));
  ASSERT_TRUE(board->start({.task = "task"}));
  ASSERT_TRUE(soon([&] { return board->find(1)->done > 2; }));
  EXPECT_EQ(board->cancel_or_remove(2)->state, JobState::cancelled);
  const auto first = board->cancel_or_remove(1);
  EXPECT_EQ(first->state, JobState::cancelled);
  EXPECT_EQ(first->result, "{\"partial\":true}");
  EXPECT_TRUE(board->cancel_or_remove(1));
  EXPECT_FALSE(board->find(1));
  EXPECT_FALSE(board->cancel_or_remove(1));
}

TEST(JobBoard, bounds_what_it_holds) {
  const JobLimits limits{.jobs_max = 4, .open_max = 3};
  std::atomic<bool> hold = true;
  const auto board = open_board(
      kStoreInMemory,
      [&hold](JobRun& run) -> Result<void> {
        while (hold && !run.should_stop()) std::this_thread::sleep_for(1ms);
        run.job.result = "{}";
        return {};
      },
      limits);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(board->start({.task = "task"}));
  const auto fourth = board->start({.task = "task"});
  ASSERT_FALSE(fourth);
  EXPECT_EQ(fourth.error().front().code, "jobs.full");
  hold = false;
  ASSERT_TRUE(soon([&] { return board->find(3)->has_ended(); }));
  for (int i = 0; i < 5; ++i) {
    const auto more = board->start({.task = "task"});
    ASSERT_TRUE(more);
    ASSERT_TRUE(soon([&] { return board->find(more->id)->has_ended(); }));
  }
  EXPECT_EQ(board->jobs().size(), 4U);
  EXPECT_FALSE(board->find(1));
}

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

constexpr const char* kSearch =
    R"({"kind":"search-layout","model":"llama-3-8b","gpus":64,"batch":256,"pareto":true,"keep":3})";

TEST_F(LayoutJob, refuses_a_request_before_there_is_a_job) {
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

// Stops the search at many places and lets another board go on; the answer stays the same.
TEST_F(LayoutJob, stopped_anywhere_and_taken_up_again_gives_the_same_result) {
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

TEST_F(LayoutJob, a_spoilt_checkpoint_means_searching_anew) {
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

TEST(JobJson, has_the_fields_of_the_contract) {
  const Job job{.id = 7, .task = "t", .created_ms = 1'763'184'173'000, .candidates = 4, .done = 1};
  EXPECT_EQ(job_json(job, JobDetail::full),
            R"({"schema_version":1,"kind":"job","id":"7","task":"t","title":"","state":"queued",)"
            R"("created":"2025-11-15T05:22:53Z","updated":"1970-01-01T00:00:00Z",)"
            R"("progress_ratio":0.25,"candidates":4,"done":1,"evaluated":0,"remaining_s":null,)"
            R"("best":null,"result":null,"problem":null})");
}

}  // namespace
}  // namespace orrery::server
