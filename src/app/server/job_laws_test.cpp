// Jobs at their edges: what is kept when a server is killed, what goes first, what is never
// forgotten, and files that are not ours to change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/job_board.h"
#include "app/server/job_store.h"
#include "app/server/json_body.h"
#include "app/server/layout_job.h"
#include "app/server/run_job.h"
#include "core/base/json_writer.h"
#include "live/agent/test_folder.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;
using Json = nlohmann::json;
namespace fs = std::filesystem;

template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

std::unique_ptr<JobBoard> board_of(const std::string& path, JobTask task, JobLimits limits = {}) {
  return JobBoard::open(JobStore::open(path).value(), {{"task", std::move(task)}}, limits).value();
}

void put_byte(const std::string& path, std::streamoff at, char value) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put(value);
}

TEST(JobLaws, every_field_of_a_job_is_kept) {
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
    blank.created_ms = 0;  // an update does not touch when it was made
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
TEST(JobLaws, a_file_of_a_later_version_is_left_as_it_is) {
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

TEST(JobLaws, a_file_that_is_damaged_or_no_database_is_refused_and_named) {
  const agent::TestFolder folder;
  const std::string path = folder.at("jobs.db");
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(JobStore::open(path).value()->add({.task = "t"}));
  const auto size = static_cast<std::streamoff>(fs::file_size(path));
  ASSERT_GT(size, 4096);
  for (std::streamoff at = 4096; at < size; ++at) put_byte(path, at, '\xff');
  auto store = JobStore::open(path);
  const bool refused = !store || !(*store)->load();
  EXPECT_TRUE(refused) << "half of the jobs are not all of them";
  folder.write("letter", std::string(5000, 'x'));
  const auto letter = JobStore::open(folder.at("letter"));
  ASSERT_FALSE(letter);
  EXPECT_THAT(letter.error().front().what, HasSubstr("no state file"));
  EXPECT_EQ(letter.error().front().place.file, folder.at("letter"));
}

TEST(JobLaws, a_folder_made_for_the_file_is_its_owners) {
  const agent::TestFolder folder;
  ASSERT_TRUE(JobStore::open(folder.at("state/jobs.db")));
  EXPECT_EQ(fs::status(folder.at("state")).permissions() & fs::perms(0777), fs::perms(0700));
}

// A copy of the file, taken while the job runs, is what a killed server leaves behind.
TEST(JobLaws, a_killed_server_leaves_the_last_checkpoint_behind) {
  const agent::TestFolder folder;
  const auto board = board_of(folder.at("jobs.db"), [](JobRun& run) -> Result<void> {
    while (!run.should_stop()) {
      ++run.job.done;
      run.job.checkpoint = "at " + std::to_string(run.job.done);
      run.report();
      std::this_thread::sleep_for(2ms);
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

TEST(JobLaws, what_an_earlier_server_left_running_goes_first) {
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

TEST(JobLaws, what_waits_is_not_forgotten_to_make_room) {
  std::atomic<bool> hold = true;
  const auto board = board_of(kStoreInMemory,
                              [&hold](JobRun& run) -> Result<void> {
                                while (hold && !run.should_stop()) std::this_thread::sleep_for(1ms);
                                run.job.result = "{}";
                                return {};
                              },
                              {.jobs_max = 2, .open_max = 4});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(board->start({.task = "task"})) << "up to the bound";
  EXPECT_FALSE(board->start({.task = "task"})) << "and no further";
  EXPECT_EQ(board->jobs().size(), 4U);
  EXPECT_FALSE(board->find(17));
  hold = false;
  EXPECT_TRUE(comes_true([&] { return board->count_by_state()[2] == 4; }));
  ASSERT_TRUE(board->start({.task = "task"})) << "those that ended take no place";
  EXPECT_EQ(board->jobs().size(), 2U);
}

// An end of the server in the middle leaves a job running, not done, and its board does not wait
// for it.
TEST(JobLaws, a_job_that_the_servers_end_interrupts_is_still_to_be_done) {
  const agent::TestFolder folder;
  std::atomic<bool> began = false;
  {
    const auto board = board_of(folder.at("jobs.db"), [&began](JobRun& run) -> Result<void> {
      began = true;
      for (int i = 0; i < 5000 && !run.should_stop(); ++i) std::this_thread::sleep_for(1ms);
      if (!run.should_stop()) run.job.result = "{}";
      EXPECT_FALSE(run.cancelled()) << "nobody cancelled it";
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

TEST(JobLaws, a_fault_of_a_task_has_the_code_of_its_kind) {
  const auto board =
      board_of(kStoreInMemory, [](JobRun&) -> Result<void> { throw std::runtime_error("thrown"); });
  ASSERT_TRUE(board->start({.task = "task"}));
  ASSERT_TRUE(board->start({.task = "unheard of"}));
  ASSERT_TRUE(comes_true([&] { return board->find(2)->has_ended(); }));
  EXPECT_EQ(Json::parse(board->find(1)->problem)["diagnostics"][0]["code"], "jobs.internal");
  EXPECT_EQ(Json::parse(board->find(1)->problem)["diagnostics"][0]["why"], "thrown");
  EXPECT_EQ(Json::parse(board->find(2)->problem)["diagnostics"][0]["code"], "jobs.task");
}

TEST(JobJson, tells_time_left_only_while_it_runs_and_the_result_only_in_full) {
  Job job{.id = 1, .state = JobState::running, .created_ms = 0};
  job.updated_ms = 1'709'210'096'000;  // the leap day of 2024
  job.candidates = 4, job.done = 3, job.remaining_s = 2.5, job.result = "{\"a\":1}";
  job.problem = "{\"b\":2}";
  const Json running = Json::parse(job_json(job, JobDetail::full));
  EXPECT_EQ(running["remaining_s"], 2.5);
  EXPECT_EQ(running["progress_ratio"], 0.75);
  EXPECT_EQ(running["created"], "1970-01-01T00:00:00Z");
  EXPECT_EQ(running["updated"], "2024-02-29T12:34:56Z");
  EXPECT_EQ(running["result"], Json({{"a", 1}}));
  EXPECT_EQ(running["problem"], Json({{"b", 2}}));
  EXPECT_TRUE(running["best"].is_null());
  EXPECT_TRUE(Json::parse(job_json(job, JobDetail::brief))["result"].is_null());
  job.state = JobState::done;
  const Json done = Json::parse(job_json(job, JobDetail::full));
  EXPECT_TRUE(done["remaining_s"].is_null());
  EXPECT_EQ(done["progress_ratio"], 1) << "whatever was counted";
}

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

// What a job counts is what its searches count together, and what is fixed is fixed.
TEST(LayoutJobLaws, a_job_counts_what_its_searches_count) {
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
  EXPECT_EQ(one["searches"].size(), 1U) << "half of them only where it is asked for";
}

TEST(LayoutJobLaws, a_design_and_a_model_are_not_both_what_is_searched) {
  const LayoutJobs jobs{.models = machine::known()};
  const std::string design = json_escaped(design_text::find_template("superpod-h100")->text);
  const auto fault = [&](const std::string& more) {
    const auto job =
        layout_job(jobs, "{\"kind\":\"search-layout\",\"design\":" + design + more + "}");
    return job ? job->title : job.error().front().code;
  };
  EXPECT_EQ(fault(R"(,"model":"llama-3-8b")"), "body.field");
  EXPECT_EQ(fault(R"(,"workload":"assistant")"), "search.unknown") << "it serves";
  EXPECT_THAT(fault(R"(,"workload":"pretrain")"), HasSubstr("960 x h100-sxm"));
}

// A line of a checkpoint that is of another number of GPUs, or beyond the end, is not taken up.
TEST(LayoutJobLaws, a_checkpoint_of_another_search_is_passed_over) {
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
  EXPECT_EQ(result_from("16 999 7 7 7 7 7\n"), plain) << "there are not so many chunks";
  EXPECT_EQ(result_from("16 -1 7 7 7 7 7\n"), plain);
  EXPECT_EQ(result_from("16 1\n"), plain);
}

TEST(JsonBodyLaws, bounds_are_within_themselves) {
  auto body = JsonBody::parse(
      R"({"t":"12345","least":0,"most":9,"n":9.0,"l":["a","b"],"v":{"a":1,"b":2},"o":[{},{}]})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->text("t", 5), "12345");
  EXPECT_EQ(body->integer("least", {0, 9}), 0);
  EXPECT_EQ(body->integer("most", {0, 9}), 9);
  EXPECT_EQ(body->number("n", {0, 9}), 9);
  EXPECT_THAT(body->texts("l", 2, 5), testing::SizeIs(2));
  EXPECT_THAT(body->plain_values("v", 2), testing::SizeIs(2));
  int read = 0;
  body->objects("o", 2, 2, [&](JsonBody&) { ++read; });
  EXPECT_EQ(read, 2);
  EXPECT_THAT(body->faults(), testing::IsEmpty());
}

TEST(JsonBodyLaws, one_more_or_less_than_the_bounds_is_a_fault) {
  auto body = JsonBody::parse(
      R"({"l":["a","b","c"],"v":{"a":1,"b":2,"c":3},"few":[{}],"many":[{},{},{}],"w":2.5,"n":null})");
  ASSERT_TRUE(body);
  EXPECT_TRUE(body->texts("l", 2, 5).empty());
  EXPECT_TRUE(body->plain_values("v", 2).empty());
  body->objects("few", 2, 2, [](JsonBody&) { FAIL(); });
  body->objects("many", 2, 2, [](JsonBody&) { FAIL(); });
  EXPECT_EQ(body->optional_integer("w", {0, 9}), std::nullopt) << "2.5 is no whole number";
  body->text("n", 5);  // null is nothing, and it is asked for
  EXPECT_EQ(body->faults().size(), 6U);
}

TEST(JsonBodyLaws, a_fault_deep_inside_is_named_by_its_whole_path) {
  auto body = JsonBody::parse(R"({"a":{"b":{"c":1},"x":2},"l":[{"d":{"e":1}}]})");
  ASSERT_TRUE(body);
  body->object("a", [](JsonBody& a) { a.object("b", [](JsonBody& b) { b.text("c", 5); }); });
  body->objects("l", 1, 1, [](JsonBody& l) { l.object("d", [](JsonBody& d) { d.text("e", 5); }); });
  std::string told;
  for (const Diagnostic& d : body->faults()) told += d.what + '\n';
  EXPECT_THAT(told, HasSubstr("`a.b.c` is not a text"));
  EXPECT_THAT(told, HasSubstr("`a.x` is not a field"));
  EXPECT_THAT(told, HasSubstr("`l[0].d.e` is not a text"));
}

// Brackets in a text do not count, wherever its quotes are escaped; those closed before do.
TEST(JsonBodyLaws, depth_is_of_the_deepest_place) {
  const auto fault = [](const std::string& text) {
    const auto body = JsonBody::parse(text);
    return body ? "none" : body.error().front().code;
  };
  const std::string deep(100, '['), ends(100, ']');
  EXPECT_EQ(fault(R"({"a":"\"[[)" + deep + "\"}"), "none");
  EXPECT_EQ(fault(R"({"a":"\\","b":)" + deep + ends + "}"), "body.depth");
  EXPECT_EQ(fault(R"({"a":)" + deep + ends + R"(,"b":[1]})"), "body.depth");
  EXPECT_EQ(fault("{\"a\":\"\xc3\x28\"}"), "body.json");
}

TEST(RunJobLaws, a_request_that_says_nothing_more_is_of_thirty_days) {
  const RunJobs runs(machine::known());
  const std::string design = json_escaped(design_text::find_template("single-node")->text);
  const auto title = [&](const std::string& more) {
    return runs.job_of("{\"design\":" + design + more + "}").value().title;
  };
  EXPECT_THAT(title(""), HasSubstr("for 30 d, 8 replications, seed 1"));
  EXPECT_THAT(title(R"(,"span":"2 h","replications":1,"seed":9)"),
              HasSubstr("for 2 h, 1 replication, seed 9"));
  EXPECT_THAT(title(R"(,"span":"1 s")"), HasSubstr("for 1 s"));
  EXPECT_FALSE(runs.job_of("{\"design\":" + design + R"(,"span":"999 ms"})"));
  EXPECT_FALSE(runs.job_of("{\"design\":" + design + R"(,"span":"-1 d"})"));
}

}  // namespace
}  // namespace orrery::server
