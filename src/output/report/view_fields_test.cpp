// The fields of the views' answers, none missing and none more, and what a small network and a run
// of two stages say in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/view_accuracy.h"
#include "output/report/view_cost.h"
#include "output/report/view_fabric.h"
#include "output/report/view_fixture.h"
#include "output/report/view_storage.h"
#include "output/report/view_training.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

// "a b c": the names of an object's fields, sorted.
std::string fields_of(const Json& object) {
  std::string out;
  for (const auto& [key, value] : object.items()) out += (out.empty() ? "" : " ") + key;
  return out;
}

constexpr std::string_view kFieldDesign = R"(
orrery: 1
name: fields
site: { region: usa }
fleet:
  - { name: a, node: dgx-h100, count: 2 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
storage:
  - { name: far, tier: hot, kind: parallel-fs, read: 200 GB/s, write: 100 GB/s, capacity: 200 TB }
workloads:
  - train: { name: words, fleet: a, nodes: 2, model: llama-3-8b, tokens: 20B, sequence: 4096,
             batch: 128, layout: { tp: 2, pp: 2, mbs: 2, recompute: full },
             checkpoint: { every: 30 min, to: [far] } }
)";

const review::Review& fielded() {
  static const design::Design* const kDesign = new design::Design(design_of(kFieldDesign));
  static const review::Review* const kReview =
      new review::Review(review::run_stages(*kDesign, machine::known()));
  return *kReview;
}

// Two hosts of eight NICs at 50 GB/s on one leaf.
TEST(view_fields, a_network_of_one_leaf) {
  const Json v = Json::parse(text_of(fabric_view_json(*fielded().machine, {})));
  EXPECT_EQ(fields_of(v),
            "aggregated bill bill_totals bisection_share_ratio collective diameter_links "
            "endpoint_groups endpoints kind link_rate_bytes_per_s links network networks nodes "
            "notes planes rails schema_version switch_counts switches tiers topology");
  EXPECT_EQ(v["schema_version"], 1);
  EXPECT_EQ(v["kind"], "fabric");
  EXPECT_EQ(v["network"], "compute");
  EXPECT_EQ(v["networks"], Json::array({"compute"}));
  EXPECT_EQ(v["topology"], "fat-tree");
  EXPECT_EQ(v["nodes"], 2);
  EXPECT_EQ(v["endpoints"], 16);
  EXPECT_EQ(v["rails"], 8);
  EXPECT_EQ(v["planes"], 1);
  EXPECT_EQ(v["tiers"], 1);
  EXPECT_EQ(v["link_rate_bytes_per_s"], 50e9);
  EXPECT_EQ(v["diameter_links"], 2);
  EXPECT_EQ(v["aggregated"], false);
  EXPECT_EQ(v["notes"], Json::array());
  EXPECT_EQ(v["switches"], Json::parse(R"([{"id": "leaf-0", "tier": "leaf", "plane": 0,
      "group": 0, "rail": null, "count": 1, "failed": false}])"));
  EXPECT_EQ(v["switch_counts"], Json::parse(R"([{"tier": "leaf", "count": 1}])"));
  EXPECT_EQ(v["endpoint_groups"], Json::parse(R"([{"id": "nodes-0", "leaf": "leaf-0", "plane": 0,
      "node_from": 0, "nodes": 2, "rail_from": 0, "rails": 8, "endpoints": 16}])"));
  ASSERT_EQ(v["links"].size(), 1U);
  Json line = v["links"][0];
  EXPECT_EQ(fields_of(line),
            "capacity_bytes_per_s count failed from id load_down_ratio load_up_ratio to");
  EXPECT_EQ(line["from"], "nodes-0");
  EXPECT_EQ(line["to"], "leaf-0");
  EXPECT_EQ(line["id"], "nodes-0:leaf-0");
  EXPECT_EQ(line["count"], 16);
  EXPECT_EQ(line["failed"], 0);
  EXPECT_EQ(line["capacity_bytes_per_s"], 16 * 50e9);
  EXPECT_EQ(fields_of(v["collective"]),
            "after before bytes cut kind note ranks slowed slower_ratio");
  EXPECT_EQ(v["collective"]["ranks"], 16);
  EXPECT_EQ(v["collective"]["after"], nullptr);
  EXPECT_EQ(fields_of(v["collective"]["before"]),
            "bus_bandwidth_bytes_per_s limiting_link time_high_s time_low_s time_s");
  EXPECT_EQ(fields_of(v["bill_totals"]), "power_w price_high_usd price_low_usd unpriced");
  EXPECT_LT(v["collective"]["before"]["time_low_s"], v["collective"]["before"]["time_s"]);
  EXPECT_LT(v["collective"]["before"]["time_s"], v["collective"]["before"]["time_high_s"]);
}

// 16 GPUs: two by two, so four replicas of 32 samples, two at a time: 16 microbatches.
TEST(view_fields, a_run_of_two_stages) {
  const Json v = Json::parse(text_of(training_view_json(fielded(), "words")));
  EXPECT_EQ(fields_of(v),
            "accelerator figures fits gpus kind layout layout_chosen memory model path "
            "schema_version search step timeline workload workloads");
  EXPECT_EQ(v["schema_version"], 1);
  EXPECT_EQ(v["kind"], "training");
  EXPECT_EQ(v["path"], "workloads[0].train");
  EXPECT_EQ(v["model"], "llama-3-8b");
  EXPECT_EQ(v["workloads"], Json::array({"words"}));
  EXPECT_EQ(v["gpus"], 16);
  EXPECT_EQ(v["layout_chosen"], false);
  EXPECT_EQ(fields_of(v["layout"]),
            "cp dp ep microbatch pp recompute schedule sequence_parallel sharding text tp vp");
  EXPECT_EQ(v["layout"]["tp"], 2);
  EXPECT_EQ(v["layout"]["pp"], 2);
  EXPECT_EQ(v["layout"]["dp"], 4);
  EXPECT_EQ(v["layout"]["cp"], 1);
  EXPECT_EQ(v["layout"]["ep"], 1);
  EXPECT_EQ(v["layout"]["vp"], 1);
  EXPECT_EQ(v["layout"]["microbatch"], 2);
  EXPECT_EQ(v["layout"]["recompute"], "full");
  EXPECT_EQ(fields_of(v["step"]), "high_s low_s parts time_s");
  EXPECT_EQ(fields_of(v["step"]["parts"][0]), "id label share_ratio time_s");
  EXPECT_EQ(fields_of(v["memory"]), "limit_bytes peak_stage stages");
  ASSERT_EQ(v["memory"]["stages"].size(), 2U);
  const Json& stage = v["memory"]["stages"][1];
  EXPECT_EQ(fields_of(stage), "parts stage total_bytes");
  EXPECT_EQ(stage["stage"], 1);
  const char* parts[][2] = {{"weights", "weights"},
                            {"gradients", "gradients"},
                            {"optimizer", "optimizer state"},
                            {"activations", "activations"},
                            {"logits", "logits"},
                            {"workspace", "workspace and buffers"}};
  ASSERT_EQ(stage["parts"].size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(fields_of(stage["parts"][i]), "bytes id label limit_share_ratio");
    EXPECT_EQ(stage["parts"][i]["id"], parts[i][0]);
    EXPECT_EQ(stage["parts"][i]["label"], parts[i][1]);
  }
  const Json& line = v["timeline"];
  EXPECT_EQ(fields_of(line), "blocks end_s microbatches microbatches_drawn note stages");
  EXPECT_EQ(line["stages"], 2);
  EXPECT_EQ(line["microbatches"], 16);
  EXPECT_EQ(line["microbatches_drawn"], 16);
  EXPECT_EQ(line["note"], "");
  EXPECT_EQ(line["blocks"].size(), 2U * 2 * 16);
  EXPECT_EQ(fields_of(line["blocks"][0]), "kind microbatch stage start_s time_s");
  EXPECT_EQ(fields_of(v["search"]), "accelerator batch gpus kind model nic precision sequence");
  EXPECT_EQ(v["search"]["kind"], "search-layout");
  EXPECT_EQ(v["search"]["model"], "llama-3-8b");
  EXPECT_EQ(v["search"]["accelerator"], "h100-sxm");
  EXPECT_EQ(v["search"]["batch"], 128);
  EXPECT_EQ(v["search"]["sequence"], 4096);
}

TEST(view_fields, tiers_and_their_run) {
  const Json v = Json::parse(text_of(storage_view_json(fielded(), "words")));
  EXPECT_EQ(fields_of(v), "kind note run schema_version tiers workload workloads");
  ASSERT_FALSE(v["tiers"].empty());
  EXPECT_EQ(fields_of(v["tiers"][0]),
            "asks bound_by device devices encrypted figures in_nodes kind label latency_target_s "
            "path profile provider servers settings summary tier used_ratio versioned");
  ASSERT_FALSE(v["tiers"][0]["asks"].empty());
  EXPECT_EQ(fields_of(v["tiers"][0]["asks"][0]),
            "capacity_bytes read_bytes_per_s what write_bytes_per_s");
  EXPECT_EQ(fields_of(v["run"]), "clocks lives path");
  EXPECT_EQ(fields_of(v["run"]["lives"]), "end_s milestones moves places save_bytes saves stays");
  EXPECT_EQ(fields_of(v["run"]["lives"]["stays"][0]), "from_s place save until_s");
}

TEST(view_fields, a_tornado_and_a_tree_of_costs) {
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
  // Capital of 30 and 10 a year: nodes are three quarters, of which 20 and 40 of 60 by price.
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
    "name": "cost of a year", "usd_per_year": 48, "share_ratio": 0.5, "assumed": false,
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

TEST(view_fields, accuracy_of_a_kind) {
  const auto none = accuracy_view_json(std::string(50, 'x'), machine::known());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error()[0].code, "accuracy.unknown");
  EXPECT_EQ(none.error()[0].what, "there are no measured rows of '" + std::string(40, 'x') + "'");
  EXPECT_EQ(none.error()[0].fix, "GET /api/v1/accuracy lists the kinds");
  const Json v = Json::parse(text_of(accuracy_view_json("steps", machine::known())));
  EXPECT_EQ(fields_of(v), "kind name preface rows schema_version series skipped");
  EXPECT_EQ(v["kind"], "accuracy");
  EXPECT_EQ(v["name"], "steps");
  ASSERT_EQ(v["series"].size(), 2U);
  const Json& s = v["series"][0];
  EXPECT_EQ(fields_of(s), "groups name points totals unit worst");
  EXPECT_EQ(s["name"], "seconds");
  EXPECT_EQ(s["unit"], "seconds");
  ASSERT_FALSE(s["points"].empty());
  EXPECT_EQ(fields_of(s["points"][0]),
            "ape_ratio counts covered groups high id low measured note predicted");
  EXPECT_EQ(fields_of(s["groups"][0]), "name summary");
  EXPECT_EQ(fields_of(s["totals"]), fields_of(s["groups"][0]["summary"]));
  const Json kinds = Json::parse(accuracy_kinds_json(*machine::known().knowledge));
  EXPECT_EQ(fields_of(kinds), "kind kinds schema_version");
  EXPECT_EQ(fields_of(kinds["kinds"][0]), "label name rows");
  EXPECT_EQ(kinds["kind"], "accuracy-kinds");
}

}  // namespace
}  // namespace orrery::report
