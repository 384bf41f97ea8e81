#include "output/report/view_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "model/design_text/edit.h"
#include "output/report/view_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

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

TEST(view_training, every_run_of_every_template_adds_up) {
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
      EXPECT_NEAR(v["step"]["time_s"].get<double>(), train.step.step.base(), 1e-9 * parts)
          << "the page shows the review's step";
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

TEST(view_training, only_a_model_with_layouts_offers_a_search) {
  EXPECT_EQ(training_view(template_design("superpod-h100"))["search"]["kind"], "search-layout");
  EXPECT_TRUE(training_view(template_design("av-vision"))["search"].is_null());
}

TEST(view_training, stages_hold_less_towards_the_end_of_the_pipeline) {
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

TEST(view_training, no_stage_does_two_things_at_once) {
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

TEST(view_training, what_does_not_fit_is_drawn_and_says_so) {
  const Json v = training_view(training_sample({"workloads[0].train.layout", "{ tp: 1, pp: 1 }"}));
  EXPECT_FALSE(v["fits"]);
  EXPECT_GT(v["memory"]["stages"][0]["total_bytes"], v["memory"]["limit_bytes"]);
}

TEST(view_training, the_trace_is_one_that_viewers_read) {
  const Json t = Json::parse(text_of(training_trace_json(
      review::run_stages(template_design("superpod-h100"), machine::known()), "pretrain")));
  ASSERT_FALSE(t["traceEvents"].empty());
  for (const Json& e : t["traceEvents"]) {
    EXPECT_EQ(e["ph"], "X");
    EXPECT_GE(e["dur"], 0);
  }
}

TEST(view_training, refuses_what_does_not_train) {
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

}  // namespace
}  // namespace orrery::report
