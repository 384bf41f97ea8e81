#include "report/view_serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "design/edit.h"
#include "plan/review.h"
#include "report/view_fixture.h"

namespace orrery::report {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

Json serving_view(const design::Design& d, const std::string& workload = "") {
  return Json::parse(text_of(serving_view_json(plan::run_stages(d, machine::known()), workload)));
}

design::Design sample_with(const design::Change& edit) {
  return design_of(design::edit_text(design::find_template("superpod-h100")->text, edit,
                                     machine::known().catalog())
                       .value()
                       .text);
}

// Looked at by several tests.
const Json& sample() {
  static const Json view = serving_view(template_design("superpod-h100"));
  return view;
}

TEST(view_serving, latency_never_falls_as_the_rate_rises_far) {
  const Json& levels = sample()["levels"];
  ASSERT_GE(levels.size(), 6U);
  for (const char* key : {"ttft_p99_s", "tpot_p50_s", "tpot_p99_s"}) {
    EXPECT_GT(levels.back()[key], levels.front()[key]) << key;
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    EXPECT_GE(levels[i]["ttft_p99_s"], levels[i]["ttft_p50_s"]) << i;
    EXPECT_GE(levels[i]["tpot_p99_s"], levels[i]["tpot_p50_s"]) << i;
    EXPECT_GE(levels[i]["good_ratio"], 0.0) << i;
    EXPECT_LE(levels[i]["good_ratio"], 1.0) << i;
    if (i == 0) continue;
    EXPECT_GT(levels[i]["rate"], levels[i - 1]["rate"]);
  }
}

// A tighter objective breaks earlier, one that nothing meets at once.
TEST(view_serving, objectives_break_where_the_curve_crosses_them) {
  const auto breaks = [](const std::string& bound) {
    return serving_view(sample_with({"workloads[1].serve.objective.ttft_p99", bound}))["breaks_at"];
  };
  const Json loose = breaks("10 s");
  const Json tight = breaks("200 ms");
  ASSERT_TRUE(tight.is_number()) << tight;
  EXPECT_TRUE(loose.is_null() || loose > tight) << loose;
}

TEST(view_serving, iterations_follow_each_other_and_stay_within_the_engine) {
  const Json& rows = sample()["iterations"]["rows"];
  ASSERT_GT(rows.size(), 100U);
  ASSERT_LE(rows.size(), kMostIterations);
  double end = 0;
  double prompts = 0;
  for (const Json& r : rows) {
    EXPECT_GE(r["start_s"].get<double>(), end - 1e-9);
    end = r["start_s"].get<double>() + r["time_s"].get<double>();
    EXPECT_LE(r["prompt_tokens"].get<int>() + r["output_tokens"].get<int>(), 16384);
    EXPECT_LE(r["kv_ratio"], 1.0);
    prompts += r["prompt_tokens"].get<double>();
  }
  EXPECT_GT(prompts, 0);
  EXPECT_DOUBLE_EQ(end, sample()["iterations"]["end_s"]);
}

TEST(view_serving, the_way_in_use_stands_among_the_choices) {
  int current = 0;
  double fewest = 0;
  for (const Json& c : sample()["choices"]) {
    current += c["current"].get<bool>() ? 1 : 0;
    EXPECT_GE(c["gpus"].get<double>(), fewest) << "fewest first";
    fewest = c["gpus"];
    EXPECT_EQ(c["prefill"].get<double>() > 0, c["apart"].get<bool>());
  }
  EXPECT_EQ(current, 1);
}

TEST(view_serving, refuses_what_serves_nothing) {
  const auto refused = [](const design::Design& d, const std::string& name) {
    const auto r = serving_view_json(plan::run_stages(d, machine::known()), name);
    return r ? "" : to_text(r.error());
  };
  EXPECT_THAT(refused(template_design("av-vision"), ""), HasSubstr("serving.no-workload"));
  EXPECT_THAT(refused(template_design("superpod-h100"), "pretrain"),
              HasSubstr("serving.no-workload"));
  EXPECT_THAT(refused(sample_with({"workloads[1].serve.objective.tpot_p99", "1 us"}), ""),
              HasSubstr("serving.infeasible"));
}

}  // namespace
}  // namespace orrery::report
