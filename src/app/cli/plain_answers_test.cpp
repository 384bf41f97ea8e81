// Answers of verbs that need no machine: what rank, explain, catalog, calibrate, score, search and
// version print in each format, and for which part of what they know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "core/base/digest.h"
#include "core/catalog/embedded.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

Json json_said(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const VerbAnswer a = spoken(words);
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  return Json::parse(a.out, nullptr, false);
}

TEST(PlainAnswers, version_names_the_build_and_the_catalog) {
  std::string all;
  for (const catalog::EmbeddedFile& file : catalog::embedded_files()) {
    all += std::string(file.path) + ' ' + std::to_string(file.text.size()) + '\n';
    all += file.text;
  }
  const Json v = json_said({"version"});
  EXPECT_EQ(v["schema_version"], 1);
  EXPECT_EQ(v["catalog_sha256"], sha256_hex(all));
  const VerbAnswer text = spoken({"version"});
  EXPECT_EQ(text.out, "orrery " + v["version"].get<std::string>() + "\nbuild    " +
                          v["build"].get<std::string>() + "\ncompiler " +
                          v["compiler"].get<std::string>() + "\ncatalog  sha256 " +
                          v["catalog_sha256"].get<std::string>() + '\n');
  EXPECT_EQ(spoken({"--version"}).out, "orrery " + v["version"].get<std::string>() + '\n');
}

TEST(PlainAnswers, a_ranking_in_each_format_and_within_its_bounds) {
  const std::vector<std::string> one = {"rank", "--model", "llama-3-8b", "--accelerator",
                                        "h100-sxm"};
  const Json free = json_said(one);
  ASSERT_EQ(free["rows"].size(), 1U);
  EXPECT_EQ(free["rows"][0]["accelerator"], "h100-sxm");
  EXPECT_EQ(free["rows"][0]["format"], "fp8");
  const double rate = free["rows"][0]["tokens_per_s"];
  EXPECT_GT(rate, 1000);
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = one;
    words.insert(words.end(), more.begin(), more.end());
    return json_said(words)["rows"][0];
  };
  // A bound that holds takes rate away, one that nobody holds takes all.
  EXPECT_LT(with({"--tpot", "8 ms"}).value("tokens_per_s", rate), rate);
  EXPECT_FALSE(with({"--ttft", "40 ms"}).contains("tokens_per_s"));
  EXPECT_FALSE(with({"--tpot", "1 us"}).contains("tokens_per_s"));
  EXPECT_EQ(with({"--precision", "bf16"})["format"], "bf16");
  // Twice the rack holds twice the nodes.
  EXPECT_NEAR(with({"--rack", "81.6 kW"})["tokens_per_s_per_rack"].get<double>() /
                  with({"--rack", "40.8 kW"})["tokens_per_s_per_rack"].get<double>(),
              2, 1e-9);
  EXPECT_LT(with({"--input", "4096"})["tokens_per_s"].get<double>(), rate);
  EXPECT_NE(with({"--output", "64"})["tokens_per_s"].get<double>(), rate);
  EXPECT_THAT(spoken(one).out, StartsWith("llama-3-8b, 1024 tokens in and 1024 out\n===="));
  std::vector<std::string> marked = one;
  marked.insert(marked.end(), {"--format", "markdown", "--input", "100", "--output", "7"});
  EXPECT_THAT(spoken(marked).out, StartsWith("# llama-3-8b, 100 tokens in and 7 out\n"));
  EXPECT_EQ(spoken({"rank", "--input", "1", "--output", "1", "--accelerator", "h100-sxm"}).code,
            ExitCode::good);
}

TEST(PlainAnswers, explanations_as_json_are_of_what_was_named) {
  const Json rule = json_said({"explain", "rules", "policy.residency"});
  EXPECT_EQ(rule["kind"], "rules");
  ASSERT_EQ(rule["rules"].size(), 1U);
  EXPECT_EQ(rule["rules"][0]["id"], "policy.residency");
  EXPECT_GT(json_said({"explain", "rules"})["rules"].size(), 20U);
  const Json word = json_said({"explain", "glossary", "TP"});
  ASSERT_EQ(word["words"].size(), 1U);
  EXPECT_EQ(word["words"][0]["stands_for"], "tensor parallelism");
  const Json any = json_said({"explain", "tp"});
  EXPECT_EQ(any["kind"], "word");
  EXPECT_EQ(any["word"], "tp");
  EXPECT_THAT(any["text"].get<std::string>(), HasSubstr("tensor parallelism"));
  EXPECT_THAT(spoken({"explain", "claims", "--format", "markdown"}).out, StartsWith("# "));
}

TEST(PlainAnswers, storage_profiles_all_and_one) {
  const VerbAnswer all = spoken({"explain", "profiles"});
  EXPECT_EQ(all.code, ExitCode::good);
  EXPECT_THAT(all.out, AllOf(HasSubstr("live-training"), HasSubstr("checkpoint-burst")));
  const VerbAnswer one = spoken({"explain", "profiles", "checkpoint-burst"});
  EXPECT_THAT(one.out, AllOf(HasSubstr("checkpoint-burst"), HasSubstr("burst of writes"),
                             Not(HasSubstr("live-training"))));
  const Json json = json_said({"explain", "profiles", "checkpoint-burst"});
  EXPECT_THAT(json.dump(), AllOf(HasSubstr("checkpoint-burst"), Not(HasSubstr("live-training"))));
  EXPECT_THAT(json_said({"explain", "profiles"}).dump(), HasSubstr("live-training"));
  const VerbAnswer none = spoken({"explain", "profiles", "checkpoint-brust"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, AllOf(HasSubstr("there is no profile 'checkpoint-brust'"),
                              HasSubstr("did you mean 'checkpoint-burst'?"),
                              HasSubstr("'orrery explain profiles' lists them")));
  EXPECT_THAT(spoken({"explain", "checkpoint-burst"}).out, HasSubstr("burst of writes"));
}

class PlainFiles : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) const {
    folder.write(name, text);
    return folder.at(name);
  }
  agent::TestFolder folder;
};

constexpr const char* kPlainDesign =
    "orrery: 1\nname: one\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, count: 2 }]\n";

TEST_F(PlainFiles, figures_of_a_design_as_json) {
  const std::string design = put("d.yaml", kPlainDesign);
  const Json all = json_said({"explain", design});
  const Json one = json_said({"explain", design, "compute.peak"});
  EXPECT_LT(one.dump().size(), all.dump().size());
  EXPECT_THAT(one.dump(), HasSubstr("peak"));
}

TEST(PlainAnswers, catalog_tables_and_rows_in_csv_and_json) {
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  const std::string all = spoken({"catalog", "nodes", "--format", "csv"}).out;
  const std::string one = spoken({"catalog", "nodes", "dgx-h100", "--format", "csv"}).out;
  EXPECT_EQ(lines(one), 2);
  EXPECT_THAT(one, HasSubstr("\ndgx-h100,"));
  EXPECT_GT(lines(all), 20);
  EXPECT_THAT(all, HasSubstr(one.substr(one.find('\n'))));
  const Json rows = json_said({"catalog", "nodes"})["rows"];
  EXPECT_EQ(static_cast<long>(rows.size()) + 1, lines(all));
  EXPECT_TRUE(rows[0]["date"].is_string()) << "a month is no number";
  const Json row = json_said({"catalog", "nodes", "dgx-h100"});
  ASSERT_EQ(row["rows"].size(), 1U);
  EXPECT_EQ(row["rows"][0]["id"], "dgx-h100");
  const Json tables = json_said({"catalog"})["tables"];
  const std::string listed = spoken({"catalog", "--format", "csv"}).out;
  EXPECT_THAT(listed, StartsWith("table,rows,group,title\naccelerators,40,parts,\"accelerators: "));
  EXPECT_EQ(static_cast<long>(tables.size()) + 1, lines(listed));
  EXPECT_EQ(tables[1]["table"], "nodes");
  EXPECT_EQ(tables[1]["rows"], rows.size());
  EXPECT_EQ(tables[1]["group"], "parts");
  EXPECT_EQ(tables[1]["title"], "nodes: a host, or a whole NVL72 rack");
}

// As DLIO writes it, of a run that waited for its reads: 20,000 MiB/s.
constexpr const char* kDlio = R"({"num_accelerators": 16, "num_hosts": 2, "metric": {
    "train_au_mean_percentage": 62.0, "train_au_meet_expectation": "fail",
    "train_io_mean_MB_per_second": 20000.0, "train_io_stdev_MB_per_second": 2000.0}})";

TEST_F(PlainFiles, a_summary_of_dlio_gives_a_tier) {
  const std::string file = put("summary.json", kDlio);
  const VerbAnswer none = spoken({"calibrate", file});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("[calibrate.tier]"));
  const VerbAnswer a = spoken({"calibrate", file, "--tier", "hot"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, AllOf(StartsWith("tier,parameter,value,error,fit\nhot,"),
                           HasSubstr("hot,read_bytes_per_s,20970000000,0.128,")));
  EXPECT_THAT(a.err, HasSubstr("hot"));
  const VerbAnswer busy = spoken(
      {"calibrate", put("b.json", R"({"num_accelerators": 1, "metric": {}})"), "--tier", "hot"});
  EXPECT_EQ(busy.code, ExitCode::bad_input);
}

constexpr const char* kTraining =
    "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,vp,dp,cp,ep,precision,framework,certainty,"
    "tokens_per_s_per_gpu\n"
    "a,h100-sxm,8,llama-3-8b,4096,8,1,1,1,1,8,1,1,bf16,torchtitan,read,9000\n";

TEST_F(PlainFiles, a_fit_to_training_rows_prints_its_files_or_one_of_them) {
  const std::string rows = put("rows.csv", kTraining);
  const VerbAnswer all = spoken({"calibrate", rows, "--adjust"});
  EXPECT_EQ(all.code, ExitCode::good) << all.err;
  for (const char* part : {"frameworks", "accelerators", "releases", "seen"}) {
    EXPECT_THAT(all.out, HasSubstr("# data/calibration/training_" + std::string(part) + ".csv\n"));
    const VerbAnswer one = spoken({"calibrate", rows, "--adjust", "--part", part});
    EXPECT_EQ(one.code, ExitCode::good);
    EXPECT_FALSE(one.out.empty());
    EXPECT_THAT(one.out, Not(HasSubstr("# data/")));
    EXPECT_THAT(all.out, HasSubstr(one.out));
  }
  const VerbAnswer none = spoken({"calibrate", rows, "--adjust", "--part", "none"});
  EXPECT_THAT(none.err, HasSubstr("one of frameworks, accelerators, releases, seen, intervals"));
}

TEST_F(PlainFiles, intervals_of_training_are_a_file_of_their_own) {
  const VerbAnswer a =
      spoken({"calibrate", put("rows.csv", "id,tokens_per_s_per_gpu\n"), "--part", "intervals"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.out, StartsWith("unseen,class,width,source\nmodel,dense,"));
}

TEST_F(PlainFiles, folds_pass_by_on_a_terminal) {
  const std::string rows = put("rows.csv", kTraining);
  const std::vector<std::string> words = {"score", "training", rows, "--leave-out", "gpu"};
  EXPECT_EQ(spoken(words).err, "");
  const VerbAnswer a = spoken(words, {.err_is_tty = true});
  EXPECT_EQ(a.err, "\rfold 1 of 1\n");
  EXPECT_THAT(a.out, StartsWith("training: 1 rows, 1 scored, 0 skipped\n"));
}

TEST_F(PlainFiles, a_score_reads_models_logs_and_settings_from_where_it_is_told) {
  const std::string rows = put("rows.csv", kTraining);
  EXPECT_THAT(spoken({"score", "training", rows, "--explain", "a"}).out,
              HasSubstr("9000 tokens/s per GPU\n"));
  EXPECT_THAT(spoken({"score", "training", rows, "--leave-out", "system"}).err,
              HasSubstr("[score.kind]"));
  EXPECT_THAT(spoken({"score", "serving", rows, "--leave-out", "gpu"}).err,
              HasSubstr("this --leave-out or --explain is not for rows of serving"));
  EXPECT_THAT(spoken({"score", "serving", rows, "--tests", folder.at("none.csv")}).err,
              HasSubstr("none.csv"));
  EXPECT_THAT(spoken({"score", "training", rows, "--format", "markdown"}).out, HasSubstr("|"));
  put("logs/one.jsonl", "{}\n");
  const std::string logs =
      put("logs.csv",
          "id,log,gpu,model,engine,version,tp,attention_dp,ep,blocks,max_num_batched_tokens,"
          "max_num_seqs,calibrates,source\n"
          "x,one.jsonl,h100-sxm,llama-3-8b,vllm,0.19.0,1,1,1,2588,2048,256,1,s\n");
  std::vector<std::string> asked;
  std::ostringstream out, err;
  Terminal terminal{.out = out, .err = err, .read_file = [&](const std::string& path) {
                      asked.push_back(path);
                      return read_text_file(path);
                    }};
  run_command_line(all_verbs(), {"score", "requests", logs, "--logs", folder.at("logs")}, terminal);
  EXPECT_THAT(asked, testing::ElementsAre(logs, folder.at("logs/one.jsonl")));
}

TEST_F(PlainFiles, a_search_writes_the_trace_of_the_best_and_shows_its_progress) {
  const std::vector<std::string> words = {"search",  "layout", "llama-3-8b", "--gpus", "8",
                                          "--batch", "16",     "--keep",     "2"};
  std::vector<std::string> traced = words;
  traced.insert(traced.end(), {"--trace", folder.at("step.json")});
  const VerbAnswer a = spoken(traced, {.err_is_tty = true});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_THAT(a.err, AllOf(StartsWith("\r"), HasSubstr(" % of "), HasSubstr("\r100 % of "),
                           testing::EndsWith("\r\033[K")));
  EXPECT_TRUE(Json::accept(read_text_file(folder.at("step.json")).value_or("")));
  std::vector<std::string> nowhere = words;
  nowhere.insert(nowhere.end(), {"--trace", folder.at("none/step.json")});
  const VerbAnswer none = spoken(nowhere);
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("cannot write " + folder.at("none/step.json")));
  EXPECT_EQ(spoken(words).err, "");
  // Half the GPUs and a quarter and an eighth too.
  std::vector<std::string> pareto = words;
  pareto.insert(pareto.end(), {"--pareto"});
  EXPECT_GT(spoken(pareto).out.size(), spoken(words).out.size());
}

TEST_F(PlainFiles, a_trial_of_slurm_is_made_for_where_its_files_lie) {
  const std::string design = put("d.yaml", kPlainDesign);
  const VerbAnswer a = spoken({"emit", "slurm", design, folder.at("x/../out"), "--trial",
                               folder.at("state"), "--trial-port", "7001"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  std::string all;
  for (const auto& file : std::filesystem::directory_iterator(folder.at("out"))) {
    if (file.is_regular_file()) all += read_text_file(file.path().string()).value_or("");
  }
  EXPECT_THAT(all, AllOf(HasSubstr(folder.at("state")), HasSubstr("SlurmctldPort=7001\n")));
  EXPECT_THAT(all, HasSubstr(folder.at("out") + "/")) << "absolute, without the detour";
  EXPECT_THAT(all, Not(HasSubstr("x/../out")));
}

}  // namespace
}  // namespace orrery::cli
