#include "output/report/view_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "model/design_text/edit.h"
#include "output/report/view_cost.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using testing::SizeIs;
using Json = nlohmann::json;

Json compare_view(const std::vector<NamedDesign>& designs) {
  const auto compared = compare_designs(designs, machine::known());
  return Json::parse(comparison_view_json(compared.value()));
}

NamedDesign compare_sample(const std::string& name, const std::string& path,
                           const std::string& value) {
  const auto edited = design_text::edit_text(design_text::find_template("superpod-h100")->text,
                                             {path, value}, machine::known().catalog());
  return {name, design_of(edited.value().text)};
}

void expect_sums(const Json& node) {
  if (node["children"].empty()) return;
  double sum = 0;
  std::set<std::string> names;  // the console finds a row by the names above it
  for (const Json& c : node["children"]) {
    EXPECT_TRUE(names.insert(c["name"]).second) << c["name"] << " stands twice in " << node["name"];
    sum += c["usd_per_year"].get<double>();
    expect_sums(c);
  }
  EXPECT_NEAR(sum, node["usd_per_year"], 1e-6 * sum + 1e-9) << node["name"];
}

TEST(view_compare, the_cost_tree_of_every_template_adds_up_to_its_year) {
  const NamedDesign first{"sample", template_design("superpod-h100")};
  for (const design_text::Template& t : design_text::templates()) {
    SCOPED_TRACE(t.name);
    const Json v = compare_view({first, {std::string(t.name), template_design(t.name)}});
    const Json& d = v["designs"][1];
    EXPECT_NEAR(d["cost"]["usd_per_year"].get<double>(), d["cost_usd_per_year"],
                1e-6 * d["cost_usd_per_year"].get<double>());
    expect_sums(d["cost"]);
    for (const Json& f : v["figures"]) EXPECT_EQ(f["values"].size(), 2U);
    EXPECT_EQ(v["differences"][0]["after_index"], 1);
  }
}

TEST(view_compare, differences_are_against_the_first_and_named_by_section) {
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

TEST(view_compare, a_figure_says_whether_and_how_far_it_differs) {
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

TEST(view_compare, a_star_means_that_no_source_stands_behind) {
  EXPECT_TRUE(is_assumed("assumed: no row for aws"));
  EXPECT_TRUE(is_assumed(""));
  EXPECT_FALSE(is_assumed("nodes/dgx-h100"));
  EXPECT_FALSE(is_assumed("the design"));
}

TEST(view_compare, one_design_is_no_comparison) {
  const auto r = compare_designs({{"a", template_design("single-node")}}, machine::known());
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().front().code, "compare.count");
}

}  // namespace
}  // namespace orrery::report
