// One answer in each of its formats, the files that a simulation writes, and calibrations laid over
// what is shipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/session.h"
#include "app/cli/spoken_fixture.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"
#include "model/design_text/templates.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kFormatsDesign = R"(
orrery: 1
name: small
site: { region: usa, power: 100 kW, cooling: rear-door-active, rack: 44 kW }
fleet: [{ name: train, node: dgx-h100, count: 2 }]
fabric: { compute: { topology: rail-fat-tree, switch: qm9700 } }
storage:
  - { tier: hot, kind: parallel-fs, servers: 2, read: 20 GB/s, write: 10 GB/s, capacity: 100 TB }
workloads:
  - train: { name: tune, model: llama-3-8b, tokens: 1B, sequence: 4096, batch: 64,
             layout: { tp: 1, pp: 1 }, checkpoint: { every: 30 min, to: [hot] } }
)";

class VerbFormats : public testing::Test {
 protected:
  VerbFormats() { folder.write("d.yaml", kFormatsDesign); }
  // How the answer begins in each format, and that JSON is whole.
  void expect_formats(const std::vector<std::string>& words, const std::string& title,
                      bool has_csv = false) const {
    const auto in = [&](const char* format) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--format", format});
      return spoken(all).out;
    };
    EXPECT_THAT(in("text"), StartsWith(title + "\n" + std::string(title.size(), '=') + "\n"));
    EXPECT_THAT(in("markdown"), StartsWith("# " + title + "\n"));
    EXPECT_THAT(in("html"), StartsWith("<!doctype html>\n"));
    const Json json = Json::parse(in("json"), nullptr, false);
    EXPECT_TRUE(json.is_object() && json.contains("schema_version")) << words.front();
    if (has_csv) EXPECT_THAT(in("csv"), StartsWith("layer,section,figure,value,low,high,unit,"));
  }
  std::string design() const { return folder.at("d.yaml"); }
  std::string text(const std::string& name) const {
    return read_text_file(folder.at(name)).value_or("");
  }

  agent::TestFolder folder;
};

TEST_F(VerbFormats, of_a_plan_and_a_calculation) {
  expect_formats({"plan", design()}, "small", true);
  expect_formats({"calc", "goodput"}, "What is left of the time with a failure every 3 h?");
}

TEST_F(VerbFormats, of_a_simulation_and_of_differences) {
  const std::vector<std::string> hour = {"--for", "1 h", "--replications", "1"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), hour.begin(), hour.end());
    return words;
  };
  expect_formats(with({"simulate", design()}), "small, simulated for 1 h");
  expect_formats(with({"diff", design(), design(), "--simulate"}),
                 "small -> small, simulated for 1 h");
  std::string other = kFormatsDesign;
  folder.write("o.yaml", other.replace(other.find("name: small"), 11, "name: large"));
  expect_formats({"diff", design(), folder.at("o.yaml")}, "large against small");
}

TEST_F(VerbFormats, a_plan_is_brief_or_explained) {
  const std::string usual = spoken({"plan", design()}).out;
  const std::string brief = spoken({"plan", design(), "--brief"}).out;
  const std::string explained = spoken({"plan", design(), "--explain"}).out;
  EXPECT_LT(brief.size() * 5, usual.size());
  EXPECT_GT(explained.size(), usual.size());
}

TEST_F(VerbFormats, colours_are_of_the_terminal) {
  const report::TextStyle colourful{.has_colour = true};
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan", design()}, {"explain", "tp"}}) {
    EXPECT_THAT(spoken(words, {.style = colourful}).out, HasSubstr("\033["));
    EXPECT_THAT(spoken(words).out, Not(HasSubstr("\033[")));
  }
}

TEST_F(VerbFormats, a_simulation_writes_levels_events_and_a_trace) {
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

TEST_F(VerbFormats, seeds_and_threads_of_a_simulation) {
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"simulate",       design(), "--for",    "2 d",
                                      "--replications", "2",      "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words).out;
  };
  EXPECT_EQ(run({}), run({"--seed", "1", "--jobs", "3"}));
  EXPECT_NE(run({}), run({"--seed", "2"}));
}

// Two days, two runs, one of which is told to nobody: the terminal shows how far it is after half a
// second alone.
TEST_F(VerbFormats, a_short_simulation_shows_no_progress) {
  EXPECT_EQ(
      spoken({"simulate", design(), "--for", "1 h", "--replications", "1"}, {.err_is_tty = true})
          .err,
      "");
}

TEST_F(VerbFormats, a_calibration_of_kernels_and_of_tiers_is_laid_over) {
  std::ostringstream out, err;
  Terminal terminal{.out = out, .err = err, .read_file = read_text_file};
  folder.write("mine.csv",
               "accelerator,library,dtype,parameter,value\n"
               "h100-sxm,cublas,bf16,efficiency,0.5\n");
  folder.write("hot.csv",
               "tier,parameter,value,error,fit\nhot,read_bytes_per_s,7000000000,0.1,x\n");
  const auto shipped = shipped_models();
  ASSERT_TRUE(shipped);
  EXPECT_TRUE(shipped->tiers.empty());
  const auto both = calibrated_models({folder.at("mine.csv"), folder.at("hot.csv")}, terminal);
  ASSERT_TRUE(both) << to_text(both.error());
  ASSERT_EQ(both->tiers.size(), 1U);
  EXPECT_EQ(both->tiers[0].tier, "hot");
  EXPECT_EQ(both->tiers[0].read->base(), 7e9);
  const auto faulty = [&](const char* rows) {
    folder.write("bad.csv", std::string("accelerator,library,dtype,parameter,value\n") + rows);
    const auto read = calibrated_models({folder.at("bad.csv"), folder.at("none.csv")}, terminal);
    EXPECT_FALSE(read);
    return read ? 0 : static_cast<int>(read.error().size());
  };
  EXPECT_EQ(faulty(",cublas,bf16,efficiency,0.5\n"), 2) << "and the file that is not there";
  EXPECT_EQ(faulty("h100-sxm,cublas,bf16,,0.5\n"), 2);
  EXPECT_EQ(faulty("h100-sxm,cublas,bf16,efficiency,much\n"), 2);
  EXPECT_EQ(faulty(",,,,\n,,,,\n"), 3);
  EXPECT_EQ(faulty("h100-sxm,cublas,bf16,efficiency,0.5\n"), 1);
}

TEST_F(VerbFormats, a_tier_that_no_design_has_is_a_warning_but_for_the_nodes_own) {
  const auto warned = [&](const char* tier) {
    folder.write("tier.csv", "tier,parameter,value,error,fit\n" + std::string(tier) +
                                 ",read_bytes_per_s,7000000000,0.1,x\n");
    return spoken({"plan", design(), "--brief", "--calibration", folder.at("tier.csv")}).err;
  };
  EXPECT_THAT(warned("lukewarm"),
              AllOf(HasSubstr("the design has no tier \"lukewarm\" [calibration.tier]"),
                    HasSubstr(folder.at("tier.csv"))));
  EXPECT_EQ(warned("hot"), "");
  EXPECT_EQ(warned("node-nvme"), "");
}

TEST_F(VerbFormats, both_designs_of_a_difference_are_read_before_either_is_refused) {
  folder.write("bad.yaml", "orrery: 1\nname: [");
  const VerbAnswer a = spoken({"diff", folder.at("none.yaml"), folder.at("bad.yaml")});
  EXPECT_EQ(a.code, ExitCode::bad_input);
  EXPECT_THAT(a.err, AllOf(HasSubstr("none.yaml"), HasSubstr("bad.yaml")));
}

TEST_F(VerbFormats, files_and_folders_that_cannot_be_are_refused_and_bounds_are_allowed) {
  folder.write("c.csv", "a,b\n\"x\n");
  EXPECT_EQ(spoken({"fabric", "counters", folder.at("c.csv")}).code, ExitCode::bad_input);
  EXPECT_EQ(spoken({"emit", "dlio", design(), "/dev/null/x"}).code, ExitCode::bad_input);
  folder.write("hot.csv",
               "tier,parameter,value,error,fit\nhot,read_bytes_per_s,7000000000,0.1,x\n");
  EXPECT_NE(spoken({"simulate", design(), "--for", "1 h", "--replications", "1", "--calibration",
                    folder.at("hot.csv")})
                .code,
            ExitCode::bad_input);
  EXPECT_EQ(
      spoken({"search", "layout", "llama-3-8b", "--gpus", "8", "--batch", "16", "--keep", "1"})
          .code,
      ExitCode::good);
}

TEST(BenchVerb, lists_names_units_and_what_they_are) {
  const VerbAnswer all = spoken({"bench", "--list"});
  EXPECT_EQ(all.code, ExitCode::good);
  EXPECT_THAT(all.out, HasSubstr("random_uniform  [1/s]  uniform draws of one random stream\n"));
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(all.out, '\n')), all_figures().size());
  EXPECT_EQ(spoken({"bench", "--list", "sha256"}).out, "sha256  [B/s]  digest of 16 MB of text\n");
  EXPECT_THAT(spoken({"bench", "--list", "random_unifrom"}).err, HasSubstr("try random_uniform"));
  EXPECT_EQ(spoken({"bench", "sha256"}, {.interrupted = [] { return true; }}).code,
            ExitCode::interrupted);
}

TEST(InitVerb, lists_prints_and_says_what_comes_next) {
  const agent::TestFolder folder;
  const VerbAnswer none = spoken({"init"});
  EXPECT_EQ(none.code, ExitCode::good);
  EXPECT_EQ(none.err, "start with: orrery init --template NAME -o my.yaml\n");
  EXPECT_EQ(spoken({"init", "--list"}).err, "");
  EXPECT_EQ(spoken({"init", "--list"}).out, none.out);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(none.out, '\n')),
            design_text::templates().size());
  const std::string path = folder.at("my.yaml");
  EXPECT_EQ(spoken({"init", "-t", "single-node", "-o", path}).err,
            "wrote " + path + "\nnext: orrery plan " + path + "\n");
  EXPECT_EQ(spoken({"init", "--schema", "-o", folder.at("s.json")}).err,
            "wrote " + folder.at("s.json") + "\n");
  EXPECT_EQ(spoken({"init", "-t", "single-node", "-o", "-"}).out,
            read_text_file(path).value_or(""));
  EXPECT_EQ(spoken({"init", "-t", "fraud-cpu", "-o", path, "--force"}).code, ExitCode::good);
  EXPECT_EQ(read_text_file(path).value_or(""), design_text::find_template("fraud-cpu")->text);
  EXPECT_EQ(spoken({"init", "--list", "-t", "fraud-cpu"}).code, ExitCode::bad_input);
}

}  // namespace
}  // namespace orrery::cli
