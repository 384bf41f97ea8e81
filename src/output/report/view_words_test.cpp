// What completions say of a part of each kind, a plain network as it is drawn, and sentences of
// refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "output/report/view_completions.h"
#include "output/report/view_fabric.h"
#include "output/report/view_fixture.h"
#include "output/report/view_serving.h"
#include "output/report/view_storage.h"
#include "output/report/view_training.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

// The first detail that any field offers for a value.
std::map<std::string, std::string> details_in(const catalog::Catalog& c) {
  std::map<std::string, std::string> all;
  const Json told = Json::parse(completions_json(c));
  for (const Json& f : told["fields"]) {
    for (const Json& v : f["values"]) all.emplace(v["value"], v["detail"]);
  }
  return all;
}

catalog::Catalog one_of_each() {
  catalog::Catalog c;
  c.nodes = {{.id = "box", .name = "Box", .accelerators = 6, .accelerator_id = "chip"},
             {.id = "bare", .name = "Bare", .accelerators = 0}};
  c.accelerators = {{.id = "chip", .name = "Chip", .memory_type = "HBM9", .memory = gigabytes(81)}};
  c.switches = {{.id = "sw", .name = "Switch", .ports = 66, .port_rate = gbits_per_s(410)}};
  c.nics = {{.id = "nc", .name = "Card", .ports = 3, .port_rate = gbits_per_s(210)}};
  c.optics = {{.id = "op", .kind = "DR9", .rate = gbits_per_s(830), .reach_m = 70},
              {.id = "dark", .kind = "fibre"}};
  c.storage_devices = {
      {.id = "disk", .name = "Disk", .capacity = terabytes(31), .read = gigabytes(7) / seconds(1)}};
  c.storage_profiles = {{.id = "prof", .title = "A title"}};
  c.emerging = {
      {.id = "link", .name = "Link", .kind = std::string(catalog::kScaleUpLink), .status = "young"},
      {.id = "other", .name = "Other", .kind = "memory", .status = "old"}};
  c.cooling_methods = {
      {.id = "wet", .rack_practical_max = kilowatts(47), .pue_low = 1.03, .pue_high = 1.17}};
  c.redundancies = {{.id = "n+7", .name = "Seven", .capacity_multiplier = 1.75}};
  c.power_stages = {{.id = "stage", .name = "Stage", .efficiency_typical = 0.9712}};
  c.lead_times = {{.id = "wait", .item = "Thing", .typical = days(3)}};
  c.regions = {{.id = "reg", .aliases = {"rg"}, .name = "Region", .climate = "mild"},
               {.id = "rez", .aliases = {}, .name = "Rezion"}};
  return c;
}

TEST(view_words, a_part_of_each_kind) {
  const std::map<std::string, std::string> told = details_in(one_of_each());
  const std::pair<const char*, const char*> wanted[] = {
      {"box", "Box, 6 x chip"},
      {"bare", "Bare"},
      {"chip", "Chip, 81 GB HBM9"},
      {"sw", "Switch, 66 x 410 Gb/s"},
      {"nc", "Card, 3 x 210 Gb/s"},
      {"op", "DR9, 830 Gb/s, 70 m"},
      {"dark", "fibre"},
      {"disk", "Disk, 31 TB, 7 GB/s read"},
      {"prof", "A title"},
      {"link", "Link: young"},
      {"wet", "to 47 kW a rack, PUE 1.03 .. 1.17"},
      {"n+7", "Seven, 1.75 x the capacity"},
      {"stage", "Stage, 97.1 % efficient"},
      {"wait", "Thing, typically 3 d"},
      {"reg", "Region, mild"},
      {"rez", "Rezion"},
      {"rg", "reg: Region, mild"}};
  for (const auto& [id, detail] : wanted) {
    const auto found = told.find(id);
    if (found == told.end()) {
      ADD_FAILURE() << "nothing offers " << id;
    } else {
      EXPECT_EQ(found->second, detail) << id;
    }
  }
  EXPECT_FALSE(told.contains("other")) << "no link between accelerators";
}

TEST(view_words, a_field_says_its_unit_and_what_it_is_left_out) {
  std::map<std::string, std::string> said;
  const Json told = Json::parse(completions_json(one_of_each()));
  EXPECT_EQ(told["schema_version"], 1);
  EXPECT_EQ(told["kind"], "completions");
  for (const Json& f : told["fields"]) said[f["path"]] = f["description"];
  // Sections inside lists, and the four kinds of work.
  for (const char* path :
       {"site.region", "fleet[].node", "fabric.compute.switch", "storage[].device",
        "workloads[].train.model", "workloads[].serve.arrivals.rate", "workloads[].jobs.rate",
        "workloads[].batch.name"}) {
    EXPECT_TRUE(said.contains(path)) << path;
  }
}

// 8 accelerators; 1.25 either way of 4 s, of which 1 and 3; what takes no time is not drawn.
TEST(view_words, a_network_that_is_no_transformer) {
  review::Review r = review::run_stages(template_design("av-vision"), machine::known());
  review::TrainView& t = r.trains[0];
  ASSERT_EQ(t.model, nullptr);
  t.label = "eyes";
  t.path = "workloads[7].train";
  t.accelerators = 24;
  t.step.layout = "dp24";
  t.step.step = seconds(4);
  t.step.error = 0.25;
  t.step.memory = gigabytes(33);
  t.step.memory_limit = gigabytes(77);
  t.step.parts = {{"matrix work", seconds(1)}, {"nothing", seconds(0)}, {"the rest", seconds(3)}};
  Json view = Json::parse(text_of(training_view_json(r, "eyes")));
  for (const char* key : {"workloads", "figures", "accelerator"}) view.erase(key);
  Json layout = view["layout"];
  view.erase("layout");
  EXPECT_EQ(view, Json::parse(R"({
    "schema_version": 1, "kind": "training", "workload": "eyes", "path": "workloads[7].train",
    "model": "plain network", "gpus": 24, "layout_chosen": true, "fits": true,
    "step": {"time_s": 4, "low_s": 3.2, "high_s": 5, "parts": [
      {"id": "matrix-work", "label": "matrix work", "time_s": 1, "share_ratio": 0.25},
      {"id": "the-rest", "label": "the rest", "time_s": 3, "share_ratio": 0.75}]},
    "memory": {"limit_bytes": 77000000000, "peak_stage": 0,
               "stages": [{"stage": 0, "total_bytes": 33000000000, "parts": []}]},
    "timeline": {"stages": 1, "microbatches": 1, "microbatches_drawn": 0, "end_s": 4,
                 "note": "A network that is no transformer has no pipeline.", "blocks": []},
    "search": null})"));
  EXPECT_EQ(layout["text"], "dp24");
  EXPECT_EQ(layout["dp"], 24);
  for (const char* one : {"tp", "pp", "vp", "cp", "ep"}) EXPECT_EQ(layout[one], 1) << one;
  EXPECT_EQ(layout["sharding"], to_text(catalog::Sharding::none));
  t.step.step = seconds(0);
  const Json nothing = Json::parse(text_of(training_view_json(r, "eyes")))["step"];
  EXPECT_EQ(nothing["parts"][0]["share_ratio"], 0.0);
}

std::string refused_what(const Result<std::string>& answer) {
  if (answer) return "answered";
  const Diagnostic& d = answer.error().front();
  return d.code + ": " + d.what + (d.fix.empty() ? "" : " / " + d.fix);
}

TEST(view_words, refusals) {
  const review::Review eyes = review::run_stages(template_design("av-vision"), machine::known());
  EXPECT_EQ(refused_what(training_trace_json(eyes, "")),
            "training.no-trace: a network that is no transformer has no timeline of its step");
  EXPECT_EQ(refused_what(training_view_json(eyes, std::string(90, 'x'))),
            "training.no-workload: no workload '" + std::string(80, 'x') +
                "' trains / name one of `workloads`, or add a `train`");
  EXPECT_EQ(refused_what(serving_view_json(eyes, std::string(90, 'x'))),
            "serving.no-workload: no workload '" + std::string(80, 'x') +
                "' serves a transformer / name one of `workloads`, or add a `serve` with a model");
  EXPECT_EQ(refused_what(storage_view_json(eyes, std::string(90, 'x'))),
            "storage.no-workload: no run '" + std::string(80, 'x') +
                "' saves anything / name a `train` with a checkpoint, or none");
  const std::vector<std::string> failed = {std::string(90, 'y')};
  EXPECT_EQ(refused_what(fabric_view_json(*eyes.machine, {.failed = failed})),
            "fabric.no-such-part: the network has no part '" + std::string(80, 'y') +
                "' that is still up / ids are those of `switches` and `links`, as leaf-0 and "
                "leaf-0:spine-1");
  review::Review none = review::run_stages(template_design("inference-pod"), machine::known());
  EXPECT_EQ(refused_what(training_view_json(none, "")),
            "training.no-workload: the design trains nothing / name one of `workloads`, or add a "
            "`train`");
  none.serves[0].infeasible = "too slow";
  EXPECT_EQ(refused_what(serving_view_json(none, "")),
            "serving.infeasible: " + none.serves[0].label +
                ": too slow / change the split, the format or the objective of this service");
}

}  // namespace
}  // namespace orrery::report
