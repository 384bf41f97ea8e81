#include "study/score/training_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "study/score/one_host_fixture.h"
#include "study/score/refit_fixture.h"

namespace orrery::score {
namespace {

TrainingFitParameter round_parameter(FitSubject subject, const char* id, const char* name) {
  TrainingFitParameter p{.subject = subject, .id = id, .name = name, .width = 0.5};
  machine::Models models = machine::known();
  p.prior = *fitted_field(models.training, p);
  p.least = p.prior / 20;
  p.most = p.prior * 20;
  return p;
}

TrainingFitParameter round_matrix() {
  return round_parameter(FitSubject::accelerator, "h100-sxm", "matrix");
}

// A fit of one parameter p to one row, in x = ln(value / prior).
struct PlainFit {
  TrainingRow row;
  TrainingFitParameter p;
  FitOptions options;
  machine::Models models = machine::known();
  double x = 0;
  int evaluations = 0;
  int rounds = 0;

  double miss_at(double at) {
    *fitted_field(models.training, p) = p.prior * std::exp(at);
    const double rate = predict_training(models, row.query)->tokens_per_s_per_gpu.value;
    return std::log(rate / *row.tokens_per_s_per_gpu);
  }
  double loss_at(double at) {
    const double miss = miss_at(at);
    const double widths = at / p.width;
    return miss * miss / (std::abs(miss) + options.knee) + options.knee * widths * widths;
  }
  // The slope over one probe, and a damped Gauss-Newton step.
  bool round(double& damping) {
    const double miss = miss_at(x), far = std::abs(miss);
    const double slope = (miss_at(x + options.probe) - miss) / options.probe;
    const double weight = (far + 2 * options.knee) / ((far + options.knee) * (far + options.knee));
    const double hold = 2 * options.knee / (p.width * p.width);
    const double by =
        (-weight * slope * miss - hold * x) / (weight * slope * slope * (1 + damping) + hold);
    const double start = loss_at(x);
    x += std::clamp(by, -options.largest_step, options.largest_step);
    evaluations += 2;
    const double now = loss_at(x);
    EXPECT_LT(now, start);
    damping = std::max(1e-3, damping / 20);
    return start - now > options.enough * start;
  }
  void run() {
    evaluations = 1;
    double damping = options.first_damping;
    for (bool again = true; again && rounds < options.rounds; ++rounds) {
      again = round(damping) || rounds < 3;
    }
  }
};

PlainFit plain_fit(double miss, const FitOptions& options) {
  PlainFit plain{.row = one_host_row(), .p = round_matrix(), .options = options};
  const machine::Models& models = machine::known();
  const double rate = predict_training(models, plain.row.query)->tokens_per_s_per_gpu.value;
  plain.row.tokens_per_s_per_gpu = rate / std::exp(miss);
  plain.run();
  return plain;
}

void expect_fit(PlainFit& plain) {
  machine::Models models = machine::known();
  const FitReport r = fit_training({plain.row}, {plain.p}, plain.options, models);
  const double value = *fitted_field(models.training, plain.p);
  EXPECT_NEAR(std::log(value / plain.p.prior), plain.x, 1e-9);
  EXPECT_EQ(r.evaluations, plain.evaluations);
  EXPECT_NEAR(r.loss_before, plain.loss_at(0), 1e-9);
  EXPECT_NEAR(r.loss_after, plain.loss_at(plain.x), 1e-9);
}

TEST(TrainingFit, a_fit_stops_at_small_gains) {
  PlainFit plain = plain_fit(0.3, {.rounds = 20});
  EXPECT_GE(plain.rounds, 4);
  EXPECT_LT(plain.rounds, 20);
  expect_fit(plain);
}

// Three parameters and three rows: the first step solves the normal equations, as elimination does.
TEST(TrainingFit, a_step_of_three_parameters_solves_all_equations) {
  std::vector<TrainingFitParameter> p = {
      round_matrix(), round_parameter(FitSubject::framework, "nemo", "kernel_factor"),
      round_parameter(FitSubject::accelerator, "h100-sxm", "passes")};
  const double widths[] = {0.25, 0.35, 0.3};
  for (std::size_t i = 0; i < 3; ++i) p[i].width = widths[i];
  const double misses[] = {0.06, 0.15, -0.04};
  std::vector<TrainingRow> rows(3, one_host_row());
  rows[1].query.batch = 64;
  rows[2].query.sequence = 16384;
  double a[3][4] = {};  // with the right side
  machine::Models models = machine::known();
  for (std::size_t r = 0; r < 3; ++r) {
    const auto rate = [&](const machine::Models& m) {
      return predict_training(m, rows[r].query)->tokens_per_s_per_gpu.value;
    };
    const double before = rate(models);
    rows[r].tokens_per_s_per_gpu = before / std::exp(misses[r]);
    double slope[3];
    for (std::size_t i = 0; i < 3; ++i) {
      machine::Models moved = models;
      *fitted_field(moved.training, p[i]) *= std::exp(0.01);
      slope[i] = std::log(rate(moved) / before) / 0.01;
    }
    const double far = std::abs(misses[r]);
    const double w = (far + 0.16) / ((far + 0.08) * (far + 0.08));
    for (std::size_t i = 0; i < 3; ++i) {
      a[i][3] -= w * slope[i] * misses[r];
      for (std::size_t k = 0; k < 3; ++k) a[i][k] += w * slope[i] * slope[k];
    }
  }
  for (std::size_t i = 0; i < 3; ++i) a[i][i] = a[i][i] * 1.05 + 0.16 / (widths[i] * widths[i]);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      const double times = a[k][i] / a[i][i];
      for (std::size_t c = 0; k != i && c < 4; ++c) a[k][c] -= times * a[i][c];
    }
  }
  fit_training(rows, p, {.rounds = 1}, models);
  for (std::size_t i = 0; i < 3; ++i) {
    const double moved = std::log(*fitted_field(models.training, p[i]) / p[i].prior);
    EXPECT_NEAR(moved, a[i][3] / a[i][i], 1e-7) << p[i].name;
    EXPECT_GT(std::abs(moved), 1e-4);
  }
}

constexpr double kKnee = 0.08;

TrainingRow fit_row(const char* model, int batch, const char* accelerator = "h100-sxm") {
  TrainingRow row = one_host_row(accelerator, model, batch);
  row.id = model;
  return row;
}

double rate_of(const machine::Models& models, const TrainingRow& row) {
  const auto p = predict_training(models, row.query);
  EXPECT_TRUE(p) << to_text(p.error());
  return p->tokens_per_s_per_gpu.value;
}

TrainingFitParameter matrix_of(machine::Models& models, double prior_over_value, double width) {
  TrainingFitParameter p{
      .subject = FitSubject::accelerator, .id = "h100-sxm", .name = "matrix", .width = width};
  const double value = *fitted_field(models.training, p);
  p.prior = value * prior_over_value;
  p.least = value / 10;
  p.most = value * 10;
  return p;
}

TrainingFitParameter kernels_of(machine::Models& models, double prior_over_value, double width) {
  TrainingFitParameter p{
      .subject = FitSubject::framework, .id = "nemo", .name = "kernel_factor", .width = width};
  const double value = *fitted_field(models.training, p);
  p.prior = value * prior_over_value;
  p.least = value / 10;
  p.most = value * 10;
  return p;
}

// By a hundredth of ln(value), as the fit takes it.
double slope_of(machine::Models models, const TrainingRow& row, const TrainingFitParameter& p) {
  const double before = rate_of(models, row);
  *fitted_field(models.training, p) *= std::exp(0.01);
  return std::log(rate_of(models, row) / before) / 0.01;
}

double weight_at(double miss) {
  const double a = std::abs(miss);
  return (a + 2 * kKnee) / ((a + kKnee) * (a + kKnee));
}

// Rows whose ln(predicted / measured) are the given errors.
std::vector<TrainingRow> missed_rows(const machine::Models& models,
                                     const std::vector<double>& misses) {
  std::vector<TrainingRow> rows;
  for (std::size_t i = 0; i < misses.size(); ++i) {
    rows.push_back(i % 2 == 0 ? fit_row("llama-3-8b", 16) : fit_row("llama-2-7b", 64));
    rows.back().tokens_per_s_per_gpu = rate_of(models, rows.back()) / std::exp(misses[i]);
  }
  return rows;
}

// 0.1^2 / 0.18 + 0.3^2 / 0.38 of two rows, and half a width squared of a parameter; without a
// round nothing moves.
TEST(TrainingFit, the_loss_has_row_and_prior_terms) {
  machine::Models models = machine::known();
  auto rows = missed_rows(models, {0.1, -0.3});
  rows.push_back(fit_row("llama-3-8b", 16));  // without a measured value
  auto p = matrix_of(models, std::exp(-0.1), 0.2);
  const TrainingFitParameter unknown{.subject = FitSubject::framework, .id = "abacus", .name = "x"};
  const double before = *fitted_field(models.training, p);
  const FitReport r = fit_training(rows, {p, unknown}, {.rounds = 0}, models);
  const double loss = (0.01 / 0.18 + 0.09 / 0.38 + 0.08 * 0.25) / 2;
  EXPECT_NEAR(r.loss_before, loss, 1e-9);
  EXPECT_NEAR(r.loss_after, loss, 1e-9);
  EXPECT_EQ(r.evaluations, 2);
  EXPECT_TRUE(r.decided.empty());
  EXPECT_EQ(*fitted_field(models.training, p), before);
}

TEST(TrainingFit, without_rows_the_loss_is_the_prior) {
  machine::Models models = machine::known();
  const auto p = matrix_of(models, std::exp(-0.3), 0.2);  // a width and a half
  EXPECT_NEAR(fit_training({}, {p}, {.rounds = 0}, models).loss_before, 0.08 * 2.25, 1e-9);
  EXPECT_EQ(FitReport{}.loss_before, 0);
  EXPECT_EQ(FitReport{}.loss_after, 0);
  EXPECT_EQ(FitReport{}.evaluations, 0);
}

// One parameter: (w s^2 (1 + damping) + hold) y = -w s x - hold (distance from the prior).
TEST(TrainingFit, a_step_of_one_parameter_is_gauss_newton) {
  machine::Models models = machine::known();
  const auto rows = missed_rows(models, {0.05, 0.12});
  const auto p = matrix_of(models, std::exp(0.04), 0.3);
  const double hold = 2 * kKnee / 0.09;
  double a = 0, b = hold * 0.04;
  const double misses[] = {0.05, 0.12};
  for (std::size_t i = 0; i < 2; ++i) {
    const double s = slope_of(models, rows[i], p);
    ASSERT_LT(s, -0.1);
    a += weight_at(misses[i]) * s * s;
    b -= weight_at(misses[i]) * s * misses[i];
  }
  const double value = *fitted_field(models.training, p);
  const FitReport r = fit_training(rows, {p}, {.rounds = 1, .first_damping = 0.3}, models);
  EXPECT_LT(r.loss_after, r.loss_before);
  EXPECT_NEAR(std::log(*fitted_field(models.training, p) / value), b / (a * 1.3 + hold), 1e-6);
}

// The same of two: Cramer's rule.
TEST(TrainingFit, a_step_of_two_parameters_solves_both_equations) {
  machine::Models models = machine::known();
  const auto rows = missed_rows(models, {0.06, 0.15});
  const auto p = matrix_of(models, 1, 0.25);
  const auto q = kernels_of(models, std::exp(-0.02), 0.35);
  const double misses[] = {0.06, 0.15};
  const double hold_p = 2 * kKnee / (0.25 * 0.25), hold_q = 2 * kKnee / (0.35 * 0.35);
  double pp = 0, pq = 0, qq = 0, bp = 0, bq = -hold_q * 0.02;
  for (std::size_t i = 0; i < 2; ++i) {
    const double sp = slope_of(models, rows[i], p), sq = slope_of(models, rows[i], q);
    const double w = weight_at(misses[i]);
    pp += w * sp * sp, pq += w * sp * sq, qq += w * sq * sq;
    bp -= w * sp * misses[i], bq -= w * sq * misses[i];
  }
  pp = pp * 1.05 + hold_p, qq = qq * 1.05 + hold_q;
  const double det = pp * qq - pq * pq;
  const double p0 = *fitted_field(models.training, p), q0 = *fitted_field(models.training, q);
  fit_training(rows, {p, q}, {.rounds = 1}, models);
  EXPECT_NEAR(std::log(*fitted_field(models.training, p) / p0), (bp * qq - bq * pq) / det, 1e-6);
  EXPECT_NEAR(std::log(*fitted_field(models.training, q) / q0), (bq * pp - bp * pq) / det, 1e-6);
}

TEST(TrainingFit, steps_are_bounded) {
  machine::Models models = machine::known();
  const auto rows = missed_rows(models, {3, 3});
  auto p = matrix_of(models, 1, 2);
  const double value = *fitted_field(models.training, p);
  machine::Models far = models;
  fit_training(rows, {p}, {.rounds = 1}, far);
  EXPECT_NEAR(*fitted_field(far.training, p), value * std::exp(0.5), 1e-9 * value);
  p.most = 1.1 * value;
  far = models;
  fit_training(rows, {p}, {.rounds = 4}, far);
  EXPECT_DOUBLE_EQ(*fitted_field(far.training, p), 1.1 * value);
  p.least = 0.95 * value;
  far = models;
  fit_training(missed_rows(models, {-3, -3}), {p}, {.rounds = 4}, far);
  EXPECT_DOUBLE_EQ(*fitted_field(far.training, p), 0.95 * value);
}

// Rows without error and a parameter at its prior do not change; a row weighs 2 / knee there, so it
// decides 1 - hold / (2 / knee sum s^2 + hold).
TEST(TrainingFit, information_is_the_narrowing_by_rows) {
  machine::Models models = machine::known();
  const auto rows = missed_rows(models, {0, 0});
  const auto p = matrix_of(models, 1, 0.05);
  auto other = matrix_of(models, 1, 0.05);
  other.id = "a100-80-sxm";
  other.prior = *fitted_field(models.training, other);
  double a = 0;
  for (const TrainingRow& row : rows) {
    const double s = slope_of(models, row, p);
    a += 2 / kKnee * s * s;
  }
  const double value = *fitted_field(models.training, p);
  const double hold = 2 * kKnee / 0.0025;
  const FitReport r = fit_training(rows, {p, other}, {.rounds = 1, .with_decided = true}, models);
  ASSERT_EQ(r.decided.size(), 2U);
  EXPECT_NEAR(r.decided[0], 1 - hold / (a + hold), 1e-6);
  EXPECT_GT(r.decided[0], 0.1);
  EXPECT_LT(r.decided[0], 0.9);
  EXPECT_EQ(r.decided[1], 0);
  EXPECT_DOUBLE_EQ(*fitted_field(models.training, p), value);
}

TEST(TrainingFit, parameters_affect_rows_of_their_subject) {
  const TrainingRow row = fit_row("llama-3-8b", 16);
  const auto touches = [&](FitSubject subject, const char* id) {
    return fit_touches({.subject = subject, .id = id, .name = ""}, row);
  };
  EXPECT_TRUE(touches(FitSubject::framework, "nemo"));
  EXPECT_FALSE(touches(FitSubject::framework, "nemo 25.04"));
  EXPECT_TRUE(touches(FitSubject::accelerator, "h100-sxm"));
  EXPECT_FALSE(touches(FitSubject::accelerator, "h200-sxm"));
  EXPECT_TRUE(touches(FitSubject::release, "nemo 25.04"));
  EXPECT_FALSE(touches(FitSubject::release, "nemo 25.05"));
  EXPECT_FALSE(touches(FitSubject::release, "nemo"));
}

TEST(TrainingFit, a_parameter_names_a_field) {
  training::TrainingCalibration c;
  c.frameworks.resize(2);
  c.frameworks[0].id = "a";
  c.frameworks[1].id = "b";
  c.accelerators.resize(1);
  c.accelerators[0].id = "x";
  c.releases = {{"a", "1", 1.5}, {"a", "2", 1.6}};
  const auto field = [&](FitSubject subject, const char* id, const char* name) {
    return fitted_field(c, {.subject = subject, .id = id, .name = name});
  };
  EXPECT_EQ(field(FitSubject::framework, "b", "kernel_factor"),
            framework_field(c.frameworks[1], "kernel_factor"));
  EXPECT_EQ(field(FitSubject::framework, "c", "kernel_factor"), nullptr);
  EXPECT_EQ(field(FitSubject::framework, "b", "no_such"), nullptr);
  EXPECT_EQ(field(FitSubject::accelerator, "x", "matrix"), &c.accelerators[0].matrix);
  EXPECT_EQ(field(FitSubject::accelerator, "y", "matrix"), nullptr);
  EXPECT_EQ(field(FitSubject::release, "a 2", ""), &c.releases[1].factor);
  EXPECT_EQ(field(FitSubject::release, "a 3", ""), nullptr);
}

}  // namespace
}  // namespace orrery::score
