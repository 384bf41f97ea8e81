#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using SimulateFormats = FormatsTest;
using SimulateVerb = VerbTest;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(SimulateFormats, formats_of_a_simulation_and_a_diff) {
  const std::vector<std::string> hour = {"--for", "1 h", "--replications", "1"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), hour.begin(), hour.end());
    return words;
  };
  expect_formats(with({"simulate", design()}));
  expect_formats(with({"diff", design(), design(), "--simulate"}));
  std::string other = kFormatsDesign;
  folder.write("o.yaml", other.replace(other.find("name: small"), 11, "name: large"));
  expect_formats({"diff", design(), folder.at("o.yaml")});
}

TEST_F(SimulateFormats, series_events_and_trace_are_written) {
  const VerbAnswer a = spoken({"simulate", design(), "--for", "1 h", "--replications", "1",
                               "--series", folder.at("s.csv"), "--events", folder.at("e.jsonl"),
                               "--trace", folder.at("t.json")});
  EXPECT_NE(a.code, ExitCode::bad_input) << a.err;
  EXPECT_THAT(text("s.csv"), StartsWith("t_s,productive_accelerators,"));
  EXPECT_THAT(text("e.jsonl"), StartsWith("{\"t_s\":0,"));
  EXPECT_TRUE(Json::parse(text("t.json"), nullptr, false).contains("traceEvents"));
  for (const char* option : {"--series", "--events", "--trace"}) {
    EXPECT_THAT(spoken({"simulate", design(), "--for", "1 h", "--replications", "1", option,
                        folder.at("none/x")})
                    .err,
                HasSubstr("cannot write " + folder.at("none/x")))
        << option;
  }
}

TEST_F(SimulateFormats, threads_do_not_change_a_simulation) {
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"simulate",       design(), "--for",    "2 d",
                                      "--replications", "2",      "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words).out;
  };
  EXPECT_EQ(run({}), run({"--seed", "1", "--jobs", "3"}));
  EXPECT_NE(run({}), run({"--seed", "2"}));
}

TEST_F(SimulateVerb, interrupted_work_exits_with_130) {
  const std::string design = put("d.yaml", small_design("0.5"));
  stops_after = 0;
  EXPECT_EQ(say({"simulate", design, "--for", "2 d", "--replications", "2"}).code,
            ExitCode::interrupted);
  // Interrupted before each replication and at each of its parts: the first is complete, the second
  // is not.
  for (int n = 5; n < 4000; n *= 2) {
    stops_after = n;
    const VerbAnswer a = say({"simulate", design, "--for", "2 d", "--replications", "2"});
    if (a.out.empty()) continue;
    EXPECT_THAT(a.out, HasSubstr("Interrupted"));
    EXPECT_EQ(a.code, ExitCode::interrupted);
    return;
  }
  FAIL() << "no replication was done before the interruption";
}

TEST_F(SimulateVerb, duration_and_replications_have_bounds) {
  const std::string design = put("d.yaml", small_design("0.5"));
  expect_code({"simulate", design, "--for", "11 y"}, "simulate.usage");
  expect_code({"simulate", design, "--for", "999 ms"}, "simulate.usage");
  expect_code({"simulate", design, "--replications", "10001"}, "simulate.usage");
  expect_code({"simulate", design, "--replications", "0"}, "simulate.usage");
  expect_code({"simulate"}, "simulate.usage");
  expect_code({"simulate", design, "--for", "1 h", "--replications", "1", "--series",
               folder.at("none/x.csv")},
              "simulate.write");
}

}  // namespace
}  // namespace orrery::cli
