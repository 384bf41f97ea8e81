// Every template is a design that passes its own review.
#include "model/design_text/templates.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "model/design_text/read_design.h"
#include "model/design_text/write_design.h"
#include "model/machine/known_fixture.h"
#include "output/report/verdict_report.h"
#include "plan/verdict/verdict.h"

namespace orrery {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

design::Design read_text(std::string_view text, const std::string& name) {
  auto design = design_text::read_design(text, machine::known().catalog(), {.file = name});
  EXPECT_TRUE(design.has_value()) << name << '\n' << (design ? "" : to_text(design.error()));
  return design ? *std::move(design) : design::Design{};
}

verdict::Verdict verdict_of(std::string_view text, const std::string& name) {
  return verdict::verdict_of(read_text(text, name), machine::known(), {.spends = false});
}

std::string text_of(std::string_view name) {
  const auto found = design_text::find_template(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found ? std::string(found->text) : std::string();
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const design_text::Template& t : design_text::templates()) names.emplace_back(t.name);
  return names;
}

class EveryTemplate : public testing::TestWithParam<std::string> {};

TEST_P(EveryTemplate, passes_its_review) {
  const verdict::Verdict v = verdict_of(text_of(GetParam()), GetParam());
  EXPECT_TRUE(v.passes()) << v.summary;
  for (const rules::Finding& f : v.findings) {
    EXPECT_EQ(f.severity, Severity::note) << f.rule << ": " << f.what;
  }
  for (const figures::GoalOutcome& g : v.goals) EXPECT_TRUE(g.met) << g.text;
  EXPECT_FALSE(v.goals.empty()) << "a template shows what a goal is";
}

TEST_P(EveryTemplate, gives_the_same_bytes_twice) {
  const design::Design design = read_text(text_of(GetParam()), GetParam());
  const std::string once = report::json_of(verdict::verdict_of(design, machine::known()));
  EXPECT_EQ(once, report::json_of(verdict::verdict_of(design, machine::known())));
  // And from its canonical text; only places differ, which a passing design hardly shows.
  const design::Design again = read_text(design_text::write_design(design), "again");
  EXPECT_EQ(review::run_stages(again, machine::known()).cost.annual.base(),
            review::run_stages(design, machine::known()).cost.annual.base());
}

INSTANTIATE_TEST_SUITE_P(templates, EveryTemplate, testing::ValuesIn(template_names()));

TEST(templates, the_sample_is_the_template) {
  EXPECT_EQ(read_file("examples/superpod-h100-4su.yaml"), text_of("superpod-h100"));
}

}  // namespace
}  // namespace orrery
