// Verbs by what they promise a script: the exit code of an answer, every option acting, bounds that
// hold on either side, and refusals by their code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/keep_words.h"
#include "app/cli/verb.h"
#include "core/catalog/embedded.h"
#include "live/agent/test_folder.h"
#include "model/design_text/edit.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/emit/emit_folder.h"
#include "output/emit/emit_plan.h"
#include "output/emit/unified_diff.h"
#include "study/calc/calculators.h"

namespace orrery::cli {
namespace {

using emit::EmitFolder;
using emit::unified_diff;

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

class VerbLaws : public testing::Test {
 protected:
  std::string put(const std::string& name, std::string_view text) const {
    folder.write(name, text);
    return folder.at(name);
  }
  VerbAnswer say(const std::vector<std::string>& words) const {
    std::ostringstream out, err;
    Terminal terminal{.out = out, .err = err, .read_file = read_text_file};
    int asked = 0;
    if (stops_after >= 0) {
      terminal.interrupted = [this, &asked] { return asked++ >= stops_after; };
    }
    const ExitCode code = run_command_line(all_verbs(), words, terminal);
    return {code, out.str(), err.str()};
  }
  void expect_code(const std::vector<std::string>& words, const std::string& code) const {
    const VerbAnswer a = say(words);
    EXPECT_EQ(a.code, ExitCode::bad_input) << words[0] << ' ' << words.back() << a.out;
    EXPECT_THAT(a.err, HasSubstr("[" + code + "]")) << words.back();
  }
  std::string sample(const std::string& name, const design_text::Change& change = {}) const {
    std::string text(design_text::find_template("single-node")->text);
    if (!change.path.empty()) {
      text = design_text::edit_text(text, change, machine::known().catalog()).value().text;
    }
    return put(name, text);
  }

  agent::TestFolder folder;
  int stops_after = -1;
};

// Small enough to be simulated in a moment.
constexpr const char* kSmallDesign = R"(
orrery: 1
name: small
site: { region: usa, power: 100 kW, cooling: rear-door-active, rack: 44 kW }
fleet:
  - { name: train, node: dgx-h100, count: 2 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700 }
storage:
  - { tier: hot, kind: parallel-fs, servers: 2, read: 20 GB/s, write: 10 GB/s, capacity: 100 TB }
scheduler: { kind: slurm }
workloads:
  - train: { name: tune, model: llama-3-8b, tokens: 1B, sequence: 4096, batch: 64,
             layout: { tp: 1, pp: 1 }, checkpoint: { every: 30 min, to: [hot] } }
goals: [ goodput >= GOAL ]
)";

std::string small_design(const char* goal) {
  std::string text = kSmallDesign;
  return text.replace(text.find("GOAL"), 4, goal);
}

TEST_F(VerbLaws, a_review_that_fails_is_an_answer_with_one) {
  const std::string good = put("good.yaml", small_design("0.5"));
  const std::string bad = put("bad.yaml", small_design("0.9999999"));
  EXPECT_EQ(say({"plan", bad, "--brief"}).code, ExitCode::fails_rule);
  const VerbAnswer fine = say({"plan", good, "--brief"});
  const ExitCode expected =
      fine.out.find("BROKEN") == std::string::npos ? ExitCode::good : ExitCode::fails_rule;
  EXPECT_EQ(fine.code, expected) << fine.out;
  EXPECT_EQ(say({"diff", good, bad}).code, ExitCode::fails_rule) << "as it would be";
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

TEST_F(VerbLaws, what_was_interrupted_says_so) {
  const std::string design = put("d.yaml", small_design("0.5"));
  stops_after = 0;
  EXPECT_EQ(say({"simulate", design, "--for", "2 d", "--replications", "2"}).code,
            ExitCode::interrupted);
  // Asked once before each replication and at each of its parts: the first is done, the second not.
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

TEST_F(VerbLaws, spans_and_replications_have_bounds) {
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

TEST_F(VerbLaws, bounds_of_a_ranking_are_above_zero) {
  expect_code({"rank", "--rack", "0 W"}, "usage.value");
  expect_code({"rank", "--rack", "40"}, "usage.value");
  expect_code({"rank", "--ttft", "0 s"}, "usage.value");
  expect_code({"rank", "--tpot", "-1 ms"}, "usage.value");
  expect_code({"rank", "--output", "0"}, "usage.value");
  expect_code({"rank", "--input", "0.5"}, "usage.value");
  expect_code({"rank", "--precision", "fp2"}, "usage.value");
  expect_code({"rank", "--model", "nosuch"}, "usage.value");
  expect_code({"rank", "--accelerator", "nosuch"}, "rank.accelerator");
}

TEST_F(VerbLaws, a_search_keeps_at_least_one_and_knows_its_machine) {
  expect_code({"search", "layout", "llama-3-8b", "--keep", "0"}, "search.unknown");
  const std::string script = put("run.sh", "--num-layers 32 --hidden-size 4096\n");
  const VerbAnswer none = say({"search", "layout", script, "--megatron", "--gpus", "0"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_EQ(none.out, "");
}

TEST_F(VerbLaws, a_calibration_says_of_what_it_is) {
  const std::string report = put(
      "probe.json",
      R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":"first_byte","value_s":0.001}]})");
  expect_code({"calibrate", report}, "calibrate.tier");
  EXPECT_EQ(say({"calibrate", report, "--tier", "hot"}).code, ExitCode::good);
  const std::string rows = put("probe.csv", "gpu,op,dtype,seconds\nNVIDIA H200,idle,,1\n");
  expect_code({"calibrate", rows}, "calibrate.rows");  // it knows the part, and has no rows of it
  expect_code({"calibrate", put("x.csv", "gpu,op,dtype,seconds\nAbacus 9,idle,,1\n")},
              "calibrate.accelerator");
  const std::string lines =
      put("train.csv",
          "id,gpu,n_gpus,model,seq,gbs,precision,framework,certainty,tokens_per_s_per_gpu\n"
          "a,h100-sxm,8,llama-3-8b,4096,16,bf16,nemo,read,9000\n");
  expect_code({"calibrate", lines, "--adjust", "--part", "nosuch"}, "calibrate.part");
  expect_code({"score", "training", lines, "--explain", "b"}, "score.row");
  const std::string faulty =
      put("mine.csv", "accelerator,library,dtype,parameter,value\n,,bf16,efficiency,0.5\n");
  expect_code({"plan", sample("d.yaml"), "--calibration", faulty}, "calibration.row");
  const std::string other =
      put("tier.csv", "tier,parameter,value,error,fit\nlukewarm,first_byte_s,0.1,0.1,x\n");
  EXPECT_THAT(say({"plan", sample("d.yaml"), "--calibration", other}).err,
              HasSubstr("[calibration.tier]"));
}

// Three jobs on four GPUs: the second waits for the first, the third has room beside it.
constexpr const char* kJobs = "submit,run,gpus\n100,1000,4\n110,100,4\n5000,100,2\n6000,50,1\n";

TEST_F(VerbLaws, a_replay_needs_a_fleet_and_times_that_are_times) {
  const std::string jobs = put("jobs.csv", kJobs);
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate", "--replay", jobs};
    words.insert(words.end(), more.begin(), more.end());
    expect_code(words, "usage.replay");
  };
  refused({});
  refused({"--gpus", "4", "--nodes", "1"});
  refused({"--gpus", "-1"});
  refused({"--nodes", "1", "--gpus-per-node", "65"});
  refused({"--nodes", "1", "--gpus-per-node", "0"});
  refused({"--nodes", "1", "--placement", "nowhere"});
  refused({"--gpus", "4", "--policy", "nosuch"});
  refused({"--gpus", "4", "--mtbf", "-1 d"});
  refused({"--gpus", "4", "--repair", "4"});
  refused({"--gpus", "4", "--from", "4"});
  refused({"--gpus", "4", "--take", "-1"});
  refused({"--gpus", "4", "--trace-format", "nosuch"});
  refused({"--gpus", "4", "--rewind", "--more", "-1"});
  expect_code({"simulate",
               put("cpu.yaml",
                   "orrery: 1\nname: x\nsite: { region: usa }\nfleet:\n"
                   "  - { name: a, node: dgx-h100, count: 1, partition: kubernetes }\n"
                   "scheduler: { kind: kubernetes }\n"),
               "--replay", jobs},
              "replay.fleet");
}

TEST_F(VerbLaws, a_replay_takes_the_jobs_it_is_told_to) {
  const std::string jobs = put("jobs.csv", kJobs);
  const auto played = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate", "--replay", jobs,       "--gpus", "4",
                                      "--policy", "fifo",     "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer a = say(words);
    EXPECT_EQ(a.code, ExitCode::good) << a.err;
    return Json::parse(a.out);
  };
  const Json all = played({});
  EXPECT_EQ(all["jobs"], 4);
  EXPECT_EQ(all["gpus"], 4);
  const Json& p = all["policies"][0];
  EXPECT_EQ(p["finished"], 4);
  EXPECT_NEAR(p["wait"]["max_s"].get<double>(), 990, 1) << "110 until 1,100";
  EXPECT_NEAR(p["wait"]["mean_s"].get<double>(), 990 / 4.0, 1);
  // 4,000 and 400 and 200 and 50 GPU-seconds.
  EXPECT_NEAR(p["gpu_seconds"]["productive"].get<double>(), 4650, 1);
  const Json one = played({"--from", "1", "--take", "1"});
  EXPECT_EQ(one["jobs"], 1);
  EXPECT_NEAR(one["policies"][0]["span_s"].get<double>(), 100, 1) << "its clock starts with it";
  EXPECT_EQ(played({"--take", "3"})["jobs"], 3);
  EXPECT_EQ(played({"--take", "99"})["jobs"], 4);
}

TEST_F(VerbLaws, a_replay_is_told_in_shares_of_its_gpu_time) {
  const std::string jobs = put("jobs.csv", "submit,run,gpus\n0,1000,4\n0,1000,64\n");
  const VerbAnswer a = say({"simulate", "--replay", jobs, "--gpus", "8", "--policy", "fifo"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, HasSubstr("GPU time: 50.0 % productive, 50.0 % idle"));
  EXPECT_THAT(a.out, HasSubstr("1 jobs ask for more than the fleet has"));
  EXPECT_THAT(a.out, HasSubstr("8 GPUs in one pool"));
}

TEST_F(VerbLaws, pods_need_nodes_and_a_load) {
  const std::string pods =
      put("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1000,1000,1,500,\n");
  const std::string nodes =
      put("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,64000,64000,8,T4\n");
  const std::vector<std::string> replay = {"simulate", "--replay", pods};
  expect_code({"simulate", "--replay", pods}, "usage.replay");
  expect_code({"simulate", "--replay", pods, "--pod-nodes", nodes, "--load", "0"}, "usage.replay");
  expect_code({"simulate", "--replay", pods, "--pod-nodes", nodes, "--load", "10.1"},
              "usage.replay");
  const VerbAnswer a = say({"simulate", "--replay", pods, "--pod-nodes", nodes, "--load", "0.5"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, HasSubstr("50.00 %")) << "half of the GPUs, of pods that fit";
}

TEST_F(VerbLaws, a_network_has_rates_planes_and_ends_that_are_there) {
  expect_code({"fabric", "bill", "--rate", "0 Gb/s"}, "fabric.usage");
  expect_code({"fabric", "bill", "--planes", "9"}, "fabric.usage");
  expect_code({"fabric", "path", "--nodes", "4", "--from", "0", "--to", "32"}, "fabric.usage");
  expect_code({"fabric", "path", "--nodes", "4", "--from", "32", "--to", "0"}, "fabric.usage");
  EXPECT_EQ(say({"fabric", "path", "--nodes", "4", "--from", "31", "--to", "0"}).code,
            ExitCode::good);
  EXPECT_THAT(say({"fabric", "bill"}).out, HasSubstr("(100 % of full)"));
}

TEST_F(VerbLaws, a_probe_of_serving_must_fit_its_blocks) {
  expect_code({"probe", "serving", "--clients", "1000001"}, "usage.value");
  expect_code({"probe", "serving", "--requests", "0"}, "usage.value");
  expect_code({"probe", "serving", "--prompt", "100", "--output", "60", "--blocks", "10"},
              "usage.value");
  const VerbAnswer a = say({"probe", "serving", "--clients", "2", "--requests", "4", "--prompt",
                            "100", "--output", "20"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, HasSubstr("requests=4 "));
}

TEST_F(VerbLaws, a_row_of_the_catalog_says_what_nobody_stated) {
  bool some = false;
  for (const catalog::Accelerator& a : machine::known().catalog().accelerators) {
    const std::string page = say({"catalog", "accelerators", a.id}).out;
    some = some || page.find("Not stated: ") != std::string::npos;
    if (some) break;
  }
  EXPECT_TRUE(some);
}

TEST_F(VerbLaws, numbers_keep_to_their_range_and_choices_to_their_list) {
  const VerbAnswer many = say({"simulate", "x", "--jobs", "1025"});
  EXPECT_EQ(many.code, ExitCode::bad_input);
  EXPECT_THAT(many.err, HasSubstr("1025 is not between 1 and 1024"));
  const VerbAnswer near = say({"plan", "x", "--format", "jsn"});
  EXPECT_THAT(near.err, HasSubstr("is not one of text, json"));
  EXPECT_THAT(near.err, HasSubstr("did you mean json?"));
  EXPECT_THAT(say({"plan", "x", "--fromat", "json"}).err, HasSubstr("did you mean --format?"));
  EXPECT_THAT(say({"calc"}).err, HasSubstr("which one? name a verb"));
  EXPECT_THAT(say({"calc", "nosuch"}).err, HasSubstr("there is no verb 'nosuch' here"));
  EXPECT_EQ(say({"help", "calc", "tco"}).out, say({"calc", "tco", "--help"}).out);
}

TEST_F(VerbLaws, a_file_is_text_and_the_line_that_is_not_is_named) {
  const std::string path = put("bad.yaml", "orrery: 1\nname: x\nlatin: caf\xe9\n");
  const auto text = read_text_file(path);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().front().code, "file.not-utf8");
  EXPECT_EQ(text.error().front().place.line, 3);
}

TEST_F(VerbLaws, a_folder_is_one_emits_at_a_time_and_files_keep_their_right_to_run) {
  const auto first = EmitFolder::open(folder.at("out"), true);
  ASSERT_TRUE(first);
  const auto second = EmitFolder::open(folder.at("out"), true);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "emit.busy");
  ASSERT_TRUE((*first)->write({.path = "a/run.sh", .text = "x", .executable = true}));
  ASSERT_TRUE((*first)->write({.path = "a/conf", .text = "y"}));
  EXPECT_TRUE((**(*first)->read("a/run.sh")).executable);
  EXPECT_FALSE((**(*first)->read("a/conf")).executable);
  for (const char* path : {"../x", "a/../../x", "", "/x", "a//b", "."}) {
    const auto r = (*first)->write({.path = path, .text = "z"});
    ASSERT_FALSE(r) << path;
    EXPECT_EQ(r.error().front().code, "emit.path") << path;
  }
  const auto folder_there = (*first)->read("a");
  EXPECT_FALSE(folder_there) << "a folder is no file";
  std::filesystem::create_symlink("conf", folder.at("out/a/link"));
  const auto link = (*first)->read("a/link");
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().front().code, "emit.link");
}

storage::KeepPlace kept(std::string_view word, bool& read) {
  storage::KeepPlace place;
  read = read_keep_word(word, place);
  return place;
}

TEST(KeepWords, each_word_sets_what_it_names) {
  bool read = false;
  EXPECT_EQ(kept("newest=3", read).keep.newest, 3);
  EXPECT_EQ(kept("every=1000", read).keep.milestone_every, 1000);
  EXPECT_TRUE(kept("every=1000", read).keep.milestones);
  EXPECT_EQ(kept("window=7d", read).keep.window, days(7));
  EXPECT_EQ(kept("spacing=1d", read).keep.spacing, days(1));
  EXPECT_EQ(kept("pace=200MB/s", read).pace, gbytes_per_s(0.2));
  EXPECT_EQ(kept("hours=22-6", read).opens, hours(22));
  EXPECT_EQ(kept("hours=22-6", read).closes, hours(6));
  EXPECT_TRUE(kept("written", read).written);
  EXPECT_FALSE(kept("volatile", read).durable);
  EXPECT_TRUE(kept("all", read).keep.everything);
  EXPECT_TRUE(read);
  for (const char* bad : {"newest=-1", "newest=x", "newest=1000000", "every=0", "every=-5",
                          "hours=25-3", "hours=3-25", "hours=5-5", "hours=5", "pace=0 B/s",
                          "pace=fast", "window=7", "nosuch", "nosuch=1", ""}) {
    kept(bad, read);
    EXPECT_FALSE(read) << bad;
  }
}

std::string lines_of_numbers(int from, int to, int changed = -1) {
  std::string text;
  for (int i = from; i <= to; ++i) {
    text += (i == changed ? "other" : std::to_string(i)) + std::string("\n");
  }
  return text;
}

// As diff -u: three lines about a change, one hunk where two are near.
TEST(UnifiedDiffLaws, hunks_have_three_lines_of_context_and_their_place) {
  const std::string a = lines_of_numbers(1, 30);
  const std::string one =
      unified_diff({.path = "f", .before = a, .after = lines_of_numbers(1, 30, 15)});
  EXPECT_THAT(one,
              HasSubstr("--- a/f\n+++ b/f\n@@ -12,7 +12,7 @@\n 12\n 13\n 14\n-15\n+other\n 16\n"));
  std::string two = lines_of_numbers(1, 30, 10);
  two.replace(two.find("16\n"), 3, "twin\n");
  const std::string near = unified_diff({.path = "f", .before = a, .after = two});
  EXPECT_EQ(near.find("@@ ", near.find("@@ -") + 10), std::string::npos) << near;
  EXPECT_THAT(near, HasSubstr("@@ -7,13 +7,13 @@\n"));
  std::string far = lines_of_numbers(1, 30, 5);
  far.replace(far.find("25\n"), 3, "far\n");
  const std::string apart = unified_diff({.path = "f", .before = a, .after = far});
  EXPECT_THAT(apart, HasSubstr("@@ -2,7 +2,7 @@\n"));
  EXPECT_THAT(apart, HasSubstr("@@ -22,7 +22,7 @@\n"));
}

TEST(UnifiedDiffLaws, an_empty_side_is_named_by_the_line_before_it) {
  EXPECT_EQ(unified_diff({.path = "f", .before = "", .after = "a\nb\n", .is_new = true}),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  EXPECT_EQ(unified_diff({.path = "f", .before = "a\n", .after = "", .is_gone = true}),
            "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
  EXPECT_EQ(unified_diff({.path = "f", .before = "a\n", .after = "a\n"}), "");
  EXPECT_NE(unified_diff({.path = "f", .before = "", .after = "", .is_new = true}), "");
  EXPECT_THAT(unified_diff({.path = "f", .before = "", .after = "\x1b[2J\tx\x7f\n"}),
              HasSubstr("+?[2J\tx?\n"));
}

// Applied, a script gives the second text: lines kept and put in, those taken out left out.
TEST(UnifiedDiffLaws, a_diff_of_few_edits_is_the_shortest) {
  const std::string a = "a\nb\nc\na\nb\nb\na\n", b = "c\nb\na\nb\na\nc\n";
  const std::string diff = unified_diff({.path = "f", .before = a, .after = b});
  int edits = 0;
  std::string kept_and_new;
  std::istringstream lines(diff.substr(diff.find("@@\n") + 3));
  for (std::string line; std::getline(lines, line);) {
    edits += line[0] != ' ';
    if (line[0] != '-') kept_and_new += line.substr(1) + '\n';
  }
  EXPECT_EQ(kept_and_new, b);
  EXPECT_EQ(edits, 5) << "Myers' own example";
}

// What a calculator asks for has a standing value, or may be left out.
TEST_F(VerbLaws, every_calculator_answers_when_nothing_is_given) {
  for (const calc::Calculator& c : calc::calculators()) {
    const VerbAnswer a = say({"calc", std::string(c.name)});
    EXPECT_EQ(a.code, ExitCode::good) << c.name << ": " << a.err;
    EXPECT_FALSE(a.out.empty()) << c.name;
  }
}

}  // namespace
}  // namespace orrery::cli
