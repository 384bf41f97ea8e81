#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <deque>

#include "core/catalog/embedded.h"
#include "study/score/one_host_fixture.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/training_refit.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

struct FirstFit {
  double decided = 0, value = 0;
};

// Rows that run 15 % slower than the priors predict, and what a first fit makes of parameter `at`.
FirstFit slower_rows(const std::vector<TrainingFitParameter>& parameters, std::size_t at,
                     std::vector<TrainingRow>& rows) {
  machine::Models first = machine::known();
  for (const TrainingFitParameter& p : parameters) *fitted_field(first.training, p) = p.prior;
  for (TrainingRow& r : rows) r.tokens_per_s_per_gpu = 0.85 * family_rate(first, r);
  const FitReport report = fit_training(rows, parameters, {.with_decided = true}, first);
  return {report.decided[at], *fitted_field(first.training, parameters[at])};
}

TrainingFitParameter family_parameter(FitSubject subject, const char* id, const char* name,
                                      double prior, double apart) {
  return {.subject = subject,
          .id = id,
          .name = name,
          .prior = prior,
          .width = 0.3,
          .least = 0.2,
          .most = 6,
          .apart = apart};
}

TrainingRow family_row(const std::string& accelerator) {
  return rows_to_fit(table_of({family_fields(accelerator, 1)}), known_inputs()).at(0);
}

// Each is 1.1 times its own prior: 1.2, 1.3 and 0.8. The first two share a link, and so share more
// than all three do.
TEST(TrainingRefitPool, distinct_priors_are_pooled) {
  const std::vector<TrainingFitParameter> parameters = {
      family_parameter(FitSubject::accelerator, "h200-sxm", "matrix", 1.32, 1.2),
      family_parameter(FitSubject::accelerator, "h100-sxm", "matrix", 1.43, 1.3),
      family_parameter(FitSubject::accelerator, "a100-80-sxm", "matrix", 0.88, 0.8)};
  std::vector<TrainingRow> rows(3, family_row("h100-sxm"));
  const FirstFit first = slower_rows(parameters, 1, rows);
  ASSERT_GT(first.decided, 0.2);
  ASSERT_GT(first.value, 1.5);
  const double own = std::log(first.value / 1.3);
  const double all = (std::log(1.1) + first.decided * own) / (1 + first.decided);
  const double near = (all + first.decided * own) / (1 + first.decided);
  machine::Models fitted = refit_training(machine::known(), rows, parameters);
  EXPECT_NEAR(*fitted_field(fitted.training, parameters[0]), 1.2 * std::exp(near), 1e-9);
  EXPECT_NEAR(*fitted_field(fitted.training, parameters[2]), 0.8 * std::exp(all), 1e-9);
  const auto common = family_parameter(FitSubject::accelerator, "default", "matrix", 1, 1);
  EXPECT_NEAR(*fitted_field(fitted.training, common), std::exp(all), 1e-9);
}

TEST(TrainingRefitPool, the_common_value_stays_in_bounds) {
  const auto common = family_parameter(FitSubject::accelerator, "default", "matrix", 1, 1);
  const auto fitted = [&](double least, double most) {
    std::vector<TrainingFitParameter> parameters = {
        family_parameter(FitSubject::accelerator, "h100-sxm", "matrix", 1.1, 1),
        family_parameter(FitSubject::accelerator, "h200-sxm", "matrix", 1.1, 1)};
    std::vector<TrainingRow> rows(3, family_row("h100-sxm"));
    slower_rows(parameters, 0, rows);
    parameters[1].least = least, parameters[1].most = most;
    machine::Models models = refit_training(machine::known(), rows, parameters);
    return *fitted_field(models.training, common);
  };
  EXPECT_DOUBLE_EQ(fitted(0.2, 1.105), 1.105);
  EXPECT_DOUBLE_EQ(fitted(1.5, 6), 1.5);
}

// A family that equals "default" takes the value that families have in common; one that differs
// keeps its own.
TEST(TrainingRefitPool, families_without_rows_inherit) {
  machine::Models shipped = machine::known();
  auto& families = shipped.training.frameworks;
  ASSERT_EQ(families.front().id, "default");
  const auto family = [](machine::Models& m, std::string_view id) -> training::FrameworkModel& {
    return *std::ranges::find(m.training.frameworks, id, &training::FrameworkModel::id);
  };
  family(shipped, "pytorch").kernel_factor = families.front().kernel_factor;
  // except its own
  family(shipped, "megatron-core").kernel_factor = families.front().kernel_factor;
  family(shipped, "torchtitan").kernel_factor = families.front().kernel_factor + 0.01;
  const std::vector<TrainingFitParameter> parameters = {
      family_parameter(FitSubject::framework, "nemo", "kernel_factor", 1.05, 1),
      family_parameter(FitSubject::accelerator, "h100-sxm", "matrix", 1.2, 1),
      family_parameter(FitSubject::framework, "megatron-core", "kernel_factor", 1.26, 1.2)};
  std::vector<TrainingRow> rows(3, family_row("h100-sxm"));
  const FirstFit first = slower_rows(parameters, 0, rows);
  ASSERT_GT(first.decided, 0.02);
  const double own = std::log(first.value);
  const double all = (std::log(1.05) + first.decided * own) / (1 + first.decided);
  const double near = (all + first.decided * own) / (1 + first.decided);
  machine::Models fitted = refit_training(shipped, rows, parameters);
  EXPECT_NEAR(family(fitted, "megatron-core").kernel_factor, 1.2 * std::exp(near), 1e-9);
  EXPECT_NEAR(family(fitted, "pytorch").kernel_factor, std::exp(near), 1e-9);
  EXPECT_NEAR(family(fitted, "default").kernel_factor, std::exp(near), 1e-9);
  EXPECT_EQ(family(fitted, "torchtitan").kernel_factor,
            family(shipped, "torchtitan").kernel_factor);
  EXPECT_EQ(family(fitted, "pytorch").host_launch_s, family(shipped, "pytorch").host_launch_s);
}

TrainingRow pooled_row(const char* accelerator, const char* release = "25.04") {
  TrainingRow row = one_host_row(accelerator);
  row.query.release = release;
  return row;
}

double tokens_of(const machine::Models& models, const TrainingRow& row) {
  return predict_training(models, row.query)->tokens_per_s_per_gpu.value;
}

TrainingFitParameter matrix_on(const char* accelerator, double prior, double apart) {
  return {.subject = FitSubject::accelerator,
          .id = accelerator,
          .name = "matrix",
          .prior = prior,
          .width = 0.3,
          .least = 0.2,
          .most = 6,
          .apart = apart};
}

// Rows of an H100 that runs 15 % slower than a prior of 1.1 predicts.
struct Slower {
  machine::Models models = machine::known();
  std::vector<TrainingFitParameter> parameters = {matrix_on("h100-sxm", 1.1, 1),
                                                  matrix_on("h200-sxm", 1.32, 1.2),
                                                  matrix_on("a100-80-sxm", 0.88, 0.8)};
  std::vector<TrainingRow> rows = std::vector<TrainingRow>(3, pooled_row("h100-sxm"));

  Slower() {
    machine::Models at_prior = models;
    for (const TrainingFitParameter& p : parameters) {
      *fitted_field(at_prior.training, p) = p.prior;
    }
    for (TrainingRow& r : rows) r.tokens_per_s_per_gpu = 0.85 * tokens_of(at_prior, r);
  }
};

// all  = exp((ln 1.1 + decided ln value) / (1 + decided)); for NVLink4 the same again, starting
// from `all`.
TEST(TrainingRefitPool, rows_of_a_generation_move_others_less) {
  const Slower s;
  machine::Models first = s.models;
  for (const TrainingFitParameter& p : s.parameters) *fitted_field(first.training, p) = p.prior;
  const FitReport report = fit_training(s.rows, s.parameters, {.with_decided = true}, first);
  const double decided = report.decided[0], value = *fitted_field(first.training, s.parameters[0]);
  ASSERT_GT(decided, 0.2);
  ASSERT_GT(value, 1.2);
  ASSERT_LT(report.decided[1], 1e-9);
  const double all = (std::log(1.1) + decided * std::log(value)) / (1 + decided);
  const double near = (all + decided * std::log(value)) / (1 + decided);
  machine::Models fitted = refit_training(s.models, s.rows, s.parameters);
  EXPECT_NEAR(*fitted_field(fitted.training, s.parameters[1]), 1.2 * std::exp(near), 1e-9);
  EXPECT_NEAR(*fitted_field(fitted.training, s.parameters[2]), 0.8 * std::exp(all), 1e-9);
  EXPECT_GE(*fitted_field(fitted.training, s.parameters[0]), value);
}

TEST(TrainingRefitPool, a_pooled_prior_stays_in_bounds) {
  Slower s;
  s.parameters[1].most = 1.33;
  s.parameters[2].least = 1.15;
  machine::Models fitted = refit_training(s.models, s.rows, s.parameters);
  EXPECT_DOUBLE_EQ(*fitted_field(fitted.training, s.parameters[1]), 1.33);
  EXPECT_DOUBLE_EQ(*fitted_field(fitted.training, s.parameters[2]), 1.15);
}

// All families count as one generation.
TEST(TrainingRefitPool, a_family_without_rows_takes_the_common_value) {
  Slower s;
  const auto family = [](const char* id, double prior) {
    return TrainingFitParameter{.subject = FitSubject::framework,
                                .id = id,
                                .name = "kernel_factor",
                                .prior = prior,
                                .width = 0.4,
                                .least = 0.2,
                                .most = 6};
  };
  s.parameters = {family("nemo", 1.05), family("megatron-core", 1.05)};
  machine::Models first = s.models;
  for (const TrainingFitParameter& p : s.parameters) *fitted_field(first.training, p) = 1.05;
  const FitReport report = fit_training(s.rows, s.parameters, {.with_decided = true}, first);
  const double decided = report.decided[0], value = *fitted_field(first.training, s.parameters[0]);
  ASSERT_GT(decided, 0.05);
  const double all = (std::log(1.05) + decided * std::log(value)) / (1 + decided);
  const double near = (all + decided * std::log(value)) / (1 + decided);
  machine::Models fitted = refit_training(s.models, s.rows, s.parameters);
  EXPECT_NEAR(*fitted_field(fitted.training, s.parameters[1]), std::exp(near), 1e-9);
}

// rho of each row and 0.08 squared widths, each width 0.7 of the given one.
TEST(TrainingRefitPool, own_rows_move_a_shipped_value_within_its_width) {
  Slower s;
  const double shipped = *fitted_field(s.models.training, s.parameters[0]);
  for (TrainingRow& r : s.rows) r.tokens_per_s_per_gpu = 0.8 * tokens_of(s.models, r);
  machine::Models tried = s.models;
  double best = 0, least = 1e9;
  for (double x = 0; x < 0.5; x += 0.001) {
    *fitted_field(tried.training, s.parameters[0]) = shipped * std::exp(x);
    const double miss = std::log(tokens_of(tried, s.rows[0]) / *s.rows[0].tokens_per_s_per_gpu);
    const double widths = x / (0.7 * 0.3);
    const double loss = 3 * miss * miss / (std::abs(miss) + 0.08) + 0.08 * widths * widths;
    if (loss < least) least = loss, best = x;
  }
  ASSERT_GT(best, 0.05);
  machine::Models adjusted = adjust_training(s.models, s.rows, s.parameters);
  EXPECT_NEAR(std::log(*fitted_field(adjusted.training, s.parameters[0]) / shipped), best, 0.003);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_EQ(*fitted_field(adjusted.training, s.parameters[i]),
              *fitted_field(s.models.training, s.parameters[i]));
  }
}

TEST(TrainingRefitPool, seen_subjects_are_those_of_the_rows) {
  Slower s;
  s.rows[1].query.release = "77.7";
  const auto seen = [](const machine::Models& m) {
    std::string out;
    for (const training::SeenThing& t : m.training.seen) {
      out += std::string(word_of(t.kind)) + " " + t.id + "; ";
    }
    return out;
  };
  const std::string all = seen(refit_training(s.models, s.rows, {s.parameters[0]}));
  for (const char* thing : {"model llama-3-8b; ", "framework nemo; ", "accelerator h100-sxm; ",
                            "release nemo 25.04; ", "release nemo 77.7; "}) {
    EXPECT_THAT(all, HasSubstr(thing));
  }
  EXPECT_EQ(std::ranges::count(all, ';'), 5);
  const std::string before = seen(s.models);
  EXPECT_EQ(seen(adjust_training(s.models, s.rows, {s.parameters[0]})),
            before + "release nemo 25.04; release nemo 77.7; ");
}

// A release without measurements behaves like the nearest measured one.
TEST(TrainingRefitPool, a_release_without_rows_is_like_its_neighbour) {
  Slower s;
  std::vector<TrainingFitParameter> releases;
  for (const training::ReleaseFactor& r : s.models.training.releases) {
    if (r.framework != "megatron-bridge") continue;
    releases.push_back({.subject = FitSubject::release,
                        .id = "megatron-bridge " + r.release,
                        .name = "factor",
                        .prior = 1,
                        .width = 0.2,
                        .least = 0.5,
                        .most = 2});
  }
  ASSERT_GT(releases.size(), 5U);
  for (TrainingRow& r : s.rows) {
    r.query.framework = "megatron-bridge";
    r.query.model = *s.models.catalog().model("mixtral-8x7b");
    r.query.gpus = 64;
    r.query.nic = gbytes_per_s(50);
    r.query.batch = 128;
    r.query.release = "25.11";
    const auto p = predict_training(s.models, r.query);
    ASSERT_TRUE(p) << to_text(p.error());
    r.tokens_per_s_per_gpu = 0.85 * p->tokens_per_s_per_gpu.value;
  }
  machine::Models fitted = refit_training(s.models, s.rows, releases);
  const TrainingFitParameter own{FitSubject::release, "megatron-bridge 25.11"};
  const double measured = *fitted_field(fitted.training, own);
  EXPECT_NE(measured, 1);
  for (const TrainingFitParameter& p : releases) {
    EXPECT_DOUBLE_EQ(*fitted_field(fitted.training, p), measured) << p.id;
  }
}

// The shipped knowledge with another text of one file.
catalog::Knowledge with_file(std::string_view path, std::string text) {
  static std::deque<std::string> texts;
  static std::deque<std::vector<catalog::EmbeddedFile>> all;
  auto& files =
      all.emplace_back(catalog::embedded_files().begin(), catalog::embedded_files().end());
  texts.push_back(std::move(text));
  for (catalog::EmbeddedFile& file : files) {
    if (file.path == path) file.text = texts.back();
  }
  catalog::Knowledge knowledge = *machine::known().knowledge;
  knowledge.files = files;
  return knowledge;
}

TEST(TrainingRefitPool, a_prior_is_specific_or_common) {
  std::string priors = "subject,of,parameter,prior,width,least,most,why\n";
  const auto shipped = machine::known().knowledge->table("calibration/training_priors.csv").value();
  for (const CsvRow& row : shipped.rows()) {
    if (!shipped.text(row, "of").empty()) continue;
    const bool matrix =
        shipped.text(row, "subject") == "accelerator" && shipped.text(row, "parameter") == "matrix";
    priors += std::string(shipped.text(row, "subject")) + ",," +
              std::string(shipped.text(row, "parameter")) +
              (matrix ? ",1.25,,,,w\n" : ",1,0.2,0.1,9,w\n");
  }
  priors += "accelerator,h100-sxm,matrix,1.5,0.07,0.3,4,w\n";
  const auto all = training_fit_parameters(with_file("calibration/training_priors.csv", priors));
  ASSERT_TRUE(all) << to_text(all.error());
  const auto find = [&](std::string_view id) {
    for (const TrainingFitParameter& p : *all) {
      if (p.subject == FitSubject::accelerator && p.id == id && p.name == "matrix") return p;
    }
    ADD_FAILURE() << id;
    return TrainingFitParameter{};
  };
  const TrainingFitParameter own = find("h100-sxm");
  EXPECT_EQ(own.prior, 1.5);
  EXPECT_EQ(own.width, 0.07);
  EXPECT_EQ(own.least, 0.3);
  EXPECT_EQ(own.most, 4);
  EXPECT_DOUBLE_EQ(own.apart, 1.5 / 1.25);
  const TrainingFitParameter other = find("h200-sxm");
  EXPECT_EQ(other.prior, 1.25);
  EXPECT_EQ(other.width, 0.1);
  EXPECT_EQ(other.least, 0);
  EXPECT_EQ(other.most, 0);
  EXPECT_EQ(other.apart, 1);
}

}  // namespace
}  // namespace orrery::score
