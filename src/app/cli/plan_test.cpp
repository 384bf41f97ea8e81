#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "bench/figure.h"

namespace orrery::cli {
namespace {

using PlanFormats = FormatsTest;
using PlanVerb = VerbTest;
using testing::HasSubstr;
using testing::Not;

TEST_F(PlanFormats, formats_of_a_plan_and_a_calculation) {
  expect_formats({"plan", design()}, true);
  expect_formats({"calc", "goodput"});
}

TEST_F(PlanFormats, a_plan_is_brief_or_explained) {
  const std::string usual = spoken({"plan", design()}).out;
  const std::string brief = spoken({"plan", design(), "--brief"}).out;
  const std::string explained = spoken({"plan", design(), "--explain"}).out;
  EXPECT_LT(brief.size() * 5, usual.size());
  EXPECT_GT(explained.size(), usual.size());
}

TEST_F(PlanFormats, colours_need_a_terminal) {
  const report::TextStyle colourful{.has_colour = true};
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan", design()}, {"explain", "tp"}}) {
    EXPECT_THAT(spoken(words, {.style = colourful}).out, HasSubstr("\033["));
    EXPECT_THAT(spoken(words).out, Not(HasSubstr("\033[")));
  }
}

TEST_F(PlanVerb, a_failing_review_exits_with_1) {
  const std::string good = put("good.yaml", small_design("0.5"));
  const std::string bad = put("bad.yaml", small_design("0.9999999"));
  EXPECT_EQ(say({"plan", bad, "--brief"}).code, ExitCode::fails_rule);
  const VerbAnswer fine = say({"plan", good, "--brief"});
  const ExitCode expected =
      fine.out.find("BROKEN") == std::string::npos ? ExitCode::good : ExitCode::fails_rule;
  EXPECT_EQ(fine.code, expected) << fine.out;
  EXPECT_EQ(say({"diff", good, bad}).code, ExitCode::fails_rule);
  EXPECT_EQ(say({"diff", bad, good}).code, expected);
  const std::vector<std::string> quick = {"--for", "2 d", "--replications", "1"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), quick.begin(), quick.end());
    return say(words).code;
  };
  EXPECT_EQ(with({"simulate", good}), ExitCode::good);
  EXPECT_EQ(with({"simulate", bad}), ExitCode::fails_rule);
  EXPECT_EQ(with({"diff", good, bad, "--simulate"}), ExitCode::fails_rule);
  EXPECT_EQ(with({"diff", bad, good, "--simulate"}), ExitCode::good);
}

}  // namespace
}  // namespace orrery::cli
