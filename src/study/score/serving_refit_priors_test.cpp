#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/workload/model_math.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_refit.h"
#include "study/score/serving_rows.h"

namespace orrery::score {
namespace {

using engines::ServingTuning;

ServedRow held_row(const char* model, int tp) {
  const machine::Models& models = machine::known();
  ServedRow row{.id = "r", .model = model, .query = {}};
  row.query.model = *models.catalog().model(model);
  row.query.accelerator = models.catalog().accelerator("h200-sxm");
  row.query.engine = "vllm";
  row.query.split.tp = tp;
  row.query.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
  row.query.request = {.input = 500, .output = 900, .requests_per_client = 2};
  row.query.concurrency = 16;
  return row;
}

machine::Models tuned_with(const std::vector<engines::TuningRow>& tunings) {
  machine::Models models = machine::known();
  models.tunings = tunings;
  return models;
}

// A parameter by its place in a tuning, its unit, and its change per width of its prior.
struct HeldParameter {
  std::function<double(const ServingTuning&)> get;
  std::function<void(ServingTuning&, double)> set;
  double scale;
};

HeldParameter held_factor(double ServingTuning::* member, double scale) {
  return {[=](const ServingTuning& t) { return t.*member; },
          [=](ServingTuning& t, double v) { t.*member = v; }, scale};
}

HeldParameter held_time(Seconds ServingTuning::* member, double scale) {
  return {[=](const ServingTuning& t) { return (t.*member).base(); },
          [=](ServingTuning& t, double v) { t.*member = Seconds(v); }, scale};
}

// The minimum of n h(ln((t + x g.g) / measured)) + firmness x^2 g.g; parameters are then x g widths
// from their start. h is the error itself; beyond 0.3 it grows at three tenths of the slope.
double along_slopes(double t, double gg, double measured, double n, double firmness) {
  const auto loss = [&](double x) {
    const double e = std::abs(std::log((t + x * gg) / measured));
    return n * (e < 0.3 ? e : 0.3 + 0.3 * (e - 0.3)) + firmness * x * x * gg;
  };
  double low = 0, high = (measured - t) / gg;
  for (int i = 0; i < 200; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (loss(a) < loss(b) ? high : low) = loss(a) < loss(b) ? b : a;
  }
  return (low + high) / 2;
}

void expect_moved(const std::vector<HeldParameter>& parameters, const std::vector<double>& slopes,
                  double x, const ServingTuning& from, const ServingTuning& to) {
  double most = 0;
  for (const double g : slopes) most = std::max(most, std::abs(x * g));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double widths = (parameters[i].get(to) - parameters[i].get(from)) / parameters[i].scale;
    EXPECT_NEAR(widths, x * slopes[i], 0.02 * most) << i;
  }
}

const std::vector<HeldParameter>& held_between() {
  static const std::vector<HeldParameter> kAll = {
      held_factor(&ServingTuning::products, 0.1),   held_factor(&ServingTuning::experts, 0.15),
      held_factor(&ServingTuning::decoding, 0.15),  held_factor(&ServingTuning::latent, 0.1),
      held_factor(&ServingTuning::prefill, 0.1),    held_factor(&ServingTuning::messages, 0.15),
      held_time(&ServingTuning::layer, 1e-6),       held_time(&ServingTuning::expert_layer, 3e-6),
      held_time(&ServingTuning::state_layer, 5e-6), held_time(&ServingTuning::step, 200e-6),
      held_time(&ServingTuning::sequence, 4e-6)};
  return kAll;
}

double held_tpot(const ServedRow& row, std::vector<engines::TuningRow> tunings) {
  jobs::ServingQuery q = row.query;
  q.request.input *= 0.9;
  q.request.output *= 0.9;
  return predict_serving(tuned_with(tunings), q)->point.tpot.base();
}

// Time between tokens with each parameter one width further, over that of the tuning itself.
std::vector<double> slopes_between(const ServedRow& row,
                                   const std::vector<engines::TuningRow>& tunings) {
  std::vector<double> slopes;
  for (const HeldParameter& p : held_between()) {
    auto moved = tunings;
    for (engines::TuningRow& t : moved) p.set(t.tuning, p.get(t.tuning) + p.scale);
    slopes.push_back(held_tpot(row, moved) - held_tpot(row, tunings));
  }
  return slopes;
}

double squared(const std::vector<double>& g) {
  double sum = 0;
  for (const double x : g) sum += x * x;
  return sum;
}

// An engine is held as if by twenty rows, whether a row is near, just beyond 0.3 or far.
TEST(ServingRefitPriors, an_engine_is_held_by_twenty_rows) {
  for (const auto& [model, tp] : {std::pair{"llama-3-8b", 1}, std::pair{"mixtral-8x7b", 2}}) {
    ServedRow row = held_row(model, tp);
    const auto priors = refit_serving(machine::known(), {row});
    const double t = held_tpot(row, priors);
    const std::vector<double> slopes = slopes_between(row, priors);
    for (const double times : {1.2, 1.357, 3.0}) {
      if (tp > 1 && times < 3) continue;  // once is enough
      row.tpot = times * t;
      const auto fitted = refit_serving(machine::known(), {row});
      ASSERT_EQ(fitted.size(), 1U);
      const double x = along_slopes(t, squared(slopes), row.tpot, 1, 20);
      expect_moved(held_between(), slopes, x, priors[0].tuning, fitted[0].tuning);
    }
  }
}

// Twenty rows give an accelerator its own tuning, held at its engine's as if by half a row.
TEST(ServingRefitPriors, an_accelerator_is_weakly_tied_to_its_engine) {
  ServedRow row = held_row("llama-3-8b", 1);
  const auto priors = refit_serving(machine::known(), std::vector(20, row));
  ASSERT_EQ(priors.size(), 2U);
  const double t = held_tpot(row, priors);
  const std::vector<double> slopes = slopes_between(row, priors);
  row.tpot = 4 * t;
  const auto fitted = refit_serving(machine::known(), std::vector(20, row));
  ASSERT_EQ(fitted.size(), 2U);
  const double engine = along_slopes(t, squared(slopes), row.tpot, 20, 20);
  expect_moved(held_between(), slopes, engine, priors[0].tuning, fitted[0].tuning);
  const double from = t + engine * squared(slopes);
  const double own = along_slopes(from, squared(slopes), row.tpot, 20, 0.5);
  ASSERT_LT(from + own * squared(slopes), 0.95 * row.tpot);
  expect_moved(held_between(), slopes, own, fitted[0].tuning, fitted[1].tuning);
}

const std::vector<HeldParameter>& held_first() {
  static const std::vector<HeldParameter> kAll = {
      held_factor(&ServingTuning::prompt_wait, 0.15), held_time(&ServingTuning::first_token, 40e-3),
      held_factor(&ServingTuning::poll_steps, 1), held_time(&ServingTuning::expert_first, 0.8e-3)};
  return kAll;
}

// The simulated test without any of the four parameters: wait, second, step and routed layers.
struct FirstSlopes {
  double around = 0;
  std::vector<double> each;  // of one unit
};

FirstSlopes first_slopes(const ServedRow& row, std::vector<engines::TuningRow> tunings) {
  for (engines::TuningRow& t : tunings) {
    t.tuning.prompt_wait = 1;
    t.tuning.first_token = t.tuning.expert_first = Seconds(0);
    t.tuning.poll_steps = 0;
  }
  const auto p = predict_benchmark(tuned_with(tunings), row.query, load_of_test(row.query));
  const double around = p->replica.engine.first_token.base();
  return {around,
          {p->point.ttft.base() - around, 1, p->point.tpot.base(),
           static_cast<double>(workload::moe_layer_count(row.query.model))}};
}

// Engines are held as if by a hundred rows, accelerators as if by ten.
TEST(ServingRefitPriors, first_token_parameters_have_tighter_priors) {
  struct Asked {
    const char* model;
    int tp;
    double times;
    std::size_t rows;
  };
  for (const auto& [model, tp, times, count] :
       {Asked{"llama-3-8b", 1, 1.25, 20}, {"mixtral-8x7b", 2, 3, 1}}) {
    ServedRow row = held_row(model, tp);
    row.query.request = {.input = 200, .output = 20, .requests_per_client = 2};
    row.query.concurrency = 2;
    const auto priors = refit_serving(machine::known(), std::vector(count, row));
    const FirstSlopes s = first_slopes(row, priors);
    double t = s.around;
    std::vector<double> slopes;
    for (std::size_t i = 0; i < 4; ++i) {
      t += s.each[i] * held_first()[i].get(priors[0].tuning);
      slopes.push_back(s.each[i] * held_first()[i].scale);
    }
    row.ttft = times * t;
    const auto fitted = refit_serving(machine::known(), std::vector(count, row));
    ASSERT_EQ(fitted.size(), count < 20 ? 1U : 2U);
    const double engine =
        along_slopes(t, squared(slopes), row.ttft, static_cast<double>(count), 100);
    expect_moved(held_first(), slopes, engine, priors[0].tuning, fitted[0].tuning);
    if (count < 20) continue;
    const double own =
        along_slopes(t + engine * squared(slopes), squared(slopes), row.ttft, 20, 10);
    expect_moved(held_first(), slopes, own, fitted[0].tuning, fitted[1].tuning);
  }
}

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

// Nineteen rows, a fifth slower than the priors predict, against twenty that hold the engine:
// u = 19 slope / (2 x 20).
void expect_moves(const char* model, int tp) {
  std::vector<ServedRow> rows(19, moved_row(model, tp));
  const auto priors = refit_serving(machine::known(), rows);
  ASSERT_EQ(priors.size(), 1U);
  const double prior = tpot_with(priors[0].tuning, rows[0]);
  for (ServedRow& r : rows) r.tpot = 1.25 * prior;
  const auto fitted = refit_serving(machine::known(), rows);
  const double now = tpot_with(fitted[0].tuning, rows[0]);
  ASSERT_LT(now, 1.2 * prior);
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

TEST(ServingRefitPriors, a_dense_model_moves_its_parameters) { expect_moves("llama-3-8b", 1); }

TEST(ServingRefitPriors, a_split_model_moves_its_parameters) { expect_moves("llama-3-70b", 4); }

TEST(ServingRefitPriors, a_moe_model_moves_its_parameters) { expect_moves("mixtral-8x7b", 2); }

// One row that is a tenth slower hardly moves an engine: it is held as if by twenty rows.
TEST(ServingRefitPriors, engines_share_a_prior) {
  const machine::Models& models = machine::known();
  ServedRow row{.id = "r", .model = "llama-3-8b", .query = {}};
  row.query.model = *models.catalog().model("llama-3-8b");
  row.query.accelerator = models.catalog().accelerator("h200-sxm");
  row.query.engine = "vllm";
  row.query.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
  row.query.request = {.input = 500, .output = 900, .requests_per_client = 2};
  row.query.concurrency = 16;
  const auto tpot = [&](const std::vector<engines::TuningRow>& tunings) {
    machine::Models tuned = models;
    tuned.tunings = tunings;
    jobs::ServingQuery q = row.query;
    q.request.input *= 0.9;
    q.request.output *= 0.9;
    return predict_serving(tuned, q)->point.tpot.base();
  };
  const double prior = tpot(refit_serving(models, {row}));
  row.tpot = 1.1 * prior;
  const auto fitted = refit_serving(models, {row});
  ASSERT_EQ(fitted.size(), 1U);
  EXPECT_GT(tpot(fitted), prior);
  EXPECT_LT(tpot(fitted), 1.01 * prior);
}

}  // namespace
}  // namespace orrery::score
