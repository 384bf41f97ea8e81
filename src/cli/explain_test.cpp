// `orrery explain` as a person meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/answer_fixture.h"
#include "cli/verb.h"
#include "design/templates.h"

namespace orrery::cli {

Verb explain_verb();

namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// One file is there: the design "my.yaml", the template of a single node.
VerbAnswer ask_explain(std::vector<std::string> words) {
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
  const VerbAnswer all = ask_explain({"claims"});
  EXPECT_EQ(all.code, ExitCode::good);
  EXPECT_THAT(all.out, HasSubstr("56 claims: "));
  const VerbAnswer one = ask_explain({"claims", "failures-weekly"});
  EXPECT_THAT(one.out, StartsWith("failures-weekly: holds only if"));
  EXPECT_THAT(one.out, HasSubstr("302 GPUs or more"));
  const VerbAnswer json = ask_explain({"claims", "hbm-h100", "--format", "json"});
  EXPECT_THAT(json.out, HasSubstr("\"verdict\": \"holds\""));
}

TEST(Explain, RulesWithTheirSource) {
  const VerbAnswer one = ask_explain({"rules", "policy.residency"});
  EXPECT_EQ(one.code, ExitCode::good);
  EXPECT_THAT(one.out, HasSubstr("Source: "));
  EXPECT_THAT(ask_explain({"rules"}).out, HasSubstr("policy.residency"));
}

TEST(Explain, GlossaryInAnyCase) {
  EXPECT_THAT(ask_explain({"glossary", "TP"}).out, HasSubstr("tensor parallelism"));
  EXPECT_THAT(ask_explain({"glossary"}).out, HasSubstr("mean time between failures"));
}

TEST(Explain, AFigureOfADesign) {
  const VerbAnswer list = ask_explain({"my.yaml"});
  EXPECT_EQ(list.code, ExitCode::good) << list.err;
  EXPECT_THAT(list.out, HasSubstr("facility."));
  // The first figure listed is found again by its path, and by nothing near it.
  std::istringstream lines(list.out);
  std::string head;
  std::string path;
  std::getline(lines, head);
  lines >> path;
  const VerbAnswer one = ask_explain({"my.yaml", path});
  EXPECT_EQ(one.code, ExitCode::good) << one.err;
  EXPECT_THAT(one.out, StartsWith(path));
  const VerbAnswer none = ask_explain({"my.yaml", path + "x"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("did you mean '" + path + "'?"));
}

TEST(Explain, UnknownNamesSuggestTheNearest) {
  EXPECT_THAT(ask_explain({"claims", "colling-half"}).err,
              HasSubstr("did you mean 'cooling-half'?"));
  EXPECT_THAT(ask_explain({"rules", "policy.residancy"}).err,
              HasSubstr("did you mean 'policy.residency'?"));
  EXPECT_THAT(ask_explain({"glossary", "mtbff"}).err, HasSubstr("did you mean 'mtbf'?"));
  const VerbAnswer topic = ask_explain({"claim"});
  EXPECT_EQ(topic.code, ExitCode::bad_input);
  EXPECT_THAT(topic.err, HasSubstr("did you mean 'claims'?"));
  const VerbAnswer file = ask_explain({"gone.yaml"});
  EXPECT_EQ(file.code, ExitCode::bad_input);
  EXPECT_THAT(file.err, Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace orrery::cli
