// What a server keeps in memory and for how long: runs that were looked at, reviews, and what the
// fields of a body may be, each fault by its whole sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "app/server/job_board.h"
#include "app/server/job_store.h"
#include "app/server/json_body.h"
#include "app/server/metrics.h"
#include "app/server/review_shelf.h"
#include "app/server/run_job.h"
#include "core/base/json_writer.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "twin/run/simulation.h"

namespace orrery::server {
namespace {

using testing::ElementsAre;

std::string kept_request(const std::string& more) {
  return "{\"design\":" +
         json_escaped(
             "orrery: 1\nname: small\nsite: { region: usa }\n"
             "fleet: [{ name: n, node: dgx-h100, count: 2 }]\n") +
         more + "}";
}

Job kept_job(std::int64_t id) {
  return {.id = id, .task = kRunTask, .request = kept_request(R"(,"span":"1 h","replications":1)")};
}

TEST(KeptRuns, the_last_four_that_were_looked_at_stay) {
  const RunJobs runs(machine::known());
  std::vector<std::shared_ptr<const run::Run>> seen;
  for (std::int64_t id = 1; id <= 4; ++id) seen.push_back(*runs.first_replication(kept_job(id)));
  for (std::int64_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(*runs.first_replication(kept_job(id)), seen[static_cast<std::size_t>(id - 1)]) << id;
  }
  const auto fifth = *runs.first_replication(kept_job(5));
  EXPECT_EQ(*runs.first_replication(kept_job(5)), fifth);
  for (std::int64_t id = 2; id <= 4; ++id) {
    EXPECT_EQ(*runs.first_replication(kept_job(id)), seen[static_cast<std::size_t>(id - 1)]) << id;
  }
  EXPECT_NE(*runs.first_replication(kept_job(1)), seen[0]) << "the oldest made room";
  EXPECT_NE(*runs.first_replication(kept_job(2)), seen[1]) << "and now the next";
  EXPECT_EQ(*runs.first_replication(kept_job(5)), fifth);
}

TEST(KeptRuns, a_job_that_is_run_again_takes_one_place) {
  const RunJobs runs(machine::known());
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  std::vector<std::shared_ptr<const run::Run>> seen;
  for (std::int64_t id = 1; id <= 4; ++id) seen.push_back(*runs.first_replication(kept_job(id)));
  JobRun again(**board, kept_job(4));
  ASSERT_TRUE(runs.work(again));
  EXPECT_EQ(*runs.first_replication(kept_job(1)), seen[0]) << "nobody had to go";
  const auto latest = *runs.first_replication(kept_job(4));
  EXPECT_NE(latest, seen[3]) << "the later one is kept";
}

TEST(KeptRuns, seeds_and_replications_have_their_bounds) {
  const RunJobs runs(machine::known());
  const auto said = [&](const std::string& more) {
    const auto job = runs.job_of(kept_request(more));
    return job ? job->title : job.error().front().code + ": " + job.error().front().what;
  };
  EXPECT_EQ(said(R"(,"seed":0)"), "small for 30 d, 8 replications, seed 0");
  EXPECT_EQ(said(R"(,"seed":1000000000)"), "small for 30 d, 8 replications, seed 1000000000");
  EXPECT_EQ(said(R"(,"seed":1000000001)"), "body.field: `seed` is not between 0 and 1e+09");
  EXPECT_EQ(said(R"(,"seed":-1)"), "body.field: `seed` is not between 0 and 1e+09");
  EXPECT_EQ(said(R"(,"replications":256)"), "small for 30 d, 256 replications, seed 1");
  EXPECT_EQ(said(R"(,"replications":257)"), "body.field: `replications` is not between 1 and 256");
  EXPECT_EQ(said(R"(,"replications":0)"), "body.field: `replications` is not between 1 and 256");
  EXPECT_EQ(said(",\"span\":\"" + std::string(201, '1') + "\""),
            "body.field: `span` is longer than 200 bytes");
}

// At the last part, one is left of as many as there are: it takes what one of those before it took.
TEST(KeptRuns, the_time_left_is_that_of_the_last_part) {
  const RunJobs runs(machine::known());
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {});
  JobRun run(**board, kept_job(1));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(runs.work(run));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(run.job.remaining_s);
  EXPECT_GT(*run.job.remaining_s, 0);
  EXPECT_LE(*run.job.remaining_s, took.count() / (world::kParts - 1));
}

design::Design shelf_design(int count, const std::string& name = "small") {
  return design_text::read_design("orrery: 1\nname: " + name +
                                      "\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, "
                                      "count: " +
                                      std::to_string(count) + " }]\n",
                                  machine::known().catalog())
      .value();
}

// A review answers for the design that was asked, also where its parts were taken over.
TEST(KeptReviews, answer_with_the_name_the_money_and_the_goals_that_were_asked) {
  ReviewShelf shelf(machine::known());
  EXPECT_EQ(shelf.stages(shelf_design(2))->machine->design().name, "small");
  design::Design other = shelf_design(2, "other");
  other.economics.power_price = usd_per_kwh(0.5);
  const auto again = shelf.stages(other);
  EXPECT_EQ(again->machine->design().name, "other");
  EXPECT_EQ(again->machine->design().economics.power_price, usd_per_kwh(0.5));
  EXPECT_EQ(again->machine->design().fleet[0].count, 2);
  EXPECT_EQ(shelf.stages(shelf_design(3))->machine->design().fleet[0].count, 3);
}

// What a job was called before it was started does not count: it waits, and is as old as its start.
TEST(KeptJobs, a_job_that_is_started_waits) {
  const auto board = JobBoard::open(JobStore::open(kStoreInMemory).value(), {}).value();
  const auto started = board->start({.id = 77, .task = "t", .state = JobState::done});
  ASSERT_TRUE(started);
  EXPECT_EQ(started->id, 1);
  EXPECT_EQ(started->state, JobState::queued);
  EXPECT_GT(started->created_ms, 0);
  EXPECT_EQ(started->updated_ms, started->created_ms);
}

TEST(KeptJobs, a_share_is_of_what_there_is_to_do) {
  const auto share = [](std::int64_t done, std::int64_t all, JobState state) {
    const std::string json =
        job_json({.id = 1, .state = state, .candidates = all, .done = done}, JobDetail::brief);
    const std::size_t at = json.find("\"progress_ratio\":") + 17;
    return json.substr(at, json.find(',', at) - at);
  };
  EXPECT_EQ(share(1, 1, JobState::running), "1");
  EXPECT_EQ(share(1, 2, JobState::running), "0.5");
  EXPECT_EQ(share(3, 4, JobState::cancelled), "0.75");
  EXPECT_EQ(share(0, 0, JobState::queued), "0");
  EXPECT_EQ(share(5, -1, JobState::running), "0");
  EXPECT_EQ(share(0, 0, JobState::done), "1");
}

// One answer of 3 ms: above 0.001 and 0.0025, at or below every later bound.
TEST(KeptCounts, a_page_of_one_request_is_whole) {
  Metrics metrics;
  metrics.count("/a", "BREW", 200, 0.003);
  std::string buckets;
  for (const char* le : {"0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5",
                         "1", "2.5", "5", "+Inf"}) {
    const std::string text = le;
    buckets += "orrery_http_request_seconds_bucket{route=\"/a\",le=\"" + text + "\"} " +
               (text == "0.001" || text == "0.0025" ? "0" : "1") + "\n";
  }
  EXPECT_EQ(metrics.text({{.name = "g", .labels = "", .value = 2.5, .help = "A gauge."}}),
            "# HELP orrery_http_requests_total Requests answered.\n"
            "# TYPE orrery_http_requests_total counter\n"
            "orrery_http_requests_total{route=\"/a\",method=\"other\",status=\"200\"} 1\n"
            "# HELP orrery_http_request_seconds Time in the handler.\n"
            "# TYPE orrery_http_request_seconds histogram\n" +
                buckets +
                "orrery_http_request_seconds_sum{route=\"/a\"} 0.003\n"
                "orrery_http_request_seconds_count{route=\"/a\"} 1\n"
                "# HELP g A gauge.\n# TYPE g gauge\ng 2.5\n");
}

std::vector<std::string> sentences_of(JsonBody& body) {
  std::vector<std::string> all;
  for (const Diagnostic& d : body.faults()) {
    all.push_back(d.code + ": " + d.what + (d.fix.empty() ? "" : " -> " + d.fix));
  }
  return all;
}

TEST(BodySentences, of_single_values) {
  auto body = JsonBody::parse(
      R"({"t":1,"long":"abcdef","c":"three","k":2,"n":"1","m":3,"i":1.5,"far":10,"f":0})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->text("t", 5), "");
  EXPECT_EQ(body->text("long", 5), "");
  EXPECT_EQ(body->text("gone", 5), "");
  EXPECT_EQ(body->choice("c", {"one", "two"}), "one");
  EXPECT_EQ(body->choice("k", {"one", "two"}), "one");
  EXPECT_EQ(body->choice("away", {"two", "one"}), "two");
  EXPECT_EQ(body->number("n", {4, 5}), 4);
  EXPECT_EQ(body->number("m", {4.5, 5}), 4.5);
  EXPECT_EQ(body->number("lost", {6, 7}), 6);
  EXPECT_EQ(body->integer("i", {2, 9}), 2);
  EXPECT_EQ(body->integer("far", {3, 9}), 3);
  EXPECT_EQ(body->integer("left", {4, 9}), 4);
  EXPECT_EQ(body->optional_flag("f"), std::nullopt);
  EXPECT_THAT(
      sentences_of(*body),
      ElementsAre("body.field: `t` is not a text", "body.field: `long` is longer than 5 bytes",
                  "body.field: `gone` is missing",
                  "body.field: `c` is not one of those it may be -> one, two",
                  "body.field: `k` is not one of those it may be -> one, two",
                  "body.field: `away` is missing", "body.field: `n` is not a number",
                  "body.field: `m` is not between 4.5 and 5", "body.field: `lost` is missing",
                  "body.field: `i` is not a whole number",
                  "body.field: `far` is not between 3 and 9", "body.field: `left` is missing",
                  "body.field: `f` is neither true nor false"));
}

TEST(BodySentences, of_an_unknown_field_name_each_that_is_known_once) {
  auto body = JsonBody::parse(R"({"n":1,"i":2,"quite_other":3})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->number("n", {0, 5}), 1);
  EXPECT_EQ(body->integer("i", {0, 5}), 2);
  EXPECT_THAT(sentences_of(*body), ElementsAre(testing::EndsWith(" -> n, i")));
}

TEST(BodySentences, of_lists_and_objects) {
  auto body = JsonBody::parse(
      R"({"l":["a",1,"long"],"m":{},"v":{"a":[],"b":null,"c":-3,"d":2.5,"e":true},"w":[],"o":7,
          "os":[{},1],"p":{"first":1,"unheard":2},"tpyo":1,"quite_other":2})");
  ASSERT_TRUE(body);
  EXPECT_THAT(body->texts("l", 3, 3), ElementsAre("a", "", ""));
  EXPECT_TRUE(body->texts("m", 3, 3).empty());
  EXPECT_TRUE(body->texts("no", 3, 3).empty());
  const auto plain = body->plain_values("v", 5);
  EXPECT_EQ(plain.size(), 3U);
  EXPECT_EQ(plain.at("c") + plain.at("d") + plain.at("e"), "-32.5true");
  EXPECT_TRUE(body->plain_values("w", 5).empty());
  EXPECT_FALSE(body->object("o", [](JsonBody&) { FAIL(); }));
  EXPECT_FALSE(body->object("nothing", [](JsonBody&) { FAIL(); }));
  body->objects("os", 1, 2, [](JsonBody&) { FAIL(); });
  body->objects("none", 1, 2, [](JsonBody&) { FAIL(); });
  EXPECT_TRUE(
      body->object("p", [](JsonBody& p) { EXPECT_EQ(p.optional_integer("first", {0, 1}), 1); }));
  EXPECT_EQ(body->optional_text("typo", 5), std::nullopt);
  EXPECT_THAT(
      sentences_of(*body),
      ElementsAre("body.field: `l` is not a text", "body.field: `l` is longer than 3 bytes",
                  "body.field: `m` is not a list of at most 3",
                  "body.field: `v.a` is not a text, number or flag",
                  "body.field: `v.b` is not a text, number or flag",
                  "body.field: `w` is not an object of at most 5 values",
                  "body.field: `o` is not an object",
                  "body.field: `os` is not a list of 1 to 2 objects",
                  "body.field: `none` is missing",
                  "body.unknown: `p.unheard` is not a field of this request -> first",
                  "body.unknown: `quite_other` is not a field of this request -> l, m, no, v, w, "
                  "o, nothing, os, none, p, typo",
                  "body.unknown: `tpyo` is not a field of this request -> did you mean `typo`?"));
}

TEST(BodySentences, of_what_is_no_body) {
  const auto said = [](const std::string& text) {
    const auto body = JsonBody::parse(text);
    if (body) return std::string("none");
    const Diagnostic& d = body.error().front();
    return d.code + ": " + d.what + (d.fix.empty() ? "" : " -> " + d.fix);
  };
  EXPECT_EQ(said("\xff"), "body.json: the body is not UTF-8 text");
  EXPECT_EQ(said("{"), "body.json: the body is not JSON");
  EXPECT_EQ(said("[]"),
            "body.json: the body is not an object -> { \"name\": value, ... }; "
            "docs/api/openapi.yaml has the fields");
  EXPECT_EQ(said(std::string(33, '[')), "body.depth: the body is nested more than 32 levels deep");
  EXPECT_EQ(said(std::string(32, '[')), "body.json: the body is not JSON");
}

}  // namespace
}  // namespace orrery::server
