// Answers at their edges: a page of faults, requests that no longer fit, lists that are empty, and
// files of the console for those who take them packed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "app/server/assets.h"
#include "app/server/console.h"
#include "app/server/job_board.h"
#include "app/server/job_store.h"
#include "app/server/layout_job.h"
#include "app/server/run_job.h"
#include "core/base/json_writer.h"
#include "live/net/message.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

const AccessRules kEdgeRules{.port = 8117, .token = "fedcba9876543210"};

class ServerEdges : public testing::Test {
 protected:
  Response asked(const std::string& method, const std::string& target, const std::string& body = {},
                 net::HeaderList headers = {}) {
    if (!console) {
      ConsoleSetting setting{.models = machine::known(), .version = "1"};
      setting.served = [this] { return served; };
      console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
    }
    headers.emplace_back("Host", "127.0.0.1:8117");
    headers.emplace_back("Authorization", "Bearer fedcba9876543210");
    return console->answer(
        {.method = method, .target = target, .headers = std::move(headers), .body = body},
        kEdgeRules);
  }

  Result<ServedDesign> served = ServedDesign{.file = "my.yaml", .text = "orrery: 1\nname: [\n"};
  std::unique_ptr<Console> console;
};

std::string header_in(const Response& r, std::string_view name) {
  for (const auto& [key, value] : r.headers) {
    if (key == name) return value;
  }
  return {};
}

// A person reads it: with the console its page, which asks for the review; else the faults.
TEST_F(ServerEdges, a_design_with_faults_has_a_page) {
  const Response broken = asked("GET", "/");
  EXPECT_THAT(broken.content_type, HasSubstr("text/html"));
  if (has_console()) {
    EXPECT_EQ(broken.status, 200);
    EXPECT_THAT(header_in(broken, "Content-Security-Policy"), HasSubstr("default-src 'none'"));
    return;
  }
  EXPECT_EQ(broken.status, 422);
  EXPECT_THAT(broken.body, HasSubstr("The design has errors"));
  served = fail({.code = "file.unreadable", .what = "it went away"});
  const Response gone = asked("GET", "/");
  EXPECT_EQ(gone.status, 422);
  EXPECT_THAT(gone.body, HasSubstr("it went away"));
  served = ServedDesign{.file = "my.yaml",
                        .text =
                            "orrery: 1\nname: fine\nsite: { region: usa }\n"
                            "fleet: [{ name: n, node: dgx-h100, count: 2 }]\n"};
  const Response good = asked("GET", "/");
  EXPECT_EQ(good.status, 200);
  EXPECT_THAT(good.body, Not(HasSubstr("The design has errors")));
}

TEST_F(ServerEdges, files_of_the_console_are_packed_for_those_who_take_it) {
  EXPECT_EQ(asked("GET", "/assets/none.js").status, 404);
  if (!has_console()) GTEST_SKIP() << "this build has no console";
  const auto coding = [](const char* takes) {
    const Response page = console_page(
        {.method = "GET", .target = "/", .headers = {{"Accept-Encoding", takes}}, .body = {}});
    EXPECT_EQ(page.status, 200) << takes;
    EXPECT_EQ(header_in(page, "Vary"), "Accept-Encoding");
    return header_in(page, "Content-Encoding");
  };
  EXPECT_EQ(coding("gzip"), "gzip");
  EXPECT_EQ(coding("br, gzip;q=0.5"), "gzip");
  EXPECT_EQ(coding("*"), "gzip");
  EXPECT_EQ(coding("gzip;q=0"), "");
  EXPECT_EQ(coding("br"), "");
  EXPECT_EQ(coding(""), "");
}

TEST_F(ServerEdges, a_comparison_of_nothing_draws_none_of_it) {
  const auto faults = [this](const std::string& body) {
    const Response r = asked("POST", "/api/v1/compare/report", body);
    EXPECT_GE(r.status, 400);
    return r.body;
  };
  EXPECT_THAT(faults(R"({"designs":[],"format":"svg","drawn":1})"), HasSubstr("drawn"));
  EXPECT_THAT(faults(R"({"designs":[],"format":"svg","drawn":0})"), Not(HasSubstr("drawn")));
}

// A store of an earlier program may hold a request that this one refuses.
TEST(RunJobEdges, a_request_that_no_longer_fits_is_a_fault_and_not_a_run) {
  const RunJobs runs(machine::known());
  for (const char* request : {"{}", "", "{\"design\":\"orrery: 1\"}"}) {
    EXPECT_FALSE(runs.first_replication({.id = 5, .task = kRunTask, .request = request}));
    EXPECT_FALSE(runs.job_of(request)) << request;
  }
}

// What a task reports is seen while it still runs.
TEST(JobBoardEdges, a_report_shows_before_the_end) {
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

// The result of a search with most of the layout fixed, as text.
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

TEST(LayoutJobEdges, a_search_gives_a_result_and_each_part_of_the_question_acts) {
  const std::string usual = layout_found("");
  EXPECT_TRUE(Json::accept(usual)) << usual;
  EXPECT_NE(usual, layout_found(R"(,"accelerator":"h200-sxm")"));
  EXPECT_NE(usual, layout_found(R"(,"nic":"100 Gb/s")"));
  EXPECT_NE(usual, layout_found(R"(,"sequence":2048)"));
  EXPECT_NE(usual, layout_found(R"(,"precision":"fp8")"));
  EXPECT_NE(usual, layout_found(R"(,"framework":"torchtitan")"));
}

}  // namespace
}  // namespace orrery::server
