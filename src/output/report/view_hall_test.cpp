#include "output/report/view_hall.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::Not;

Json hall_of_design(const std::string& text) {
  return Json::parse(hall_view_json(review::run_stages(design_of(text), machine::known())));
}

Json hall_of(const review::Review& r) { return Json::parse(hall_view_json(r))["sites"].at(0); }

TEST(ViewHall, a_rack_without_a_limit_has_no_density) {
  review::Review r = small_review();
  const Json before = hall_of(r);
  EXPECT_GT(before["racks"][0]["density_ratio"], 0.5);
  for (review::FleetPower& p : r.sites[0].fleets) p.rack.limit = Watts(0);
  EXPECT_EQ(hall_of(r)["racks"][0]["density_ratio"], 0.0);
}

TEST(ViewHall, a_hall_without_power_has_no_shares) {
  review::Review r = small_review();
  review::SiteView& v = r.sites[0];
  v.it_mean = v.draw_mean = Watts(0);
  v.chain = {};
  v.fabric = v.storage = Watts(0);
  for (review::FleetPower& p : v.fleets) p.all = Watts(0);
  const Json site = hall_of(r);
  EXPECT_EQ(site["chain"]["nodes"][0]["share_ratio"], 0.0);
  EXPECT_EQ(site["chain"]["nodes"][0]["power_w"], 0.0);
  for (const Json& n : site["chain"]["nodes"]) {
    EXPECT_THAT(n["id"].get<std::string>(), testing::Not(testing::StartsWith("fleet-")));
  }
  for (const Json& p : site["pue"]["parts"]) EXPECT_EQ(p["pue_share_ratio"], 0.0);
}

TEST(ViewHall, a_site_has_figures_and_a_power_chain) {
  const review::SiteView& v = small_review().sites[0];
  const Json site = hall_of(small_review());
  EXPECT_EQ(site["power_limit_w"], 2e6);
  EXPECT_DOUBLE_EQ(site["peak_share_ratio"], v.draw_peak.base() / 2e6);
  EXPECT_DOUBLE_EQ(site["it_nameplate_w"], v.it_nameplate.base());
  EXPECT_DOUBLE_EQ(site["it_mean_w"], v.it_mean.base());
  EXPECT_DOUBLE_EQ(site["draw_mean_w"], v.draw_mean.base());
  // Sixteen nodes of 10.2 kW, two per air-cooled rack.
  EXPECT_EQ(site["racks_total"], 8);
  EXPECT_EQ(site["racks_shown"], 8);
  EXPECT_EQ(site["racks"].size(), 8U);
  EXPECT_DOUBLE_EQ(site["pue"]["low"], v.pue.low);
  EXPECT_DOUBLE_EQ(site["pue"]["high"], v.pue.high);
  std::map<std::string, Json> nodes;
  for (const Json& n : site["chain"]["nodes"]) nodes[n["id"]] = n;
  for (const facility::StageLoad& stage : v.chain.stages) {
    const Json& n = nodes.at(stage.id);
    EXPECT_DOUBLE_EQ(n["efficiency_ratio"], stage.efficiency) << stage.id;
    EXPECT_DOUBLE_EQ(n["load_ratio"], stage.unit_load) << stage.id;
    EXPECT_DOUBLE_EQ(n["power_w"], (stage.output + stage.loss).base()) << stage.id;
    EXPECT_FALSE(nodes.at(stage.id).at("reference").get<std::string>().empty()) << stage.id;
  }
  EXPECT_FALSE(nodes.at("fleet-train").contains("efficiency_ratio"));
  for (const auto& [id, n] : nodes) EXPECT_EQ(id.find(' '), std::string::npos) << id;
}

Json hall_view(const design::Design& d) {
  return Json::parse(hall_view_json(review::run_stages(d, machine::known())));
}

// Expects that a stage passes on its input less its loss, and that the source feeds everything.
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

TEST(ViewHall, power_is_conserved_in_templates) {
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
        EXPECT_LE(r["density_ratio"], 1.05);
      }
      EXPECT_GT(nodes, 0);
    }
  }
}

TEST(ViewHall, the_sample_has_32_racks) {
  const Json v = hall_view(template_design("superpod-h100"));
  ASSERT_EQ(v["sites"].size(), 1U);
  const Json& site = v["sites"][0];
  // 127 nodes, four per rack: 31 full racks and one of three, at 10.2 kW per node.
  EXPECT_EQ(site["racks_total"], 32);
  EXPECT_EQ(site["racks"].back()["nodes"], 3);
  EXPECT_EQ(site["racks"][0]["power_w"], 40800);
  EXPECT_EQ(site["racks"][0]["limit_w"], 44000);
  EXPECT_EQ(site["racks"][17]["id"], "r2-02");
  EXPECT_EQ(site["power_limit_w"], 2e6);
}

TEST(ViewHall, a_node_over_the_rack_limit_is_drawn_above_it) {
  const Json v = hall_view(
      design_of("orrery: 1\nname: hot\nsite: { region: usa, cooling: air-perimeter, rack: 8 kW }\n"
                "fleet:\n  - { name: train, node: dgx-h100, count: 3 }\n"));
  EXPECT_EQ(v["sites"][0]["racks_total"], 3);
  EXPECT_GT(v["sites"][0]["racks"][0]["density_ratio"], 1.2);
}

// 30 nodes and three spares, four per rack: eight full racks and one of one.
TEST(ViewHall, spares_are_in_racks_and_heat_follows_the_cooling) {
  const Json v = hall_of_design(kTwoRuns);
  ASSERT_EQ(v["sites"].size(), 1U);
  const Json& site = v["sites"][0];
  EXPECT_EQ(site["racks_total"], 9);
  int nodes = 0;
  std::set<std::string> ids;
  const double liquid =
      machine::known().catalog().cooling("direct-to-chip-1p")->liquid_heat_fraction;
  ASSERT_GT(liquid, 0);
  ASSERT_LT(liquid, 1);
  for (const Json& r : site["racks"]) {
    nodes += r["nodes"].get<int>();
    EXPECT_TRUE(ids.insert(r["id"]).second) << r["id"];
    EXPECT_GE(r["position"], 1);
    EXPECT_NEAR(r["liquid_heat_w"].get<double>(), liquid * r["power_w"].get<double>(), 1e-6);
    EXPECT_NEAR(r["density_ratio"].get<double>() * r["limit_w"].get<double>(), r["power_w"], 1e-6);
  }
  EXPECT_EQ(nodes, 33);
  EXPECT_EQ(site["racks"].back()["nodes"], 1);
  EXPECT_NEAR(site["peak_share_ratio"].get<double>() * site["power_limit_w"].get<double>(),
              site["draw_peak_w"], 1);
  EXPECT_GT(site["draw_peak_w"], site["draw_mean_w"]);
}

// If the PUE is given, everything besides IT and the losses of the chain is overhead.
TEST(ViewHall, power_is_conserved_with_a_given_pue) {
  std::string text = kTwoRuns;
  text.replace(text.find("rack: 60 kW"), 11, "rack: 60 kW, pue: 1.4");
  const Json site = hall_of_design(text)["sites"][0];
  double out = 0, source = 0;
  for (const Json& n : site["chain"]["nodes"]) {
    if (n["kind"] == "source") source = n["power_w"];
    if (n["kind"] == "loss" || n["kind"] == "load") out += n["power_w"].get<double>();
  }
  EXPECT_NEAR(out / source, 1, 1e-6);
  EXPECT_NEAR(site["draw_mean_w"].get<double>() / site["it_mean_w"].get<double>(), 1.4, 1e-6);
}

TEST(ViewHall, a_site_without_machines_has_no_hall) {
  const Json v = hall_of_design(
      "orrery: 1\nname: x\nsites:\n  - { name: a, region: usa, cooling: rear-door-active }\n"
      "  - { name: b, region: usa, cooling: rear-door-active }\n"
      "fleet:\n  - { name: train, site: a, node: dgx-h100, count: 2 }\n");
  ASSERT_EQ(v["sites"].size(), 1U);
  EXPECT_EQ(v["sites"][0]["name"], "a");
}

constexpr std::string_view kWholeDesign = R"(
orrery: 1
name: whole
site: { name: north, region: usa, power: 200 kW, cooling: air-contained }
fleet:
  - { name: a, node: dgx-h100, count: 5, spares: 1 }
  - { name: b, node: cpu-2s-server, count: 3 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
storage:
  - { name: near, tier: node-nvme, kind: local-nvme, read: 40 GB/s, write: 20 GB/s,
      capacity: 30 TB }
  - { name: far, tier: hot, kind: parallel-fs, read: 200 GB/s, write: 100 GB/s, capacity: 200 TB }
workloads:
  - train: { name: words, fleet: a, nodes: 4, model: llama-3-8b, tokens: 20B, batch: 256,
             checkpoint: { every: 30 min, mode: async, to: [near, far], keep: { far: 3 } } }
)";

// Racks of four nodes of 10 kW, and three racks of one node of 1 kW; a UPS that loses 5 of 60 kW.
review::Review whole_review(const catalog::CoolingMethod& cooling) {
  static const design::Design* const kDesign = new design::Design(design_of(kWholeDesign));
  review::Review r = review::run_stages(*kDesign, machine::known());
  review::SiteView& v = r.sites[0];
  v.cooling = &cooling;
  review::FleetPower& a = v.fleets[0];
  a.node.nameplate = kilowatts(10);
  a.node.reference = "ref a";
  a.rack = {.nodes = 4, .limit = kilowatts(50)};
  a.all = kilowatts(40);
  review::FleetPower& b = v.fleets[1];
  b.node.nameplate = kilowatts(1);
  b.node.reference = "ref b";
  b.rack = {};
  b.all = kilowatts(2);
  v.fabric = kilowatts(8);
  v.storage = Watts(0);
  v.it_nameplate = kilowatts(70);
  v.it_mean = kilowatts(50);
  v.draw_peak = kilowatts(150);
  v.draw_mean = kilowatts(80);
  v.chain = {.stages = {{.id = "ups",
                         .name = "the UPS",
                         .output = kilowatts(55),
                         .loss = kilowatts(5),
                         .unit_load = 0.25,
                         .efficiency = 0.9375,
                         .reference = "ref u"}},
             .input = kilowatts(60),
             .loss = kilowatts(5)};
  v.pue = {.low = 1.5, .middle = 1.6, .high = 1.75, .reference = "ref p"};
  v.breakdown.reset();
  return r;
}

// If the chain takes more than the mean draw, the site draws what the chain takes.
TEST(ViewHall, supply_is_at_least_what_the_chain_takes) {
  const catalog::CoolingMethod cooling{.id = "c", .liquid_heat_fraction = 0.375};
  review::Review r = whole_review(cooling);
  r.sites[0].draw_mean = kilowatts(57);
  const Json source = Json::parse(hall_view_json(r))["sites"][0]["chain"]["nodes"][0];
  EXPECT_EQ(source["power_w"], 60000);
}

}  // namespace
}  // namespace orrery::report
