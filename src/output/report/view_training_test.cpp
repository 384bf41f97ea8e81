#include "output/report/view_training.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "model/design_text/edit.h"
#include "output/report/drawing_fixture.h"
#include "output/report/page_fixture.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

Json training_of(const char* workload) {
  return Json::parse(text_of(
      training_view_json(review::run_stages(design_of(kTwoRuns), machine::known()), workload)));
}

TEST(ViewTraining, a_run_has_its_layout_and_search) {
  const review::Review& r = small_review();
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
  EXPECT_EQ(training_view_json(r, "absent").error().front().code, "training.no-workload");
}

// 16 GPUs: two by two, so four replicas of 32 samples, two at a time: 16 microbatches.
TEST(ViewTraining, json_fields_of_a_run) {
  const Json v = Json::parse(text_of(training_view_json(two_node_review(), "words")));
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

TEST(ViewTraining, the_named_workload_is_shown) {
  const Json small = training_of("small"), large = training_of("large");
  EXPECT_EQ(small["workload"], "small");
  EXPECT_EQ(small["model"], "llama-3-8b");
  EXPECT_EQ(small["gpus"], 32);
  EXPECT_EQ(large["model"], "llama-3-70b");
  EXPECT_EQ(large["gpus"], 128);
  EXPECT_EQ(large["workloads"], Json({"small", "large"}));
  EXPECT_EQ(training_of("")["workload"], "small");
  EXPECT_NE(small["figures"], large["figures"]);
  EXPECT_NEAR(large["figures"]["step_time_s"]["value"].get<double>(), large["step"]["time_s"],
              1e-6 * large["step"]["time_s"].get<double>());
  EXPECT_EQ(large["search"]["nic"], "50 GB/s");
  EXPECT_EQ(large["search"]["gpus"], 128);
}

TEST(ViewTraining, shares_of_step_and_memory_add_up) {
  const Json v = training_of("large");
  double shares = 0;
  for (const Json& p : v["step"]["parts"]) shares += p["share_ratio"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_LT(v["step"]["low_s"], v["step"]["time_s"]);
  EXPECT_GT(v["step"]["high_s"], v["step"]["time_s"]);
  const double limit = v["memory"]["limit_bytes"];
  for (const Json& s : v["memory"]["stages"]) {
    for (const Json& p : s["parts"]) {
      EXPECT_NEAR(p["limit_share_ratio"].get<double>() * limit, p["bytes"], 1e-3);
    }
  }
}

TEST(ViewTraining, forward_precedes_backward_for_each_microbatch) {
  const Json v = training_of("large");
  std::map<std::pair<int, int>, double> forward;
  double end = 0;
  for (const Json& b : v["timeline"]["blocks"]) {
    const std::pair<int, int> key{b["stage"], b["microbatch"]};
    end = std::max(end, b["start_s"].get<double>() + b["time_s"].get<double>());
    if (b["kind"] == "forward") {
      forward[key] = b["start_s"];
    } else {
      ASSERT_TRUE(forward.contains(key));
      EXPECT_GT(b["start_s"].get<double>(), forward[key]);
    }
  }
  EXPECT_EQ(v["timeline"]["stages"], 4);
  EXPECT_NEAR(v["timeline"]["end_s"].get<double>(), end, 1e-12);
  const bool all = v["timeline"]["microbatches_drawn"] == v["timeline"]["microbatches"];
  const std::string note = v["timeline"]["note"];
  EXPECT_EQ(note.find("microbatches are drawn") == std::string::npos, all);
}

// A microbatch has one forward and one backward block on each of its stages.
TEST(ViewTraining, a_timeline_has_two_blocks_per_stage_and_microbatch) {
  const design::Design deep = design_of(
      design_text::edit_text(kTwoRuns, {"workloads[1].train.layout", "{ tp: 1, pp: 64, mbs: 1 }"},
                             machine::known().catalog())
          .value()
          .text);
  const Json v =
      Json::parse(text_of(training_view_json(review::run_stages(deep, machine::known()), "large")));
  const int stages = v["timeline"]["stages"], drawn = v["timeline"]["microbatches_drawn"];
  EXPECT_EQ(stages, 64);
  EXPECT_EQ(drawn, 4096 / 128);
  EXPECT_EQ(v["timeline"]["blocks"].size(), static_cast<std::size_t>(2 * stages * drawn));
  EXPECT_THAT(v["timeline"]["note"].get<std::string>(), HasSubstr("32 of "));
}

TEST(ViewTraining, a_plain_network_has_a_symmetric_interval) {
  const Json step = Json::parse(text_of(training_view_json(
      review::run_stages(template_design("av-vision"), machine::known()), "")))["step"];
  const double time = step["time_s"], low = step["low_s"], high = step["high_s"];
  EXPECT_LT(low, time);
  EXPECT_NEAR(low * high, time * time, 1e-9 * time * time);
}

TEST(ViewTraining, a_plain_network_has_no_step_trace) {
  const auto r =
      training_trace_json(review::run_stages(template_design("av-vision"), machine::known()), "");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().front().code, "training.no-trace");
}

Json training_view(const design::Design& d, const std::string& workload = "") {
  return Json::parse(
      text_of(training_view_json(review::run_stages(d, machine::known()), workload)));
}

design::Design training_sample(const design_text::Change& edit) {
  return design_of(design_text::edit_text(design_text::find_template("superpod-h100")->text, edit,
                                          machine::known().catalog())
                       .value()
                       .text);
}

// An interleaved schedule is drawn as it runs: each stage passes every microbatch once per chunk,
// and the drawing ends before that of 1F1B.
TEST(ViewTraining, an_interleaved_pipeline_is_drawn_chunk_by_chunk) {
  const auto timeline = [](const char* layout) {
    return training_view(training_sample({"workloads[0].train.layout", layout}))["timeline"];
  };
  const Json plain = timeline("{ tp: 4, pp: 8, vp: 1, mbs: 1 }");
  const Json interleaved = timeline("{ tp: 4, pp: 8, vp: 5, mbs: 1 }");
  EXPECT_FALSE(plain.contains("chunks"));
  EXPECT_EQ(interleaved["chunks"], 5);
  const int drawn = interleaved["microbatches_drawn"];
  EXPECT_EQ(interleaved["blocks"].size(), static_cast<std::size_t>(2 * 8 * 5 * drawn));
  EXPECT_EQ(interleaved["note"].get<std::string>().find("1F1B"), std::string::npos);
  if (drawn == plain["microbatches_drawn"]) EXPECT_LT(interleaved["end_s"], plain["end_s"]);
}

TEST(ViewTraining, runs_of_templates_add_up) {
  int runs = 0;
  for (const design_text::Template& t : design_text::templates()) {
    const design::Design d = template_design(t.name);
    for (const review::TrainView& train : review::run_stages(d, machine::known()).trains) {
      SCOPED_TRACE(std::string(t.name) + ' ' + train.label);
      const Json v = training_view(d, train.label);
      ++runs;
      double parts = 0;
      for (const Json& p : v["step"]["parts"]) parts += p["time_s"].get<double>();
      EXPECT_NEAR(parts, v["step"]["time_s"], 1e-9 * parts);
      EXPECT_NEAR(v["step"]["time_s"].get<double>(), train.step.step.base(), 1e-9 * parts);
      EXPECT_TRUE(v["fits"]);
      EXPECT_FALSE(v["figures"].empty());
      EXPECT_LE(v["timeline"]["blocks"].size(), 4096U);
      for (const Json& s : v["memory"]["stages"]) {
        double bytes = 0;
        for (const Json& p : s["parts"]) bytes += p["bytes"].get<double>();
        EXPECT_TRUE(s["parts"].empty() ||
                    std::abs(bytes - s["total_bytes"].get<double>()) < 1e-6 * bytes);
        EXPECT_LE(s["total_bytes"], v["memory"]["limit_bytes"]);
      }
    }
  }
  EXPECT_GT(runs, 8);
}

TEST(ViewTraining, only_transformers_offer_a_layout_search) {
  EXPECT_EQ(training_view(template_design("superpod-h100"))["search"]["kind"], "search-layout");
  EXPECT_TRUE(training_view(template_design("av-vision"))["search"].is_null());
}

TEST(ViewTraining, later_stages_hold_less_memory) {
  const Json v = training_view(training_sample(
      {"workloads[0].train.layout", "{ tp: 4, pp: 8, mbs: 1, recompute: selective }"}));
  const Json& stages = v["memory"]["stages"];
  ASSERT_EQ(stages.size(), 8U);
  EXPECT_EQ(v["layout"]["pp"], 8);
  EXPECT_FALSE(v["layout_chosen"]);
  for (std::size_t i = 2; i + 1 < stages.size(); ++i) {
    EXPECT_LT(stages[i]["total_bytes"], stages[i - 1]["total_bytes"]) << i;
  }
  const int peak = v["memory"]["peak_stage"];
  for (const Json& s : stages) {
    EXPECT_LE(s["total_bytes"], stages[static_cast<std::size_t>(peak)]["total_bytes"]);
  }
}

TEST(ViewTraining, stages_do_one_thing_at_a_time) {
  const Json v =
      training_view(training_sample({"workloads[0].train.layout", "{ tp: 4, pp: 8, mbs: 1 }"}));
  std::map<int, double> free;
  for (const Json& b : v["timeline"]["blocks"]) {
    double& until = free[b["stage"]];
    EXPECT_GE(b["start_s"].get<double>(), until - 1e-12);
    until = b["start_s"].get<double>() + b["time_s"].get<double>();
  }
  EXPECT_EQ(free.size(), 8U);
  EXPECT_EQ(v["timeline"]["microbatches_drawn"],
            std::min(64, v["timeline"]["microbatches"].get<int>()));
}

TEST(ViewTraining, a_layout_that_does_not_fit_is_marked) {
  const Json v = training_view(training_sample({"workloads[0].train.layout", "{ tp: 1, pp: 1 }"}));
  EXPECT_FALSE(v["fits"]);
  EXPECT_GT(v["memory"]["stages"][0]["total_bytes"], v["memory"]["limit_bytes"]);
}

TEST(ViewTraining, the_trace_is_valid_for_viewers) {
  const Json t = Json::parse(text_of(training_trace_json(
      review::run_stages(template_design("superpod-h100"), machine::known()), "pretrain")));
  ASSERT_FALSE(t["traceEvents"].empty());
  for (const Json& e : t["traceEvents"]) {
    EXPECT_EQ(e["ph"], "X");
    EXPECT_GE(e["dur"], 0);
  }
}

TEST(ViewTraining, a_workload_that_does_not_train_is_refused) {
  const auto refused = [](const design::Design& d, const std::string& name) {
    const auto r = training_view_json(review::run_stages(d, machine::known()), name);
    return r ? "" : to_text(r.error());
  };
  EXPECT_THAT(refused(template_design("inference-pod"), ""), HasSubstr("training.no-workload"));
  EXPECT_THAT(refused(template_design("superpod-h100"), "assistant"),
              HasSubstr("training.no-workload"));
  EXPECT_THAT(refused(training_sample({"workloads[0].train.layout", "{ tp: 7, pp: 1 }"}), ""),
              HasSubstr("training.infeasible"));
}

// 8 accelerators; 1.25 s above and below 4 s, with parts of 1 and 3 s; parts that take no time are
// not drawn.
TEST(ViewTraining, a_plain_network_has_no_pipeline) {
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
  EXPECT_FALSE(view["timeline"]["note"].empty());
  view["timeline"].erase("note");
  EXPECT_EQ(view, Json::parse(R"({
    "schema_version": 1, "kind": "training", "workload": "eyes", "path": "workloads[7].train",
    "model": "plain network", "gpus": 24, "layout_chosen": true, "fits": true,
    "step": {"time_s": 4, "low_s": 3.2, "high_s": 5, "parts": [
      {"id": "matrix-work", "label": "matrix work", "time_s": 1, "share_ratio": 0.25},
      {"id": "the-rest", "label": "the rest", "time_s": 3, "share_ratio": 0.75}]},
    "memory": {"limit_bytes": 77000000000, "peak_stage": 0,
               "stages": [{"stage": 0, "total_bytes": 33000000000, "parts": []}]},
    "timeline": {"stages": 1, "microbatches": 1, "microbatches_drawn": 0, "end_s": 4,
                 "blocks": []},
    "search": null})"));
  EXPECT_EQ(layout["text"], "dp24");
  EXPECT_EQ(layout["dp"], 24);
  for (const char* one : {"tp", "pp", "vp", "cp", "ep"}) EXPECT_EQ(layout[one], 1) << one;
  EXPECT_EQ(layout["sharding"], to_text(catalog::Sharding::none));
  t.step.step = seconds(0);
  const Json nothing = Json::parse(text_of(training_view_json(r, "eyes")))["step"];
  EXPECT_EQ(nothing["parts"][0]["share_ratio"], 0.0);
}

}  // namespace
}  // namespace orrery::report
