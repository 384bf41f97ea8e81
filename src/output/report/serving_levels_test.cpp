// The page of a service beside the windows, the choices and the iterations that it draws: each
// number is of its own latency, at its own share, and of the load that stands beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "layers/traffic/replica_trace.h"
#include "model/jobs/serving_choices.h"
#include "output/report/view_fixture.h"
#include "output/report/view_serving.h"
#include "plan/verdict/verdict.h"
#include "twin/twin/service_plan.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kLevelsDesign = R"(
orrery: 1
name: levels
site: { region: usa }
fleet:
  - { name: a, node: dgx-h100, count: 1 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
workloads:
  - serve: { name: other, model: llama-3-8b, replicas: 1, tp: 1,
             arrivals: { rate: 1 /s, input_tokens: 900, output_tokens: 20 },
             objective: { latency_p99: 1 s } }
  - serve: { name: chat, model: llama-3-8b, engine: tensorrt-llm, replicas: 3, tp: 1, precision: fp8,
             arrivals: { rate: 6 /s, peak: 1.5, input_tokens: 1500, output_tokens: 30 },
             objective: { ttft_p99: 200 ms, tpot_p99: 30 ms } }
)";

struct LevelsCase {
  design::Design design;
  std::unique_ptr<review::Review> review;
  twin::ServicePlan plan;
  twin::ServiceWindows windows;
  Json view;
};

// The service `chat`, its plan and the windows at the loads that are drawn.
void fill_levels(LevelsCase& c) {
  c.review = std::make_unique<review::Review>(review::run_stages(c.design, machine::known()));
  auto plans = twin::service_plans(*c.review->machine, c.design.workloads[1], false);
  ASSERT_EQ(plans.size(), 1U);
  c.plan = std::move(plans[0]);
  std::vector<double> rates;
  for (const double load : {0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 1.0, 1.1}) {
    rates.push_back(load * c.plan.capacity);
  }
  c.windows = twin::simulate_windows(c.review->models(), c.plan.ask, rates);
  c.view = Json::parse(text_of(serving_view_json(*c.review, "chat")));
}

double of_window(const twin::LoadWindow& w, twin::LatencyPoints twin::WindowPart::* of,
                 double share) {
  const double one = 1;
  return twin::sampled({&w, 1}, {&one, 1}, of, share).value;
}

double good_of_window(const twin::LoadWindow& w) {
  const double one = 1;
  return twin::good_share({&w, 1}, {&one, 1});
}

const LevelsCase& shared_levels() {
  static LevelsCase* const kCase = [] {
    auto* c = new LevelsCase{.design = design_of(kLevelsDesign),
                             .review = nullptr,
                             .plan = {},
                             .windows = {},
                             .view = {}};
    fill_levels(*c);
    return c;
  }();
  return *kCase;
}

TEST(serving_levels, each_latency_is_read_at_its_own_share) {
  const LevelsCase& c = shared_levels();
  ASSERT_GE(c.windows.levels.size(), 6U);
  ASSERT_EQ(c.view["levels"].size(), c.windows.levels.size());
  for (std::size_t i = 0; i < c.windows.levels.size(); ++i) {
    const twin::LoadWindow& w = c.windows.levels[i];
    const Json& l = c.view["levels"][i];
    EXPECT_DOUBLE_EQ(l["rate"], w.rate);
    EXPECT_DOUBLE_EQ(l["ttft_p50_s"], of_window(w, &twin::WindowPart::ttft, 0.5));
    EXPECT_DOUBLE_EQ(l["ttft_p99_s"], of_window(w, &twin::WindowPart::ttft, 0.99));
    EXPECT_DOUBLE_EQ(l["tpot_p50_s"], of_window(w, &twin::WindowPart::tpot, 0.5));
    EXPECT_DOUBLE_EQ(l["tpot_p99_s"], of_window(w, &twin::WindowPart::tpot, 0.99));
    EXPECT_DOUBLE_EQ(l["whole_p99_s"], of_window(w, &twin::WindowPart::whole, 0.99));
    EXPECT_DOUBLE_EQ(l["good_ratio"], good_of_window(w));
    EXPECT_DOUBLE_EQ(l["found_ratio"], w.found);
  }
}

TEST(serving_levels, the_loss_of_a_replica_is_a_window_of_its_own) {
  const LevelsCase& c = shared_levels();
  const Json& loss = c.view["loss"];
  EXPECT_DOUBLE_EQ(loss["ttft_p99_s"], of_window(c.windows.loss, &twin::WindowPart::ttft, 0.99));
  EXPECT_DOUBLE_EQ(loss["good_ratio"], good_of_window(c.windows.loss));
  EXPECT_DOUBLE_EQ(loss["restarted"], c.windows.restarted);
}

TEST(serving_levels, the_head_is_of_the_service_that_was_named) {
  const LevelsCase& c = shared_levels();
  EXPECT_EQ(c.view["workloads"], Json({"other", "chat"}));
  EXPECT_EQ(c.view["workload"], "chat");
  EXPECT_EQ(c.view["path"], "workloads[1].serve");
  EXPECT_EQ(c.view["model"], "llama-3-8b");
  EXPECT_EQ(c.view["accelerator"], "h100-sxm");
  EXPECT_EQ(c.view["engine"], "tensorrt-llm");
  EXPECT_EQ(c.view["devices_per_replica"], 1);
  EXPECT_EQ(c.view["replicas"], 3);
  EXPECT_EQ(c.view["prefill_replicas"], 0);
  // 6 a second, half as many again at the peak, on three.
  EXPECT_NEAR(c.view["peak_rate"].get<double>(), 6 * 1.5 / 3, 1e-9);
  EXPECT_EQ(c.view["objectives"], Json({{"ttft_s", 0.2}, {"tpot_s", 0.03}, {"whole_s", nullptr}}));
}

// The straight line between the last level that keeps all promises and the first that does not; -1
// where all do.
double expected_break(const Json& levels, const Json& objectives) {
  double rate = 0, held = 0;
  for (const Json& l : levels) {
    double worst = 0;
    for (const std::string of : {"ttft", "tpot", "whole"}) {
      if (objectives[of + "_s"].is_null()) continue;
      worst = std::max(worst, l[of + "_p99_s"].get<double>() / objectives[of + "_s"].get<double>());
    }
    const double now = l["rate"];
    if (worst > 1) return rate > 0 ? rate + (now - rate) * (1 - held) / (worst - held) : 0;
    rate = now;
    held = worst;
  }
  return -1;
}

TEST(serving_levels, a_service_breaks_at_the_promise_that_goes_first) {
  const Json& two = shared_levels().view;
  EXPECT_DOUBLE_EQ(two["breaks_at"], expected_break(two["levels"], two["objectives"]));
  const Json one = Json::parse(text_of(serving_view_json(*shared_levels().review, "")));
  EXPECT_EQ(one["workload"], "other") << "the first where none is named";
  EXPECT_EQ(one["objectives"], Json({{"ttft_s", nullptr}, {"tpot_s", nullptr}, {"whole_s", 1.0}}));
  EXPECT_DOUBLE_EQ(one["breaks_at"], expected_break(one["levels"], one["objectives"]));
  EXPECT_NE(one["figures"], two["figures"]);
}

TEST(serving_levels, a_view_that_nobody_waits_for_ends_without_an_answer) {
  int asked = 0;
  const auto view =
      serving_view_json(*shared_levels().review, "chat", [&asked] { return ++asked > 100; });
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().front().code, "serving.too-large");
  EXPECT_LT(asked, 200) << "it is asked often, and once it said so nothing goes on";
}

TEST(serving_levels, the_choices_are_those_of_its_model_and_objectives) {
  const LevelsCase& c = shared_levels();
  const jobs::ServingQuery& own = c.plan.ask.query;
  const review::ServeView& view = c.review->serves[1];
  jobs::ServingAsk ask{.model = own.model,
                       .accelerator = own.accelerator,
                       .slice = own.slice,
                       .request = own.request,
                       .target = jobs::target_of(*view.serve, own.request.output),
                       .engines = {"vllm", "sglang", "tensorrt-llm"},
                       .formats = {catalog::Dtype::bf16, catalog::Dtype::fp8},
                       .most_tp = 8};
  const auto all = jobs::serving_for(c.review->models(), ask, view.peak);
  ASSERT_GT(all.size(), 13U);
  const Json& told = c.view["choices"];
  std::size_t at = 0;
  int current = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const jobs::ServingChoice& o = all[i];
    const bool in_use =
        o.engine == "tensorrt-llm" && o.format == catalog::Dtype::fp8 && o.tp == 1 && !o.apart;
    current += in_use;
    if (i >= 12 && !in_use) continue;
    ASSERT_LT(at, told.size());
    EXPECT_EQ(told[at], Json({{"engine", o.engine},
                              {"format", to_text(o.format)},
                              {"tp", o.tp},
                              {"apart", o.apart},
                              {"replicas", o.replicas},
                              {"prefill", o.prefill},
                              {"gpus", o.gpus},
                              {"batch", told[at]["batch"]},
                              {"requests_per_s", told[at]["requests_per_s"]},
                              {"ttft_s", told[at]["ttft_s"]},
                              {"tpot_s", told[at]["tpot_s"]},
                              {"error_ratio", told[at]["error_ratio"]},
                              {"current", in_use}}));
    EXPECT_DOUBLE_EQ(told[at]["batch"], o.batch);
    EXPECT_DOUBLE_EQ(told[at]["requests_per_s"], o.requests.base());
    EXPECT_DOUBLE_EQ(told[at]["ttft_s"], o.ttft.base());
    EXPECT_DOUBLE_EQ(told[at]["tpot_s"], o.tpot.base());
    EXPECT_DOUBLE_EQ(told[at]["error_ratio"], o.error);
    ++at;
  }
  EXPECT_EQ(told.size(), at);
  EXPECT_EQ(current, 1);
}

// 400 requests at the peak's rate, on one replica.
TEST(serving_levels, iterations_are_of_one_replica_at_its_peak) {
  const LevelsCase& c = shared_levels();
  const twin::WindowAsk& ask = c.plan.ask;
  const machine::Costs costs = jobs::serving_costs(c.review->models(), ask.query);
  serving::StepClock clock(ask.replica, machine::serving_source(costs),
                           ask.query.request.checked_per_step);
  engines::EnginePolicy policy = traffic::policy_of(ask.replica);
  policy.prefix_cache = ask.serve->prefix_cache;
  const auto notes = traffic::trace_iterations(
      policy, clock, twin::window_arrivals(ask, ask.high, Seconds(400 / ask.high), 1), 240);
  ASSERT_EQ(notes.size(), 240U);
  const Json& told = c.view["iterations"];
  EXPECT_DOUBLE_EQ(told["rate"], ask.high);
  EXPECT_DOUBLE_EQ(told["end_s"], notes.back().start + notes.back().seconds);
  ASSERT_EQ(told["rows"].size(), notes.size());
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const Json& row = told["rows"][i];
    EXPECT_DOUBLE_EQ(row["start_s"], notes[i].start);
    EXPECT_DOUBLE_EQ(row["time_s"], notes[i].seconds);
    EXPECT_EQ(row["prompt_tokens"], notes[i].prompt_tokens);
    EXPECT_EQ(row["output_tokens"], notes[i].output_tokens);
    EXPECT_EQ(row["waiting"], notes[i].waiting);
    EXPECT_DOUBLE_EQ(row["kv_ratio"], notes[i].held);
  }
}

}  // namespace
}  // namespace orrery::report
