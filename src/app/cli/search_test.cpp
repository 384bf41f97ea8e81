#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using SearchVerb = VerbTest;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(SearchVerb, the_trace_of_the_best_layout_is_written) {
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
  // Also half the GPUs, a quarter and an eighth.
  std::vector<std::string> pareto = words;
  pareto.insert(pareto.end(), {"--pareto"});
  EXPECT_GT(spoken(pareto).out.size(), spoken(words).out.size());
}

const std::vector<std::string> kSmall = {"search", "layout",   "llama-3-8b", "--gpus",
                                         "16",     "--batch",  "64",         "--keep",
                                         "3",      "--format", "json"};

TEST(Search, threads_do_not_change_the_answer) {
  std::vector<std::string> many = kSmall;
  many.insert(many.end(), {"--jobs", "3"});
  const VerbAnswer one = ask_search(kSmall);
  EXPECT_EQ(one.code, ExitCode::good) << one.err;
  EXPECT_EQ(one.out, ask_search(many).out);
  EXPECT_THAT(one.out, HasSubstr("\"why_slower\""));
  EXPECT_THAT(one.out, HasSubstr("\"evaluated\""));
}

TEST(Search, no_feasible_layout_exits_with_4) {
  const VerbAnswer a =
      ask_search({"search", "layout", "llama-3.1-405b", "--gpus", "1", "--batch", "1"});
  EXPECT_EQ(a.code, ExitCode::nothing_feasible);
  EXPECT_THAT(a.out,
              AllOf(HasSubstr("No layout fits in memory"), HasSubstr("fits on 128 acceler")));
}

TEST(Search, an_interrupted_search_gives_the_best_so_far) {
  EXPECT_EQ(ask_search(kSmall, true).code, ExitCode::interrupted);
}

TEST(Search, unknown_names_are_refused) {
  EXPECT_EQ(ask_search({"search", "layout", "no-such-model"}).code, ExitCode::bad_input);
  EXPECT_EQ(ask_search({"search", "layout", "llama-3-8b", "--accelerator", "x"}).code,
            ExitCode::bad_input);
  EXPECT_EQ(ask_search({"search", "layout", "llama-3-8b", "--nic", "400"}).code,
            ExitCode::bad_input);
}

TEST_F(SearchVerb, invalid_search_options_are_refused) {
  expect_code({"search", "layout", "llama-3-8b", "--keep", "0"}, "search.unknown");
  const std::string script = put("run.sh", "--num-layers 32 --hidden-size 4096\n");
  const VerbAnswer none = say({"search", "layout", script, "--megatron", "--gpus", "0"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_EQ(none.out, "");
}

}  // namespace
}  // namespace orrery::cli
