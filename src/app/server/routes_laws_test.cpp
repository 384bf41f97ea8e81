// What routes promise beside answering at all: the status that fits the fault, every option of a
// body acting, lists that are JSON, counters that add up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/console.h"
#include "app/server/problem.h"
#include "core/base/json_writer.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

const AccessRules kLawRules{.port = 8117, .token = "0123456789abcdef"};

std::string template_text(const char* name) {
  return std::string(design_text::find_template(name)->text);
}

class RouteLaws : public testing::Test {
 protected:
  void open(bool may_save = true) {
    ConsoleSetting setting{.models = machine::known(), .version = "1"};
    setting.served = [this] { return Result<ServedDesign>(served); };
    if (may_save) setting.save = [](const std::string&) -> Result<void> { return {}; };
    setting.load = load;
    console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
  }
  Response ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    if (!console) open();
    return console->answer(
        {.method = method,
         .target = target,
         .headers = {{"Host", "127.0.0.1:8117"}, {"Authorization", "Bearer 0123456789abcdef"}},
         .body = body},
        kLawRules);
  }
  Json json(const std::string& target, const std::string& body) {
    const Response r = ask("POST", target, body);
    EXPECT_EQ(r.status, 200) << r.body;
    return Json::parse(r.body);
  }
  void wait_for_job(std::int64_t id) const {
    for (int i = 0; i < 30'000 && !console->jobs().find(id)->has_ended(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  ServedDesign served{.file = "my.yaml", .text = template_text("single-node"), .sample = true};
  std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();
  std::unique_ptr<Console> console;
};

std::string body_of(const char* name, const std::string& more) {
  return "{\"design\":" + json_escaped(template_text(name)) + more + "}";
}

// A store that runs elsewhere: none, one that is silent, one that is none, and one whose words are
// taken over field by field.
TEST_F(RouteLaws, a_store_s_state_is_told_in_the_shape_of_the_contract) {
  const auto told = [this](const std::string& address, const Result<std::string>& said) {
    ConsoleSetting setting{.models = machine::known(), .version = "1"};
    setting.served = [this] { return Result<ServedDesign>(served); };
    setting.store = address;
    setting.store_status = [said] { return said; };
    console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
    const Response r = ask("GET", "/api/v1/store");
    EXPECT_EQ(r.status, 200);
    return Json::parse(r.body);
  };
  EXPECT_EQ(told("", std::string("{}"))["state"], "none");
  const Json silent = told("http://x", fail({.code = "store.status", .what = "refused"}));
  EXPECT_EQ(silent["state"], "silent");
  EXPECT_EQ(silent["fault"], "refused");
  EXPECT_TRUE(silent["status"].is_null());
  for (const char* odd : {"", "hello", "[]", "{}", "3", R"({"store":7})"}) {
    EXPECT_EQ(told("http://x", std::string(odd))["state"], "silent") << odd;
  }
  std::string many;
  for (int i = 0; i < 300; ++i) {
    many += (i > 0 ? "," : "") + ("{\"name\":\"b" + std::to_string(i)) +
            "\",\"objects\":2,\"bytes\":" + std::to_string(i) + "}";
  }
  const Json told_of = told(
      "http://x", R"({"store":"s1","tiers":[{"name":"hot","data":4,"parity":2,"drives_away":3,)"
                  R"("redundancy_left":-1,"reads":5}],"drives":[{"name":"hot-0","tier":"hot",)"
                  R"("there":true,"total_bytes":100,"free_bytes":"many","x":1}],"buckets":[)" +
                      many + R"(],"moves":{"waiting":4},"scrub":[],"script":"<script>"})");
  const Json& status = told_of["status"];
  EXPECT_EQ(told_of["state"], "answers");
  EXPECT_EQ(status["tiers"][0]["redundancy_left"], -1);
  EXPECT_EQ(status["tiers"][0]["reads"], 5);
  EXPECT_EQ(status["drives"][0]["free_bytes"], 0);
  EXPECT_FALSE(status["drives"][0].contains("x"));
  EXPECT_FALSE(status.contains("script"));
  EXPECT_EQ(status["buckets"].size(), 200u);
  EXPECT_EQ(status["buckets"][0]["name"], "b299");
  EXPECT_EQ(status["bucket_count"], 300);
  EXPECT_EQ(status["objects"], 600);
  EXPECT_EQ(status["bytes"], 299 * 300 / 2);
  EXPECT_EQ(status["moves"]["waiting"], 4);
  EXPECT_EQ(status["scrub"]["rounds"], 0);
}

// A cookie is a name, a sign and a value; of another name it is none of ours.
TEST_F(RouteLaws, a_cookie_is_ours_by_its_whole_name_and_only_a_get_is_welcomed) {
  const auto status = [](const std::string& method, const std::string& target,
                         const std::string& cookie) {
    net::HeaderList headers = {{"Host", "127.0.0.1:8117"}};
    if (!cookie.empty()) headers.emplace_back("Cookie", cookie);
    const auto refusal =
        check_access({.method = method, .target = target, .headers = headers}, kLawRules);
    return refusal ? refusal->status : 200;
  };
  EXPECT_EQ(status("GET", "/", "orrery_8117=0123456789abcdef"), 200);
  EXPECT_EQ(status("GET", "/", "orrery_8117 0123456789abcdef"), 401);
  EXPECT_EQ(status("GET", "/", "orrery_81170=0123456789abcdef"), 401);
  EXPECT_EQ(status("GET", "/", "orrery_8117=0123456789abcdefg"), 401);
  EXPECT_EQ(status("POST", "/?token=0123456789abcdef", ""), 401);
  const auto welcome = check_access(
      {.target = "/?token=0123456789abcdef", .headers = {{"Host", "127.0.0.1:8117"}}}, kLawRules);
  ASSERT_TRUE(welcome);
  const std::string_view cookie = net::header_of(welcome->headers, "set-cookie");
  EXPECT_THAT(std::string(cookie), HasSubstr("HttpOnly")) << "no script reads it";
  EXPECT_THAT(std::string(cookie), HasSubstr("SameSite=Strict")) << "no other site sends it";
  EXPECT_EQ(net::header_of(welcome->headers, "location"), "/") << "the token leaves the address";
}

TEST_F(RouteLaws, a_part_in_braces_takes_one_plain_word) {
  const RequestRouter router({{"GET", "/a/{x}", [](const Request&, const PathValues& values) {
                                 return Response{.body = values[0]};
                               }}});
  const auto answered = [&](const std::string& target) {
    const auto a = router.answer({.target = target});
    return a.response.status == 200 ? a.response.body : std::to_string(a.response.status);
  };
  EXPECT_EQ(answered("/a/dgx-h100_1.2"), "dgx-h100_1.2");
  for (const char* none : {"/a/", "/a", "/a/b/c", "/a/..", "/a/b..c", "/a/%2e", "/a/b%00", "/a/b c",
                           "/a/b\\c", "/a/\xc3\xa4", "/b/x"}) {
    EXPECT_EQ(answered(none), "404") << none;
  }
}

TEST(Problem, says_where_each_fault_stands_and_what_kind_of_request_it_was) {
  const Diagnostics faults = {
      {.code = "unit.none", .place = {"d.yaml", 3, 7}, .what = "w", .why = "y", .fix = "f"}};
  const Response r = refused_body(faults, "the design has errors");
  EXPECT_EQ(r.status, 422) << "understood, and refused";
  const Json j = Json::parse(r.body);
  EXPECT_EQ(j["status"], 422);
  EXPECT_EQ(j["title"], "the design has errors");
  EXPECT_EQ(j["diagnostics"][0], Json({{"severity", "error"},
                                       {"code", "unit.none"},
                                       {"file", "d.yaml"},
                                       {"line", 3},
                                       {"column", 7},
                                       {"what", "w"},
                                       {"why", "y"},
                                       {"fix", "f"}}));
  EXPECT_EQ(refused_body({{.code = "body.field", .what = "w"}}, "t").status, 400)
      << "not what the address takes";
}

TEST(OnceTexts, makes_each_text_once_and_does_not_wait_for_ever) {
  OnceTexts texts;
  std::atomic<int> made = 0;
  std::atomic<bool> hold = true;
  const auto make = [&]() -> Result<std::string> {
    ++made;
    while (hold) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return "text";
  };
  using namespace std::chrono_literals;
  EXPECT_FALSE(texts.get("a", make, 5ms).has_value()) << "not ready yet";
  EXPECT_FALSE(texts.get("a", make, 5ms).has_value());
  hold = false;
  EXPECT_EQ(**texts.get("a", make, 10s), "text");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(**texts.get("b", make, 10s), "text");
  EXPECT_EQ(made, 2);
}

// A histogram: buckets count from below, the last one counts all, the sum is of the times.
TEST(Metrics, buckets_are_cumulated_and_hold_what_is_at_their_bound) {
  Metrics m;
  m.count("/r", "GET", 200, 0.001);
  m.count("/r", "GET", 200, 0.002);
  m.count("/r", "POST", 404, 7);
  m.count("", "GET", 404, 0.1);
  const std::string text = m.text({});
  const auto bucket = [&](const char* le, int n) {
    return HasSubstr("orrery_http_request_seconds_bucket{route=\"/r\",le=\"" + std::string(le) +
                     "\"} " + std::to_string(n) + "\n");
  };
  EXPECT_THAT(text, bucket("0.001", 1));
  EXPECT_THAT(text, bucket("0.0025", 2));
  EXPECT_THAT(text, bucket("5", 2));
  EXPECT_THAT(text, bucket("+Inf", 3));
  EXPECT_THAT(text, HasSubstr("orrery_http_request_seconds_sum{route=\"/r\"} 7.003\n"));
  EXPECT_THAT(text, HasSubstr("orrery_http_request_seconds_count{route=\"/r\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("{route=\"/r\",method=\"POST\",status=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{route=\"other\",method=\"GET\",status=\"404\"} 1\n"));
}

TEST(Metrics, a_gauge_is_introduced_once_however_many_labels_it_has) {
  const std::string text =
      Metrics().text({{.name = "g", .labels = {{"a", "1"}}, .value = 2, .help = "h"},
                      {.name = "g", .labels = {{"a", "2"}}, .value = 3, .help = "h"},
                      {.name = "k", .value = 4, .help = "i", .type = "counter"}});
  const std::size_t first = text.find("# HELP g h\n# TYPE g gauge\n");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("# HELP g", first + 1), std::string::npos);
  EXPECT_THAT(text, HasSubstr("g{a=\"1\"} 2\ng{a=\"2\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE k counter\nk 4\n"));
  EXPECT_GT(resident_bytes(), 1e6) << "bytes, not pages";
}

TEST_F(RouteLaws, the_gauges_of_the_server_are_its_own) {
  load->abandoned = 3;
  load->malformed = 5;
  load->connections = 7;
  load->streams = 9;
  const std::string text = ask("GET", "/metrics").body;
  EXPECT_THAT(text, HasSubstr("orrery_http_abandoned_total 3\n"));
  EXPECT_THAT(text, HasSubstr("orrery_http_malformed_total 5\n"));
  EXPECT_THAT(text, HasSubstr("orrery_http_connections 7\n"));
  EXPECT_THAT(text, HasSubstr("orrery_http_streams 9\n"));
  for (const char* state : {"queued", "running", "done", "failed", "cancelled"}) {
    EXPECT_THAT(text, HasSubstr("orrery_jobs{state=\"" + std::string(state) + "\"} 0\n"));
  }
  ask("GET", "/api/v1/jobs/17");
  EXPECT_THAT(ask("GET", "/metrics").body,
              HasSubstr("{route=\"/api/v1/jobs/{id}\",method=\"GET\",status=\"404\"} 1\n"))
      << "by its pattern, so that the number of series is bounded";
}

TEST_F(RouteLaws, a_session_says_whether_a_design_was_named) {
  EXPECT_TRUE(Json::parse(ask("GET", "/api/v1/session").body)["sample"]);
  served.sample = false;
  const Json j = Json::parse(ask("GET", "/api/v1/session").body);
  EXPECT_FALSE(j["sample"]);
  EXPECT_EQ(j["design"]["file"], "my.yaml");
  EXPECT_THAT(ask("GET", "/api/v1/catalog/nodes/dgx-h100").body, HasSubstr("\"id\": \"dgx-h100\""));
  EXPECT_EQ(ask("GET", "/api/v1/accuracy/weather").status, 404);
}

TEST_F(RouteLaws, nothing_is_saved_where_no_file_is_served) {
  open(false);
  const std::string text = json_escaped(served.text);
  EXPECT_EQ(ask("POST", "/api/v1/save", "{\"text\":" + text + ",\"before\":" + text + "}").status,
            409);
}

TEST_F(RouteLaws, a_swept_scale_is_the_one_asked_for) {
  const auto xs = [this](const std::string& scale) {
    return json("/api/v1/calc/checkpoint",
                R"({"sweep":{"parameter":"write","from":10,"to":1000,"points":3)" + scale +
                    "}}")["sweep"]["x"];
  };
  EXPECT_EQ(xs(""), Json({10.0, 505.0, 1000.0}));
  EXPECT_EQ(xs(R"(,"scale":"linear")"), Json({10.0, 505.0, 1000.0}));
  const Json log = xs(R"(,"scale":"log")");
  EXPECT_NEAR(log[1].get<double>(), 100, 1e-9);
}

TEST_F(RouteLaws, a_report_explains_where_that_is_asked_for) {
  const auto text = [this](const char* more) {
    return ask("POST", "/api/v1/report", body_of("single-node", more)).body;
  };
  EXPECT_THAT(text(R"(,"format":"text","explain":true)"), HasSubstr("\nwhy "));
  EXPECT_THAT(text(R"(,"format":"text")"), Not(HasSubstr("\nwhy ")));
}

// Twice the bytes take about twice as long; the network and the detail are those asked for.
TEST_F(RouteLaws, every_option_of_a_fabric_question_acts) {
  const auto view = [this](const char* more) {
    return json("/api/v1/fabric", body_of("superpod-h100", more));
  };
  const auto seconds = [](const Json& v) {
    return v["collective"]["before"]["time_s"].get<double>();
  };
  const Json one = view(R"(,"bytes":1000000000)");
  EXPECT_EQ(one["collective"]["bytes"], 1e9);
  EXPECT_NEAR(seconds(view(R"(,"bytes":2000000000)")) / seconds(one), 2, 0.2);
  EXPECT_EQ(view(R"(,"network":"storage")")["network"], "storage");
  EXPECT_EQ(one["network"], "compute");
  EXPECT_EQ(view(R"(,"collective":"all_to_all")")["collective"]["kind"], "all_to_all");
  EXPECT_TRUE(view(R"(,"detail":"aggregated")")["aggregated"]);
  EXPECT_FALSE(view(R"(,"detail":"full")")["aggregated"]);
  EXPECT_EQ(view(R"(,"failed":["spine-0"])")["collective"]["after"].is_null(), false);
}

TEST_F(RouteLaws, a_comparison_can_give_all_the_first_ones_work_and_draws_the_one_asked_for) {
  const auto body = [](const std::string& more) {
    return R"({"designs":[{"name":"a","text":)" + json_escaped(template_text("superpod-h100")) +
           R"(},{"name":"b","text":)" + json_escaped(template_text("superpod-h200")) + "}]" + more +
           "}";
  };
  EXPECT_FALSE(json("/api/v1/compare", body(""))["designs"][1]["same_workloads"]);
  EXPECT_TRUE(
      json("/api/v1/compare", body(R"(,"same_workloads":true)"))["designs"][1]["same_workloads"]);
  const auto drawing = [&](const char* more) {
    return ask("POST", "/api/v1/compare/report", body(more)).body;
  };
  const std::string first = drawing(R"(,"format":"svg","drawn":0)");
  EXPECT_EQ(drawing(R"(,"format":"svg")"), first);
  EXPECT_NE(drawing(R"(,"format":"svg","drawn":1)"), first);
}

TEST_F(RouteLaws, an_edit_says_whether_it_kept_the_files_own_form) {
  const Json kept =
      json("/api/v1/edit", body_of("single-node", R"(,"path":"name","value":"other")"));
  EXPECT_TRUE(kept["kept_format"]);
  EXPECT_EQ(kept["note"], "");
}

TEST_F(RouteLaws, a_list_of_jobs_is_json_and_brief) {
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
  EXPECT_TRUE(list["jobs"][0]["result"].is_null()) << "a list has no results";
  const Json one = Json::parse(ask("GET", "/api/v1/jobs/1").body);
  ASSERT_FALSE(one["result"].is_null());
  EXPECT_EQ(one["progress_ratio"], 1);
  for (const Json& layout : one["result"]["searches"][0]["layouts"]) {
    EXPECT_THAT(layout["layout"].get<std::string>(), HasSubstr("tp2 ")) << "what is fixed, stays";
  }
  EXPECT_EQ(ask("GET", "/api/v1/jobs/3/events").status, 404);
  EXPECT_EQ(ask("DELETE", "/api/v1/jobs/2").status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/2").status, 404);
}

// As many progress events as there was progress, each brief; then the end, once, with the result.
TEST_F(RouteLaws, events_tell_what_is_new_and_end_after_the_end) {
  ask("POST", "/api/v1/jobs", R"({"kind":"search-layout","model":"llama-3-70b","gpus":256})");
  const Response watched = ask("GET", "/api/v1/jobs/1/events");
  ASSERT_TRUE(watched.events);
  std::vector<std::string> told;
  std::optional<std::string> text;
  for (int i = 0; i < 30'000 && (text = watched.events()); ++i) {
    if (text->empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      told.push_back(*text);
    }
  }
  EXPECT_FALSE(text) << "the stream ends";
  ASSERT_FALSE(told.empty());
  std::int64_t done = -1;
  std::string state;
  for (std::size_t i = 0; i + 1 < told.size(); ++i) {
    ASSERT_THAT(told[i], testing::StartsWith("event: progress\ndata: "));
    const Json j = Json::parse(told[i].substr(told[i].find("data: ") + 6));
    EXPECT_TRUE(j["done"] > done || j["state"] != state) << "something is new";
    EXPECT_TRUE(j["result"].is_null());
    done = j["done"], state = j["state"];
  }
  EXPECT_THAT(told.back(), testing::StartsWith("event: done\ndata: "));
  EXPECT_FALSE(Json::parse(told.back().substr(18))["result"].is_null());
  EXPECT_EQ(std::ranges::count_if(told, [](const auto& t) { return t.starts_with("event: d"); }),
            1);
}

TEST_F(RouteLaws, a_board_that_is_full_is_no_fault_of_the_request) {
  open();
  const std::string job = R"({"kind":"search-layout","model":"llama-3.1-405b","gpus":4096})";
  Response last;
  for (int i = 0; i < 40 && last.status != 429; ++i) last = ask("POST", "/api/v1/jobs", job);
  EXPECT_EQ(last.status, 429) << last.body;
  EXPECT_THAT(last.body, HasSubstr("jobs.full"));
  for (const Job& j : console->jobs().jobs()) console->jobs().cancel_or_remove(j.id);
}

TEST_F(RouteLaws, what_runs_has_no_result_to_take_home_yet) {
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
