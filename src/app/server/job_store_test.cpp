#include "app/server/job_store.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/server/job_board.h"
#include "app/server/job_fixture.h"
#include "app/server/json_body.h"
#include "live/agent/test_folder.h"

namespace orrery::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

void put_byte(const std::string& path, std::streamoff at, char value) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put(value);
}

TEST(JobStore, every_field_of_a_job_is_kept) {
  const agent::TestFolder folder;
  Job job{.task = "t", .title = "u", .request = "r", .state = JobState::failed};
  job.created_ms = 11, job.updated_ms = 12, job.candidates = 13, job.done = 14, job.evaluated = 15;
  job.checkpoint = "c", job.best = "b", job.result = "s", job.problem = "p";
  const auto same = [&](const Job& kept) {
    EXPECT_EQ(kept.task + kept.title + kept.request, "tur");
    EXPECT_EQ(kept.state, job.state);
    EXPECT_EQ(kept.created_ms, 11);
    EXPECT_EQ(kept.updated_ms, 12);
    EXPECT_EQ(kept.candidates, 13);
    EXPECT_EQ(kept.done, 14);
    EXPECT_EQ(kept.evaluated, 15);
    EXPECT_EQ(kept.checkpoint + kept.best + kept.result + kept.problem, "cbsp");
  };
  {
    const auto store = JobStore::open(folder.at("jobs.db")).value();
    ASSERT_EQ(store->add(job).value(), 1);
    same(store->load().value().at(0));
    Job blank{.id = store->add({.task = "t", .title = "u", .request = "r"}).value()};
    blank = job, blank.id = 2;
    blank.created_ms = 0;  // an update does not change the time of creation
    ASSERT_TRUE(store->update(blank));
  }
  auto again = JobStore::open(folder.at("jobs.db")).value()->load().value();
  ASSERT_EQ(again.size(), 2U);
  same(again[0]);
  EXPECT_EQ(again[1].created_ms, 0);
  again[1].created_ms = 11;
  same(again[1]);
}

// SQLite keeps the user's version in bytes 60 to 63 of the file.
TEST(JobStore, a_newer_file_is_not_changed) {
  const agent::TestFolder folder;
  const std::string path = folder.at("jobs.db");
  ASSERT_TRUE(JobStore::open(path).value()->add({.task = "t"}));
  put_byte(path, 63, 2);
  const auto later = JobStore::open(path);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().front().code, "serve.state");
  EXPECT_THAT(later.error().front().what, HasSubstr("later"));
  put_byte(path, 63, 1);
  EXPECT_EQ(JobStore::open(path).value()->load().value().size(), 1U);
}

TEST(JobStore, a_damaged_file_is_refused) {
  const agent::TestFolder folder;
  const std::string path = folder.at("jobs.db");
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(JobStore::open(path).value()->add({.task = "t"}));
  const auto size = static_cast<std::streamoff>(fs::file_size(path));
  ASSERT_GT(size, 4096);
  for (std::streamoff at = 4096; at < size; ++at) put_byte(path, at, '\xff');
  auto store = JobStore::open(path);
  const bool refused = !store || !(*store)->load();
  EXPECT_TRUE(refused);
  folder.write("letter", std::string(5000, 'x'));
  const auto letter = JobStore::open(folder.at("letter"));
  ASSERT_FALSE(letter);
  EXPECT_EQ(letter.error().front().place.file, folder.at("letter"));
}

TEST(JobStore, a_new_folder_is_private) {
  const agent::TestFolder folder;
  ASSERT_TRUE(JobStore::open(folder.at("state/jobs.db")));
  EXPECT_EQ(fs::status(folder.at("state")).permissions() & fs::perms(0777), fs::perms(0700));
}

TEST(JobStore, the_file_is_private) {
  namespace fs = std::filesystem;
  const agent::TestFolder folder;
  const std::string path = folder.at("jobs.db");
  folder.write("jobs.db", "");  // as an older version created it
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

TEST(JobStore, jobs_are_stored_and_read_back) {
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

TEST(JobStore, job_numbers_are_unique) {
  const agent::TestFolder folder;
  {
    const auto store = open_store(folder.at("jobs.db"));
    EXPECT_EQ(store->add({}).value(), 1);
    ASSERT_TRUE(store->remove(1));
  }
  EXPECT_EQ(open_store(folder.at("jobs.db"))->add({}).value(), 2);
}

TEST(JobStore, one_server_holds_the_file) {
  const agent::TestFolder folder;
  const auto first = open_store(folder.at("jobs.db"));
  const auto second = JobStore::open(folder.at("jobs.db"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "serve.state-in-use");
}

TEST(JobStore, foreign_files_are_not_changed) {
  const agent::TestFolder folder;
  folder.write("letter", std::string(5000, 'x'));
  const auto letter = JobStore::open(folder.at("letter"));
  ASSERT_FALSE(letter);
  EXPECT_EQ(letter.error().front().code, "serve.state");
  EXPECT_EQ(std::filesystem::file_size(folder.at("letter")), 5000U);
  EXPECT_FALSE(JobStore::open("/proc/no/such/folder/jobs.db"));
}

}  // namespace
}  // namespace orrery::server
