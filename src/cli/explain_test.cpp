// `orrery explain` as a person meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/verb.h"
#include "design/templates.h"

namespace orrery {

Verb explain_verb();

namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Answer {
  ExitCode code;
  std::string out;
  std::string err;
};

// One file is there: the design "my.yaml", the template of a single node.
Answer ask(std::vector<std::string> words) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{
      .out = out, .err = err, .read_file = [](const std::string& path) {
        if (path == "my.yaml")
          return Result<std::string>(std::string(design::find_template("single-node")->text));
        return Result<std::string>(fail({.code = "file.missing", .what = "no file " + path}));
      }};
  words.insert(words.begin(), "explain");
  const ExitCode code = run_command_line({explain_verb()}, words, terminal);
  return {code, out.str(), err.str()};
}

TEST(Explain, ClaimsInShortAndOneInFull) {
  const Answer all = ask({"claims"});
  EXPECT_EQ(all.code, ExitCode::good);
  EXPECT_THAT(all.out, HasSubstr("56 claims: "));
  const Answer one = ask({"claims", "failures-weekly"});
  EXPECT_THAT(one.out, StartsWith("failures-weekly: holds only if"));
  EXPECT_THAT(one.out, HasSubstr("302 GPUs or more"));
  const Answer json = ask({"claims", "hbm-h100", "--format", "json"});
  EXPECT_THAT(json.out, HasSubstr("\"verdict\": \"holds\""));
}

TEST(Explain, RulesWithTheirSource) {
  const Answer one = ask({"rules", "policy.residency"});
  EXPECT_EQ(one.code, ExitCode::good);
  EXPECT_THAT(one.out, HasSubstr("Source: "));
  EXPECT_THAT(ask({"rules"}).out, HasSubstr("policy.residency"));
}

TEST(Explain, GlossaryInAnyCase) {
  EXPECT_THAT(ask({"glossary", "TP"}).out, HasSubstr("tensor parallelism"));
  EXPECT_THAT(ask({"glossary"}).out, HasSubstr("mean time between failures"));
}

TEST(Explain, AFigureOfADesign) {
  const Answer list = ask({"my.yaml"});
  EXPECT_EQ(list.code, ExitCode::good) << list.err;
  EXPECT_THAT(list.out, HasSubstr("facility."));
  // The first figure listed is found again by its path, and by nothing near it.
  std::istringstream lines(list.out);
  std::string head;
  std::string path;
  std::getline(lines, head);
  lines >> path;
  const Answer one = ask({"my.yaml", path});
  EXPECT_EQ(one.code, ExitCode::good) << one.err;
  EXPECT_THAT(one.out, StartsWith(path));
  const Answer none = ask({"my.yaml", path + "x"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("did you mean '" + path + "'?"));
}

TEST(Explain, UnknownNamesSuggestTheNearest) {
  EXPECT_THAT(ask({"claims", "colling-half"}).err, HasSubstr("did you mean 'cooling-half'?"));
  EXPECT_THAT(ask({"rules", "policy.residancy"}).err,
              HasSubstr("did you mean 'policy.residency'?"));
  EXPECT_THAT(ask({"glossary", "mtbff"}).err, HasSubstr("did you mean 'mtbf'?"));
  const Answer topic = ask({"claim"});
  EXPECT_EQ(topic.code, ExitCode::bad_input);
  EXPECT_THAT(topic.err, HasSubstr("did you mean 'claims'?"));
  const Answer file = ask({"gone.yaml"});
  EXPECT_EQ(file.code, ExitCode::bad_input);
  EXPECT_THAT(file.err, Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace orrery
