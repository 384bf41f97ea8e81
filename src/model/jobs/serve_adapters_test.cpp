// Adapters of a service on real devices: measured kernels, memory, and what is refused.
#include "model/jobs/serve_adapters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/statistics.h"
#include "core/catalog/embedded_table.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

ServingQuery asked(const std::string& model, const serving::AdapterSet& set,
                   const std::string& accelerator = "h200-sxm") {
  ServingQuery q;
  q.model = *machine::known().catalog().model(model);
  q.accelerator = machine::known().catalog().accelerator(accelerator);
  q.request = {.input = 512, .output = 128};
  q.adapters = set;
  return q;
}

// The rows measure adapter kernels alone, at the shapes of an 8B model.
TEST(ServeAdapters, adapter_kernels_match_measurements_on_h200) {
  const CsvTable t = catalog::embedded_table("validation/h200_adapters.csv").value();
  std::vector<double> errors;
  for (const CsvRow& row : t.rows()) {
    const double rank = *t.number(row, "rank");
    const auto adapters = static_cast<int>(*t.number(row, "adapters"));
    const ServingQuery q = asked("llama-3-8b", {.count = 200, .slots = adapters, .rank = rank});
    const serving::Replica r = replica_of(machine::known(), q).value();
    const double seconds = *t.number(row, "seconds");
    if (t.text(row, "op") == "load") {
      EXPECT_NEAR(r.adapters.load.base(), seconds, 0.05 * seconds) << "rank " << rank;
      continue;
    }
    const machine::Costs costs = serving_costs(machine::known(), q);
    const double tokens = *t.number(row, "tokens");
    const double modelled =
        adapter_cost(r.adapters, tokens, adapters, serving_source(costs)).time.base();
    errors.push_back(std::abs(modelled / seconds - 1));
  }
  ASSERT_EQ(errors.size(), 187u);
  EXPECT_LT(median(errors), 0.09);
  EXPECT_LT(quantile(errors, 0.9), 0.27);
}

TEST(ServeAdapters, slots_reduce_the_kv_cache) {
  ServingQuery q = asked("llama-3-8b", {.count = 200, .slots = 16});
  const serving::Replica with = replica_of(machine::known(), q).value();
  q.adapters.reset();
  const serving::Replica without = replica_of(machine::known(), q).value();
  // 16 adapters of 84 MB.
  EXPECT_EQ(with.memory.adapters.base(), 16.0 * 32 * 16 * 2 * 81920);
  EXPECT_NEAR((without.memory.kv_tokens - with.memory.kv_tokens) * with.memory.kv_per_token.base(),
              with.memory.adapters.base(), 20 * 131072);
  EXPECT_FALSE(without.adapters.any());
  EXPECT_GT(
      serving_error(serving_costs(machine::known(), asked("llama-3-8b", {.count = 1})).device(),
                    asked("llama-3-8b", {.count = 1})),
      serving_error(serving_costs(machine::known(), q).device(), q));
  const auto full =
      replica_of(machine::known(), asked("llama-3-8b", {.count = 2000, .slots = 1500}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().front().code, "serving.memory");
}

TEST(ServeAdapters, step_takes_longer_with_more_adapters) {
  const ServingQuery with = asked("llama-3-8b", {.count = 200, .slots = 16});
  ServingQuery without = with;
  without.adapters.reset();
  const auto step = [](const ServingQuery& q, const serving::Iteration& i) {
    return predict_step(machine::known(), q, i).value().step.total.base();
  };
  serving::Iteration decode{.decoding = 32, .context = 1000};
  const double plain = step(without, decode);
  EXPECT_EQ(step(with, decode), plain) << "no request uses an adapter";
  double before = plain;
  for (const double distinct : {1.0, 4.0, 16.0}) {
    decode.adapters = distinct;
    const double now = step(with, decode);
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_LT(before, 1.5 * plain);
  const serving::Iteration prompt{.prompts = 1, .prompt_tokens = 4096, .adapters = 1};
  EXPECT_GT(step(with, prompt), 1.05 * step(without, prompt));
  EXPECT_LT(step(with, prompt), 1.2 * step(without, prompt));
}

TEST(ServeAdapters, capacity_rises_with_slots_and_falls_with_adapters) {
  const auto carries = [](int count, int slots) {
    const ServingQuery q = asked("llama-3-8b", {.count = count, .slots = slots});
    return predict_capacity(machine::known(), q,
                            {.ttft_p99 = seconds(2), .tpot_p99 = milliseconds(50)})
        .value()
        .point.requests.base();
  };
  double before = 0;
  for (const int slots : {1, 2, 4, 8, 16, 32, 64}) {
    const double now = carries(64, slots);
    EXPECT_GE(now, before * 0.995) << slots;
    before = now;
  }
  EXPECT_LT(carries(1000, 8), carries(16, 8));
  EXPECT_LT(carries(16, 8), carries(8, 8) * 1.001);
}

TEST(ServeAdapters, unsupported_adapters_are_refused) {
  const auto code = [](const ServingQuery& q) {
    const auto r = replica_of(machine::known(), q);
    return r ? std::string() : r.error().front().code;
  };
  EXPECT_EQ(code(asked("llama-3-8b", {.count = 4})), "");
  EXPECT_EQ(code(asked("deepseek-v3", {.count = 4})), "serving.adapters");
  EXPECT_NE(adapter_fault(asked("mixtral-8x7b", {.count = 4})), "") << "adapters of experts";
  EXPECT_EQ(adapter_fault(asked("mixtral-8x7b", {.count = 4, .targets = {.qkv = true, .o = true}})),
            "");
}

TEST(ServeAdapters, figures_have_their_intervals) {
  AdapterView v;
  EXPECT_TRUE(adapter_figures(v, 0.2).empty());
  v.adapters.set = {.count = 200, .slots = 16, .rank = 12.345, .skew = 1.2345};
  v.adapters.reserved = gigabytes(8);
  v.adapters.load = milliseconds(40);
  v.slots.loads = 0.25;
  v.wait = milliseconds(30);
  ASSERT_TRUE(v.adapters.any());
  const std::vector<figures::Figure> f = adapter_figures(v, 0.2);
  ASSERT_EQ(f.size(), 3U);
  EXPECT_EQ(f[0].id(), "adapter_memory");
  EXPECT_EQ(f[0].estimate.value, 8e9);
  EXPECT_EQ(f[0].estimate.high, 8e9);
  EXPECT_EQ(f[1].estimate.value, 0.25);
  EXPECT_NEAR(f[1].estimate.low, 0.25 * 0.85, 1e-12);
  EXPECT_NEAR(f[1].estimate.high, 0.25 * 1.15, 1e-12);
  EXPECT_NEAR(f[2].estimate.value, 0.03, 1e-12);
  EXPECT_NEAR(f[2].estimate.low, 0.03 * 0.7, 1e-12);
  EXPECT_NEAR(f[2].estimate.high, 0.03 * 1.3, 1e-12);
  const std::vector<figures::Figure> wide = adapter_figures(v, 0.8);
  EXPECT_NEAR(wide[2].estimate.low, 0.03 * 0.1, 1e-12)
      << "the low end is at most 90 % below the value";
  EXPECT_NEAR(wide[2].estimate.high, 0.03 * 2.2, 1e-12);
}

}  // namespace
}  // namespace orrery::jobs
