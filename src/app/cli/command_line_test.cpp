#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

Verb echo_verb() {
  struct Options {
    std::string word;
    Format format = Format::text;
    std::uint64_t seed = 1;
    std::optional<double> scale;
  };
  return {.name = "echo",
          .summary = "Say it back",
          .examples = {"orrery echo hello"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<Options>();
            arguments.positional("WORD", options->word, "what to say");
            arguments.format(options->format, {Format::text, Format::csv});
            arguments.seed(options->seed);
            arguments.option("--scale", options->scale, "a factor");
            return [options](Terminal& terminal) {
              terminal.out << options->word << ' ' << to_text(options->format) << ' '
                           << options->seed << ' ' << options->scale.value_or(-1) << '\n';
              return ExitCode::fails_rule;
            };
          }};
}

std::vector<Verb> echo_and_group() {
  return {echo_verb(),
          {.name = "calc",
           .summary = "Questions",
           .examples = {},
           .prepare = nullptr,
           .verbs = {echo_verb()}}};
}

TEST(CommandLine, options_are_bound_and_the_exit_code_returned) {
  const VerbAnswer answer = ask({echo_verb()}, {"echo", "hi", "--format", "csv", "--seed", "7"});
  EXPECT_EQ(answer.code, ExitCode::fails_rule);
  EXPECT_EQ(answer.out, "hi csv 7 -1\n");
  EXPECT_EQ(answer.err, "");
  EXPECT_EQ(ask({echo_verb()}, {"echo", "hi", "--scale=2.5"}).out, "hi text 1 2.5\n");
}

TEST(CommandLine, nested_verbs_are_reached) {
  EXPECT_EQ(ask(echo_and_group(), {"calc", "echo", "deep"}).out, "deep text 1 -1\n");
  const VerbAnswer group = ask(echo_and_group(), {"calc"});
  EXPECT_EQ(group.code, ExitCode::bad_input);
  EXPECT_THAT(group.err, HasSubstr("orrery calc --help"));
}

TEST(CommandLine, typos_get_a_suggestion) {
  const VerbAnswer verb = ask(echo_and_group(), {"ehco", "x"});
  EXPECT_EQ(verb.code, ExitCode::bad_input);
  EXPECT_EQ(verb.out, "");
  EXPECT_THAT(verb.err, HasSubstr("'ehco'"));
  EXPECT_THAT(verb.err, HasSubstr("echo"));
  EXPECT_THAT(ask(echo_and_group(), {"echo", "x", "--sede", "2"}).err, HasSubstr("--seed?"));
  EXPECT_THAT(ask(echo_and_group(), {"echo", "x", "--format", "jsn"}).err, HasSubstr("text, csv"));
  EXPECT_EQ(ask(echo_and_group(), {}).code, ExitCode::bad_input);
}

TEST(CommandLine, numbers_are_plain_decimals) {
  for (const char* bad : {"-1", "0x10", "1.5", "1e3", "99999999999999999999", "", "7 "}) {
    const VerbAnswer answer = ask({echo_verb()}, {"echo", "x", "--seed", bad});
    EXPECT_EQ(answer.code, ExitCode::bad_input) << bad;
  }
  EXPECT_EQ(ask({echo_verb()}, {"echo", "x", "--seed", "010"}).out, "x text 10 -1\n");
  for (const char* bad : {"nan", "inf", "0x10", "1,5"}) {
    EXPECT_EQ(ask({echo_verb()}, {"echo", "x", "--scale", bad}).code, ExitCode::bad_input) << bad;
  }
}

TEST(CommandLine, every_verb_has_a_summary_and_help_with_examples) {
  const std::vector<Verb> verbs = all_verbs();
  for (const Verb& verb : verbs) {
    EXPECT_FALSE(verb.summary.empty()) << verb.name;
    EXPECT_FALSE(verb.examples.empty()) << verb.name;
    const VerbAnswer help = ask(verbs, {verb.name, "--help"});
    EXPECT_EQ(help.code, ExitCode::good) << verb.name;
    EXPECT_THAT(help.out, HasSubstr("Usage: orrery " + verb.name + " ["));
    EXPECT_THAT(help.out, HasSubstr("Examples:\n  orrery " + verb.name));
  }
}

TEST(CommandLine, help_and_version_have_their_usual_options) {
  const VerbAnswer version = ask(all_verbs(), {"--version"});
  EXPECT_EQ(version.code, ExitCode::good);
  EXPECT_THAT(version.out, testing::StartsWith("orrery "));
  EXPECT_EQ(ask(all_verbs(), {"help"}).out, ask(all_verbs(), {"--help"}).out);
  EXPECT_EQ(ask(all_verbs(), {"help", "calc", "tco"}).out,
            ask(all_verbs(), {"calc", "tco", "--help"}).out);
  EXPECT_THAT(ask(all_verbs(), {"help", "plan"}).out, HasSubstr("--brief"));
}

TEST(CommandLine, a_failed_write_is_an_error) {
  std::ostringstream err;
  std::ofstream full("/dev/full");
  Terminal terminal{.out = full, .err = err, .read_file = read_text_file};
  EXPECT_EQ(run_command_line(all_verbs(), {"version"}, terminal), ExitCode::bad_input);
  EXPECT_THAT(err.str(), HasSubstr("cannot write"));
}

}  // namespace
}  // namespace orrery::cli
