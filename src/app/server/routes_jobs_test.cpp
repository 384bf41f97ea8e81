#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/console.h"
#include "app/server/console_fixture.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;
using RoutesJobsRoute = RouteTest;
using testing::HasSubstr;

TEST_F(RoutesJobsRoute, the_job_list_is_brief) {
  const std::string job =
      R"({"kind":"search-layout","model":"llama-3-8b","gpus":8,"batch":8,"fixed":{"tp":2,"vp":1}})";
  const Response first = ask("POST", "/api/v1/jobs", job);
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(net::header_of(first.headers, "location"), "/api/v1/jobs/1");
  EXPECT_EQ(net::header_of(ask("POST", "/api/v1/jobs", job).headers, "location"), "/api/v1/jobs/2");
  wait_for_job(2);
  const Json list = Json::parse(ask("GET", "/api/v1/jobs").body);
  ASSERT_EQ(list["jobs"].size(), 2U);
  EXPECT_EQ(list["jobs"][0]["id"], "2") << "newest first";
  EXPECT_TRUE(list["jobs"][0]["result"].is_null());
  const Json one = Json::parse(ask("GET", "/api/v1/jobs/1").body);
  ASSERT_FALSE(one["result"].is_null());
  EXPECT_EQ(one["progress_ratio"], 1);
  for (const Json& layout : one["result"]["searches"][0]["layouts"]) {
    EXPECT_THAT(layout["layout"].get<std::string>(), HasSubstr("tp2 "));
  }
  EXPECT_EQ(ask("GET", "/api/v1/jobs/3/events").status, 404);
  EXPECT_EQ(ask("DELETE", "/api/v1/jobs/2").status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/2").status, 404);
}

// There is one brief event per progress report; then one end event with the result.
TEST_F(RoutesJobsRoute, job_events_end_with_the_job) {
  ask("POST", "/api/v1/jobs", R"({"kind":"search-layout","model":"llama-3-70b","gpus":256})");
  const Response watched = ask("GET", "/api/v1/jobs/1/events");
  ASSERT_TRUE(watched.events);
  std::vector<std::string> messages;
  std::optional<std::string> text;
  for (int i = 0; i < 30'000 && (text = watched.events()); ++i) {
    if (text->empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      messages.push_back(*text);
    }
  }
  EXPECT_FALSE(text);
  ASSERT_FALSE(messages.empty());
  std::int64_t done = -1;
  std::string state;
  for (std::size_t i = 0; i + 1 < messages.size(); ++i) {
    ASSERT_THAT(messages[i], testing::StartsWith("event: progress\ndata: "));
    const Json j = Json::parse(messages[i].substr(messages[i].find("data: ") + 6));
    EXPECT_TRUE(j["done"] > done || j["state"] != state);
    EXPECT_TRUE(j["result"].is_null());
    done = j["done"], state = j["state"];
  }
  EXPECT_THAT(messages.back(), testing::StartsWith("event: done\ndata: "));
  EXPECT_FALSE(Json::parse(messages.back().substr(18))["result"].is_null());
  EXPECT_EQ(
      std::ranges::count_if(messages, [](const auto& t) { return t.starts_with("event: d"); }), 1);
}

TEST_F(RoutesJobsRoute, a_full_board_answers_503) {
  open();
  const std::string job = R"({"kind":"search-layout","model":"llama-3.1-405b","gpus":4096})";
  Response last;
  for (int i = 0; i < 40 && last.status != 429; ++i) last = ask("POST", "/api/v1/jobs", job);
  EXPECT_EQ(last.status, 429) << last.body;
  EXPECT_THAT(last.body, HasSubstr("jobs.full"));
  for (const Job& j : console->jobs().jobs()) console->jobs().cancel_or_remove(j.id);
}

TEST_F(RoutesJobsRoute, a_running_job_has_no_result) {
  open();
  EXPECT_EQ(
      ask("POST", "/api/v1/runs", body_of("single-node", R"(,"span":"3650 d","replications":256)"))
          .status,
      202);
  EXPECT_EQ(ask("GET", "/api/v1/runs/1").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/runs/1/series").status, 404);
  EXPECT_EQ(ask("DELETE", "/api/v1/jobs/1").status, 200);
}

}  // namespace
}  // namespace orrery::server
