#include "output/report/view_compare.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "model/design_text/edit.h"
#include "output/report/view_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::SizeIs;

NamedDesign compare_sample(const std::string& name, const std::string& path,
                           const std::string& value) {
  const auto edited = design_text::edit_text(design_text::find_template("superpod-h100")->text,
                                             {path, value}, machine::known().catalog());
  return {name, design_of(edited.value().text)};
}

TEST(ViewCompare, differences_are_against_the_first_design) {
  const NamedDesign as_is{"as is", template_design("superpod-h100")};
  const Json v = compare_view({as_is, compare_sample("slow", "storage[0].write", "10 GB/s"),
                               compare_sample("warm", "site.cooling", "air-contained")});
  ASSERT_THAT(v["differences"], SizeIs(2));
  EXPECT_EQ(v["differences"][0]["effects"][0]["section"], "storage");
  EXPECT_EQ(v["differences"][1]["effects"][0]["section"], "site");
  EXPECT_EQ(v["differences"][1]["broken"][0]["rule"], "facility.rack-above-cooling");
  EXPECT_FALSE(v["differences"][1]["passes_after"]);
  EXPECT_THAT(v["designs"], SizeIs(3));
  EXPECT_EQ(v["designs"][2]["errors"], 1);
  EXPECT_FALSE(v["designs"][0]["tornado"]["bars"].empty());
  EXPECT_EQ(v["summary"][0]["shown"], Json({"passes", "passes", "fails"}));
  EXPECT_EQ(v["summary"][1]["shown"], Json({"0", "0", "1"}));
}

TEST(ViewCompare, a_figure_has_its_difference) {
  const Json v = compare_view({{"as is", template_design("superpod-h100")},
                               compare_sample("slow", "storage[0].write", "10 GB/s")});
  int moved = 0;
  for (const Json& f : v["figures"]) {
    const Json& before = f["values"][0];
    const Json& after = f["values"][1];
    EXPECT_EQ(f["differs"], before["shown"] != after["shown"]) << f["key"];
    EXPECT_EQ(before["change"], "");
    moved += after["change"] != "";
  }
  EXPECT_GT(moved, 2);
  EXPECT_LT(moved, static_cast<int>(v["figures"].size()) / 2);
}

TEST(ViewCompare, one_design_is_refused) {
  const auto r = compare_designs({{"a", template_design("single-node")}}, machine::known());
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().front().code, "compare.count");
}

// Every figure of every design has a row, with its layer, section and design.
TEST(ViewCompare, every_figure_of_every_design_is_compared) {
  const Comparison c =
      compare_designs({{"a", design_of(kTwoRuns)}, {"b", template_design("chatbot-zones")}},
                      machine::known())
          .value();
  for (std::size_t i = 0; i < 2; ++i) {
    std::size_t figures = 0;
    for (const figures::Section& s : c.designs[i].verdict.sections) {
      for (const figures::Figure& f : s.figures) {
        ++figures;
        int rows = 0;
        for (const ComparedFigure& row : c.figures) {
          if (row.layer != s.layer || row.section != s.name || row.id != f.id()) continue;
          ++rows;
          ASSERT_TRUE(row.values[i].has_value()) << row.id;
          EXPECT_EQ(*row.values[i], f.estimate) << row.id;
        }
        EXPECT_EQ(rows, 1) << f.id();
      }
    }
    const auto listed = std::ranges::count_if(
        c.figures, [&](const ComparedFigure& row) { return row.values[i].has_value(); });
    EXPECT_EQ(static_cast<std::size_t>(listed), figures);
  }
}

TEST(ViewCompare, verdicts_are_those_of_the_reviews) {
  const Comparison c = compare_designs({{"a", template_design("superpod-h100")},
                                        {"b", template_design("cloud-rental")}},
                                       machine::known())
                           .value();
  const auto rows = c.summary();
  ASSERT_EQ(rows.size(), 6U);
  const Json v = Json::parse(comparison_view_json(c));
  for (std::size_t i = 0; i < 2; ++i) {
    const figures::Figure* hour = c.designs[i].verdict.figure(figures::Layer::cost, "useful_hour");
    ASSERT_NE(hour, nullptr);
    EXPECT_EQ(rows[5].shown[i], show(hour->estimate.value, figures::Unit::usd_per_hour));
    EXPECT_NEAR(v["designs"][i]["unit_cost_usd_per_hour"].get<double>(), hour->estimate.value,
                1e-9 * hour->estimate.value);
  }
  EXPECT_TRUE(v["designs"][0]["same_workloads"]);
  EXPECT_FALSE(v["designs"][1]["same_workloads"]);
}

TEST(ViewCompare, eight_designs_can_be_compared_and_nine_cannot) {
  const design::Design plain = design_of(
      "orrery: 1\nname: x\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: 1 "
      "}\n");
  std::vector<NamedDesign> designs(8, NamedDesign{"x", plain});
  EXPECT_TRUE(compare_designs(designs, machine::known()));
  designs.push_back({"x", plain});
  EXPECT_FALSE(compare_designs(designs, machine::known()));
}

}  // namespace
}  // namespace orrery::report
