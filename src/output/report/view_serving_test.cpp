#include "output/report/view_serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/design_text/edit.h"
#include "output/report/view_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

Json serving_view(const design::Design& d, const std::string& workload = "") {
  const std::string text =
      text_of(serving_view_json(review::run_stages(d, machine::known()), workload));
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "an answer is one line";
  return Json::parse(text);
}

design::Design served_sample_with(const design_text::Change& edit) {
  return design_of(design_text::edit_text(design_text::find_template("superpod-h100")->text, edit,
                                          machine::known().catalog())
                       .value()
                       .text);
}

void expect_rising_latencies(const Json& levels) {
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

void expect_iterations(const Json& iterations) {
  const Json& rows = iterations["rows"];
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
  EXPECT_DOUBLE_EQ(end, iterations["end_s"]);
}

void expect_the_way_in_use(const Json& choices) {
  int current = 0;
  double fewest = 0;
  for (const Json& c : choices) {
    current += c["current"].get<bool>() ? 1 : 0;
    EXPECT_GE(c["gpus"].get<double>(), fewest) << "fewest first";
    fewest = c["gpus"];
    EXPECT_EQ(c["prefill"].get<double>() > 0, c["apart"].get<bool>());
  }
  EXPECT_EQ(current, 1);
}

// The worst latency over its bound, at a level.
double worst_of(const Json& level, const Json& objectives) {
  double worst = 0;
  for (const auto& [key, bound] :
       {std::pair{"ttft_p99_s", "ttft_s"}, {"tpot_p99_s", "tpot_s"}, {"whole_p99_s", "whole_s"}}) {
    if (objectives[bound].is_null()) continue;
    worst = std::max(worst, level[key].get<double>() / objectives[bound].get<double>());
  }
  return worst;
}

// "a b c": the names of an object's fields, sorted.
std::string names_in(const Json& object) {
  std::string out;
  for (const auto& [key, value] : object.items()) out += (out.empty() ? "" : " ") + key;
  return out;
}

void expect_all_fields(const Json& v) {
  EXPECT_EQ(names_in(v),
            "accelerator breaks_at choices devices_per_replica engine figures iterations kind "
            "levels loss model note objectives path peak_rate prefill_replicas replicas "
            "schema_version workload workloads");
  EXPECT_EQ(v["schema_version"], 1);
  EXPECT_EQ(v["kind"], "serving");
  EXPECT_EQ(v["workloads"], Json::array({"assistant"}));
  EXPECT_EQ(v["workload"], "assistant");
  EXPECT_EQ(v["path"], "workloads[1].serve");
  EXPECT_EQ(v["accelerator"], "h100-sxm");
  EXPECT_EQ(v["prefill_replicas"], 0);
  EXPECT_EQ(names_in(v["objectives"]), "tpot_s ttft_s whole_s");
  EXPECT_DOUBLE_EQ(v["objectives"]["ttft_s"], 0.2);
  EXPECT_DOUBLE_EQ(v["objectives"]["tpot_s"], 0.04);
  EXPECT_EQ(v["objectives"]["whole_s"], nullptr);
  EXPECT_FALSE(v["figures"].empty());
  EXPECT_EQ(names_in(v["loss"]), "good_ratio restarted ttft_p99_s");
  EXPECT_EQ(v["note"],
            "Curves are windows of requests simulated one by one on a few replicas; the ways to "
            "serve it are closed forms, which differ from the curves where requests come in "
            "bursts.");
  EXPECT_EQ(names_in(v["iterations"]), "end_s rate rows");
  EXPECT_EQ(v["iterations"]["rate"], v["peak_rate"]);
  EXPECT_EQ(names_in(v["iterations"]["rows"][0]),
            "kv_ratio output_tokens prompt_tokens start_s time_s waiting");
  EXPECT_LE(v["choices"].size(), 13U) << "twelve, and the one in use";
  for (const Json& c : v["choices"]) {
    EXPECT_EQ(names_in(c),
              "apart batch current engine error_ratio format gpus prefill replicas requests_per_s "
              "tp tpot_s ttft_s");
  }
  // Of what a replica carries; past where it breaks for good there is nothing to see.
  const double loads[] = {0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 1.0, 1.1};
  ASSERT_GE(v["levels"].size(), 7U);
  for (std::size_t i = 0; i < v["levels"].size(); ++i) {
    EXPECT_NEAR(v["levels"][i]["rate"].get<double>() / v["levels"][6]["rate"].get<double>(),
                loads[i], 1e-12);
    EXPECT_EQ(names_in(v["levels"][i]),
              "found_ratio good_ratio rate tpot_p50_s tpot_p99_s ttft_p50_s ttft_p99_s "
              "whole_p99_s");
  }
}

// An objective between the first level's latency and the last's breaks between the two.
TEST(view_serving, draws_a_service_and_where_it_breaks) {
  const Json view =
      serving_view(served_sample_with({"workloads[1].serve.objective.ttft_p99", "200 ms"}));
  expect_all_fields(view);
  expect_rising_latencies(view["levels"]);
  expect_iterations(view["iterations"]);
  expect_the_way_in_use(view["choices"]);
  ASSERT_TRUE(view["breaks_at"].is_number()) << view["breaks_at"];
  double held = 0;
  for (const Json& l : view["levels"]) {
    if (l["ttft_p99_s"] > 0.2 || l["tpot_p99_s"] > 0.04) {
      EXPECT_GE(view["breaks_at"], held);
      EXPECT_LE(view["breaks_at"], l["rate"]);
      break;
    }
    held = l["rate"];
  }
  EXPECT_GT(held, 0);
  // Linear between the last level that holds and the first that does not, the bound is crossed.
  const Json& levels = view["levels"];
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const double before = worst_of(levels[i - 1], view["objectives"]);
    const double after = worst_of(levels[i], view["objectives"]);
    if (after <= 1) continue;
    const double from = levels[i - 1]["rate"], to = levels[i]["rate"];
    EXPECT_NEAR(before + (after - before) * (view["breaks_at"].get<double>() - from) / (to - from),
                1, 1e-6);
    break;
  }
  EXPECT_NEAR(levels[6]["rate"].get<double>() / levels[0]["rate"].get<double>(), 10, 1e-9);
  // Some hundred requests at the rate that is asked are drawn, not a fixed time of them.
  EXPECT_LE(view["iterations"]["end_s"].get<double>(),
            3 * 400 / view["peak_rate"].get<double>() + 60);
  int widest = 0;
  for (const Json& c : view["choices"]) {
    widest = std::max(widest, c["tp"].get<int>());
    EXPECT_TRUE(!c["current"] || c["engine"] == view["engine"]) << c;
  }
  EXPECT_GT(widest, 1) << "wider splits are tried too";
}

TEST(view_serving, refuses_what_serves_nothing) {
  const auto refused = [](const design::Design& d, const std::string& name) {
    const auto r = serving_view_json(review::run_stages(d, machine::known()), name);
    return r ? "" : to_text(r.error());
  };
  EXPECT_THAT(refused(template_design("av-vision"), ""), HasSubstr("serving.no-workload"));
  EXPECT_THAT(refused(template_design("superpod-h100"), "pretrain"),
              HasSubstr("serving.no-workload"));
  EXPECT_THAT(refused(served_sample_with({"workloads[1].serve.objective.tpot_p99", "1 us"}), ""),
              HasSubstr("serving.infeasible"));
}

}  // namespace
}  // namespace orrery::report
