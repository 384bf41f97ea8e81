// How far rows move the tuning of an engine: each parameter by its slope over twice what holds it,
// from slopes that predictions give.
#include <gtest/gtest.h>

#include "study/score/rows_fixture.h"
#include "study/score/serving_refit.h"

namespace orrery::score {
namespace {

using engines::ServingTuning;

struct MovedParameter {
  const char* name;
  double (*get)(const ServingTuning&);
  void (*set)(ServingTuning&, double);
  double prior;
  double scale;
};

template <double ServingTuning::* Member>
MovedParameter factor_of(const char* name, double prior, double scale) {
  return {name, [](const ServingTuning& t) { return t.*Member; },
          [](ServingTuning& t, double v) { t.*Member = v; }, prior, scale};
}
template <Seconds ServingTuning::* Member>
MovedParameter seconds_of(const char* name, double prior, double scale) {
  return {name, [](const ServingTuning& t) { return (t.*Member).base(); },
          [](ServingTuning& t, double v) { t.*Member = Seconds(v); }, prior, scale};
}

std::vector<MovedParameter> between_parameters() {
  return {factor_of<&ServingTuning::products>("products", 0.98, 0.1),
          factor_of<&ServingTuning::experts>("experts", 1.05, 0.15),
          factor_of<&ServingTuning::decoding>("decoding", 1.2, 0.15),
          factor_of<&ServingTuning::latent>("latent", 1.0, 0.1),
          factor_of<&ServingTuning::prefill>("prefill", 1.03, 0.1),
          factor_of<&ServingTuning::messages>("messages", 1.07, 0.15),
          seconds_of<&ServingTuning::layer>("layer", 1.5e-6, 1e-6),
          seconds_of<&ServingTuning::expert_layer>("expert_layer", 3e-6, 3e-6),
          seconds_of<&ServingTuning::state_layer>("state_layer", 9.5e-6, 5e-6),
          seconds_of<&ServingTuning::step>("step", 150e-6, 200e-6),
          seconds_of<&ServingTuning::sequence>("sequence", 16e-6, 4e-6)};
}

ServedRow moved_row(const char* model, int tp) {
  const machine::Models& models = machine::known();
  ServedRow row{.id = "r", .model = model, .query = {}};
  row.query.model = *models.catalog().model(model);
  row.query.accelerator = models.catalog().accelerator("h200-sxm");
  row.query.engine = "vllm";
  row.query.split.tp = tp;
  row.query.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
  row.query.request = {.input = 3000, .output = 300, .requests_per_client = 2};
  row.query.concurrency = 16;
  return row;
}

double tpot_with(const ServingTuning& tuning, const ServedRow& row) {
  machine::Models tuned = machine::known();
  tuned.tunings = {{.accelerator = "*", .engine = "vllm", .tuning = tuning}};
  jobs::ServingQuery q = row.query;
  q.request.input *= 0.9;
  q.request.output *= 0.9;
  return predict_serving(tuned, q)->point.tpot.base();
}

// Nineteen rows, a fifth slower than the priors say, against twenty that hold the engine:
// u = 19 slope / (2 x 20).
void expect_moves(const char* model, int tp) {
  std::vector<ServedRow> rows(19, moved_row(model, tp));
  const auto priors = refit_serving(machine::known(), rows);
  ASSERT_EQ(priors.size(), 1U);
  const double prior = tpot_with(priors[0].tuning, rows[0]);
  for (ServedRow& r : rows) r.tpot = 1.25 * prior;
  const auto fitted = refit_serving(machine::known(), rows);
  const double now = tpot_with(fitted[0].tuning, rows[0]);
  ASSERT_LT(now, 1.2 * prior) << "the rows are not met";
  for (const MovedParameter& p : between_parameters()) {
    ServingTuning changed = priors[0].tuning;
    EXPECT_DOUBLE_EQ(p.get(changed), p.prior) << p.name;
    p.set(changed, p.prior + p.scale);
    const double slope = (tpot_with(changed, rows[0]) - prior) / now;
    const double u = 19 * slope / 40;
    EXPECT_NEAR((p.get(fitted[0].tuning) - p.prior) / p.scale, u, 0.04 * u + 2e-4)
        << model << ' ' << p.name;
  }
}

TEST(RefitMoves, of_a_dense_model) { expect_moves("llama-3-8b", 1); }
TEST(RefitMoves, of_a_split_one) { expect_moves("llama-3-70b", 4); }
TEST(RefitMoves, of_experts) { expect_moves("mixtral-8x7b", 2); }

}  // namespace
}  // namespace orrery::score
