// Views of a hall, of saves, of a plain network and of completions, whole, from numbers of our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "output/report/view_completions.h"
#include "output/report/view_fixture.h"
#include "output/report/view_hall.h"
#include "output/report/view_storage.h"
#include "output/report/view_training.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

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

// Racks of four nodes of 10 kW, and three of one of 1 kW; a UPS that loses 5 of 60 kW.
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

constexpr const char* kHall = R"({
  "schema_version": 1, "kind": "hall", "sites": [{
    "name": "north", "region": "usa", "cooling": "air-contained", "power_limit_w": 200000,
    "peak_share_ratio": 0.75, "it_nameplate_w": 70000, "it_mean_w": 50000, "draw_peak_w": 150000,
    "draw_mean_w": 80000, "racks_total": 5, "racks_shown": 5, "racks": [
      {"id": "r1-01", "kind": "fleet", "fleet": "a", "row": 1, "position": 1, "nodes": 4,
       "power_w": 40000, "limit_w": 50000, "density_ratio": 0.8, "liquid_heat_w": 15000,
       "air_heat_w": 25000},
      {"id": "r1-02", "kind": "fleet", "fleet": "a", "row": 1, "position": 2, "nodes": 2,
       "power_w": 20000, "limit_w": 50000, "density_ratio": 0.4, "liquid_heat_w": 7500,
       "air_heat_w": 12500},
      {"id": "r1-03", "kind": "fleet", "fleet": "b", "row": 1, "position": 3, "nodes": 1,
       "power_w": 1000, "limit_w": 0, "density_ratio": 0, "liquid_heat_w": 375, "air_heat_w": 625},
      {"id": "r1-04", "kind": "fleet", "fleet": "b", "row": 1, "position": 4, "nodes": 1,
       "power_w": 1000, "limit_w": 0, "density_ratio": 0, "liquid_heat_w": 375, "air_heat_w": 625},
      {"id": "r1-05", "kind": "fleet", "fleet": "b", "row": 1, "position": 5, "nodes": 1,
       "power_w": 1000, "limit_w": 0, "density_ratio": 0, "liquid_heat_w": 375,
       "air_heat_w": 625}],
    "chain": {"nodes": [
        {"id": "utility", "label": "utility", "kind": "source", "power_w": 80000, "share_ratio": 1},
        {"id": "ups", "label": "the UPS", "kind": "stage", "power_w": 60000, "share_ratio": 0.75,
         "efficiency_ratio": 0.9375, "load_ratio": 0.25, "reference": "ref u"},
        {"id": "loss-ups", "label": "lost in the UPS", "kind": "loss", "power_w": 5000,
         "share_ratio": 0.0625, "reference": "ref u"},
        {"id": "fleet-a", "label": "a", "kind": "load", "power_w": 40000, "share_ratio": 0.5,
         "reference": "ref a"},
        {"id": "fleet-b", "label": "b", "kind": "load", "power_w": 2000, "share_ratio": 0.025,
         "reference": "ref b"},
        {"id": "fabric", "label": "networks", "kind": "load", "power_w": 8000, "share_ratio": 0.1,
         "reference": "docs/models/fabric.md"},
        {"id": "overhead", "label": "cooling and other overhead", "kind": "loss",
         "power_w": 25000, "share_ratio": 0.3125, "reference": "ref p"}],
      "links": [
        {"from": "utility", "to": "ups", "power_w": 60000},
        {"from": "ups", "to": "loss-ups", "power_w": 5000},
        {"from": "ups", "to": "fleet-a", "power_w": 40000},
        {"from": "ups", "to": "fleet-b", "power_w": 2000},
        {"from": "ups", "to": "fabric", "power_w": 8000},
        {"from": "utility", "to": "overhead", "power_w": 25000}]},
    "pue": {"value": 1.6, "low": 1.5, "high": 1.75, "reference": "ref p",
            "free_cooling_ratio": null, "wue_l_per_kwh": null, "parts": []}}]})";

TEST(view_whole, a_hall) {
  const catalog::CoolingMethod cooling{.id = "c", .liquid_heat_fraction = 0.375};
  EXPECT_EQ(Json::parse(hall_view_json(whole_review(cooling))), Json::parse(kHall));
}

TEST(view_whole, a_hall_whose_overhead_is_known_by_parts) {
  const catalog::CoolingMethod cooling{.id = "c", .liquid_heat_fraction = 0.375};
  review::Review r = whole_review(cooling);
  r.sites[0].storage = kilowatts(4);
  r.sites[0].breakdown = facility::PueBreakdown{.parts = {{"fans", kilowatts(2)},
                                                          {"electrical loss", kilowatts(5)},
                                                          {"heat rejection", kilowatts(4)}},
                                                .pue = 1.22,
                                                .free_cooling = 0.25,
                                                .wue_l_per_kwh = 1.5};
  const Json site = Json::parse(hall_view_json(r))["sites"][0];
  EXPECT_EQ(site["pue"], Json::parse(R"({
    "value": 1.6, "low": 1.5, "high": 1.75, "reference": "ref p", "free_cooling_ratio": 0.25,
    "wue_l_per_kwh": 1.5, "parts": [
      {"name": "fans", "power_w": 2000, "pue_share_ratio": 0.04},
      {"name": "electrical loss", "power_w": 5000, "pue_share_ratio": 0.1},
      {"name": "heat rejection", "power_w": 4000, "pue_share_ratio": 0.08}]})"));
  const Json nodes = site["chain"]["nodes"];
  ASSERT_EQ(nodes.size(), 10U);
  EXPECT_EQ(Json(std::vector<Json>(nodes.begin() + 6, nodes.end())), Json::parse(R"([
    {"id": "storage", "label": "storage", "kind": "load", "power_w": 4000, "share_ratio": 0.05,
     "reference": "docs/models/storage.md"},
    {"id": "cooling", "label": "cooling and other overhead", "kind": "stage", "power_w": 6000,
     "share_ratio": 0.075, "reference": "ref p"},
    {"id": "overhead-fans", "label": "fans", "kind": "loss", "power_w": 2000,
     "share_ratio": 0.025, "reference": "docs/models/pue.md"},
    {"id": "overhead-heat-rejection", "label": "heat rejection", "kind": "loss", "power_w": 4000,
     "share_ratio": 0.05, "reference": "docs/models/pue.md"}])"));
  const Json links = site["chain"]["links"];
  EXPECT_EQ(links.back(),
            Json({{"from", "cooling"}, {"to", "overhead-heat-rejection"}, {"power_w", 4000}}));
}

// A chain that takes more than the mean draw is what the site draws.
TEST(view_whole, a_source_is_no_less_than_what_its_chain_takes) {
  const catalog::CoolingMethod cooling{.id = "c", .liquid_heat_fraction = 0.375};
  review::Review r = whole_review(cooling);
  r.sites[0].draw_mean = kilowatts(57);
  const Json source = Json::parse(hall_view_json(r))["sites"][0]["chain"]["nodes"][0];
  EXPECT_EQ(source["power_w"], 60000);
}

// Sixteen racks a row, 2,000 listed; without a chain the source is what the machines draw.
TEST(view_whole, a_hall_of_many_racks) {
  const catalog::CoolingMethod cooling{.id = "c", .liquid_heat_fraction = 0.375};
  review::Review r = whole_review(cooling);
  design::Fleet many = *r.sites[0].fleets[0].fleet->fleet;
  many.count = 8003;
  machine::Fleet view = *r.sites[0].fleets[0].fleet;
  view.fleet = &many;
  r.sites[0].fleets[0].fleet = &view;
  r.sites[0].chain = {};
  r.sites[0].draw_mean = kilowatts(45);
  const Json site = Json::parse(hall_view_json(r))["sites"][0];
  EXPECT_EQ(site["racks_total"], 2004);  // 8,004 nodes in 2,001, and 3
  EXPECT_EQ(site["racks_shown"], 2000);
  ASSERT_EQ(site["racks"].size(), 2000U);
  EXPECT_EQ(site["racks"][15]["id"], "r1-16");
  EXPECT_EQ(site["racks"][16]["id"], "r2-01");
  EXPECT_EQ(site["racks"].back()["id"], "r125-16");
  EXPECT_EQ(site["chain"]["nodes"][0]["power_w"], 50000);
}

// A save every 1,000 s takes 10 s to the node and 30 s to the file system, where 640 GB are read
// again at 200 GB/s.
review::Review saving_review() {
  static const catalog::CoolingMethod* const kCooling = new catalog::CoolingMethod();
  review::Review r = whole_review(*kCooling);
  jobs::SavePlan& s = *r.trains[0].checkpoint;
  s.interval = seconds(1000);
  s.interval_given = true;
  s.size = gigabytes(640);
  s.async = true;
  s.stall.stall_end = seconds(2.5);
  s.stall.safe = seconds(42);
  s.exposure.loss_per_save = 0.001;
  s.write = {.server = seconds(1),
             .network = seconds(2),
             .serialise = seconds(3),
             .metadata = seconds(4),
             .commit = seconds(5),
             .total = seconds(10),
             .wall = storage::Wall::server_bandwidth};
  s.drain = {.server = seconds(6),
             .network = seconds(7),
             .serialise = seconds(8),
             .metadata = seconds(9),
             .commit = seconds(11),
             .total = seconds(30),
             .wall = storage::Wall::server_bandwidth};
  s.restore.total = seconds(17);
  s.later.clear();
  return r;
}

TEST(view_whole, the_clocks_of_a_save) {
  const review::Review r = saving_review();
  ASSERT_EQ(r.trains[0].checkpoint->first->label, "near");
  ASSERT_EQ(r.trains[0].checkpoint->safe->label, "far");
  const Json view = Json::parse(text_of(storage_view_json(r, "")));
  const std::string wall = to_text(storage::Wall::server_bandwidth);
  Json wanted = Json::parse(R"({
    "interval_s": 1000, "interval_given": true, "async": true, "stall_end_s": 2.5, "safe_s": 42,
    "has_safe": true, "loss_per_save": 0.001, "write": {"tier": "near", "total_s": 10,
      "server_s": 1, "network_s": 2, "serialise_s": 3, "metadata_s": 4, "commit_s": 5},
    "drain": {"tier": "far", "total_s": 30, "server_s": 6, "network_s": 7, "serialise_s": 8,
              "metadata_s": 9, "commit_s": 11}, "later": [], "restore_s": 17})");
  wanted["write"]["wall"] = wall;
  wanted["drain"]["wall"] = wall;
  EXPECT_EQ(view["run"]["clocks"], wanted);
  EXPECT_EQ(view["note"],
            "Where checkpoints are is the lifecycle policy on the planned clock: one move at a "
            "time and nothing fails. Runs that save to the same tier at once take longer: see "
            "Run.");
}

// The node has the newest alone, the file system three. Before a copy the four nodes read theirs in
// 4 s, at 40 GB/s each.
TEST(view_whole, the_lives_of_saves) {
  const Json lives = Json::parse(text_of(storage_view_json(saving_review(), "")))["run"]["lives"];
  EXPECT_EQ(lives["saves"], 16);
  EXPECT_EQ(lives["save_bytes"], 640e9);
  EXPECT_EQ(lives["places"], Json({"near", "far"}));
  EXPECT_EQ(lives["milestones"], Json::array({0}));
  std::map<std::string, int> left;
  for (const Json& s : lives["stays"]) left[s["place"]] += s["until_s"].is_null();
  EXPECT_EQ(left["near"], 1);
  EXPECT_EQ(left["far"], 3);
  EXPECT_EQ(lives["stays"][0]["save"], 0);
  EXPECT_EQ(lives["stays"][0]["place"], "near");
  EXPECT_EQ(lives["stays"][0]["from_s"], 10);
  EXPECT_EQ(lives["stays"][1]["place"], "far");
  EXPECT_EQ(lives["stays"][1]["from_s"], 44);
  EXPECT_EQ(lives["moves"][0], Json({{"at_s", 10},
                                     {"kind", "written"},
                                     {"save", 0},
                                     {"place", "near"},
                                     {"from", ""},
                                     {"why", "the run saved it"}}));
  EXPECT_EQ(lives["moves"][1]["kind"], "copied");
  EXPECT_EQ(lives["moves"][1]["from"], "near");
  EXPECT_EQ(lives["moves"][1]["at_s"], 44);
  EXPECT_NEAR(lives["end_s"].get<double>(), 15047.2, 1e-6);
}

}  // namespace
}  // namespace orrery::report
