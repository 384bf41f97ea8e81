#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class StragglersVerb : public testing::Test {
 protected:
  VerbAnswer find(const std::string& steps, const std::vector<std::string>& more = {}) const {
    folder.write("s.csv", steps);
    std::vector<std::string> words = {"agent", "stragglers", folder.at("s.csv")};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  }
  agent::TestFolder folder;
};

// Steps of one second; each rank is off by up to 4 ms, and ranks in `slow` are slower by the given
// share.
template <class Slow>
std::string steps_of(int ranks, const Slow& slow) {
  std::string text = "step,rank,seconds,host,leaf\n";
  for (int s = 1; s <= 60; ++s) {
    for (int r = 0; r < ranks; ++r) {
      const double t = (1 + 0.004 * std::sin(s * 12.9898 + r * 78.233)) * (1 + slow(r));
      text += std::to_string(s) + ',' + std::to_string(r) + ',' + std::to_string(t) + ",h" +
              std::to_string(r / 4) + ",l" + std::to_string(r / 8) + '\n';
    }
  }
  return text;
}

TEST_F(StragglersVerb, a_slow_rank_is_found_with_its_cost) {
  const std::string steps = steps_of(8, [](int r) { return r == 5 ? 0.25 : 0.0; });
  const VerbAnswer a = find(steps);
  EXPECT_EQ(a.code, ExitCode::fails_rule);
  const Json r = Json::parse(find(steps, {"--format", "json", "--false-positives", "0.02"}).out);
  EXPECT_EQ(r["ranks"], 8);
  EXPECT_EQ(r["steps"], 60);
  EXPECT_EQ(r["steps_effective"], 60);
  EXPECT_EQ(r["false_positives_per_run"], 0.02);
  EXPECT_NEAR(r["step_cost"].get<double>(), 0.25, 0.01);
  ASSERT_EQ(r["slow"].size(), 1U);
  const Json& slow = r["slow"][0];
  EXPECT_EQ(slow["rank"], 5);
  EXPECT_EQ(slow["host"], "h1");
  EXPECT_EQ(slow["leaf"], "l0");
  EXPECT_EQ(slow["pattern"], "steady");
  EXPECT_NEAR(slow["excess"].get<double>(), 0.25, 0.005);
  EXPECT_EQ(slow["step_share"], 1);
  EXPECT_NEAR(slow["confidence"].get<double>(), 1, 1e-6);
  EXPECT_EQ(slow["layer"], "GPU clock");
  EXPECT_EQ(slow["shared"], "");
}

TEST_F(StragglersVerb, a_slow_host_is_found_by_its_ranks) {
  const VerbAnswer a = find(steps_of(16, [](int r) { return r / 4 == 2 ? 0.25 : 0.0; }));
  EXPECT_EQ(a.code, ExitCode::fails_rule);
  EXPECT_THAT(a.out, HasSubstr("h2"));
}

TEST_F(StragglersVerb, invalid_options_and_files_are_refused) {
  const std::string steps = steps_of(2, [](int) { return 0.0; });
  const auto refused = [&](const char* option, const char* value) {
    const VerbAnswer a = find(steps, {option, value});
    EXPECT_EQ(a.code, ExitCode::bad_input) << option << value;
    EXPECT_THAT(a.err, HasSubstr("[stragglers.usage]"));
  };
  refused("--slow", "-0.01");
  refused("--spike", "1000");
  EXPECT_NE(find(steps, {"--slow", "0"}).code, ExitCode::bad_input);
  EXPECT_NE(find(steps, {"--slow", "9.99"}).code, ExitCode::bad_input);
  EXPECT_NE(find(steps, {"--spike", "0"}).code, ExitCode::bad_input);
  EXPECT_NE(find(steps, {"--spike", "999"}).code, ExitCode::bad_input);
  EXPECT_THAT(spoken({"agent", "stragglers", folder.at("none")}).err,
              HasSubstr("[file.unreadable]"));
  EXPECT_EQ(find("nothing\n").code, ExitCode::bad_input);
}

}  // namespace
}  // namespace orrery::cli
