#include "app/server/console.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "app/server/console_fixture.h"
#include "app/server/job_store.h"
#include "app/server/problem.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using ConsoleConsole = ConsoleTest;
using testing::HasSubstr;
using testing::Not;

const AccessRules kRules{.port = 8117, .token = "secret"};

class Consoles : public testing::Test {
 protected:
  Consoles() {
    ConsoleSetting setting{.models = machine::known(), .version = "1.2.3"};
    setting.served = [this] { return served; };
    setting.save = [this](const std::string& text) -> Result<void> {
      served->text = text;
      return {};
    };
    auto store = JobStore::open(kStoreInMemory);
    console = Console::open(std::move(setting), std::move(*store)).value();
  }

  Response ask(const std::string& method, const std::string& target,
               const std::string& body = {}) const {
    return console->answer(
        {.method = method,
         .target = target,
         .headers = {{"Host", "127.0.0.1:8117"}, {"Authorization", "Bearer secret"}},
         .body = body},
        kRules);
  }
  Response get(const std::string& target) const { return ask("GET", target); }
  Response post(const std::string& target, const std::string& body) const {
    return ask("POST", target, body);
  }

  Result<ServedDesign> served = ServedDesign{
      .file = "my.yaml", .text = std::string(design_text::find_template("single-node")->text)};
  std::unique_ptr<Console> console;
};

std::string sample() { return std::string(design_text::find_template("single-node")->text); }

std::string with_design(const std::string& more, const std::string& design = sample()) {
  return "{\"design\":" + json_escaped(design) + more + "}";
}

TEST_F(Consoles, a_file_changed_elsewhere_is_not_overwritten) {
  const auto save = [this](const std::string& text, const std::string& before) {
    return post("/api/v1/save",
                "{\"text\":" + json_escaped(text) + ",\"before\":" + json_escaped(before) + "}");
  };
  const std::string began = served->text;
  EXPECT_EQ(save(began + "# mine\n", began).status, 200);
  EXPECT_EQ(served->text, began + "# mine\n");
  EXPECT_EQ(save(began + "# mine\n", began).status, 200);
  served->text = "somebody else's";
  EXPECT_EQ(save(began, began).status, 409);
  EXPECT_EQ(served->text, "somebody else's");
  EXPECT_EQ(post("/api/v1/save", "{}").status, 400);
}

TEST_F(Consoles, plan_answers_with_a_verdict_or_all_diagnostics) {
  const Response good = post("/api/v1/plan", sample());
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(good.content_type, "application/json");
  EXPECT_THAT(good.body, HasSubstr("\"kind\": \"verdict\""));
  const Response bad = post("/api/v1/plan", "orrery: 1\nname: x\nsite: { power: 2 }\n");
  EXPECT_EQ(bad.status, 422);
  EXPECT_EQ(bad.content_type, "application/problem+json");
  EXPECT_THAT(bad.body, HasSubstr("\"line\": 3"));
  EXPECT_EQ(post("/api/v1/plan", "\xff").status, 400);
}

TEST_F(Consoles, a_posted_design_cannot_name_local_files) {
  std::string design = sample();
  const std::size_t at = design.find("model: ");
  ASSERT_NE(at, std::string::npos);
  design.replace(at, design.find_first_of(",\n}", at) - at, "model: /etc/passwd");
  const Response refused = post("/api/v1/plan", design);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, Not(HasSubstr("root:")));
}

TEST_F(Consoles, paths_are_matched_exactly) {
  EXPECT_EQ(get("/api/v1/catalog/nodes/dgx-h100").status, 200);
  EXPECT_EQ(get("/api/v1/catalog").status, 200);
  for (const char* none :
       {"/api/v1/catalog/nodes/none", "/api/v1/catalog/../../etc/passwd", "/api/v1/catalogue",
        "/api/v1/catalog/%2e%2e/%2e%2e/etc/passwd", "/../etc/passwd", "/etc/passwd", "//", "",
        "/api/v2/plan", "/api/v1/catalog/nodes/dgx-h100\\..\\x", "/assets/../index.html",
        "/assets/..%2findex.html", "/assets/", "/api/v1/catalog/", "/api/v1/jobs/0",
        "/api/v1/jobs/-1", "/api/v1/jobs/99999999999999999999", "/api/v1/templates/../session"}) {
    EXPECT_EQ(get(none).status, 404) << none;
  }
}

TEST_F(Consoles, a_wrong_method_gets_405_and_allow) {
  const Response wrong = get("/api/v1/plan");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.front(), std::pair(std::string("Allow"), std::string("POST")));
  EXPECT_EQ(ask("PUT", "/api/v1/jobs").headers.front().second, "GET, POST");
  EXPECT_EQ(ask("HEAD", "/healthz").status, 200);
}

TEST_F(Consoles, session_has_the_served_text_even_with_errors) {
  EXPECT_THAT(get("/api/v1/session").body, HasSubstr("\"version\": \"1.2.3\""));
  EXPECT_THAT(get("/api/v1/session").body, Not(HasSubstr("\"digest\": \"\"")));
  served = ServedDesign{.file = "bad.yaml", .text = "orrery: 1"};
  const Response bad = get("/api/v1/session");
  EXPECT_EQ(bad.status, 200);
  EXPECT_THAT(bad.body, HasSubstr("\"text\": \"orrery: 1\""));
  EXPECT_THAT(bad.body, HasSubstr("\"digest\": \"\""));
  served = fail({.code = "file.missing", .what = "gone"});
  EXPECT_EQ(get("/api/v1/session").status, 422);
}

TEST_F(Consoles, knowledge_routes_are_json) {
  for (const char* target :
       {"/api/v1/schema", "/api/v1/templates", "/api/v1/templates/superpod-h100", "/api/v1/rules",
        "/api/v1/glossary", "/api/v1/calc", "/api/v1/jobs", "/healthz"}) {
    const Response response = get(target);
    EXPECT_EQ(response.status, 200) << target;
    EXPECT_EQ(response.content_type, "application/json") << target;
    EXPECT_THAT(response.body, testing::StartsWith("{")) << target;
  }
  EXPECT_EQ(get("/api/v1/templates/none").status, 404);
  EXPECT_THAT(get("/api/v1/openapi.yaml").body, testing::StartsWith("openapi: 3.1"));
}

TEST_F(Consoles, an_edit_keeps_the_rest_of_the_file) {
  const std::string design = "# mine\n" + sample();
  const Response edited =
      post("/api/v1/edit", with_design(R"(,"path":"name","value":"renamed")", design));
  EXPECT_EQ(edited.status, 200) << edited.body;
  EXPECT_THAT(edited.body, HasSubstr("# mine"));
  EXPECT_THAT(edited.body, HasSubstr("name: renamed"));
  EXPECT_THAT(edited.body, HasSubstr("\"kept_format\": true"));
  EXPECT_EQ(post("/api/v1/edit", with_design(R"(,"path":"a.b.c[","value":"1")")).status, 422);
  EXPECT_EQ(post("/api/v1/edit", with_design(R"(,"path":"name")")).status, 400);
}

TEST_F(Consoles, calculators_answer_and_sweep) {
  const Response answer = post("/api/v1/calc/checkpoint", R"({"parameters":{"write":"80 GB/s"}})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("\"kind\":\"calculation\""));
  const Response sweep =
      post("/api/v1/calc/checkpoint",
           R"({"sweep":{"parameter":"write","from":10,"to":100,"points":4,"scale":"log"}})");
  EXPECT_EQ(sweep.status, 200) << sweep.body;
  EXPECT_THAT(sweep.body, HasSubstr("\"sweep\":"));
  EXPECT_EQ(post("/api/v1/calc/none", "{}").status, 404);
  EXPECT_EQ(post("/api/v1/calc/checkpoint", R"({"parameters":{"write":"80"}})").status, 422);
  EXPECT_EQ(post("/api/v1/calc/checkpoint", R"({"sweep":{"parameter":"write"}})").status, 400);
}

TEST_F(Consoles, a_report_in_every_format) {
  const std::set<std::pair<std::string, std::string>> kinds = {{"html", "<!doctype html>"},
                                                               {"markdown", "# "},
                                                               {"csv", "layer,"},
                                                               {"json", "{"},
                                                               {"text", ""}};
  for (const auto& [format, start] : kinds) {
    const Response report =
        post("/api/v1/report", with_design(",\"explain\":true,\"format\":\"" + format + '"'));
    EXPECT_EQ(report.status, 200) << format;
    EXPECT_EQ(lowered(report.body.substr(0, start.size())), start) << format;
  }
  EXPECT_EQ(post("/api/v1/report", with_design(",\"format\":\"pdf\"")).status, 400);
}

TEST_F(Consoles, a_comparison_in_every_format) {
  const auto compared = [this](const std::string& more) {
    const std::string text = json_escaped(sample());
    return post("/api/v1/compare/report", R"({"designs":[{"name":"a","text":)" + text +
                                              R"(},{"name":"b","text":)" + text + "}]" + more +
                                              "}");
  };
  const std::set<std::pair<std::string, std::string>> kinds = {
      {"html", "<!doctype html>"},
      {"markdown", "# Comparison"},
      {"csv", "layer,section,figure,unit,a,"},
      {"svg", "<svg "}};
  for (const auto& [format, start] : kinds) {
    const Response file = compared(R"(,"format":")" + format + '"');
    EXPECT_EQ(file.status, 200) << format;
    EXPECT_THAT(file.content_type, HasSubstr(format));
    EXPECT_THAT(file.body, testing::StartsWith(start));
  }
  EXPECT_EQ(compared(R"(,"format":"svg","drawn":1)").status, 200);
  EXPECT_EQ(compared(R"(,"format":"svg","drawn":2)").status, 400);
  EXPECT_EQ(compared(R"(,"format":"pdf")").status, 400);
}

TEST_F(Consoles, a_run_is_started_watched_and_downloaded) {
  const Response started = post("/api/v1/runs", with_design(R"(,"span":"3 d","replications":2)"));
  ASSERT_EQ(started.status, 202) << started.body;
  EXPECT_THAT(started.headers,
              testing::Contains(std::pair(std::string("Location"), std::string("/api/v1/jobs/1"))));
  for (int i = 0; i < 10'000 && !console->jobs().find(1)->has_ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const Response run = get("/api/v1/runs/1");
  EXPECT_EQ(run.status, 200);
  EXPECT_THAT(run.body, HasSubstr("\"kind\": \"run\""));
  EXPECT_THAT(get("/api/v1/jobs/1").body, HasSubstr("\"simulated_s\""));
  EXPECT_THAT(get("/api/v1/runs/1/timeline").body, HasSubstr("\"kind\":\"timeline\""));
  EXPECT_THAT(get("/api/v1/runs/1/trace").body, HasSubstr("traceEvents"));
  EXPECT_THAT(get("/api/v1/runs/1/series").content_type, HasSubstr("text/csv"));
  EXPECT_THAT(get("/api/v1/runs/1/hall").body, HasSubstr("\"kind\":\"hall\""));
  EXPECT_EQ(ask("DELETE", "/api/v1/jobs/1").status, 200);
  for (const char* part : {"", "/timeline", "/trace", "/series", "/hall"}) {
    EXPECT_EQ(get(std::string("/api/v1/runs/1") + part).status, 404) << part;
  }
}

TEST_F(Consoles, a_search_is_not_listed_as_a_run) {
  ASSERT_EQ(
      post("/api/v1/jobs", R"({"kind":"search-layout","model":"llama-3-8b","gpus":8,"batch":8})")
          .status,
      202);
  for (int i = 0; i < 10'000 && !console->jobs().find(1)->has_ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(get("/api/v1/runs/1").status, 404);
  EXPECT_EQ(get("/api/v1/runs/1/timeline").status, 404);
}

TEST_F(Consoles, jobs_from_start_to_removal) {
  const Response started =
      post("/api/v1/jobs", R"({"kind":"search-layout","model":"llama-3-8b","gpus":8,"batch":8})");
  ASSERT_EQ(started.status, 202) << started.body;
  EXPECT_THAT(started.headers,
              testing::Contains(std::pair(std::string("Location"), std::string("/api/v1/jobs/1"))));
  const Response watched = get("/api/v1/jobs/1/events");
  ASSERT_TRUE(watched.events);
  std::string all;
  for (int i = 0; i < 30'000; ++i) {
    const auto text = watched.events();
    if (!text) break;
    all += *text;
    if (text->empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(all, HasSubstr("event: done\ndata: {"));
  EXPECT_THAT(all, HasSubstr("\"searches\":"));
  EXPECT_THAT(get("/api/v1/jobs/1").body, HasSubstr("\"state\":\"done\""));
  EXPECT_THAT(get("/api/v1/jobs").body, HasSubstr("\"id\":\"1\""));
  EXPECT_EQ(ask("DELETE", "/api/v1/jobs/1").status, 200);
  EXPECT_EQ(get("/api/v1/jobs/1").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/1/events").status, 404);
}

TEST_F(Consoles, metrics_count_requests) {
  get("/healthz");
  get("/nothing/here");
  ask("BREW\n{x=\"1\"}", "/healthz");
  const std::string text = get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("orrery_http_requests_total{route=\"/healthz\",method=\"GET\","
                              "status=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{route=\"other\",method=\"GET\",status=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{route=\"/healthz\",method=\"other\",status=\"405\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("orrery_http_request_seconds_bucket{route=\"/healthz\",le=\"+Inf\"} 2"));
  EXPECT_THAT(text, HasSubstr("orrery_jobs{state=\"running\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("orrery_process_resident_bytes "));
}

TEST_F(ConsoleConsole, unknown_addresses_and_names_get_404) {
  EXPECT_EQ(refusal("GET", "/nowhere"), "404");
  EXPECT_EQ(refusal("PUT", "/api/v1/jobs"), "405");
  EXPECT_EQ(net::header_of(ask("PUT", "/api/v1/jobs").headers, "allow"), "GET, POST");
  EXPECT_EQ(refusal("DELETE", "/healthz"), "405");
  for (const char* id : {"7", "0", "-1", "x"}) {
    const std::string job = std::string("/api/v1/jobs/") + id;
    EXPECT_EQ(refusal("GET", job), "404");
    EXPECT_EQ(refusal("DELETE", job), "404");
    EXPECT_EQ(refusal("GET", job + "/events"), "404");
    for (const char* form : {"", "/hall", "/timeline", "/trace", "/series"}) {
      EXPECT_EQ(refusal("GET", std::string("/api/v1/runs/") + id + form), "404");
    }
  }
  EXPECT_EQ(refusal("GET", "/api/v1/templates/none"), "404");
  EXPECT_EQ(refusal("GET", "/api/v1/catalog/none"), "404");
  EXPECT_EQ(refusal("GET", "/api/v1/accuracy/none"), "404");
  EXPECT_EQ(refusal("POST", "/api/v1/calc/none", "{}"), "404");
  EXPECT_EQ(refusal("GET", "/assets/none.js"), "404");
}

TEST_F(ConsoleConsole, invalid_bodies_are_refused_everywhere) {
  for (const char* target :
       {"/api/v1/report", "/api/v1/edit", "/api/v1/save", "/api/v1/fabric", "/api/v1/hall",
        "/api/v1/compare", "/api/v1/compare/report", "/api/v1/serving", "/api/v1/storage",
        "/api/v1/training", "/api/v1/training/trace", "/api/v1/calc/checkpoint", "/api/v1/jobs",
        "/api/v1/runs"}) {
    EXPECT_EQ(refusal("POST", target, "{"), "400 [body.json]") << target;
    EXPECT_THAT(refusal("POST", target, R"({"odd":1})"), testing::StartsWith("400 ")) << target;
  }
  EXPECT_EQ(refusal("POST", "/api/v1/plan", "\xff"), "400");
  EXPECT_EQ(refusal("POST", "/api/v1/plan", "orrery: 1\nname: [\n"), "422 [yaml.syntax]");
  const std::string faulty = R"({"design":"orrery: 1\nname: [\n","format":"text"})";
  EXPECT_EQ(refusal("POST", "/api/v1/report", faulty), "422 [yaml.syntax]");
  EXPECT_EQ(refusal("POST", "/api/v1/hall", R"({"design":"orrery: 1\nname: [\n"})"),
            "422 [yaml.syntax]");
  EXPECT_EQ(refusal("POST", "/api/v1/edit", R"({"design":"a: 1","path":"..","value":"1"})"),
            "422 [edit.path]");
  EXPECT_EQ(refusal("POST", "/api/v1/runs", R"({"design":"orrery: 1\nname: [\n"})"),
            "422 [yaml.syntax]");
  EXPECT_EQ(refusal("POST", "/api/v1/jobs", R"({"kind":"search-layout","model":"none"})"),
            "422 [search.unknown]");
}

}  // namespace
}  // namespace orrery::server
