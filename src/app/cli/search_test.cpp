// `orrery search layout` and `orrery score` as a person meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"

namespace orrery::cli {

Verb search_verb();
Verb score_verb();

namespace {

using testing::HasSubstr;

VerbAnswer ask_search(const std::vector<std::string>& words, bool interrupted = false) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out,
                    .err = err,
                    .read_file = [](const std::string& path) -> Result<std::string> {
                      if (path == "rows.csv") {
                        return "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,vp,dp,cp,ep,precision,"
                               "framework,certainty,tokens_per_s_per_gpu\n"
                               "a,h100-sxm,8,llama-3-8b,4096,8,1,1,1,1,8,1,1,bf16,torchtitan,read,"
                               "9000\n";
                      }
                      return fail({.code = "file", .what = "no " + path});
                    },
                    .interrupted = [interrupted] { return interrupted; }};
  const ExitCode code = run_command_line({search_verb(), score_verb()}, words, terminal);
  return {code, out.str(), err.str()};
}

const std::vector<std::string> kSmall = {"search", "layout",   "llama-3-8b", "--gpus",
                                         "16",     "--batch",  "64",         "--keep",
                                         "3",      "--format", "json"};

TEST(SearchLayout, ThreadsDoNotChangeTheAnswer) {
  std::vector<std::string> many = kSmall;
  many.insert(many.end(), {"--jobs", "3"});
  const VerbAnswer one = ask_search(kSmall);
  EXPECT_EQ(one.code, ExitCode::good) << one.err;
  EXPECT_EQ(one.out, ask_search(many).out);
  EXPECT_THAT(one.out, HasSubstr("\"why_slower\""));
  EXPECT_THAT(one.out, HasSubstr("\"evaluated\""));
}

TEST(SearchLayout, NothingThatFitsExitsWithFour) {
  const VerbAnswer a =
      ask_search({"search", "layout", "llama-3.1-405b", "--gpus", "1", "--batch", "1"});
  EXPECT_EQ(a.code, ExitCode::nothing_feasible);
  EXPECT_THAT(a.out, HasSubstr("nothing fits"));
}

TEST(SearchLayout, InterruptedGivesTheBestSoFar) {
  EXPECT_EQ(ask_search(kSmall, true).code, ExitCode::interrupted);
}

TEST(SearchLayout, UnknownNamesAreRefused) {
  EXPECT_EQ(ask_search({"search", "layout", "no-such-model"}).code, ExitCode::bad_input);
  EXPECT_EQ(ask_search({"search", "layout", "llama-3-8b", "--accelerator", "x"}).code,
            ExitCode::bad_input);
  EXPECT_EQ(ask_search({"search", "layout", "llama-3-8b", "--nic", "400"}).code,
            ExitCode::bad_input);
}

TEST(ScoreVerb, PrintsTheContractAndThePredictions) {
  const VerbAnswer json = ask_search({"score", "training", "rows.csv", "--format", "json"});
  EXPECT_EQ(json.code, ExitCode::good) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"scored\": 1"));
  const VerbAnswer csv = ask_search({"score", "training", "rows.csv", "--predict"});
  EXPECT_THAT(csv.out, HasSubstr("id,predicted,low,high,basis\na,"));
  EXPECT_EQ(ask_search({"score", "training", "missing.csv"}).code, ExitCode::bad_input);
}

}  // namespace
}  // namespace orrery::cli
