#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/server/console.h"
#include "app/server/console_fixture.h"
#include "app/server/job_board.h"
#include "app/server/job_store.h"
#include "core/base/json_writer.h"
#include "live/net/message.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;
using RoutesDesignConsole = ConsoleTest;
using RoutesDesignPage = ServerEdges;
using RoutesDesignRoute = RouteTest;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST_F(RoutesDesignPage, an_empty_comparison_has_no_drawing) {
  const auto faults = [this](const std::string& body) {
    const Response r = asked("POST", "/api/v1/compare/report", body);
    EXPECT_GE(r.status, 400);
    return r.body;
  };
  EXPECT_THAT(faults(R"({"designs":[],"format":"svg","drawn":1})"), HasSubstr("drawn"));
  EXPECT_THAT(faults(R"({"designs":[],"format":"svg","drawn":0})"), Not(HasSubstr("drawn")));
}

TEST_F(RoutesDesignConsole, edit_fields_have_length_limits) {
  const auto edit = [this](std::size_t path, std::size_t value) {
    return ask("POST", "/api/v1/edit",
               R"({"design":"a: 1\n","path":")" + std::string(path, 'k') + R"(","value":")" +
                   std::string(value, 'v') + "\"}")
        .body;
  };
  EXPECT_THAT(edit(256, 10'000), HasSubstr("\"kept_format\": true"));
  EXPECT_THAT(edit(256, 10'001), AllOf(HasSubstr("body.field"), HasSubstr("`value`")));
  EXPECT_THAT(edit(500, 1), HasSubstr("edit.path"));
  EXPECT_THAT(edit(501, 1), AllOf(HasSubstr("body.field"), HasSubstr("`path`")));
  const Json rewritten = Json::parse(
      ask("POST", "/api/v1/edit",
          "{\"design\":" + json_escaped(std::string(kSmallDesign) + "description: |\n  a\n  b\n") +
              R"(,"path":"description","value":"c"})")
          .body);
  EXPECT_EQ(rewritten["kind"], "edit");
  EXPECT_FALSE(rewritten["kept_format"]);
  EXPECT_FALSE(rewritten["note"].empty());
  EXPECT_THAT(rewritten["text"].get<std::string>(), HasSubstr("description: c\n"));
}

TEST_F(RoutesDesignConsole, a_file_is_saved_unless_changed_elsewhere) {
  const auto save = [](const std::string& text, const std::string& before) {
    return "{\"text\":" + json_escaped(text) + ",\"before\":" + json_escaped(before) + "}";
  };
  const Response good = ask("POST", "/api/v1/save", save("new", kSmallDesign));
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(Json::parse(good.body),
            Json({{"schema_version", 1}, {"kind", "saved"}, {"file", "my.yaml"}}));
  EXPECT_THAT(written, ElementsAre("new"));
  EXPECT_EQ(ask("POST", "/api/v1/save", save(kSmallDesign, "other")).status, 200);
  EXPECT_EQ(refusal("POST", "/api/v1/save", save("new", "other")), "409");
  disk_takes = false;
  EXPECT_EQ(refusal("POST", "/api/v1/save", save("new", kSmallDesign)), "500 [disk]");
  served = fail({.code = "gone", .what = "away"});
  EXPECT_EQ(refusal("POST", "/api/v1/save", save("new", "x")), "409 [gone]");
  EXPECT_EQ(refusal("GET", "/api/v1/session"), "422 [gone]");
  may_save = false;
  console.reset();
  EXPECT_EQ(refusal("POST", "/api/v1/save", save("new", "x")), "409");
}

// A report has the requested format, and its content type says so.
TEST_F(RoutesDesignConsole, a_report_has_the_content_type_of_its_format) {
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

// The first requests may get Retry-After; in the end there are scores.
TEST_F(RoutesDesignConsole, slow_scores_get_retry_after) {
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

TEST_F(RoutesDesignRoute, a_session_knows_if_a_design_was_named) {
  EXPECT_TRUE(Json::parse(ask("GET", "/api/v1/session").body)["sample"]);
  served.sample = false;
  const Json j = Json::parse(ask("GET", "/api/v1/session").body);
  EXPECT_FALSE(j["sample"]);
  EXPECT_EQ(j["design"]["file"], "my.yaml");
  EXPECT_THAT(ask("GET", "/api/v1/catalog/nodes/dgx-h100").body, HasSubstr("\"id\": \"dgx-h100\""));
  EXPECT_EQ(ask("GET", "/api/v1/accuracy/weather").status, 404);
}

TEST_F(RoutesDesignRoute, without_a_file_nothing_is_saved) {
  open(false);
  const std::string text = json_escaped(served.text);
  EXPECT_EQ(ask("POST", "/api/v1/save", "{\"text\":" + text + ",\"before\":" + text + "}").status,
            409);
}

TEST_F(RoutesDesignRoute, sweeps_are_linear_or_logarithmic) {
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

TEST_F(RoutesDesignRoute, a_report_explains_if_asked) {
  const auto text = [this](const char* more) {
    return ask("POST", "/api/v1/report", body_of("single-node", more)).body;
  };
  EXPECT_THAT(text(R"(,"format":"text","explain":true)"), HasSubstr("\nwhy "));
  EXPECT_THAT(text(R"(,"format":"text")"), Not(HasSubstr("\nwhy ")));
}

// Twice the bytes take about twice as long; network and detail are the requested ones.
TEST_F(RoutesDesignRoute, every_fabric_option_acts) {
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

TEST_F(RoutesDesignRoute, a_comparison_can_use_the_first_workload) {
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

TEST_F(RoutesDesignRoute, an_edit_reports_if_formatting_was_kept) {
  const Json kept =
      json("/api/v1/edit", body_of("single-node", R"(,"path":"name","value":"other")"));
  EXPECT_TRUE(kept["kept_format"]);
  EXPECT_EQ(kept["note"], "");
}

}  // namespace
}  // namespace orrery::server
