// `orrery explain` as a person meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/explain_word.h"
#include "app/cli/verb.h"
#include "core/catalog/embedded.h"
#include "model/design_text/shape.h"
#include "model/design_text/templates.h"
#include "model/machine/models.h"
#include "plan/rules/rules.h"

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
          return Result<std::string>(std::string(design_text::find_template("single-node")->text));
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

// Whatever has a name can be asked for, without a design.
TEST(Explain, AWordOfAnyKind) {
  const VerbAnswer figure = ask_explain({"goodput"});
  EXPECT_EQ(figure.code, ExitCode::good) << figure.err;
  EXPECT_THAT(figure.out, HasSubstr("The figure goodput, as in the template superpod-h100"));
  EXPECT_THAT(figure.out, HasSubstr("The goal goodput"));
  EXPECT_THAT(ask_explain({"training.step_time"}).out, HasSubstr("step time"));
  EXPECT_THAT(ask_explain({"storage.local-only"}).out, HasSubstr("The rule storage.local-only"));
  EXPECT_THAT(ask_explain({"detect"}).out, HasSubstr("from the fault to the alarm"));
  EXPECT_THAT(ask_explain({"emit slurm"}).out, HasSubstr("orrery help emit slurm"));
  EXPECT_THAT(ask_explain({"MTBF"}).out, HasSubstr("mean time between failures"));
  const VerbAnswer none = ask_explain({"goodputt"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("did you mean 'goodput'?"));
}

TEST(Explain, EveryRuleFieldAndVerbHasAnAnswer) {
  std::vector<std::string> words;
  for (const rules::Rule& r : rules::all_rules()) words.emplace_back(r.id);
  for (const design_text::SectionShape& s : design_text::design_shape()) {
    if (!s.fields.empty()) words.push_back(s.fields.back().key);
  }
  for (const Verb& v : all_verbs()) words.push_back(v.name);
  const auto models = machine::load_models(catalog::embedded_files());
  ASSERT_TRUE(models);
  // Rules, fields and verbs need no review; a sample keeps this short.
  for (std::size_t i = 0; i < words.size(); i += 20) {
    const auto answer = explain_word(words[i], *models);
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->document.blocks.empty()) << words[i];
  }
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
