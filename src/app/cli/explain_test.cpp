#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/explain_word.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "core/catalog/embedded.h"
#include "live/agent/test_folder.h"
#include "model/design_text/shape.h"
#include "model/design_text/templates.h"
#include "model/machine/models.h"
#include "plan/rules/rules.h"

namespace orrery::cli {
namespace {

using ExplainVerb = VerbTest;
using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The only file is the design "my.yaml", the template of a single node.
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
  const ExitCode code = run_command_line(all_verbs(), words, terminal);
  return {code, out.str(), err.str()};
}

TEST(Explain, a_figure_of_a_design_is_explained) {
  const VerbAnswer list = ask_explain({"my.yaml"});
  EXPECT_EQ(list.code, ExitCode::good) << list.err;
  EXPECT_THAT(list.out, HasSubstr("facility."));
  // The first listed figure is found by its path, and not by a similar one.
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

TEST(Explain, every_rule_field_and_verb_has_an_answer) {
  std::vector<std::string> words;
  for (const rules::Rule& r : rules::all_rules()) words.emplace_back(r.id);
  for (const design_text::SectionShape& s : design_text::design_shape()) {
    if (!s.fields.empty()) words.push_back(s.fields.back().key);
  }
  for (const Verb& v : all_verbs()) words.push_back(v.name);
  const auto models = machine::load_models(catalog::embedded_files());
  ASSERT_TRUE(models);
  // Rules, fields and verbs need no review; a sample keeps this test short.
  for (std::size_t i = 0; i < words.size(); i += 20) {
    const auto answer = explain_word(words[i], *models);
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->document.blocks.empty()) << words[i];
  }
}

TEST(Explain, an_avoided_word_leads_to_the_word_that_we_use) {
  EXPECT_THAT(spoken({"explain", "talk"}).out,
              AllOf(HasSubstr("The word conversation"), HasSubstr("not: talk")));
  EXPECT_THAT(spoken({"explain", "fio"}).out, HasSubstr("orrery probe storage"));
  EXPECT_THAT(spoken({"explain", "glossary", "SLO"}).out, HasSubstr("objective"));
}

TEST(Explain, unknown_names_get_a_suggestion) {
  EXPECT_THAT(ask_explain({"claims", "colling-half"}).err, HasSubstr("cooling-half"));
  EXPECT_THAT(ask_explain({"rules", "policy.residancy"}).err, HasSubstr("policy.residency"));
  EXPECT_THAT(ask_explain({"glossary", "mtbff"}).err, HasSubstr("mtbf"));
  const VerbAnswer topic = ask_explain({"claim"});
  EXPECT_EQ(topic.code, ExitCode::bad_input);
  EXPECT_THAT(topic.err, HasSubstr("claims"));
  const VerbAnswer file = ask_explain({"gone.yaml"});
  EXPECT_EQ(file.code, ExitCode::bad_input);
  EXPECT_THAT(file.err, Not(HasSubstr("did you mean")));
}

TEST(Explain, json_explanations_are_of_the_named_topic) {
  const Json rule = json_said({"explain", "rules", "policy.residency"});
  EXPECT_EQ(rule["kind"], "rules");
  ASSERT_EQ(rule["rules"].size(), 1U);
  EXPECT_EQ(rule["rules"][0]["id"], "policy.residency");
  EXPECT_GT(json_said({"explain", "rules"})["rules"].size(), 20U);
  const Json word = json_said({"explain", "glossary", "TP"});
  ASSERT_EQ(word["words"].size(), 1U);
  EXPECT_EQ(word["words"][0]["stands_for"], "tensor parallelism");
  const Json any = json_said({"explain", "tp"});
  EXPECT_EQ(any["kind"], "word");
  EXPECT_EQ(any["word"], "tp");
  EXPECT_THAT(any["text"].get<std::string>(), HasSubstr("ensor parallelism"));
  EXPECT_THAT(spoken({"explain", "claims", "--format", "markdown"}).out, StartsWith("# "));
}

TEST(Explain, json_of_all_storage_profiles_and_of_one) {
  const VerbAnswer all = spoken({"explain", "profiles"});
  EXPECT_EQ(all.code, ExitCode::good);
  EXPECT_THAT(all.out, AllOf(HasSubstr("live-training"), HasSubstr("checkpoint-burst")));
  const VerbAnswer one = spoken({"explain", "profiles", "checkpoint-burst"});
  EXPECT_THAT(one.out, AllOf(HasSubstr("checkpoint-burst"), HasSubstr("checkpoint-burst"),
                             Not(HasSubstr("live-training"))));
  const Json json = json_said({"explain", "profiles", "checkpoint-burst"});
  EXPECT_THAT(json.dump(), AllOf(HasSubstr("checkpoint-burst"), Not(HasSubstr("live-training"))));
  EXPECT_THAT(json_said({"explain", "profiles"}).dump(), HasSubstr("live-training"));
  const VerbAnswer none = spoken({"explain", "profiles", "checkpoint-brust"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("checkpoint-burst"));
  EXPECT_THAT(spoken({"explain", "checkpoint-burst"}).out, HasSubstr("checkpoint-burst"));
}

TEST_F(ExplainVerb, figures_of_a_design_as_json) {
  const std::string design = put("d.yaml", kPlainDesign);
  const Json all = json_said({"explain", design});
  const Json one = json_said({"explain", design, "compute.peak"});
  EXPECT_LT(one.dump().size(), all.dump().size());
  EXPECT_THAT(one.dump(), HasSubstr("peak"));
}

}  // namespace
}  // namespace orrery::cli
