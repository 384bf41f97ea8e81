#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using ScoreVerb = VerbTest;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(ScoreVerb, models_logs_and_settings_are_read_from_their_options) {
  const std::string rows = put("rows.csv", kTraining);
  EXPECT_THAT(spoken({"score", "training", rows, "--explain", "a"}).out,
              HasSubstr("9000 tokens/s per GPU\n"));
  EXPECT_THAT(spoken({"score", "training", rows, "--leave-out", "system"}).err,
              HasSubstr("[score.kind]"));
  EXPECT_THAT(spoken({"score", "serving", rows, "--leave-out", "gpu"}).err,
              HasSubstr("[score.kind]"));
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

// Llama 3 8B under another name.
constexpr const char* kConfig =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,)"
    R"("intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,)"
    R"("num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192})";

std::string training_row(const std::string& model) {
  return "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,vp,dp,cp,ep,precision,framework,certainty,"
         "tokens_per_s_per_gpu\na,h100-sxm,8," +
         model + ",4096,8,1,1,1,1,8,1,1,bf16,torchtitan,read,9000\n";
}

class ScoreModels : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) const {
    folder.write(name, text);
    return folder.at(name);
  }
  VerbAnswer score(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"score", "training", folder.at("rows.csv")};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  }
  agent::TestFolder folder;
};

TEST_F(ScoreModels, a_model_is_read_from_its_config) {
  put("rows.csv", training_row("my/own/Model"));
  put("configs/my--own--Model.json", kConfig);
  EXPECT_THAT(score({}).out, StartsWith("training: 1 rows, 0 scored, 1 skipped\n"));
  const VerbAnswer absent = score({"--models", folder.at("none")});
  EXPECT_THAT(absent.out, StartsWith("training: 1 rows, 0 scored, 1 skipped\n"));
  EXPECT_EQ(absent.err, "");
  const VerbAnswer known = score({"--models", folder.at("configs"), "--predict"});
  EXPECT_THAT(known.out, StartsWith("id,predicted,low,high,basis\na,"));
  EXPECT_EQ(known.err, "");
  // The catalog's model of this shape gets the same prediction with a narrower interval.
  put("rows.csv", training_row("llama-3-8b"));
  const auto predicted = [](const std::string& csv) {
    return csv.substr(0, csv.find(',', csv.find("\na,") + 3));
  };
  EXPECT_EQ(predicted(score({"--predict"}).out), predicted(known.out));
  put("rows.csv", training_row("my/own/Model"));
  put("configs/my--own--Model.json", "{");
  const VerbAnswer broken = score({"--models", folder.at("configs")});
  EXPECT_THAT(broken.out, StartsWith("training: 1 rows, 0 scored, 1 skipped\n"));
  EXPECT_THAT(broken.err, StartsWith("my/own/Model:1:2: error: "));
}

TEST_F(ScoreModels, formats_of_a_prediction) {
  put("rows.csv", training_row("llama-3-8b"));
  EXPECT_THAT(score({}).out, StartsWith("training: 1 rows, 1 scored, 0 skipped\n"));
  const Json json = Json::parse(score({"--format", "json"}).out);
  EXPECT_EQ(json["kind"], "training");
  EXPECT_EQ(json["scored"], 1);
  EXPECT_EQ(json["worst"][0]["measured"], 9000);
  EXPECT_THAT(score({"--format", "markdown"}).out, AllOf(HasSubstr("|"), Not(StartsWith("{"))));
  put("rows.csv", "a,\"b\n");
  EXPECT_EQ(score({}).code, ExitCode::bad_input);
  EXPECT_THAT(score({"--explain", "a"}).err, HasSubstr("[csv.quote]"));
  put("rows.csv", training_row("llama-3-8b"));
  EXPECT_THAT(score({"--leave-out", "system"}).err, HasSubstr("[score.kind]"));
  EXPECT_THAT(spoken({"score", "collectives", folder.at("rows.csv"), "--explain", "a"}).err,
              HasSubstr("[score.kind]"));
  const VerbAnswer tests =
      spoken({"score", "serving", folder.at("rows.csv"), "--tests", put("t.csv", "a,\"b\n")});
  EXPECT_THAT(tests.err, StartsWith(folder.at("t.csv") + ": error: "));
}

constexpr const char* kMegatron =
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
    "--micro-batch-size 1 --global-batch-size 16 --ffn-hidden-size 14336 "
    "--tensor-model-parallel-size 2 --bf16\n";

TEST_F(ScoreModels, a_launch_script_scores_one_layout) {
  const std::string script = put("run.sh", kMegatron);
  const auto asked = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"search", "layout", script, "--megatron"};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  };
  const VerbAnswer a = asked({"--gpus", "8", "--format", "json"});
  ASSERT_EQ(a.code, ExitCode::good) << a.err;
  const std::string eight = a.out;
  EXPECT_THAT(eight, HasSubstr("run.sh"));
  EXPECT_NE(asked({"--gpus", "16", "--format", "json"}).out, eight);
  EXPECT_NE(asked({"--gpus", "8", "--accelerator", "a100-80-sxm", "--format", "json"}).out, eight);
  EXPECT_THAT(asked({"--accelerator", "abacus"}).err, HasSubstr("[search.unknown]"));
  EXPECT_THAT(asked({"--nic", "400"}).err, HasSubstr("[search.unknown]"));
  EXPECT_EQ(asked({"--gpus", "-1"}).code, ExitCode::bad_input);
  EXPECT_EQ(spoken({"search", "layout", "/no/such", "--megatron"}).code, ExitCode::bad_input);
}

TEST_F(ScoreModels, fewer_gpus_are_searched_too) {
  const auto searched = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"search", "layout",   "llama-3-8b", "--gpus",
                                      "4",      "--batch",  "4",          "--keep",
                                      "1",      "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Json found = Json::parse(spoken(words).out, nullptr, false);
    std::vector<int> gpus;
    for (const Json& outcome : found["searches"]) gpus.push_back(outcome["gpus"].get<int>());
    return gpus;
  };
  EXPECT_THAT(searched({"--pareto"}), testing::ElementsAre(4, 2, 1));
  EXPECT_THAT(searched({}), testing::ElementsAre(4));
}

// Each option that fixes a degree leaves only layouts of that degree.
TEST_F(ScoreModels, fixed_degrees_stay_fixed) {
  const auto layout = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"search", "layout",   "llama-3-8b", "--gpus",
                                      "8",      "--batch",  "16",         "--keep",
                                      "1",      "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Json found = Json::parse(spoken(words).out, nullptr, false);
    return found["searches"][0]["layouts"][0]["layout"].get<std::string>();
  };
  EXPECT_THAT(layout({"--tp", "4"}), StartsWith("tp4 pp1 "));
  EXPECT_THAT(layout({"--pp", "2"}), HasSubstr(" pp2 "));
  EXPECT_THAT(layout({"--cp", "2"}), HasSubstr(" cp2 "));
  EXPECT_THAT(layout({"--pp", "2", "--vp", "2"}), AllOf(HasSubstr(" pp2 "), HasSubstr(" vp2 ")));
  EXPECT_THAT(layout({"--microbatch", "1"}), HasSubstr(" mbs1 "));
}

TEST(Score, score_json_and_predictions) {
  const VerbAnswer json = ask_search({"score", "training", "rows.csv", "--format", "json"});
  EXPECT_EQ(json.code, ExitCode::good) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"scored\": 1"));
  const VerbAnswer csv = ask_search({"score", "training", "rows.csv", "--predict"});
  EXPECT_THAT(csv.out, HasSubstr("id,predicted,low,high,basis\na,"));
  EXPECT_EQ(ask_search({"score", "training", "missing.csv"}).code, ExitCode::bad_input);
}

}  // namespace
}  // namespace orrery::cli
