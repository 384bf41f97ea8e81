#include "app/server/job_board.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/console.h"
#include "app/server/job_fixture.h"
#include "app/server/job_store.h"
#include "app/server/json_body.h"
#include "live/agent/test_folder.h"
#include "live/net/message.h"

namespace orrery::server {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// A task's progress is visible while it runs.
TEST(JobBoard, progress_is_visible_before_the_end) {
  std::promise<JobBoard*> made;
  std::promise<std::int64_t> seen;
  const JobTask task = [&](JobRun& run) -> Result<void> {
    const JobBoard* board = made.get_future().get();
    run.job.done = 7;
    run.report();
    seen.set_value(board->find(run.job.id)->done);
    run.job.result = "{}";
    return {};
  };
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {{"task", task}});
  ASSERT_TRUE(board);
  ASSERT_TRUE((*board)->start({.task = "task", .title = "t", .request = "r"}));
  made.set_value(board->get());
  EXPECT_EQ(seen.get_future().get(), 7);
}

// A copy of the file, taken while the job runs, is what a killed server leaves behind.
TEST(JobBoard, a_killed_server_leaves_its_last_checkpoint) {
  const agent::TestFolder folder;
  const auto board = board_of(folder.at("jobs.db"), [](JobRun& run) -> Result<void> {
    while (!run.should_stop()) {
      ++run.job.done;
      run.job.checkpoint = "at " + std::to_string(run.job.done);
      run.report();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return {};
  });
  ASSERT_TRUE(board->start({.task = "task"}));
  std::string kept;
  EXPECT_TRUE(comes_true([&] {
    fs::remove_all(folder.at("copy"));
    fs::create_directory(folder.at("copy"));
    for (const char* file : {"jobs.db", "jobs.db-wal"}) {
      if (fs::exists(folder.at(file))) {
        fs::copy(folder.at(file), folder.at(std::string("copy/") + file));
      }
    }
    const auto copy = JobStore::open(folder.at("copy/jobs.db"));
    const auto jobs = copy ? (*copy)->load() : Result<std::vector<Job>>{};
    if (jobs && !jobs->empty()) kept = jobs->front().checkpoint;
    return kept.starts_with("at ");
  })) << kept;
}

TEST(JobBoard, interrupted_jobs_run_first) {
  const agent::TestFolder folder;
  {
    const auto store = JobStore::open(folder.at("jobs.db")).value();
    for (const JobState state : {JobState::queued, JobState::queued, JobState::running}) {
      ASSERT_TRUE(store->add({.task = "task", .state = state}));
    }
  }
  std::vector<std::int64_t> order;
  const auto board = board_of(folder.at("jobs.db"), [&order](JobRun& run) -> Result<void> {
    order.push_back(run.job.id);
    run.job.result = "{}";
    return {};
  });
  ASSERT_TRUE(comes_true([&] { return board->count_by_state()[2] == 3; }));
  EXPECT_THAT(order, ElementsAre(3, 1, 2));
}

TEST(JobBoard, waiting_jobs_are_not_evicted) {
  std::atomic<bool> hold = true;
  const auto board = board_of(kStoreInMemory,
                              [&hold](JobRun& run) -> Result<void> {
                                while (hold && !run.should_stop())
                                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                run.job.result = "{}";
                                return {};
                              },
                              {.jobs_max = 2, .open_max = 4});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(board->start({.task = "task"})) << "up to the bound";
  EXPECT_FALSE(board->start({.task = "task"}));
  EXPECT_EQ(board->jobs().size(), 4U);
  EXPECT_FALSE(board->find(17));
  hold = false;
  EXPECT_TRUE(comes_true([&] { return board->count_by_state()[2] == 4; }));
  ASSERT_TRUE(board->start({.task = "task"}));
  EXPECT_EQ(board->jobs().size(), 2U);
}

// If the server ends in the middle, the job stays running, not done, and the board does not wait
// for it.
TEST(JobBoard, a_job_interrupted_by_shutdown_stays_queued) {
  const agent::TestFolder folder;
  std::atomic<bool> began = false;
  {
    const auto board = board_of(folder.at("jobs.db"), [&began](JobRun& run) -> Result<void> {
      began = true;
      for (int i = 0; i < 5000 && !run.should_stop(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (!run.should_stop()) run.job.result = "{}";
      EXPECT_FALSE(run.cancelled());
      run.job.checkpoint = "here";
      return {};
    });
    ASSERT_TRUE(board->start({.task = "task"}));
    ASSERT_TRUE(comes_true([&] { return began.load(); }));
  }
  const auto jobs = JobStore::open(folder.at("jobs.db")).value()->load().value();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].state, JobState::running);
  EXPECT_EQ(jobs[0].checkpoint, "here");
}

TEST(JobBoard, an_exception_in_a_task_fails_its_job) {
  const auto board =
      board_of(kStoreInMemory, [](JobRun&) -> Result<void> { throw std::runtime_error("thrown"); });
  ASSERT_TRUE(board->start({.task = "task"}));
  ASSERT_TRUE(board->start({.task = "unheard of"}));
  ASSERT_TRUE(comes_true([&] { return board->find(2)->has_ended(); }));
  EXPECT_EQ(Json::parse(board->find(1)->problem)["diagnostics"][0]["code"], "jobs.internal");
  EXPECT_EQ(Json::parse(board->find(1)->problem)["diagnostics"][0]["why"], "thrown");
  EXPECT_EQ(Json::parse(board->find(2)->problem)["diagnostics"][0]["code"], "jobs.task");
}

TEST(JobBoard, jobs_run_in_order_and_keep_their_results) {
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

TEST(JobBoard, a_failed_job_has_a_problem) {
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

TEST(JobBoard, running_and_waiting_jobs_can_be_cancelled) {
  const auto board = open_board(kStoreInMemory, [](JobRun& run) -> Result<void> {
    while (!run.should_stop()) {
      ++run.job.done;
      run.report();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
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

TEST(JobBoard, the_number_of_jobs_is_bounded) {
  const JobLimits limits{.jobs_max = 4, .open_max = 3};
  std::atomic<bool> hold = true;
  const auto board = open_board(
      kStoreInMemory,
      [&hold](JobRun& run) -> Result<void> {
        while (hold && !run.should_stop())
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
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

}  // namespace
}  // namespace orrery::server
