// The command line as a person meets it: exit codes, hints, and files that mean harm.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "app/cli/answer_fixture.h"
#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

VerbAnswer ask(const std::vector<Verb>& verbs, const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out, .err = err, .read_file = read_text_file};
  const ExitCode code = run_command_line(verbs, words, terminal);
  return {code, out.str(), err.str()};
}

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

TEST(CommandLine, binds_options_and_gives_the_exit_code_of_the_verb) {
  const VerbAnswer answer = ask({echo_verb()}, {"echo", "hi", "--format", "csv", "--seed", "7"});
  EXPECT_EQ(answer.code, ExitCode::fails_rule);
  EXPECT_EQ(answer.out, "hi csv 7 -1\n");
  EXPECT_EQ(answer.err, "");
  EXPECT_EQ(ask({echo_verb()}, {"echo", "hi", "--scale=2.5"}).out, "hi text 1 2.5\n");
}

TEST(CommandLine, reaches_a_verb_below_a_verb) {
  EXPECT_EQ(ask(echo_and_group(), {"calc", "echo", "deep"}).out, "deep text 1 -1\n");
  const VerbAnswer group = ask(echo_and_group(), {"calc"});
  EXPECT_EQ(group.code, ExitCode::bad_input);
  EXPECT_THAT(group.err, HasSubstr("orrery calc: which one?"));
}

TEST(CommandLine, names_the_wrong_word_and_the_likely_one) {
  const VerbAnswer verb = ask(echo_and_group(), {"ehco", "x"});
  EXPECT_EQ(verb.code, ExitCode::bad_input);
  EXPECT_EQ(verb.out, "");
  EXPECT_THAT(verb.err, HasSubstr("no verb 'ehco'"));
  EXPECT_THAT(verb.err, HasSubstr("did you mean echo?"));
  EXPECT_THAT(ask(echo_and_group(), {"echo", "x", "--sede", "2"}).err, HasSubstr("--seed?"));
  EXPECT_THAT(ask(echo_and_group(), {"echo", "x", "--format", "jsn"}).err,
              HasSubstr("not one of text, csv"));
  EXPECT_EQ(ask(echo_and_group(), {}).code, ExitCode::bad_input);
}

TEST(CommandLine, takes_plain_numbers_only) {
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

TEST(CommandLine, help_and_version_are_where_people_look_for_them) {
  const VerbAnswer version = ask(all_verbs(), {"--version"});
  EXPECT_EQ(version.code, ExitCode::good);
  EXPECT_THAT(version.out, testing::StartsWith("orrery "));
  EXPECT_EQ(ask(all_verbs(), {"help"}).out, ask(all_verbs(), {"--help"}).out);
  EXPECT_EQ(ask(all_verbs(), {"help", "calc", "tco"}).out,
            ask(all_verbs(), {"calc", "tco", "--help"}).out);
  EXPECT_THAT(ask(all_verbs(), {"help", "plan"}).out, HasSubstr("--brief"));
}

TEST(ManualPages, one_a_verb_that_roff_can_read) {
  const agent::TestFolder folder;
  EXPECT_EQ(ask(all_verbs(), {"man", folder.at("man")}).code, ExitCode::good);
  const Result<std::string> page = read_text_file(folder.at("man/orrery-agent-recover.1"));
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, HasSubstr(".SH NAME\norrery\\-agent\\-recover \\- "));
  EXPECT_THAT(*page, HasSubstr(".B \\-\\-journal"));
  EXPECT_THAT(*page, HasSubstr(".SH EXAMPLES"));
  EXPECT_TRUE(read_text_file(folder.at("man/orrery.1")));
}

TEST(Serve, an_empty_name_is_not_the_sample) {
  const VerbAnswer answer = ask(all_verbs(), {"serve", ""});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr("serve.no-name"));
}

// A journal that is none is refused by a dry run as by a real one, and keeps every byte.
TEST(Recover, a_file_that_is_no_journal_is_left_alone) {
  const agent::TestFolder folder;
  const std::string path = folder.at("precious.json");
  const std::string text = "{\"designs\":[" + std::string(5000, '1') + "]}";
  folder.write("precious.json", text);
  for (const char* how : {"--dry-run", "--once"}) {
    const VerbAnswer answer =
        ask(all_verbs(), {"agent", "recover", "--conf", "/no/such/conf", "--journal", path, how});
    EXPECT_EQ(answer.code, ExitCode::bad_input) << how;
    EXPECT_EQ(read_text_file(path).value_or(""), text) << how;
  }
  const VerbAnswer dry = ask(all_verbs(), {"agent", "recover", "--journal", path, "--dry-run"});
  EXPECT_THAT(dry.err, HasSubstr("journal.other-file"));
}

TEST(CommandLine, does_not_pass_off_a_failed_write_as_success) {
  std::ostringstream err;
  std::ofstream full("/dev/full");
  Terminal terminal{.out = full, .err = err, .read_file = read_text_file};
  EXPECT_EQ(run_command_line(all_verbs(), {"version"}, terminal), ExitCode::bad_input);
  EXPECT_THAT(err.str(), HasSubstr("cannot write"));
}

TEST(Completion, knows_the_verbs_their_options_and_their_choices) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const VerbAnswer script = ask(all_verbs(), {"completion", shell});
    EXPECT_EQ(script.code, ExitCode::good);
    EXPECT_THAT(script.out, HasSubstr("completion"));
    EXPECT_THAT(script.out, HasSubstr("format"));
    EXPECT_THAT(script.out, HasSubstr("text json"));
  }
}

TEST(Bench, names_are_unique_and_unknown_ones_are_refused) {
  std::vector<std::string> names;
  for (const SpeedFigure& figure : all_figures()) names.push_back(figure.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(ask(all_verbs(), {"bench", "no_such_figure"}).code, ExitCode::bad_input);
}

TEST(Bench, prints_one_json_object_a_line) {
  const VerbAnswer answer = ask(all_verbs(), {"bench", "random_uniform"});
  EXPECT_THAT(answer.out,
              testing::MatchesRegex(
                  "\\{\"name\":\"random_uniform\",\"value\":[0-9.e+]+,\"unit\":\"1/s\"\\}\n"));
}

std::string code_of(const Result<std::string>& result) {
  return result ? "" : result.error().front().code;
}

TEST(ReadTextFile, gives_the_text_of_a_file) {
  const agent::TestFolder folder;
  folder.write("plain", "name: x\n");
  EXPECT_EQ(read_text_file(folder.at("plain")).value_or("?"), "name: x\n");
}

TEST(ReadTextFile, refuses_what_is_not_a_readable_text) {
  EXPECT_EQ(code_of(read_text_file("/no/such/file")), "file.unreadable");
  const agent::TestFolder folder;
  EXPECT_EQ(code_of(read_text_file(folder.path())), "file.directory");
  folder.write("latin1", "name: x\nsite: caf\xe9\n");
  const Result<std::string> text = read_text_file(folder.at("latin1"));
  EXPECT_EQ(code_of(text), "file.not-utf8");
  EXPECT_EQ(text.error().front().place.line, 2);
}

TEST(ReadTextFile, stops_at_the_limit_of_an_endless_file) {
  EXPECT_EQ(code_of(read_text_file("/dev/zero")), "file.too-large");
}

TEST(ReadTextFile, stops_at_the_limit_of_an_endless_pipe) {
  const agent::TestFolder folder;
  const std::string path = folder.at("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&path] {
    const int fd = ::open(path.c_str(), O_WRONLY);
    const std::string chunk(65536, '[');
    ::signal(SIGPIPE, SIG_IGN);
    while (::write(fd, chunk.data(), chunk.size()) > 0) {
    }
    ::close(fd);
  });
  EXPECT_EQ(code_of(read_text_file(path)), "file.too-large");
  writer.join();
}

TEST(Session, files_that_a_design_names_count_from_its_folder) {
  std::ostringstream out;
  std::vector<std::string> asked;
  Terminal terminal{
      .out = out, .err = out, .read_file = [&](const std::string& path) -> Result<std::string> {
        asked.push_back(path);
        return std::string();
      }};
  const auto read = [&](const std::string& design, const std::string& path) {
    EXPECT_TRUE(files_beside(design, terminal)(path));
    return asked.back();
  };
  EXPECT_EQ(read("designs/mine.yaml", "hours.csv"), "designs/hours.csv");
  EXPECT_EQ(read("/a/mine.yaml", "../h.csv"), "/a/../h.csv");
  EXPECT_EQ(read("mine.yaml", "hours.csv"), "hours.csv");
  EXPECT_EQ(read("designs/mine.yaml", "/data/hours.csv"), "/data/hours.csv");
  EXPECT_EQ(read("-", "hours.csv"), "hours.csv");
}

}  // namespace
}  // namespace orrery::cli
