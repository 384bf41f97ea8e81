// What the command line says to a person who mistyped, word by word; and the scripts and manual
// pages that are made of the same table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "app/cli/build_info.h"
#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// After the verb's name: what is wrong, what was meant, where the help is.
void expect_usage(const std::vector<std::string>& words, const std::string& verb,
                  const std::string& wrong, const std::string& meant = {}) {
  const VerbAnswer a = spoken(words);
  const std::string name = verb.empty() ? "orrery" : "orrery " + verb;
  EXPECT_EQ(a.err, name + ": " + wrong + '\n' + (meant.empty() ? "" : "  " + meant + '\n') +
                       "  see " + name + " --help\n");
  EXPECT_EQ(a.code, ExitCode::bad_input) << wrong;
  EXPECT_EQ(a.out, "") << wrong;
}

TEST(UsageWords, of_verbs) {
  expect_usage({}, "", "which one? name a verb");
  expect_usage({"calc"}, "calc", "which one? name a verb");
  expect_usage({"calc", "nosuch"}, "calc", "there is no verb 'nosuch' here");
  expect_usage({"plna", "x"}, "", "there is no verb 'plna' here", "did you mean plan?");
  expect_usage({"fabric", "bil"}, "fabric", "there is no verb 'bil' here", "did you mean bill?");
  expect_usage({"plan"}, "plan", "FILE is required");
  expect_usage({"plan", "a", "b"}, "plan", "The following argument was not expected: b");
  expect_usage({"emit", "slurm", "a"}, "emit slurm", "DIR is required");
  expect_usage({"agent", "recover"}, "agent recover", "--journal is required");
}

TEST(UsageWords, of_options) {
  expect_usage({"plan", "x", "--fromat", "json"}, "plan",
               "The following arguments were not expected: json --fromat",
               "did you mean --format?");
  expect_usage({"calc", "tco", "--hlep"}, "calc tco",
               "The following argument was not expected: --hlep", "did you mean --help?");
  expect_usage({"plan", "x", "--format", "jsn"}, "plan",
               "--format: 'jsn' is not one of text, json, markdown, html, csv; did you mean json?");
  expect_usage({"plan", "x", "--format", "zzz"}, "plan",
               "--format: 'zzz' is not one of text, json, markdown, html, csv");
  expect_usage({"fabric", "what-if", "--lose", "x"}, "fabric what-if",
               "--lose: 'x' is not one of nic, link, plane, leaf, spine");
  expect_usage({"agent", "lifecycle", "--place"}, "agent lifecycle",
               "--place: 1 required PLACE missing");
}

TEST(UsageWords, of_numbers) {
  expect_usage({"simulate", "x", "--jobs", "0"}, "simulate", "--jobs: 0 is not between 1 and 1024");
  expect_usage({"simulate", "x", "--jobs", "1025"}, "simulate",
               "--jobs: 1025 is not between 1 and 1024");
  expect_usage({"simulate", "x", "--jobs", "1.5"}, "simulate",
               "--jobs: '1.5' is not a whole number");
  expect_usage({"rank", "--input", "x"}, "rank", "--input: 'x' is not a number");
  expect_usage({"serve", "--port", "65536"}, "serve", "--port: 65536 is not between 0 and 65535");
  expect_usage({"serve", "--port", "-1"}, "serve", "--port: -1 is not between 0 and 65535");
  expect_usage({"simulate", "x", "--seed", "-1"}, "simulate",
               "--seed: -1 is not between 0 and 9223372036854775807");
  // What is just allowed is refused for another reason, or not at all.
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"simulate", "/no/such", "--jobs", "1024"},
        {"simulate", "/no/such", "--jobs", "1"},
        {"simulate", "/no/such", "--seed", "0"},
        {"simulate", "/no/such", "--seed", "9223372036854775807"},
        {"serve", "/no/such", "--port", "65535"}}) {
    EXPECT_THAT(spoken(words).err, StartsWith("/no/such: error: cannot open: "));
  }
}

std::string lines_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != line.npos) all += line + '\n';
  }
  return all;
}

TEST(UsageWords, a_shell_completes_verbs_options_and_choices) {
  const std::string bash = spoken({"completion", "bash"}).out;
  EXPECT_THAT(bash, StartsWith("# Completion for orrery, made by `orrery completion`.\n"
                               "_orrery() {\n  local word=${COMP_WORDS[COMP_CWORD]} "));
  EXPECT_EQ(lines_with(bash, "'version':"),
            "    'version':--format) words='text json' ;;\n"
            "    'version':*) words='--help --format' ;;\n");
  EXPECT_EQ(lines_with(bash, "'completion':*"),
            "    'completion':*) words='bash zsh fish --help' ;;\n");
  EXPECT_EQ(lines_with(bash, "'emit':"),
            "    'emit':*) words='slurm kubernetes prometheus grafana terraform dlio --help' ;;\n");
  EXPECT_EQ(lines_with(bash, "'init':--template"), "    'init':--template) words='' ;;\n");
  EXPECT_THAT(bash, HasSubstr("\n_orrery_paths='init plan simulate search search/layout rank "));
  EXPECT_THAT(bash, testing::EndsWith("man'\ncomplete -o filenames -F _orrery orrery ./orrery\n"));
  const std::string fish = spoken({"completion", "fish"}).out;
  EXPECT_EQ(lines_with(fish, "__fish_seen_subcommand_from version"),
            "complete -c orrery -n '__fish_seen_subcommand_from version' -l help -d 'Print this "
            "help message and exit'\n"
            "complete -c orrery -n '__fish_seen_subcommand_from version' -l format -d 'form of the "
            "answer' -r -f -a 'text json'\n");
  EXPECT_THAT(fish, HasSubstr("complete -c orrery -n '__fish_seen_subcommand_from completion' -a "
                              "zsh\n"));
  EXPECT_THAT(lines_with(fish, "-l radix"), HasSubstr("where the catalog'\\''s is not meant"));
}

TEST(UsageWords, a_page_of_the_manual) {
  const agent::TestFolder folder;
  ASSERT_EQ(spoken({"man", folder.at("m")}).code, ExitCode::good);
  const auto page = [&](const std::string& name) {
    return read_text_file(folder.at("m/" + name)).value_or("none");
  };
  const std::string version = std::string("\" \"orrery ") + kVersion + "\" \"Orrery\"\n";
  EXPECT_EQ(page("orrery-fabric-counters.1"),
            ".TH ORRERY\\-FABRIC\\-COUNTERS 1 \"" + version +
                ".SH NAME\norrery\\-fabric\\-counters \\- Judge switch counters of a lossless "
                "network\n"
                ".SH SYNOPSIS\n.B orrery fabric counters\n.I FILE\n.RI [ options ]\n"
                ".SH OPTIONS\n.TP\n.I FILE\n"
                "counters as CSV: switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,"
                "pause_tx,ecn_marked,drops\n"
                ".TP\n.B \\-\\-help\nPrint this help message and exit\n"
                ".SH EXAMPLES\n.nf\norrery fabric counters counters.csv\n.fi\n"
                ".SH EXIT STATUS\n0 good; 1 the design fails a rule or a goal; 2 usage or an "
                "unreadable file;\n4 nothing feasible; 70 internal fault; 130 interrupted.\n"
                ".SH SEE ALSO\n.BR orrery (1)\n");
  EXPECT_THAT(
      page("orrery.1"),
      AllOf(StartsWith(".TH ORRERY 1 \"" + version +
                       ".SH NAME\norrery \\- Orrery: a working model of an AI data centre."),
            HasSubstr("\n.SH SYNOPSIS\n.B orrery\n.I VERB\n.RI [ options ]\n.SH VERBS\n"
                      ".TP\n.BR orrery\\-init (1)\n"),
            Not(HasSubstr("orrery\\-calc\\-tco"))));
  EXPECT_THAT(page("orrery-search.1"),
              AllOf(HasSubstr("\n.SH VERBS\n.TP\n.BR orrery\\-search\\-layout (1)\nFind the "),
                    Not(HasSubstr("\\-plan (1)"))));
  EXPECT_THAT(page("orrery-completion.1"), HasSubstr("\n.I SHELL\n.RI [ options ]\n"));
  EXPECT_THAT(page("orrery-store.1"), HasSubstr("\n\\&... and its private key\n"))
      << "a line that begins with a dot is no command";
}

}  // namespace
}  // namespace orrery::cli
