#include "output/report/view_serving.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "layers/traffic/replica_trace.h"
#include "model/design_text/edit.h"
#include "model/jobs/serving_choices.h"
#include "output/report/view_fixture.h"
#include "twin/processes/service_plan.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

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
  - serve: { name: chat, model: llama-3-8b, engine: tensorrt-llm, replicas: 3, tp: 1,
            precision: fp8,
             arrivals: { rate: 6 /s, peak: 1.5, input_tokens: 1500, output_tokens: 30 },
             objective: { ttft_p99: 200 ms, tpot_p99: 30 ms } }
)";

struct LevelsCase {
  design::Design design;
  std::unique_ptr<review::Review> review;
  processes::ServicePlan plan;
  processes::ServiceWindows windows;
  Json view;
};

// Fills in the service `chat`, its plan and the windows at the drawn loads.
void fill_levels(LevelsCase& c) {
  c.review = std::make_unique<review::Review>(review::run_stages(c.design, machine::known()));
  const machine::Machine& m = *c.review->machine;
  auto plans = processes::service_plans(jobs::serve_jobs(m, c.design.workloads[1]), m, false);
  ASSERT_EQ(plans.size(), 1U);
  c.plan = std::move(plans[0]);
  std::vector<double> rates;
  for (const double load : {0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 1.0, 1.1}) {
    rates.push_back(load * c.plan.capacity);
  }
  c.windows = processes::simulate_windows(c.review->models(), c.plan.ask, rates);
  c.view = Json::parse(text_of(serving_view_json(*c.review, "chat")));
}

double of_window(const processes::LoadWindow& w, processes::LatencyPoints traffic::WindowPart::* of,
                 double share) {
  const double one = 1;
  return traffic::sampled({&w, 1}, {&one, 1}, of, share).value;
}

double good_of_window(const processes::LoadWindow& w) {
  const double one = 1;
  return traffic::good_share({&w, 1}, {&one, 1});
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

TEST(ViewServing, each_latency_uses_its_own_percentile) {
  const LevelsCase& c = shared_levels();
  ASSERT_GE(c.windows.levels.size(), 6U);
  ASSERT_EQ(c.view["levels"].size(), c.windows.levels.size());
  for (std::size_t i = 0; i < c.windows.levels.size(); ++i) {
    const processes::LoadWindow& w = c.windows.levels[i];
    const Json& l = c.view["levels"][i];
    EXPECT_DOUBLE_EQ(l["rate"], w.rate);
    EXPECT_DOUBLE_EQ(l["ttft_p50_s"], of_window(w, &traffic::WindowPart::ttft, 0.5));
    EXPECT_DOUBLE_EQ(l["ttft_p99_s"], of_window(w, &traffic::WindowPart::ttft, 0.99));
    EXPECT_DOUBLE_EQ(l["tpot_p50_s"], of_window(w, &traffic::WindowPart::tpot, 0.5));
    EXPECT_DOUBLE_EQ(l["tpot_p99_s"], of_window(w, &traffic::WindowPart::tpot, 0.99));
    EXPECT_DOUBLE_EQ(l["whole_p99_s"], of_window(w, &traffic::WindowPart::whole, 0.99));
    EXPECT_DOUBLE_EQ(l["good_ratio"], good_of_window(w));
    EXPECT_DOUBLE_EQ(l["found_ratio"], w.found);
  }
}

TEST(ViewServing, the_loss_of_a_replica_is_a_separate_window) {
  const LevelsCase& c = shared_levels();
  const Json& loss = c.view["loss"];
  EXPECT_DOUBLE_EQ(loss["ttft_p99_s"], of_window(c.windows.loss, &traffic::WindowPart::ttft, 0.99));
  EXPECT_DOUBLE_EQ(loss["good_ratio"], good_of_window(c.windows.loss));
  EXPECT_DOUBLE_EQ(loss["restarted"], c.windows.restarted);
}

TEST(ViewServing, the_named_service_is_shown) {
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
  // 6 per second, half as many again at the peak, on three replicas.
  EXPECT_NEAR(c.view["peak_rate"].get<double>(), 6 * 1.5 / 3, 1e-9);
  EXPECT_EQ(c.view["objectives"], Json({{"ttft_s", 0.2}, {"tpot_s", 0.03}, {"whole_s", nullptr}}));
}

// The straight line between the last level that meets all objectives and the first that does not;
// -1 if all do.
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

TEST(ViewServing, a_service_breaks_at_the_first_missed_objective) {
  const Json& two = shared_levels().view;
  EXPECT_DOUBLE_EQ(two["breaks_at"], expected_break(two["levels"], two["objectives"]));
  const Json one = Json::parse(text_of(serving_view_json(*shared_levels().review, "")));
  EXPECT_EQ(one["workload"], "other");
  EXPECT_EQ(one["objectives"], Json({{"ttft_s", nullptr}, {"tpot_s", nullptr}, {"whole_s", 1.0}}));
  EXPECT_DOUBLE_EQ(one["breaks_at"], expected_break(one["levels"], one["objectives"]));
  EXPECT_NE(one["figures"], two["figures"]);
}

TEST(ViewServing, a_view_whose_client_has_left_ends_without_an_answer) {
  int asked = 0;
  const auto view =
      serving_view_json(*shared_levels().review, "chat", [&asked] { return ++asked > 100; });
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().front().code, "serving.too-large");
  EXPECT_LT(asked, 200) << "it stops soon after stop is true";
}

TEST(ViewServing, choices_meet_model_and_objectives) {
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
  const Json& drawing = c.view["choices"];
  std::size_t at = 0;
  int current = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const jobs::ServingChoice& o = all[i];
    const bool in_use =
        o.engine == "tensorrt-llm" && o.format == catalog::Dtype::fp8 && o.tp == 1 && !o.apart;
    current += in_use;
    if (i >= 12 && !in_use) continue;
    ASSERT_LT(at, drawing.size());
    EXPECT_EQ(drawing[at], Json({{"engine", o.engine},
                                   {"format", to_text(o.format)},
                                   {"tp", o.tp},
                                   {"apart", o.apart},
                                   {"replicas", o.replicas},
                                   {"prefill", o.prefill},
                                   {"gpus", o.gpus},
                                   {"batch", drawing[at]["batch"]},
                                   {"requests_per_s", drawing[at]["requests_per_s"]},
                                   {"ttft_s", drawing[at]["ttft_s"]},
                                   {"tpot_s", drawing[at]["tpot_s"]},
                                   {"error_ratio", drawing[at]["error_ratio"]},
                                   {"current", in_use}}));
    EXPECT_DOUBLE_EQ(drawing[at]["batch"], o.batch);
    EXPECT_DOUBLE_EQ(drawing[at]["requests_per_s"], o.requests.base());
    EXPECT_DOUBLE_EQ(drawing[at]["ttft_s"], o.ttft.base());
    EXPECT_DOUBLE_EQ(drawing[at]["tpot_s"], o.tpot.base());
    EXPECT_DOUBLE_EQ(drawing[at]["error_ratio"], o.error);
    ++at;
  }
  EXPECT_EQ(drawing.size(), at);
  EXPECT_EQ(current, 1);
}

// 400 requests at the peak's rate, on one replica.
TEST(ViewServing, iterations_are_of_one_replica_at_peak_load) {
  const LevelsCase& c = shared_levels();
  const processes::WindowAsk& ask = c.plan.ask;
  const machine::Costs costs = jobs::serving_costs(c.review->models(), ask.query);
  serving::StepClock clock(ask.replica, machine::serving_source(costs),
                           ask.query.request.checked_per_step);
  engines::EnginePolicy policy = traffic::policy_of(ask.replica);
  policy.prefix_cache = ask.serve->prefix_cache;
  const auto notes = traffic::trace_iterations(
      policy, clock, processes::window_arrivals(ask, ask.high, Seconds(400 / ask.high), 1), 240);
  ASSERT_EQ(notes.size(), 240U);
  const Json& drawing = c.view["iterations"];
  EXPECT_DOUBLE_EQ(drawing["rate"], ask.high);
  EXPECT_DOUBLE_EQ(drawing["end_s"], notes.back().start + notes.back().seconds);
  ASSERT_EQ(drawing["rows"].size(), notes.size());
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const Json& row = drawing["rows"][i];
    EXPECT_DOUBLE_EQ(row["start_s"], notes[i].start);
    EXPECT_DOUBLE_EQ(row["time_s"], notes[i].seconds);
    EXPECT_EQ(row["prompt_tokens"], notes[i].prompt_tokens);
    EXPECT_EQ(row["output_tokens"], notes[i].output_tokens);
    EXPECT_EQ(row["waiting"], notes[i].waiting);
    EXPECT_DOUBLE_EQ(row["kv_ratio"], notes[i].held);
  }
}

Json serving_view(const design::Design& d, const std::string& workload = "") {
  const std::string text =
      text_of(serving_view_json(review::run_stages(d, machine::known()), workload));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
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

// Returns the worst ratio of a latency to its bound at a level.
double worst_of(const Json& level, const Json& objectives) {
  double worst = 0;
  for (const auto& [key, bound] :
       {std::pair{"ttft_p99_s", "ttft_s"}, {"tpot_p99_s", "tpot_s"}, {"whole_p99_s", "whole_s"}}) {
    if (objectives[bound].is_null()) continue;
    worst = std::max(worst, level[key].get<double>() / objectives[bound].get<double>());
  }
  return worst;
}

// Returns "a b c": the names of an object's fields, sorted.
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
  EXPECT_FALSE(v["note"].empty());
  EXPECT_EQ(names_in(v["iterations"]), "end_s rate rows");
  EXPECT_EQ(v["iterations"]["rate"], v["peak_rate"]);
  EXPECT_EQ(names_in(v["iterations"]["rows"][0]),
            "kv_ratio output_tokens prompt_tokens start_s time_s waiting");
  EXPECT_LE(v["choices"].size(), 13U);
  for (const Json& c : v["choices"]) {
    EXPECT_EQ(names_in(c),
              "apart batch current engine error_ratio format gpus prefill replicas requests_per_s "
              "tp tpot_s ttft_s");
  }
  // Shares of the capacity of a replica; latencies only grow with the load.
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

// An objective between the first level's latency and the last's fails between the two levels.
TEST(ViewServing, a_service_is_drawn_with_its_breaking_point) {
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
  // The bound is crossed linearly between the last level that holds and the first that does not.
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
  // A few hundred requests at the requested rate are drawn, not a fixed time.
  EXPECT_LE(view["iterations"]["end_s"].get<double>(),
            3 * 400 / view["peak_rate"].get<double>() + 60);
  int widest = 0;
  for (const Json& c : view["choices"]) {
    widest = std::max(widest, c["tp"].get<int>());
    EXPECT_TRUE(!c["current"] || c["engine"] == view["engine"]) << c;
  }
  EXPECT_GT(widest, 1);
}

TEST(ViewServing, a_design_without_services_is_refused) {
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
