#include "output/report/view_cost.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

const CostNode* node_named(const CostNode& from, const std::string& name) {
  if (from.name == name) return &from;
  for (const CostNode& c : from.children) {
    if (const CostNode* found = node_named(c, name)) return found;
  }
  return nullptr;
}

review::CostView year_of(Usd fees) {
  review::CostView cost;
  cost.wan_per_year = fees;
  cost.egress_per_year = fees;
  return cost;
}

void expect_sums(const Json& node) {
  if (node["children"].empty()) return;
  double sum = 0;
  std::set<std::string> names;  // the console finds a row by the names above it
  for (const Json& c : node["children"]) {
    EXPECT_TRUE(names.insert(c["name"]).second) << c["name"] << " occurs twice in " << node["name"];
    sum += c["usd_per_year"].get<double>();
    expect_sums(c);
  }
  EXPECT_NEAR(sum, node["usd_per_year"], 1e-6 * sum + 1e-9) << node["name"];
}

TEST(ViewCost, cost_trees_of_templates_add_up) {
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

TEST(ViewCost, a_star_marks_assumed_prices) {
  EXPECT_TRUE(is_assumed("assumed: no row for aws"));
  EXPECT_TRUE(is_assumed(""));
  EXPECT_FALSE(is_assumed("nodes/dgx-h100"));
  EXPECT_FALSE(is_assumed("the design"));
}

TEST(ViewCost, a_year_of_fees_only) {
  const CostNode fees = cost_tree(year_of(Usd(30)));
  EXPECT_EQ(fees.name, "cost per year");
  EXPECT_EQ(fees.per_year, Usd(60));
  EXPECT_FALSE(fees.assumed);
  ASSERT_EQ(fees.children.size(), 1U);
  EXPECT_EQ(fees.children[0].name, "rents and fees");
  ASSERT_EQ(fees.children[0].children.size(), 2U);
  EXPECT_EQ(fees.children[0].children[0].name, "links between sites");
  EXPECT_EQ(fees.children[0].children[1].name, "egress");
  EXPECT_EQ(fees.children[0].children[1].reference, "catalog storage_prices");
  const CostNode nothing = cost_tree(year_of(Usd(0)));
  EXPECT_TRUE(nothing.children.empty());
  EXPECT_FALSE(nothing.assumed);
  JsonWriter w;
  write_cost_tree(w, nothing, Usd(0));
  EXPECT_EQ(Json::parse(w.text())["share_ratio"], 0.0);
  JsonWriter half;
  write_cost_tree(half, fees, Usd(120));
  EXPECT_EQ(Json::parse(half.text())["share_ratio"], 0.5);
  EXPECT_EQ(Json::parse(half.text())["children"][0]["children"][0]["share_ratio"], 0.25);
}

TEST(ViewCost, json_fields_of_costs) {
  review::CostView cost;
  cost.tornado = {.value = 7,
                  .bars = {{.name = "power",
                            .at_low = 6,
                            .at_high = 8,
                            .input_low = 0.05,
                            .input_high = 0.2,
                            .reference = "ref"}}};
  JsonWriter tornado(0);
  write_tornado(tornado, cost);
  EXPECT_EQ(Json::parse(tornado.text()), Json::parse(R"({"value": 7, "unit": "usd_per_hour",
      "bars": [{"name": "power", "at_low": 6, "at_high": 8, "input_low": 0.05, "input_high": 0.2,
                "reference": "ref"}]})"));
  // Capital of 30 and 10 per year: nodes are three quarters of it, divided by price as 20 and 40 of
  // 60.
  cost.owned = cost::Ownership{};
  cost.owned->capital = Usd(40);
  cost.owned->items = {{"fleet", Usd(30), "r1"}, {"racks", Usd(10), "r2"}, {"power", Usd(8), "r3"}};
  const auto line = [](const char* item, const char* part, double count, double price) {
    return catalog::BillLine{.section = "fleet",
                             .item = item,
                             .part_id = part,
                             .count = count,
                             .unit_price = catalog::PriceRange{Usd(price / 2), Usd(price * 1.5)},
                             .reference = "nodes/x"};
  };
  cost.bill.lines = {line("node", "dgx", 2, 10), line("cable", "", 5, 8), line("free", "", 3, 0)};
  cost.bill.lines.push_back({.section = "fleet", .item = "unpriced", .count = 9});
  JsonWriter tree(0);
  write_cost_tree(tree, cost_tree(cost), Usd(96));
  EXPECT_EQ(Json::parse(tree.text()), Json::parse(R"js({
    "name": "cost per year", "usd_per_year": 48, "share_ratio": 0.5, "assumed": false,
    "reference": "docs/models/ownership.md", "children": [
      {"name": "capital", "usd_per_year": 40, "share_ratio": 0.4166666666666667, "assumed": false,
       "reference": "docs/models/ownership.md", "children": [
         {"name": "fleet", "usd_per_year": 30, "share_ratio": 0.3125, "assumed": false,
          "reference": "docs/models/ownership.md", "children": [
            {"name": "node (dgx)", "usd_per_year": 10, "share_ratio": 0.10416666666666667,
             "assumed": false, "reference": "nodes/x", "children": []
},
            {"name": "cable", "usd_per_year": 20, "share_ratio": 0.20833333333333334,
             "assumed": false, "reference": "nodes/x", "children": []}]
},
         {"name": "racks", "usd_per_year": 10, "share_ratio": 0.10416666666666667,
          "assumed": false, "reference": "r2", "children": []}]
},
      {"name": "running", "usd_per_year": 8, "share_ratio": 0.08333333333333333, "assumed": false,
       "reference": "docs/models/ownership.md", "children": [
         {"name": "power", "usd_per_year": 8, "share_ratio": 0.08333333333333333,
          "assumed": false, "reference": "r3", "children": []}]}]
})js"));
}

TEST(ViewCost, wan_and_egress_are_in_the_year) {
  const review::Review zones =
      review::run_stages(template_design("chatbot-zones"), machine::known());
  const CostNode tree = cost_tree(zones.cost);
  const CostNode* lines = node_named(tree, "links between sites");
  ASSERT_NE(lines, nullptr);
  EXPECT_NEAR(lines->per_year.base(), 300e3, 1);
  const review::Review rented =
      review::run_stages(template_design("cloud-rental"), machine::known());
  const CostNode rents = cost_tree(rented.cost);
  const CostNode* egress = node_named(rents, "egress");
  ASSERT_NE(egress, nullptr);
  EXPECT_GT(egress->per_year, Usd(0));
  EXPECT_EQ(node_named(rents, "links between sites"), nullptr);
}

// Purchases are capital; monthly payments are not.
TEST(ViewCost, capital_is_what_is_bought) {
  const review::Review r = review::run_stages(template_design("superpod-h100"), machine::known());
  const CostNode tree = cost_tree(r.cost);
  const CostNode* capital = node_named(tree, "capital");
  const CostNode* running = node_named(tree, "running");
  ASSERT_TRUE(capital && running);
  EXPECT_NEAR(capital->per_year.base(), r.cost.owned->capital.base(), 1);
  EXPECT_NE(node_named(*running, "electricity"), nullptr);
  EXPECT_EQ(node_named(*capital, "electricity"), nullptr);
  EXPECT_NE(node_named(*capital, "fleet"), nullptr);
  // The share of a part in its section is its price times its count.
  for (const CostNode& section : capital->children) {
    Usd price;
    for (const catalog::BillLine& l : r.cost.bill.lines) {
      if (l.section == section.name && l.unit_price) price += l.unit_price->middle() * l.count;
    }
    for (const CostNode& part : section.children) {
      Usd own;
      for (const catalog::BillLine& l : r.cost.bill.lines) {
        const std::string name = l.part_id.empty() ? l.item : l.item + " (" + l.part_id + ")";
        if (l.section == section.name && name == part.name && l.unit_price) {
          own += l.unit_price->middle() * l.count;
        }
      }
      EXPECT_NEAR(part.per_year / section.per_year, own / price, 1e-9) << part.name;
    }
  }
}

TEST(ViewCost, a_branch_of_assumed_costs_is_starred) {
  const review::Review r = review::run_stages(template_design("superpod-h100"), machine::known());
  const std::function<void(const CostNode&)> look = [&](const CostNode& n) {
    bool all = true;
    for (const CostNode& c : n.children) all = all && c.assumed, look(c);
    const bool is_branch = n.name == "capital" || n.name == "running" || n.name == "cost per year";
    if (is_branch) {
      EXPECT_EQ(n.assumed, all) << n.name;
    }
  };
  look(cost_tree(r.cost));
  // One of two running costs is assumed, so the branch is not starred.
  review::CostView mixed;
  mixed.owned = cost::Ownership{};
  mixed.owned->capital = Usd(10);
  mixed.owned->items = {{"bought", Usd(10), "nodes/x"},
                        {"guessed", Usd(5), "assumed: y"},
                        {"known", Usd(5), "nodes/z"}};
  const CostNode tree = cost_tree(mixed);
  ASSERT_NE(node_named(tree, "running"), nullptr);
  EXPECT_FALSE(node_named(tree, "running")->assumed);
  EXPECT_TRUE(node_named(tree, "guessed")->assumed);
  EXPECT_FALSE(node_named(tree, "known")->assumed);
  EXPECT_EQ(tree.per_year, Usd(20));
  JsonWriter w(0);
  write_cost_tree(w, {.name = "x", .per_year = Usd(25), .children = {}}, Usd(100));
  EXPECT_EQ(Json::parse(w.text())["share_ratio"], 0.25);
  JsonWriter t(0);
  review::CostView cost;
  cost.tornado = {
      .value = 7,
      .bars = {{.name = "n", .at_low = 1, .at_high = 2, .input_low = 3, .input_high = 4}}};
  write_tornado(t, cost);
  const Json bar = Json::parse(t.text())["bars"][0];
  EXPECT_EQ(bar["at_low"], 1);
  EXPECT_EQ(bar["at_high"], 2);
  EXPECT_EQ(bar["input_low"], 3);
  EXPECT_EQ(bar["input_high"], 4);
}

}  // namespace
}  // namespace orrery::report
