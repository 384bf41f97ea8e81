// The names under which the review and a run report figures: each figure is in a section of its
// layer, is reported only by those that may report it, and no id appears twice in a section.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"
#include "twin/run/simulation.h"

namespace orrery {
namespace {

using figures::FigureKind;
using figures::Said;

struct SaidAs {
  std::string label;
  figures::Unit unit;
};
using Labels = std::map<std::string, SaidAs>;  // by layer and id

void expect_rows(const std::vector<figures::Section>& sections, Said not_by, Labels& labels) {
  for (const figures::Section& s : sections) {
    std::set<std::string> ids;
    for (const figures::Figure& f : s.figures) {
      const FigureKind& kind = kind_of(f.kind);
      EXPECT_EQ(kind.layer, s.layer) << f.id() << " in " << s.name;
      EXPECT_NE(kind.said, not_by) << f.id() << " in " << s.name;
      EXPECT_EQ(kind.is_of_something(), !f.of.empty()) << f.id() << " in " << s.name;
      EXPECT_TRUE(ids.insert(f.id()).second) << f.id() << " appears twice in " << s.name;
      labels[std::string(to_text(s.layer)) + "." + f.id()] = {f.label(), f.unit()};
    }
  }
}

class SaidFigures : public testing::TestWithParam<std::string> {};

TEST_P(SaidFigures, figures_of_review_and_run_are_rows_of_the_table) {
  const auto text = design_text::find_template(GetParam());
  ASSERT_TRUE(text);
  const auto design = design_text::read_design(text->text, machine::known().catalog());
  ASSERT_TRUE(design) << to_text(design.error());
  Labels review, run;
  expect_rows(verdict::verdict_of(*design, machine::known(), {.spends = false}).sections, Said::run,
              review);
  const machine::Machine built = jobs::build_machine(*design, machine::known());
  const run::Simulation simulation(built, {.horizon = hours(12)});
  const std::vector<run::Replication> done = {*simulation.replicate(0)};
  expect_rows(simulation.run_of(done).sections, Said::review, run);
  for (const auto& [id, said] : run) {
    const auto planned = review.find(id);
    if (planned == review.end()) continue;
    EXPECT_EQ(planned->second.label, said.label) << id;
    EXPECT_EQ(planned->second.unit, said.unit) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(templates, SaidFigures,
                         testing::Values("superpod-h100", "chatbot-zones", "single-node",
                                         "fraud-cpu", "medical-imaging", "cloud-rental"));

}  // namespace
}  // namespace orrery
