#include "output/report/reference_report.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "model/figures/goals.h"
#include "output/report/page_fixture.h"

namespace orrery::report {
namespace {

using testing::HasSubstr;

// UPDATE_GOLDEN=1 rewrites the file.
void expect_current(const std::string& path, const std::string& text) {
  const std::string full = std::string(ORRERY_SOURCE_DIR) + "/" + path;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(full, std::ios::binary) << text;
  std::ifstream in(full, std::ios::binary);
  const std::string there{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(there, text) << path;
}

TEST(ReferenceReport, the_page_of_figures_is_current) {
  expect_current("docs/reference/figures.md", to_markdown(figure_reference()));
}

TEST(ReferenceReport, the_page_of_assumptions_is_current) {
  expect_current("docs/reference/assumptions.md",
                 to_markdown(assumption_reference()));
}

// Every assumption has a source.
TEST(ReferenceReport, every_assumption_has_a_source_and_a_range) {
  for (const figures::Assumption& a : figures::kAssumptions) {
    const std::string kind(a.source.substr(0, a.source.find(':')));
    EXPECT_THAT(kind,
                testing::AnyOf("measured", "fitted", "vendor", "published", "practice", "assumed"))
        << a.name;
    EXPECT_LE(a.low, a.value * (1 + 1e-12)) << a.name;
    EXPECT_GE(a.high, a.value * (1 - 1e-12)) << a.name;
    EXPECT_FALSE(a.what.empty()) << a.name;
  }
}

TEST(ReferenceReport, every_half_width_has_a_source_and_one_row) {
  std::set<figures::FigureId> met;
  const auto look = [&](figures::FigureId id, std::string_view source) {
    EXPECT_TRUE(met.insert(id).second) << kind_of(id).word;
    EXPECT_THAT(std::string(source.substr(0, source.find(':'))),
                testing::AnyOf("measured", "fitted", "vendor", "published", "practice", "assumed"))
        << kind_of(id).word;
  };
  for (const figures::HalfWidth& w : figures::kHalfWidths) look(w.id, w.source);
  for (const figures::Widened& w : figures::kWidened) look(w.id, w.source);
}

TEST(ReferenceReport, every_figure_and_goal_is_on_the_page) {
  const std::string page = to_markdown(figure_reference());
  for (const figures::FigureKind& k : figures::kFigureKinds) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(k.word) + "`"));
  }
  for (const figures::GoalSource& g : figures::goal_sources()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(g.metric) + "`"));
  }
}

TEST(ReferenceReport, every_figure_has_a_meaning) {
  const auto& kind = kind_of(figures::FigureId::draw_nameplate);
  EXPECT_THAT(to_markdown(document_of(kind)), HasSubstr(std::string(kind.definition)));
  const auto j = nlohmann::json::parse(figure_reference_json(std::span(&kind, 1)));
  EXPECT_EQ(j["figures"][0]["id"], "draw_nameplate");
  EXPECT_EQ(j["figures"][0]["unit"], "w");
  EXPECT_EQ(j["figures"][0]["said"], "review");
}

}  // namespace
}  // namespace orrery::report
