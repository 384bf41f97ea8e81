#include "output/report/view_hall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "output/report/view_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

Json hall_view(const design::Design& d) {
  return Json::parse(hall_view_json(review::run_stages(d, machine::known())));
}

// A stage gives on what comes in, and the source feeds everything.
void expect_balanced(const Json& site) {
  std::map<std::string, double> in, out, power;
  std::map<std::string, std::string> kind;
  for (const Json& n : site["chain"]["nodes"]) {
    EXPECT_TRUE(power.emplace(n["id"], n["power_w"]).second) << n["id"];
    EXPECT_NEAR(n["share_ratio"].get<double>() * power["utility"], n["power_w"], 1e-6);
    kind[n["id"]] = n["kind"];
  }
  for (const Json& l : site["chain"]["links"]) {
    ASSERT_TRUE(power.contains(l["from"]) && power.contains(l["to"])) << l;
    out[l["from"]] += l["power_w"].get<double>();
    in[l["to"]] += l["power_w"].get<double>();
  }
  for (const auto& [id, p] : power) {
    const bool source = kind[id] == "source";
    EXPECT_NEAR(source ? p : in[id], p, 1e-6 * p) << id;
    EXPECT_NEAR(source || kind[id] == "stage" ? out[id] : p, p, 1e-3 * p) << id;
  }
}

TEST(view_hall, power_is_conserved_in_every_template) {
  for (const design_text::Template& t : design_text::templates()) {
    SCOPED_TRACE(t.name);
    const Json v = hall_view(template_design(t.name));
    for (const Json& site : v["sites"]) {
      expect_balanced(site);
      double pue = 1;
      for (const Json& p : site["pue"]["parts"]) pue += p["pue_share_ratio"].get<double>();
      if (!site["pue"]["parts"].empty()) {
        EXPECT_NEAR(pue, site["pue"]["value"], 1e-9);
      }
      double nodes = 0;
      for (const Json& r : site["racks"]) {
        nodes += r["nodes"].get<double>();
        EXPECT_NEAR(r["liquid_heat_w"].get<double>() + r["air_heat_w"].get<double>(), r["power_w"],
                    1e-6);
        EXPECT_LE(r["density_ratio"], 1.05) << "a template passes its review";
      }
      EXPECT_GT(nodes, 0);
    }
  }
}

TEST(view_hall, the_sample_stands_in_thirty_two_racks) {
  const Json v = hall_view(template_design("superpod-h100"));
  ASSERT_EQ(v["sites"].size(), 1U);
  const Json& site = v["sites"][0];
  // 127 nodes, four a rack: 31 full ones and one of three, at 10.2 kW a node.
  EXPECT_EQ(site["racks_total"], 32);
  EXPECT_EQ(site["racks"].back()["nodes"], 3);
  EXPECT_EQ(site["racks"][0]["power_w"], 40800);
  EXPECT_EQ(site["racks"][0]["limit_w"], 44000);
  EXPECT_EQ(site["racks"][17]["id"], "r2-02");
  EXPECT_EQ(site["power_limit_w"], 2e6);
}

TEST(view_hall, a_node_that_fits_no_rack_is_drawn_above_its_limit) {
  const Json v = hall_view(
      design_of("orrery: 1\nname: hot\nsite: { region: usa, cooling: air-perimeter, rack: 8 kW }\n"
                "fleet:\n  - { name: train, node: dgx-h100, count: 3 }\n"));
  EXPECT_EQ(v["sites"][0]["racks_total"], 3);
  EXPECT_GT(v["sites"][0]["racks"][0]["density_ratio"], 1.2);
}

}  // namespace
}  // namespace orrery::report
