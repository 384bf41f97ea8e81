// Answers of the views field by field beside the review they are of, and what they say where a
// figure is nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/jobs/tier_asks.h"
#include "output/report/charts_svg.h"
#include "output/report/tornado_svg.h"
#include "output/report/view_accuracy.h"
#include "output/report/view_calc.h"
#include "output/report/view_completions.h"
#include "output/report/view_cost.h"
#include "output/report/view_fabric.h"
#include "output/report/view_fixture.h"
#include "output/report/view_hall.h"
#include "output/report/view_serving.h"
#include "output/report/view_storage.h"
#include "output/report/view_training.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kViewDesign = R"(
orrery: 1
name: views
site: { region: usa, power: 2 MW, cooling: air-contained, rack: 44 kW }
fleet:
  - { name: train, node: dgx-h100, count: 16 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700 }
  storage: { topology: fat-tree, switch: qm9700 }
storage:
  - { tier: node-nvme, kind: local-nvme, read: 40 GB/s, write: 20 GB/s, capacity: 30 TB }
  - { tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, devices_per_server: 16,
      read: 200 GB/s, write: 100 GB/s, capacity: 200 TB }
scheduler: { kind: slurm }
workloads:
  - train: { name: pretrain, model: llama-3-8b, tokens: 100B, sequence: 8192, batch: 256,
             precision: bf16, layout: auto, nodes: 8,
             checkpoint: { every: 30 min, mode: async, to: [node-nvme, hot] } }
  - train: { name: second, model: llama-3-8b, tokens: 50B, sequence: 8192, batch: 128,
             precision: bf16, layout: auto, nodes: 4,
             checkpoint: { every: 20 min, to: [hot] } }
economics: { horizon: 4 y, power_price: 0.1 USD/kWh }
)";

// Made once; tests that change it take a copy.
const review::Review& viewed() {
  static const design::Design* const kDesign = new design::Design(design_of(kViewDesign));
  static const review::Review* const kReview =
      new review::Review(review::run_stages(*kDesign, machine::known()));
  return *kReview;
}

Json hall_of(const review::Review& r) { return Json::parse(hall_view_json(r))["sites"].at(0); }

TEST(view_details, a_rack_without_a_limit_has_no_density) {
  review::Review r = viewed();
  const Json before = hall_of(r);
  EXPECT_GT(before["racks"][0]["density_ratio"], 0.5);
  for (review::FleetPower& p : r.sites[0].fleets) p.rack.limit = Watts(0);
  EXPECT_EQ(hall_of(r)["racks"][0]["density_ratio"], 0.0);
}

TEST(view_details, a_hall_that_draws_nothing_has_no_shares) {
  review::Review r = viewed();
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

TEST(view_details, a_site_is_told_with_its_figures_and_its_chain) {
  const review::SiteView& v = viewed().sites[0];
  const Json site = hall_of(viewed());
  EXPECT_EQ(site["power_limit_w"], 2e6);
  EXPECT_DOUBLE_EQ(site["peak_share_ratio"], v.draw_peak.base() / 2e6);
  EXPECT_DOUBLE_EQ(site["it_nameplate_w"], v.it_nameplate.base());
  EXPECT_DOUBLE_EQ(site["it_mean_w"], v.it_mean.base());
  EXPECT_DOUBLE_EQ(site["draw_mean_w"], v.draw_mean.base());
  // Sixteen nodes of 10.2 kW, two in what air cools.
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

TEST(view_details, a_tier_is_told_with_all_that_it_is) {
  const review::Review& r = viewed();
  const Json view = Json::parse(text_of(storage_view_json(r, "")));
  EXPECT_EQ(view["schema_version"], 1);
  EXPECT_EQ(view["kind"], "storage");
  EXPECT_EQ(view["workloads"], Json({"pretrain", "second"}));
  EXPECT_EQ(view["workload"], "pretrain");
  EXPECT_THAT(view["note"].get<std::string>(), HasSubstr("one move at a time"));
  ASSERT_EQ(view["tiers"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const machine::Tier& t = r.tiers()[design::TierIndex(i)];
    const Json& told = view["tiers"][i];
    EXPECT_EQ(told["tier"], i == 0 ? "node-nvme" : "hot");
    EXPECT_EQ(told["kind"], i == 0 ? "local-nvme" : "parallel-fs");
    EXPECT_EQ(told["path"], t.path);
    EXPECT_TRUE(told.contains("summary"));
    EXPECT_EQ(told["in_nodes"], t.per_node);
    EXPECT_EQ(told["devices"], t.devices);
    EXPECT_EQ(told["servers"], t.servers);
    EXPECT_EQ(told["encrypted"], t.tier->encrypted);
    EXPECT_EQ(told["versioned"], t.tier->versioned);
    EXPECT_DOUBLE_EQ(told["latency_target_s"], machine::latency_target(t.tier->tier).base());
    EXPECT_DOUBLE_EQ(told["used_ratio"], r.used_of(t) / t.capacity);
  }
  EXPECT_EQ(view["tiers"][1]["device"], "tlc-gen4");
  EXPECT_EQ(view["tiers"][1]["bound_by"], "");
}

TEST(view_details, the_clocks_of_a_save_are_those_of_its_plan) {
  const review::Review& r = viewed();
  for (const std::string name : {"pretrain", "second"}) {
    const Json view = Json::parse(text_of(storage_view_json(r, name)));
    const review::TrainView& t = r.trains[name == "pretrain" ? 0 : 1];
    const jobs::SavePlan& s = *t.checkpoint;
    const Json& clocks = view["run"]["clocks"];
    EXPECT_EQ(view["workload"], name);
    EXPECT_EQ(view["run"]["path"], t.path);
    EXPECT_EQ(clocks["interval_given"], true);
    EXPECT_EQ(clocks["async"], s.async);
    EXPECT_EQ(clocks["has_safe"], s.safe != nullptr);
    EXPECT_DOUBLE_EQ(clocks["loss_per_save"], s.exposure.loss_per_save);
    EXPECT_DOUBLE_EQ(clocks["restore_s"], s.restore.total.base());
    EXPECT_EQ(clocks["write"]["tier"], s.first->label);
    EXPECT_EQ(clocks["drain"]["tier"], (s.safe ? s.safe : s.first)->label);
    EXPECT_DOUBLE_EQ(clocks["write"]["total_s"], s.write.total.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["server_s"], s.write.server.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["network_s"], s.write.network.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["serialise_s"], s.write.serialise.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["metadata_s"], s.write.metadata.base());
    EXPECT_DOUBLE_EQ(clocks["write"]["commit_s"], s.write.commit.base());
    EXPECT_EQ(clocks["later"].size(), s.later.size());
    const Json& lives = view["run"]["lives"];
    EXPECT_DOUBLE_EQ(lives["save_bytes"], s.size.base());
    EXPECT_EQ(lives["places"], name == "pretrain" ? Json({"node-nvme", "hot"}) : Json({"hot"}));
    EXPECT_TRUE(lives["milestones"].is_array());
    EXPECT_FALSE(lives["stays"].empty());
  }
  const auto none = storage_view_json(r, "nobody");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().code, "storage.no-workload");
}

TEST(view_details, a_run_that_cannot_be_saves_nothing) {
  review::Review r = viewed();
  r.trains[0].infeasible = "why not";
  ASSERT_FALSE(r.trains[0].feasible());
  const Json view = Json::parse(text_of(storage_view_json(r, "")));
  EXPECT_EQ(view["workload"], "second");
  EXPECT_EQ(view["workloads"], Json({"second"}));
  for (review::TrainView& t : r.trains) t.infeasible = "why not";
  EXPECT_TRUE(Json::parse(text_of(storage_view_json(r, "")))["run"].is_null());
}

TEST(view_details, a_training_run_is_told_with_its_layout_and_search) {
  const review::Review& r = viewed();
  const Json view = Json::parse(text_of(training_view_json(r, "second")));
  EXPECT_EQ(view["workloads"], Json({"pretrain", "second"}));
  EXPECT_EQ(view["workload"], "second");
  EXPECT_EQ(view["model"], "llama-3-8b");
  EXPECT_EQ(view["accelerator"], "h100-sxm");
  EXPECT_EQ(view["gpus"], 32);
  const Json& l = view["layout"];
  EXPECT_EQ(l["tp"].get<int>() * l["pp"].get<int>() * l["cp"].get<int>() * l["dp"].get<int>(), 32);
  EXPECT_EQ(view["search"]["gpus"], 32);
  EXPECT_EQ(view["search"]["batch"], 128);
  EXPECT_EQ(view["search"]["sequence"], 8192);
  EXPECT_EQ(view["search"]["precision"], "bf16");
  EXPECT_TRUE(view["search"].contains("nic"));
  double whole = 0;
  for (const Json& part : view["step"]["parts"]) whole += part["share_ratio"].get<double>();
  EXPECT_NEAR(whole, 1, 0.02);
  EXPECT_LT(view["step"]["low_s"], view["step"]["time_s"]);
  EXPECT_GT(view["step"]["high_s"], view["step"]["time_s"]);
  EXPECT_EQ(training_view_json(r, "nobody").error().front().what, "no workload 'nobody' trains");
  EXPECT_EQ(serving_view_json(r, "").error().front().what, "the design serves no transformer");
  EXPECT_THAT(serving_view_json(r, "x").error().front().what, HasSubstr("'x'"));
}

TEST(view_details, a_network_that_is_not_there_is_said) {
  const auto none = fabric_view_json(*viewed().machine, {.network = "abacus"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().what, "the design has no network 'abacus'");
  const auto longest = fabric_view_json(*viewed().machine, {.network = std::string(60, 'n')});
  EXPECT_EQ(longest.error().front().what,
            "the design has no network '" + std::string(40, 'n') + "'");
  const Json view = Json::parse(text_of(fabric_view_json(*viewed().machine, {})));
  const fabric::Topology& t = *viewed().networks().compute.topology;
  EXPECT_EQ(view["tiers"], t.tiers);
  EXPECT_DOUBLE_EQ(view["link_rate_bytes_per_s"], t.spec.link_rate.base());
  EXPECT_EQ(view["endpoints"], t.endpoints);
  EXPECT_EQ(view["collective"]["slower_ratio"], 0.0);
}

review::CostView year_of(Usd fees) {
  review::CostView cost;
  cost.wan_per_year = fees;
  cost.egress_per_year = fees;
  return cost;
}

TEST(view_details, a_year_of_fees_alone) {
  const CostNode fees = cost_tree(year_of(Usd(30)));
  EXPECT_EQ(fees.name, "cost of a year");
  EXPECT_EQ(fees.per_year, Usd(60));
  EXPECT_FALSE(fees.assumed);
  ASSERT_EQ(fees.children.size(), 1U);
  EXPECT_EQ(fees.children[0].name, "rents and fees");
  ASSERT_EQ(fees.children[0].children.size(), 2U);
  EXPECT_EQ(fees.children[0].children[0].name, "lines between sites");
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

// A row is 28 high under 6 of margin: its middle at 20, its text 4 below.
TEST(view_details, rows_of_a_chart_stand_one_below_the_other) {
  const std::string bars = bars_svg("b", std::vector<Bar>{{"a", 30, "x"}, {"b", 0, "y"}});
  EXPECT_THAT(bars, HasSubstr("<text x=\"0.0\" y=\"24.0\">a</text>"));
  EXPECT_THAT(bars, HasSubstr("<text x=\"0.0\" y=\"52.0\">b</text>"));
  EXPECT_THAT(bars, HasSubstr("<rect x=\"200\" y=\"13.0\" width=\"390.0\" height=\"14\""));
  EXPECT_THAT(bars, HasSubstr("<rect x=\"200\" y=\"41.0\" width=\"1.0\" height=\"14\""));
  EXPECT_THAT(bars, HasSubstr("<text x=\"208.0\" y=\"52.0\">y</text>"));
  const figures::GoalOutcome goal{.text = "g",
                                  .unit = figures::Unit::ratio,
                                  .actual = {.value = 2, .low = 1, .high = 3},
                                  .bound = 4,
                                  .met = true};
  figures::GoalOutcome unknown = goal;
  unknown.known = false;
  const std::string goals = goals_svg(std::vector{goal, unknown, goal});
  EXPECT_THAT(goals, HasSubstr("viewBox=\"0 0 720 68\""));
  EXPECT_THAT(goals, HasSubstr("y1=\"10.0\" y2=\"30.0\" stroke=\"currentColor\""));
  EXPECT_THAT(goals, HasSubstr("y1=\"38.0\" y2=\"58.0\" stroke=\"currentColor\""));
  EXPECT_THAT(goals, HasSubstr("cy=\"48.0\" r=\"5\""));
  EXPECT_THAT(goals, HasSubstr("<text x=\"598.0\" y=\"24.0\">"));
  // 1 .. 4 with a tenth of 3 on either side: 2 is at 1.3 / 3.6 of 390 behind 200.
  EXPECT_THAT(goals, HasSubstr("cx=\"340.8\" cy=\"20.0\""));
}

TEST(view_details, a_tornado_is_as_high_as_its_bars) {
  const cost::Tornado t{
      .value = 4,
      .bars = {{.name = "a", .at_low = 2, .at_high = 6}, {.name = "b", .at_low = 3, .at_high = 5}}};
  const std::string svg = tornado_svg(t, figures::Unit::usd_per_hour);
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 720 88\""));
  EXPECT_THAT(svg, HasSubstr("translate(0,18)"));
  EXPECT_THAT(svg, HasSubstr("translate(0,42)"));
  EXPECT_THAT(svg, HasSubstr("y=\"4\" width=\"288.0\" height=\"16\""));
  EXPECT_THAT(svg, HasSubstr("x1=\"418.0\" x2=\"418.0\" y1=\"16\" y2=\"70\""));
  EXPECT_THAT(svg, HasSubstr("<text x=\"418.0\" y=\"11\" text-anchor=\"middle\""));
  EXPECT_THAT(svg, HasSubstr("<text x=\"706.0\" y=\"84\" text-anchor=\"end\""));
}

TEST(view_details, a_sweep_has_a_series_of_each_figure_with_its_name_and_unit) {
  const Json all = Json::parse(calculators_json());
  std::string calculator, parameter;
  double low = 0, high = 0;
  for (const Json& c : all["calculators"]) {
    for (const Json& p : c["parameters"]) {
      EXPECT_EQ(p["min"].is_null(), p["max"].is_null());
      EXPECT_EQ(p.contains("scale"), !p["min"].is_null());
      if (!calculator.empty() || p["min"].is_null()) continue;
      calculator = c["name"], parameter = p["name"], low = p["min"], high = p["max"];
    }
  }
  ASSERT_FALSE(calculator.empty()) << "some parameter slides";
  const CalcSweep none;
  EXPECT_EQ(none.points, 0);
  EXPECT_EQ(none.from, 0);
  EXPECT_EQ(none.to, 0);
  EXPECT_FALSE(none.log);
  const auto view = calculation_view_json(
      calculator, {}, CalcSweep{.parameter = parameter, .from = low, .to = high, .points = 3},
      machine::known());
  ASSERT_TRUE(view) << to_text(view.error());
  for (const Json& s : Json::parse(*view)["sweep"]["series"]) {
    EXPECT_FALSE(s["label"].get<std::string>().empty());
    EXPECT_TRUE(s.contains("unit"));
    EXPECT_EQ(s["value"].size(), s["low"].size());
  }
  for (const int points : {1, 201}) {
    EXPECT_FALSE(calculation_view_json(
        calculator, {},
        CalcSweep{.parameter = parameter, .from = low, .to = high, .points = points},
        machine::known()));
  }
}

TEST(view_details, completions_offer_workloads_defaults_and_links) {
  const std::string text = completions_json(machine::known().catalog());
  for (const char* detail :
       {R"({"value":"train","detail":"a model from scratch or on"})",
        R"({"value":"serve","detail":"a model that answers requests"})",
        R"({"value":"jobs","detail":"what a group sends to the queue"})",
        R"({"value":"batch","detail":"work that must end in time"})",
        R"({"value":"false","detail":"the default"},)", R"({"value":"true","detail":""},)"}) {
    std::string spaced(detail);
    EXPECT_THAT(text,
                HasSubstr(spaced.back() == ',' ? spaced.substr(0, spaced.size() - 1) : spaced));
  }
  for (const catalog::EmergingPart& p : machine::known().catalog().emerging) {
    if (p.kind != catalog::kScaleUpLink) continue;
    EXPECT_THAT(text, HasSubstr("\"" + p.id + "\",\"detail\":\"" + p.name));
  }
}

TEST(view_details, accuracy_has_a_point_of_every_measured_row) {
  const Json v = Json::parse(text_of(accuracy_view_json("storage", machine::known())));
  EXPECT_EQ(v["schema_version"], 1);
  EXPECT_EQ(v["kind"], "accuracy");
  EXPECT_EQ(v["name"], "storage");
  ASSERT_FALSE(v["series"].empty());
  EXPECT_FALSE(v["series"][0]["points"].empty());
  for (const Json& s : v["skipped"]) {
    EXPECT_FALSE(s["id"].get<std::string>().empty());
    EXPECT_FALSE(s["reason"].get<std::string>().empty());
  }
  const std::string name(60, 'k');
  EXPECT_EQ(accuracy_view_json(name, machine::known()).error().front().what,
            "there are no measured rows of '" + name.substr(0, 40) + "'");
}

}  // namespace
}  // namespace orrery::report
