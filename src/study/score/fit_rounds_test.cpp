// The fit of training parameters round by round: the same fit of one parameter to one row, written
// out plainly, gives the same value, loss and number of evaluations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "study/score/one_host_fixture.h"
#include "study/score/training_fit.h"

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

// What a fit of one parameter p to one row does, in x = ln(value / prior).
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
  // The slope over one probe, and the step of Gauss and Newton, damped.
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
    EXPECT_LT(now, start) << "every step here is better at once";
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

TEST(FitRounds, a_fit_goes_on_until_a_round_gains_little) {
  PlainFit plain = plain_fit(0.3, {.rounds = 20});
  EXPECT_GE(plain.rounds, 4);
  EXPECT_LT(plain.rounds, 20);
  expect_fit(plain);
}

// The first four rounds are made however little they gain.
TEST(FitRounds, four_rounds_are_made_in_any_case) {
  PlainFit plain = plain_fit(0.05, {.rounds = 20, .enough = 0.9});
  EXPECT_EQ(plain.rounds, 4);
  expect_fit(plain);
  PlainFit more = plain_fit(0.05, {.rounds = 3, .enough = 0.9});
  EXPECT_EQ(more.rounds, 3);
  expect_fit(more);
}

// A row that is met and a parameter at its prior: no step is better. A round is one slope, six
// tries and the way back, and four are made.
TEST(FitRounds, a_round_without_a_better_step_gives_up_after_six_tries) {
  PlainFit plain{.row = one_host_row(), .p = round_matrix(), .options = {.rounds = 20}};
  plain.row.tokens_per_s_per_gpu =
      predict_training(machine::known(), plain.row.query)->tokens_per_s_per_gpu.value;
  machine::Models models = machine::known();
  const FitReport r = fit_training({plain.row}, {plain.p}, plain.options, models);
  EXPECT_EQ(r.evaluations, 1 + 4 * (1 + 6 + 1));
  EXPECT_EQ(r.loss_after, r.loss_before);
  EXPECT_DOUBLE_EQ(*fitted_field(models.training, plain.p), plain.p.prior);
}

TEST(FitRounds, damping_falls_to_a_twentieth_and_no_lower_than_a_thousandth) {
  PlainFit plain = plain_fit(0.4, {.rounds = 5, .first_damping = 0.5, .enough = 0});
  EXPECT_EQ(plain.rounds, 5);
  expect_fit(plain);
  PlainFit heavy = plain_fit(0.4, {.rounds = 3, .first_damping = 30, .enough = 0});
  expect_fit(heavy);
}

// A parameter of experts does not move a dense model: its slope is taken in every third round.
TEST(FitRounds, slopes_of_nothing_are_looked_at_again_in_every_third_round) {
  PlainFit plain = plain_fit(0.4, {.rounds = 5, .enough = 0});
  ASSERT_EQ(plain.rounds, 5);
  const auto idle = round_parameter(FitSubject::framework, "nemo", "grouped_16bit");
  machine::Models models = machine::known();
  const FitReport r = fit_training({plain.row}, {idle, plain.p}, plain.options, models);
  EXPECT_EQ(r.evaluations, plain.evaluations + 2) << "in the first and in the fourth";
  EXPECT_NEAR(std::log(*fitted_field(models.training, plain.p) / plain.p.prior), plain.x, 1e-9);
  EXPECT_DOUBLE_EQ(*fitted_field(models.training, idle), idle.prior);
}

// Three parameters and three rows: the first step solves the normal equations, as elimination does.
TEST(FitRounds, a_step_of_three_parameters_solves_all_equations) {
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

}  // namespace
}  // namespace orrery::score
