#include "study/score/serving_refit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/machine/known_fixture.h"

namespace orrery::score {
namespace {

// As the fit takes them: lengths are nine tenths of what a test names.
double tokens_apart(const machine::Models& models, jobs::ServingQuery q) {
  q.request.input *= 0.9;
  q.request.output *= 0.9;
  return predict_serving(models, q)->point.tpot.base();
}

// Rows that a known tuning makes; the fit must come back to it as far as they can tell.
std::vector<ServedRow> tuned_rows(const machine::Models& models) {
  std::vector<ServedRow> rows;
  for (const char* model : {"llama-3-8b", "llama-3-70b"}) {
    for (const double clients : {4, 16, 64, 128}) {
      for (const double input : {1024, 4096}) {
        for (const int tp : {2, 4}) {
          ServedRow row{.id = {}, .model = model, .query = {}};
          row.query.model = *models.catalog().model(model);
          row.query.accelerator = models.catalog().accelerator("h200-sxm");
          row.query.engine = "vllm";
          row.query.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
          row.query.split.tp = tp;
          row.query.request = {.input = input, .output = 256, .requests_per_client = 2};
          row.query.concurrency = clients;
          row.tpot = tokens_apart(models, row.query);
          row.ttft = predict_benchmark(models, row.query, {.waves_most = 2})->ttft_s.value;
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

TEST(ServingRefit, FindsTheTuningThatMadeTheRows) {
  machine::Models truth = machine::known();
  truth.tunings = {{.accelerator = "*",
                    .engine = "vllm",
                    .tuning = {.products = 1.15,
                               .decoding = 1.1,
                               .layer = microseconds(3),
                               .step = microseconds(400),
                               .sequence = microseconds(16),
                               .first_token = milliseconds(120),
                               .poll_steps = 3,
                               .prompt_wait = 1.4}}};
  const std::vector<ServedRow> rows = tuned_rows(truth);
  const auto tunings = refit_serving(machine::known(), rows);
  ASSERT_EQ(tunings.size(), 2u);  // of the engine, and of its one accelerator
  machine::Models again = machine::known();
  again.tunings = tunings;
  double worst = 0;
  for (const ServedRow& row : rows) {
    worst = std::max(worst, std::abs(tokens_apart(again, row.query) / row.tpot - 1));
  }
  EXPECT_LT(worst, 0.08);  // the prior holds the fit of so few rows
  EXPECT_NEAR(tunings[1].tuning.products, 1.15, 0.12);
  EXPECT_GT(tunings[1].tuning.products, 1.02);  // the prior is 0.98
}

}  // namespace
}  // namespace orrery::score
