// For tests of verbs: files in a temporary folder, and answers as JSON.
#pragma once

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"
#include "model/design_text/edit.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::cli {

inline nlohmann::json json_said(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const VerbAnswer a = spoken(words);
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  return nlohmann::json::parse(a.out, nullptr, false);
}

inline constexpr const char* kPlainDesign =
    "orrery: 1\nname: one\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, count: 2 }]\n";

// DLIO's summary of a run that waited for its reads: 20,000 MiB/s.
inline constexpr const char* kDlio = R"({"num_accelerators": 16, "num_hosts": 2, "metric": {
    "train_au_mean_percentage": 62.0, "train_au_meet_expectation": "fail",
    "train_io_mean_MB_per_second": 20000.0, "train_io_stdev_MB_per_second": 2000.0}})";

inline constexpr const char* kTraining =
    "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,vp,dp,cp,ep,precision,framework,certainty,"
    "tokens_per_s_per_gpu\n"
    "a,h100-sxm,8,llama-3-8b,4096,8,1,1,1,1,8,1,1,bf16,torchtitan,read,9000\n";

inline constexpr const char* kFormatsDesign = R"(
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

class FormatsTest : public testing::Test {
 protected:
  FormatsTest() { folder.write("d.yaml", kFormatsDesign); }
  // Expects that each format is recognizable and that JSON is valid.
  void expect_formats(const std::vector<std::string>& words, bool has_csv = false) const {
    const auto in = [&](const char* format) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--format", format});
      return spoken(all).out;
    };
    EXPECT_THAT(in("text"), testing::HasSubstr("\n==="));
    EXPECT_THAT(in("markdown"), testing::StartsWith("# "));
    EXPECT_THAT(in("html"), testing::StartsWith("<!doctype html>\n"));
    const nlohmann::json json = nlohmann::json::parse(in("json"), nullptr, false);
    EXPECT_TRUE(json.is_object() && json.contains("schema_version")) << words.front();
    if (has_csv)
      EXPECT_THAT(in("csv"), testing::StartsWith("layer,section,figure,value,low,high,unit,"));
  }
  std::string design() const { return folder.at("d.yaml"); }
  std::string text(const std::string& name) const {
    return read_text_file(folder.at(name)).value_or("");
  }

  agent::TestFolder folder;
};

class VerbTest : public testing::Test {
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
    EXPECT_THAT(a.err, testing::HasSubstr("[" + code + "]")) << words.back();
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

// Small enough to be simulated quickly.
inline constexpr const char* kSmallDesign = R"(
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

inline std::string small_design(const char* goal) {
  std::string text = kSmallDesign;
  return text.replace(text.find("GOAL"), 4, goal);
}

// Three jobs on four GPUs: the second waits for the first, and the third fits beside the first.
inline constexpr const char* kJobs =
    "submit,run,gpus\n100,1000,4\n110,100,4\n5000,100,2\n6000,50,1\n";

}  // namespace orrery::cli
