// What an address says: the status, the kind and the words of every answer that is no result, and
// the state of a store whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/assets.h"
#include "app/server/console.h"
#include "app/server/job_store.h"
#include "app/server/problem.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/report/view_catalog.h"
#include "twin/run/simulation.h"

namespace orrery::server::route_words_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;

const AccessRules kWordRules{.port = 8117, .token = "0123456789abcdef"};
constexpr const char* kSmallDesign =
    "orrery: 1\nname: small\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, count: 2 "
    "}]\n";

class RouteWords : public testing::Test {
 protected:
  void open() {
    ConsoleSetting setting{.models = machine::known(), .version = "7.8"};
    setting.served = [this] { return served; };
    if (may_save) setting.save = [this](const std::string& text) { return saved(text); };
    setting.store = store;
    setting.store_status = [this] { return store_said; };
    console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
  }
  Result<void> saved(const std::string& text) {
    if (!disk_takes) return fail({.code = "disk", .what = "no room"});
    written.push_back(text);
    return {};
  }
  Response ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    if (!console) open();
    return console->answer(
        {.method = method,
         .target = target,
         .headers = {{"Host", "127.0.0.1:8117"}, {"Authorization", "Bearer 0123456789abcdef"}},
         .body = body},
        kWordRules);
  }
  // "404 there is no ..." of a problem, with the codes of its faults.
  std::string refusal(const std::string& method, const std::string& target,
                      const std::string& body = {}) {
    const Response r = ask(method, target, body);
    EXPECT_EQ(r.content_type, "application/problem+json") << target;
    const Json j = Json::parse(r.body);
    EXPECT_EQ(j["status"], r.status);
    std::string out = std::to_string(r.status) + ' ' + j["title"].get<std::string>();
    for (const Json& d : j["diagnostics"]) out += " [" + d["code"].get<std::string>() + "]";
    return out;
  }

  Result<ServedDesign> served = ServedDesign{.file = "my.yaml", .text = kSmallDesign};
  std::string store;
  Result<std::string> store_said = std::string();
  bool may_save = true;
  bool disk_takes = true;
  std::vector<std::string> written;
  std::unique_ptr<Console> console;
};

TEST_F(RouteWords, what_is_not_there_is_said_by_its_kind) {
  EXPECT_EQ(refusal("GET", "/nowhere"), "404 there is nothing at this address");
  EXPECT_EQ(refusal("PUT", "/api/v1/jobs"), "405 this address takes GET, POST");
  EXPECT_EQ(net::header_of(ask("PUT", "/api/v1/jobs").headers, "allow"), "GET, POST");
  EXPECT_EQ(refusal("DELETE", "/healthz"), "405 this address takes GET");
  for (const char* id : {"7", "0", "-1", "x"}) {
    const std::string job = std::string("/api/v1/jobs/") + id;
    EXPECT_EQ(refusal("GET", job), "404 there is no job of this number");
    EXPECT_EQ(refusal("DELETE", job), "404 there is no job of this number");
    EXPECT_EQ(refusal("GET", job + "/events"), "404 there is no job of this number");
    for (const char* form : {"", "/hall", "/timeline", "/trace", "/series"}) {
      EXPECT_EQ(refusal("GET", std::string("/api/v1/runs/") + id + form),
                "404 there is no run of this number that is done");
    }
  }
  EXPECT_EQ(refusal("GET", "/api/v1/templates/none"), "404 there is no template of this name");
  EXPECT_EQ(refusal("GET", "/api/v1/catalog/none"), "404 the catalog has nothing of this name");
  EXPECT_EQ(refusal("GET", "/api/v1/accuracy/none"), "404 no rows of this kind are published");
  EXPECT_EQ(refusal("POST", "/api/v1/calc/none", "{}"), "404 there is no calculator of this name");
  EXPECT_EQ(refusal("GET", "/assets/none.js"), "404 the console has no file of this name");
}

TEST_F(RouteWords, a_body_that_is_none_is_refused_everywhere) {
  for (const char* target :
       {"/api/v1/report", "/api/v1/edit", "/api/v1/save", "/api/v1/fabric", "/api/v1/hall",
        "/api/v1/compare", "/api/v1/compare/report", "/api/v1/serving", "/api/v1/storage",
        "/api/v1/training", "/api/v1/training/trace", "/api/v1/calc/checkpoint", "/api/v1/jobs",
        "/api/v1/runs"}) {
    EXPECT_EQ(refusal("POST", target, "{"),
              "400 the body is not what this address takes [body.json]")
        << target;
    EXPECT_EQ(refusal("POST", target, R"({"odd":1})").substr(0, 44),
              "400 the body is not what this address takes ")
        << target;
  }
  EXPECT_EQ(refusal("POST", "/api/v1/plan", "\xff"), "400 the design is not UTF-8 text");
  EXPECT_EQ(refusal("POST", "/api/v1/plan", "orrery: 1\nname: [\n"),
            "422 the design has errors [yaml.syntax]");
  const std::string faulty = R"({"design":"orrery: 1\nname: [\n","format":"text"})";
  EXPECT_EQ(refusal("POST", "/api/v1/report", faulty), "422 the design has errors [yaml.syntax]");
  EXPECT_EQ(refusal("POST", "/api/v1/hall", R"({"design":"orrery: 1\nname: [\n"})"),
            "422 the design has errors [yaml.syntax]");
  EXPECT_EQ(refusal("POST", "/api/v1/edit", R"({"design":"a: 1","path":"..","value":"1"})"),
            "422 the edit has errors [edit.path]");
  EXPECT_EQ(refusal("POST", "/api/v1/runs", R"({"design":"orrery: 1\nname: [\n"})"),
            "422 the job cannot be started [yaml.syntax]");
  EXPECT_EQ(refusal("POST", "/api/v1/jobs", R"({"kind":"search-layout","model":"none"})"),
            "422 the job cannot be started [search.unknown]");
}

TEST_F(RouteWords, an_edit_takes_a_path_of_500_bytes_and_a_value_of_ten_thousand) {
  const auto edit = [this](std::size_t path, std::size_t value) {
    return ask("POST", "/api/v1/edit",
               R"({"design":"a: 1\n","path":")" + std::string(path, 'k') + R"(","value":")" +
                   std::string(value, 'v') + "\"}")
        .body;
  };
  EXPECT_THAT(edit(256, 10'000), HasSubstr("\"kept_format\": true"));
  EXPECT_THAT(edit(256, 10'001), HasSubstr("`value` is longer than 10000 bytes"));
  EXPECT_THAT(edit(500, 1), HasSubstr("edit.path")) << "it is read, and is no path";
  EXPECT_THAT(edit(501, 1), HasSubstr("`path` is longer than 500 bytes"));
  const Json anew = Json::parse(
      ask("POST", "/api/v1/edit",
          "{\"design\":" + json_escaped(std::string(kSmallDesign) + "description: |\n  a\n  b\n") +
              R"(,"path":"description","value":"c"})")
          .body);
  EXPECT_EQ(anew["kind"], "edit");
  EXPECT_FALSE(anew["kept_format"]);
  EXPECT_EQ(anew["note"],
            "the file was written anew in canonical form; its comments and its own order are gone");
  EXPECT_THAT(anew["text"].get<std::string>(), HasSubstr("description: c\n"));
}

TEST_F(RouteWords, a_file_is_saved_where_nobody_changed_it) {
  const auto save = [](const std::string& text, const std::string& before) {
    return "{\"text\":" + json_escaped(text) + ",\"before\":" + json_escaped(before) + "}";
  };
  const Response good = ask("POST", "/api/v1/save", save("new", kSmallDesign));
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(Json::parse(good.body),
            Json({{"schema_version", 1}, {"kind", "saved"}, {"file", "my.yaml"}}));
  EXPECT_THAT(written, ElementsAre("new"));
  EXPECT_EQ(ask("POST", "/api/v1/save", save(kSmallDesign, "other")).status, 200)
      << "it holds what is saved already";
  EXPECT_EQ(refusal("POST", "/api/v1/save", save("new", "other")),
            "409 the file was changed by somebody else meanwhile; it is left as it is");
  disk_takes = false;
  EXPECT_EQ(refusal("POST", "/api/v1/save", save("new", kSmallDesign)),
            "500 the file cannot be written [disk]");
  served = fail({.code = "gone", .what = "away"});
  EXPECT_EQ(refusal("POST", "/api/v1/save", save("new", "x")),
            "409 the file cannot be read any more [gone]");
  EXPECT_EQ(refusal("GET", "/api/v1/session"), "422 the served design cannot be read [gone]");
  may_save = false;
  console.reset();
  EXPECT_EQ(refusal("POST", "/api/v1/save", save("new", "x")),
            "409 no file is served here: save a copy instead");
}

TEST_F(RouteWords, a_session_is_the_design_with_its_name_and_digest) {
  const Json j = Json::parse(ask("GET", "/api/v1/session").body);
  EXPECT_EQ(j["kind"], "session");
  EXPECT_EQ(j["version"], "7.8");
  EXPECT_EQ(j["design"]["name"], "small");
  EXPECT_EQ(j["design"]["text"], kSmallDesign);
  EXPECT_EQ(j["design"]["digest"].get<std::string>().size(), 64u);
  served = ServedDesign{.file = "my.yaml", .text = "orrery: 1\nname: [\n"};
  const Json faulty = Json::parse(ask("GET", "/api/v1/session").body);
  EXPECT_EQ(faulty["design"]["name"], "");
  EXPECT_EQ(faulty["design"]["digest"], "");
  const catalog::Knowledge& known = *machine::known().knowledge;
  EXPECT_EQ(ask("GET", "/api/v1/catalog").body, report::catalog_view_json(known, "", "").value());
  EXPECT_EQ(ask("GET", "/api/v1/catalog/nodes/dgx-h100").body,
            report::catalog_view_json(known, "nodes", "dgx-h100").value());
  const Json list = Json::parse(ask("GET", "/api/v1/templates").body);
  ASSERT_EQ(list["templates"].size(), design_text::templates().size());
  const std::string name = list["templates"][0]["name"];
  const Json one = Json::parse(ask("GET", "/api/v1/templates/" + name).body);
  EXPECT_EQ(one["kind"], "template");
  EXPECT_EQ(one["summary"], list["templates"][0]["summary"]);
  EXPECT_EQ(one["text"], std::string(design_text::find_template(name)->text));
}

TEST_F(RouteWords, pages_for_machines_say_what_they_are) {
  const Response health = ask("GET", "/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "{\"status\":\"ok\"}\n");
  const Response metrics = ask("GET", "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(metrics.body, HasSubstr("orrery_build_info{version=\"7.8\"} 1\n"));
  const Response contract = ask("GET", "/api/v1/openapi.yaml");
  EXPECT_EQ(contract.status, 200);
  EXPECT_EQ(contract.content_type, "application/yaml");
  EXPECT_EQ(contract.body, api_contract());
  EXPECT_THAT(contract.body, HasSubstr("openapi: 3"));
  for (const char* target : {"/api/v1/schema", "/api/v1/rules", "/api/v1/glossary",
                             "/api/v1/completions", "/api/v1/accuracy", "/api/v1/calc"}) {
    const Response r = ask("GET", target);
    EXPECT_EQ(r.status, 200) << target;
    EXPECT_EQ(r.content_type, "application/json") << target;
    EXPECT_TRUE(Json::accept(r.body)) << target;
  }
}

// A report is in the form that was asked for, and says so.
TEST_F(RouteWords, a_report_has_the_kind_of_its_form) {
  const auto kind = [this](const std::string& format) {
    const Response r =
        ask("POST", "/api/v1/report",
            "{\"design\":" + json_escaped(kSmallDesign) + ",\"format\":\"" + format + "\"}");
    EXPECT_EQ(r.status, 200);
    EXPECT_THAT(r.body, HasSubstr("h100"));
    return r.content_type;
  };
  EXPECT_EQ(kind("html"), "text/html; charset=utf-8");
  EXPECT_EQ(kind("markdown"), "text/markdown; charset=utf-8");
  EXPECT_EQ(kind("csv"), "text/csv; charset=utf-8");
  EXPECT_EQ(kind("json"), "application/json");
  EXPECT_EQ(kind("text"), "text/plain; charset=utf-8");
}

// Whoever asks first may be told to come again; in the end there are scores.
TEST_F(RouteWords, scores_that_take_long_are_asked_for_again) {
  Response r = ask("GET", "/api/v1/accuracy/storage");
  for (int i = 0; i < 40 && r.status == 202; ++i) {
    EXPECT_EQ(net::header_of(r.headers, "retry-after"), "1");
    EXPECT_EQ(r.body, "{\"schema_version\":1,\"kind\":\"pending\",\"retry_after_s\":1}\n");
    r = ask("GET", "/api/v1/accuracy/storage");
  }
  EXPECT_EQ(r.status, 200);
  EXPECT_EQ(r.content_type, "application/json");
  EXPECT_THAT(r.body, HasSubstr("median_ape_ratio"));
}

TEST_F(RouteWords, the_state_of_a_store_is_told_field_by_field) {
  store = "http://elsewhere";
  store_said = std::string(
      R"({"store":"s1","drives_slow":2,)"
      R"("tiers":[{"name":"hot","data":4,"parity":2,"drives_away":1,"redundancy_left":-3,)"
      R"("reads":5,"read_bytes":6}],)"
      R"("drives":[{"name":"hot-0","tier":"hot","place":"/mnt/a","there":true,"total_bytes":100,)"
      R"("free_bytes":40}],"buckets":[{"name":"small","objects":3,"bytes":10},)"
      R"({"name":"large","objects":4,"bytes":20}],)"
      R"("requests":{"get":1,"put":2,"list":3,"delete":4,"other":5},)"
      R"("scrub":{"rounds":6,"bytes":7,"shards_damaged":8,"shards_rebuilt":9,"blobs_lost":10},)"
      R"("moves":{"waiting":11,"copies":12,"verified":13,"removed":14,"failed":15,"bytes":16}})");
  const Json said = Json::parse(ask("GET", "/api/v1/store").body);
  const Json expected = Json::parse(
      R"({"schema_version":1,"kind":"store","address":"http://elsewhere","state":"answers",)"
      R"("fault":"","status":{"store":"s1","tiers":[{"name":"hot","data":4,"parity":2,)"
      R"("drives_away":1,"redundancy_left":-3,"reads":5,"read_bytes":6}],"drives":[{"name":)"
      R"("hot-0","tier":"hot","place":"/mnt/a","there":true,"total_bytes":100,"free_bytes":40}],)"
      R"("bucket_count":2,"objects":7,"bytes":30,"buckets":[{"name":"large","objects":4,)"
      R"("bytes":20},{"name":"small","objects":3,"bytes":10}],"requests":{"get":1,"put":2,)"
      R"("list":3,"delete":4,"other":5},"scrub":{"rounds":6,"bytes":7,"shards_damaged":8,)"
      R"("shards_rebuilt":9,"blobs_lost":10},"moves":{"waiting":11,"copies":12,"verified":13,)"
      R"("removed":14,"failed":15,"bytes":16},"drives_slow":2}})");
  EXPECT_EQ(said, expected) << said.dump();
  store_said = std::string("{}");
  const Json odd = Json::parse(ask("GET", "/api/v1/store").body);
  EXPECT_EQ(odd["fault"], "what answers there is no store");
}

// What follows a cookie in its header is no part of it.
TEST(AccessWords, a_secret_ends_where_its_cookie_ends) {
  const auto status = [](const std::string& cookie) {
    const auto refusal = check_access(
        {.target = "/api/v1/session", .headers = {{"Host", "localhost:8117"}, {"Cookie", cookie}}},
        kWordRules);
    return refusal ? refusal->status : 200;
  };
  EXPECT_EQ(status("orrery_8117=0123456789abcdef; other=1"), 200);
  EXPECT_EQ(status("other=1; orrery_8117=0123456789abcdef;x=2"), 200);
  EXPECT_EQ(status("orrery_8117=0123456789abcdee; other=1"), 401);
  EXPECT_EQ(status("orrery_8117=1123456789abcdef"), 401);
  EXPECT_EQ(status("orrery_8117="), 401);
  EXPECT_EQ(first_url(kWordRules), "http://127.0.0.1:8117/?token=0123456789abcdef");
  const auto words = [](net::HeaderList headers) {
    const auto refusal = check_access({.target = "/x", .headers = std::move(headers)}, kWordRules);
    return refusal ? std::to_string(refusal->status) + ' ' +
                         Json::parse(refusal->body)["title"].get<std::string>()
                   : "none";
  };
  EXPECT_EQ(words({{"Host", "localhost:8117"}}),
            "401 open the address that `orrery serve` printed: it carries the token");
  EXPECT_EQ(words({{"Host", "localhost:8118"}}),
            "421 this server answers to 127.0.0.1 and localhost only");
  EXPECT_EQ(words({{"Host", "localhost:8117"}, {"host", "localhost:8117"}}),
            "400 more than one Host");
  EXPECT_EQ(words({{"Host", "localhost:8117"}, {"Origin", "http://evil"}}),
            "403 requests from other sites are refused");
  EXPECT_EQ(words({{"Host", "localhost:8117"}, {"Origin", "https://localhost:8117"}}),
            "403 requests from other sites are refused");
  EXPECT_EQ(words({{"Host", "localhost:8117"},
                   {"Origin", "http://localhost:8117"},
                   {"origin", "http://localhost:8117"}}),
            "400 more than one Origin");
}

// A run that an earlier server left half-way begins anew, and counts from nothing.
TEST(RunWords, a_run_counts_its_own_parts) {
  const RunJobs runs(machine::known());
  const std::string request =
      "{\"design\":" + json_escaped(kSmallDesign) + R"(,"span":"1 d","replications":2,"seed":9})";
  const auto job = runs.job_of(request);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->task, kRunTask);
  EXPECT_EQ(job->title, "small for 1 d, 2 replications, seed 9");
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun run(**board, *job);
  run.job.done = 77;
  run.job.evaluated = 78;
  run.job.candidates = 79;
  ASSERT_TRUE(runs.work(run));
  EXPECT_EQ(run.job.candidates, 2 * world::kParts);
  EXPECT_EQ(run.job.done, 2 * world::kParts);
  EXPECT_EQ(run.job.evaluated, 2);
  EXPECT_TRUE(Json::accept(run.job.result));
  const auto one =
      runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + R"(,"replications":1})");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->title, "small for 30 d, 1 replication, seed 1");
  const auto usual = runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + "}");
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->title, "small for 30 d, 8 replications, seed 1");
  const auto bad = runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + R"(,"span":"11 y"})");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().front().what, "not a span to simulate: 11 y");
  EXPECT_EQ(bad.error().front().fix, "\"span\": \"30 d\"; from 1 s to 10 y");
  for (const char* good : {"1 s", "10 y"}) {
    EXPECT_TRUE(
        runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + ",\"span\":\"" + good + "\"}"))
        << good;
  }
  EXPECT_FALSE(runs.job_of("{\"design\":" + json_escaped(kSmallDesign) + R"(,"span":"0.99 s"})"));
}

// What does not fit sixteen does not fit eight: the halves of nothing are not searched.
TEST(LayoutWords, a_search_ends_where_nothing_was_found) {
  const LayoutJobs jobs{machine::known()};
  const std::string request =
      R"({"kind":"search-layout","model":"llama-3.1-405b","gpus":4,"batch":8,"pareto":true,)"
      R"("fixed":{"vp":1,"microbatch":1}})";
  const auto job = layout_job(jobs, request);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->title, "llama-3.1-405b on 4 x h100-sxm");
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

// GPUs, chunks, five counts and the indices of the best; taken up, nothing is searched again.
TEST(LayoutWords, a_checkpoint_is_a_line_of_numbers_and_is_taken_up) {
  const LayoutJobs jobs{machine::known()};
  const std::string request =
      R"({"kind":"search-layout","model":"llama-3-8b","gpus":8,"batch":16,"keep":2,)"
      R"("fixed":{"vp":1,"microbatch":1,"cp":1}})";
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun first(**board, layout_job(jobs, request).value());
  ASSERT_TRUE(run_layout_job(jobs, first));
  const auto numbers =
      split(std::string_view(first.job.checkpoint).substr(0, first.job.checkpoint.size() - 1), ' ');
  ASSERT_EQ(numbers.size(), 9u) << first.job.checkpoint;
  EXPECT_EQ(numbers[0], "8");
  EXPECT_EQ(numbers[1], "1");
  EXPECT_EQ(numbers[2], std::to_string(first.job.candidates));
  EXPECT_EQ(numbers[6], std::to_string(first.job.evaluated));
  EXPECT_EQ(first.job.done, first.job.candidates);
  JobRun again(**board, layout_job(jobs, request).value());
  again.job.checkpoint = first.job.checkpoint;
  ASSERT_TRUE(run_layout_job(jobs, again));
  EXPECT_EQ(again.job.result, first.job.result);
  EXPECT_EQ(again.job.checkpoint, first.job.checkpoint);
  EXPECT_EQ(again.job.done, first.job.done);
  EXPECT_EQ(again.job.evaluated, first.job.evaluated);
  EXPECT_EQ(again.job.best, first.job.best);
  // Counts are believed as they stand: another number of candidates shows that it was taken up.
  JobRun other(**board, layout_job(jobs, request).value());
  other.job.checkpoint = "8 1 3 1 1 0 1 " + std::string(numbers[7]) + '\n';
  ASSERT_TRUE(run_layout_job(jobs, other));
  EXPECT_EQ(other.job.done, 3);
  EXPECT_EQ(other.job.evaluated, 1);
  EXPECT_EQ(Json::parse(other.job.result)["searches"][0]["layouts"].size(), 1u);
}

}  // namespace
}  // namespace orrery::server::route_words_tests
