// `orrery agent rehearse` and `orrery agent stragglers`: bounds, and what is told of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

VerbAnswer rehearse(const std::vector<std::string>& more, const Circumstances& given = {}) {
  std::vector<std::string> words = {"agent", "rehearse"};
  words.insert(words.end(), more.begin(), more.end());
  return spoken(words, given);
}

// Read, were it not interrupted at once.
void expect_fits(const std::vector<std::string>& more) {
  EXPECT_EQ(rehearse(more, {.interrupted = [] { return true; }}).code, ExitCode::interrupted)
      << more.front() << ' ' << more[1];
}
void expect_no_rehearsal(const std::vector<std::string>& more, const std::string& said) {
  const VerbAnswer a = rehearse(more, {.interrupted = [] { return true; }});
  EXPECT_EQ(a.code, ExitCode::bad_input) << more.front() << ' ' << more[1];
  EXPECT_THAT(a.err, AllOf(HasSubstr(said), HasSubstr("[agent.usage]")));
}

TEST(Rehearse, keeps_to_its_bounds) {
  expect_fits({"--for", "1 min"});
  expect_no_rehearsal({"--for", "59 s"}, "not a length: 59 s");
  expect_fits({"--for", "1 d"});
  expect_no_rehearsal({"--for", "86401 s"}, "not a length: 86401 s");
  expect_no_rehearsal({"--for", "7"}, "not a length: 7");
  expect_fits({"--repair", "1 s"});
  expect_no_rehearsal({"--repair", "0.9 s"}, "not a time: 0.9 s");
  expect_no_rehearsal({"--repair", "soon"}, "not a time: soon");
  const std::string full = "the jobs and the spares do not fit on the nodes";
  expect_fits({"--nodes", "4096"});
  expect_no_rehearsal({"--nodes", "4097"}, full);
  expect_no_rehearsal({"--nodes", "0"}, full);
  expect_no_rehearsal({"--jobs", "0"}, full);
  expect_no_rehearsal({"--job-nodes", "0"}, full);
  expect_no_rehearsal({"--spares", "-1"}, full);
  expect_fits({"--faults", "10000"});
  expect_no_rehearsal({"--faults", "10001"}, full);
  expect_no_rehearsal({"--faults", "-1"}, full);
  // 16 jobs of 2 nodes and so many spares.
  expect_fits({"--nodes", "40", "--spares", "8"});
  expect_no_rehearsal({"--nodes", "40", "--spares", "9"}, full);
  expect_fits({"--nodes", "1", "--jobs", "1", "--job-nodes", "1"});
  expect_no_rehearsal({"--nodes", "5", "--jobs", "6", "--job-nodes", "1"}, full);
  expect_no_rehearsal({"--nodes", "5", "--jobs", "1", "--job-nodes", "6"}, full);
  const VerbAnswer all = rehearse(
      {"--for", "1 s", "--repair", "0 s", "--nodes", "0", "--interval", "1 ms", "--silence", "x"});
  EXPECT_EQ(std::ranges::count(all.err, '['), 5) << all.err;
}

const std::vector<std::string> kQuiet = {"--nodes",  "8", "--jobs", "2",      "--job-nodes", "2",
                                         "--faults", "2", "--for",  "30 min", "--seed",      "3"};
const std::vector<std::string> kRough = {"--nodes",  "8",        "--jobs", "4",     "--job-nodes",
                                         "2",        "--faults", "6",      "--for", "30 min",
                                         "--repair", "10 h",     "--seed", "5"};

std::vector<std::string> as_json(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  return words;
}

TEST(Rehearse, tells_faults_that_hit_nobody) {
  const VerbAnswer a = rehearse(kQuiet);
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_THAT(a.out, EndsWith("\n2 faults in 30 min on 8 nodes (seed 3): no job lost its run\n"
                              "all jobs run at the end; none ran twice at once\n"));
  EXPECT_THAT(a.out, AllOf(HasSubstr("  * "), HasSubstr(" failed\n"), HasSubstr(" is back\n")));
  const VerbAnswer json = rehearse(as_json(kQuiet));
  const Json r = Json::parse(json.out);
  EXPECT_EQ(r["schema_version"], 1);
  EXPECT_EQ(r["nodes"], 8);
  EXPECT_EQ(r["jobs"], 2);
  EXPECT_EQ(r["length_s"], 1800);
  EXPECT_EQ(r["seed"], 3);
  EXPECT_EQ(r["outages_s"], Json::array());
  EXPECT_EQ(r["jobs_waiting"], Json::array());
  EXPECT_EQ(r["overlaps"], Json::array());
  ASSERT_EQ(r["faults"].size(), 2U);
  for (const Json& fault : r["faults"]) {
    EXPECT_THAT(a.out, HasSubstr("  * " + fault["what"].get<std::string>() + "\n"));
    EXPECT_LT(fault["at_s"].get<double>(), 0.9 * 1800) << "in the first nine tenths";
  }
}

// Nodes do not come back in time, and half of the fleet is too few for four jobs.
TEST(Rehearse, tells_runs_lost_and_jobs_that_wait) {
  const VerbAnswer a = rehearse(kRough);
  EXPECT_EQ(a.code, ExitCode::fails_rule);
  const Json r = Json::parse(rehearse(as_json(kRough)).out);
  const Json& outages = r["outages_s"];
  ASSERT_GT(outages.size(), 1U);
  EXPECT_TRUE(std::ranges::is_sorted(outages));
  EXPECT_THAT(a.out, HasSubstr("\n6 faults in 30 min on 8 nodes (seed 5): " +
                               std::to_string(outages.size()) + " runs lost, back after "));
  EXPECT_THAT(a.out, AllOf(HasSubstr(" (median) to "), HasSubstr(" (worst); Slurm alone: ")));
  EXPECT_GT(r["jobs_waiting"].size(), 0U);
  for (const Json& job : r["jobs_waiting"]) {
    EXPECT_THAT(a.out, HasSubstr("job " + job.get<std::string>() + " does not run at the end\n"));
  }
  EXPECT_THAT(a.out, Not(HasSubstr("all jobs run at the end")));
  const VerbAnswer spared = rehearse({"--nodes", "8", "--jobs", "1", "--job-nodes", "2", "--spares",
                                      "2", "--faults", "0", "--for", "1 min"});
  EXPECT_THAT(spared.out, HasSubstr("0 faults in 1 min on 8 nodes (seed 1): no job lost its run"));
}

TEST(Rehearse, a_fence_lets_nodes_fall_silent) {
  const std::vector<std::string> words = {"--nodes", "8",      "--jobs", "2",     "--faults",
                                          "12",      "--seed", "3",      "--for", "15 min"};
  std::vector<std::string> fenced = words;
  fenced.push_back("--fence");
  EXPECT_THAT(rehearse(fenced).out,
              AllOf(HasSubstr(" does not answer\n"), HasSubstr(" is surely off\n")));
  EXPECT_THAT(rehearse(words).out, Not(HasSubstr("does not answer")));
}

// Steps of a second, each rank off by up to 4 ms; `slow` says by how much a rank is slower.
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

TEST_F(StragglersVerb, one_slow_rank_is_named_with_what_it_costs) {
  const std::string steps = steps_of(8, [](int r) { return r == 5 ? 0.25 : 0.0; });
  const VerbAnswer a = find(steps);
  EXPECT_EQ(a.code, ExitCode::fails_rule);
  EXPECT_EQ(a.out,
            "8 ranks, 60 steps (as good as 60 independent ones)\n\n"
            "  rank  host             slower by  pattern   of steps  confidence  likely layer\n"
            "     5  h1                  24.9 %  steady       100 %    > 0.9999  GPU clock\n\n"
            "Without them a step is 19.7 % shorter. A healthy run is accused in 1 % of runs at "
            "most.\n");
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

TEST_F(StragglersVerb, ranks_of_one_host_share_it) {
  const VerbAnswer a = find(steps_of(16, [](int r) { return r / 4 == 2 ? 0.25 : 0.0; }));
  EXPECT_EQ(a.code, ExitCode::fails_rule);
  EXPECT_THAT(a.out, HasSubstr(" > 0.9999  host or input, shared by host h2\n"));
  EXPECT_THAT(a.out, HasSubstr("16 ranks, 60 steps"));
}

TEST_F(StragglersVerb, a_healthy_run_is_not_accused) {
  const VerbAnswer a = find(steps_of(8, [](int) { return 0.0; }), {"--slow", "0.035"});
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_EQ(a.out,
            "8 ranks, 60 steps (as good as 60 independent ones)\n"
            "no slow rank: none is slower than the rest by more than 3.5 %\n");
  const Json r = Json::parse(find(steps_of(8, [](int) { return 0.0; }), {"--format", "json"}).out);
  EXPECT_EQ(r["slow"], Json::array());
}

TEST_F(StragglersVerb, shares_and_files_must_be_good) {
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
