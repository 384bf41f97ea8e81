// Fits of several families and accelerators: what they have in common by hand, what families
// without a value of their own inherit, and the files that come of it, value by value.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "core/catalog/embedded.h"
#include "study/score/rows_fixture.h"
#include "study/score/training_held_out.h"
#include "study/score/training_refit.h"

namespace orrery::score {
namespace {

RowFields family_fields(const std::string& accelerator, double tokens) {
  return training_fields(
      {{"gpu", accelerator}, {"tokens_per_s_per_gpu", fmt::format("{}", tokens)}});
}

TrainingRow family_row(const std::string& accelerator) {
  return rows_to_fit(table_of({family_fields(accelerator, 1)}), known_inputs()).at(0);
}

double family_rate(const machine::Models& models, const TrainingRow& row) {
  return predict_training(models, row.query)->tokens_per_s_per_gpu.value;
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

struct FirstFit {
  double told = 0, value = 0;
};

// Rows that run 15 % slower than the priors say, and what a first fit makes of parameter `at`.
FirstFit slower_rows(const std::vector<TrainingFitParameter>& parameters, std::size_t at,
                     std::vector<TrainingRow>& rows) {
  machine::Models first = machine::known();
  for (const TrainingFitParameter& p : parameters) *fitted_field(first.training, p) = p.prior;
  for (TrainingRow& r : rows) r.tokens_per_s_per_gpu = 0.85 * family_rate(first, r);
  const FitReport report = fit_training(rows, parameters, {.with_told = true}, first);
  return {report.told[at], *fitted_field(first.training, parameters[at])};
}

// Each is 1.1 times what it is known to be apart: 1.2, 1.3 and 0.8. Of the link of the first two
// they share more than of all.
TEST(RefitFamilies, priors_apart_are_pooled_as_if_they_were_not) {
  const std::vector<TrainingFitParameter> parameters = {
      family_parameter(FitSubject::accelerator, "h200-sxm", "matrix", 1.32, 1.2),
      family_parameter(FitSubject::accelerator, "h100-sxm", "matrix", 1.43, 1.3),
      family_parameter(FitSubject::accelerator, "a100-80-sxm", "matrix", 0.88, 0.8)};
  std::vector<TrainingRow> rows(3, family_row("h100-sxm"));
  const FirstFit first = slower_rows(parameters, 1, rows);
  ASSERT_GT(first.told, 0.2);
  ASSERT_GT(first.value, 1.5);
  const double own = std::log(first.value / 1.3);
  const double all = (std::log(1.1) + first.told * own) / (1 + first.told);
  const double near = (all + first.told * own) / (1 + first.told);
  machine::Models fitted = refit_training(machine::known(), rows, parameters);
  EXPECT_NEAR(*fitted_field(fitted.training, parameters[0]), 1.2 * std::exp(near), 1e-9);
  EXPECT_NEAR(*fitted_field(fitted.training, parameters[2]), 0.8 * std::exp(all), 1e-9);
  const auto common = family_parameter(FitSubject::accelerator, "default", "matrix", 1, 1);
  EXPECT_NEAR(*fitted_field(fitted.training, common), std::exp(all), 1e-9);
}

TEST(RefitFamilies, what_all_have_in_common_stays_in_its_bounds) {
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

// A family that says what "default" says takes what families have in common; one that says
// something else keeps it.
TEST(RefitFamilies, families_without_a_value_of_their_own_inherit) {
  machine::Models shipped = machine::known();
  auto& families = shipped.training.frameworks;
  ASSERT_EQ(families.front().id, "default");
  const auto family = [](machine::Models& m, std::string_view id) -> training::FrameworkModel& {
    return *std::ranges::find(m.training.frameworks, id, &training::FrameworkModel::id);
  };
  family(shipped, "pytorch").kernel_factor = families.front().kernel_factor;
  family(shipped, "megatron-core").kernel_factor = families.front().kernel_factor;  // but its own
  family(shipped, "torchtitan").kernel_factor = families.front().kernel_factor + 0.01;
  const std::vector<TrainingFitParameter> parameters = {
      family_parameter(FitSubject::framework, "nemo", "kernel_factor", 1.05, 1),
      family_parameter(FitSubject::accelerator, "h100-sxm", "matrix", 1.2, 1),
      family_parameter(FitSubject::framework, "megatron-core", "kernel_factor", 1.26, 1.2)};
  std::vector<TrainingRow> rows(3, family_row("h100-sxm"));
  const FirstFit first = slower_rows(parameters, 0, rows);
  ASSERT_GT(first.told, 0.02);
  const double own = std::log(first.value);
  const double all = (std::log(1.05) + first.told * own) / (1 + first.told);
  const double near = (all + first.told * own) / (1 + first.told);
  machine::Models fitted = refit_training(shipped, rows, parameters);
  EXPECT_NEAR(family(fitted, "megatron-core").kernel_factor, 1.2 * std::exp(near), 1e-9);
  EXPECT_NEAR(family(fitted, "pytorch").kernel_factor, std::exp(near), 1e-9);
  EXPECT_NEAR(family(fitted, "default").kernel_factor, std::exp(near), 1e-9);
  EXPECT_EQ(family(fitted, "torchtitan").kernel_factor,
            family(shipped, "torchtitan").kernel_factor);
  EXPECT_EQ(family(fitted, "pytorch").host_launch_s, family(shipped, "pytorch").host_launch_s)
      << "no fit speaks of it";
}

// A fit of one parameter has nothing to share: the default stays, and what is not of the row does.
TEST(RefitFamilies, one_parameter_alone_is_fitted_once) {
  const std::vector<TrainingFitParameter> one = {
      family_parameter(FitSubject::accelerator, "h100-sxm", "matrix", 1.1, 1)};
  std::vector<TrainingRow> rows(3, family_row("h100-sxm"));
  const FirstFit first = slower_rows(one, 0, rows);
  machine::Models fitted = refit_training(machine::known(), rows, one);
  EXPECT_EQ(*fitted_field(fitted.training, one[0]), first.value);
  machine::Models shipped = machine::known();
  const auto common = family_parameter(FitSubject::accelerator, "default", "matrix", 1, 1);
  EXPECT_EQ(*fitted_field(fitted.training, common), *fitted_field(shipped.training, common));
}

// The shipped models where the H100's products alone are fitted, or of another origin.
machine::Models models_fitting(const std::string& origin) {
  static std::deque<std::string> texts;
  static std::deque<std::vector<catalog::EmbeddedFile>> all;
  auto& files =
      all.emplace_back(catalog::embedded_files().begin(), catalog::embedded_files().end());
  for (catalog::EmbeddedFile& file : files) {
    if (!file.path.starts_with("calibration/training_")) continue;
    std::string text;
    for (std::string line : split_lines(file.text)) {
      const std::size_t at = line.find(",fitted,");
      const bool kept = line.starts_with("h100-sxm,matrix,");
      if (at != std::string::npos) line.replace(at, 8, kept ? "," + origin + "," : ",known,");
      text += line + "\n";
    }
    file.text = texts.emplace_back(std::move(text));
  }
  return machine::load_models(files).value();
}

const machine::Models& one_fitted() {
  static const machine::Models* const kModels = new machine::Models(models_fitting("fitted"));
  return *kModels;
}

TEST(RefitFamilies, an_origin_that_is_none_is_quoted) {
  static const machine::Models kIll = models_fitting("heard");
  const auto parameters = training_fit_parameters(*kIll.knowledge);
  ASSERT_FALSE(parameters);
  ASSERT_EQ(parameters.error().size(), 1U);
  const Diagnostic& d = parameters.error()[0];
  EXPECT_EQ(d.code, "calibration.origin");
  EXPECT_EQ(d.what, "'heard' is no origin of a parameter");
  EXPECT_EQ(d.why, "a fit must know which values it may move");
  EXPECT_TRUE(d.fix.starts_with("write one of ")) << d.fix;
  EXPECT_GT(d.place.line, 1);
  EXPECT_NE(d.place.file.find("training_accelerators.csv"), std::string::npos);
}

// By kind and then by name, whatever the order of the rows; rows that do not count are in no line.
TEST(RefitFamilies, what_was_seen_is_sorted_and_what_does_not_count_is_left_out) {
  RowFields first = family_fields("h200-sxm", 9000), second = family_fields("h200-sxm", 9000);
  second["model"] = "llama-2-7b";
  RowFields third = second;
  third["certainty"] = "no";
  const ScoreInputs inputs{.models = one_fitted(), .model = {}};
  const CsvTable table = table_of({first, second, third});
  const auto files = refitted_files(table, inputs, "m").value();
  EXPECT_TRUE(
      files[3].text.starts_with("subject,id,source\nmodel,llama-2-7b,m\n"
                                "model,llama-3-8b,m\nframework,nemo,m\n"))
      << files[3].text;
  const auto text = held_out_markdown(table, inputs);
  ASSERT_TRUE(text);
  const std::vector<std::string> lines = split_lines(*text);
  ASSERT_GT(lines.size(), 5U);
  EXPECT_TRUE(lines[2].starts_with("| in sample | all | 2 | ")) << lines[2];
  EXPECT_TRUE(lines[5].starts_with("| left out by model | all | 2 | ")) << lines[5];
}

struct WrittenValue {
  std::string value, source;
};
WrittenValue written(const CalibrationFile& file, std::string_view id, std::string_view parameter) {
  const CsvTable table = CsvTable::parse(file.text, file.path).value();
  for (const CsvRow& row : table.rows()) {
    if (row.fields.at(0) == id && table.text(row, "parameter") == parameter) {
      return {std::string(table.text(row, "value")), std::string(table.text(row, "source"))};
    }
  }
  ADD_FAILURE() << id << " " << parameter;
  return {};
}

// Seven rows that are missed by 0.02 to 0.14: four fifths of the way from the first to the last is
// place 4.8 of 6, and the row at 4 is taken. No row moves the H100.
TEST(RefitFamilies, a_width_is_what_four_fifths_of_a_family_s_rows_stay_within) {
  const ScoreInputs inputs{.models = one_fitted(), .model = {}};
  const TrainingRow open = rows_to_fit(table_of({family_fields("h200-sxm", 1)}), inputs).at(0);
  const double rate = family_rate(one_fitted(), open);
  std::vector<RowFields> rows;
  for (const int i : {4, -1, 7, 2, -5, 3, 6}) {
    rows.push_back(family_fields("h200-sxm", rate * std::exp(0.02 * i)));
  }
  const auto files = refitted_files(table_of(rows), inputs, "mine.csv").value();
  EXPECT_EQ(written(files[0], "nemo", "error").value, "0.100");
  EXPECT_EQ(written(files[0], "nemo", "error").source, "80 % half-width of its rows");
  const CalibrationFile before{"f", std::string(catalog::embedded_file(files[0].path).value())};
  EXPECT_EQ(written(files[0], "torchtitan", "error").value,
            written(before, "torchtitan", "error").value)
      << "no row is of it";
  EXPECT_EQ(written(files[1], "h100-sxm", "matrix").source, "fit on its 0 rows of mine.csv");
  const double prior = training_fit_parameters(*one_fitted().knowledge)->at(0).prior;
  EXPECT_EQ(written(files[1], "h100-sxm", "matrix").value, fmt::format("{:.4g}", prior));
  EXPECT_EQ(written(files[1], "h100-pcie", "matrix").value, fmt::format("{:.4g}", prior))
      << "carried over";
  EXPECT_EQ(files[3].text,
            "subject,id,source\nmodel,llama-3-8b,mine.csv\nframework,nemo,mine.csv\n"
            "accelerator,h200-sxm,mine.csv\nrelease,nemo 25.04,mine.csv\n");
}

// A reader's own rows: values that they do not touch keep value and source, widths stay, and what
// was seen before still was.
TEST(RefitFamilies, a_reader_s_rows_leave_the_rest_of_the_files) {
  const ScoreInputs inputs{.models = one_fitted(), .model = {}};
  const auto adjusted = [&](const char* accelerator) {
    const TrainingRow open = rows_to_fit(table_of({family_fields(accelerator, 1)}), inputs).at(0);
    const CsvTable table =
        table_of({family_fields(accelerator, 0.8 * family_rate(one_fitted(), open))});
    return refitted_files(table, inputs, "own rows, mine", FitFrom::shipped).value();
  };
  const auto shipped = [](const CalibrationFile& file, const char* id, const char* parameter) {
    return written({file.path, std::string(catalog::embedded_file(file.path).value())}, id,
                   parameter);
  };
  auto files = adjusted("h200-sxm");
  const WrittenValue before = shipped(files[1], "h100-sxm", "matrix");
  EXPECT_EQ(written(files[1], "h100-sxm", "matrix").value, before.value);
  EXPECT_EQ(written(files[1], "h100-sxm", "matrix").source, before.source);
  EXPECT_EQ(written(files[0], "nemo", "error").value, shipped(files[0], "nemo", "error").value);
  files = adjusted("h100-sxm");
  const WrittenValue after = written(files[1], "h100-sxm", "matrix");
  EXPECT_GT(std::stod(after.value), 1.02 * std::stod(before.value));
  EXPECT_EQ(after.source, "fit on its 1 rows of own rows, mine");
  EXPECT_EQ(written(files[1], "h800-sxm", "matrix").value, after.value);
  std::size_t seen = 0;
  for (const training::SeenThing& thing : one_fitted().training.seen) {
    seen += files[3].text.find(thing.id + ",\"own rows, mine\"\n") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(seen, one_fitted().training.seen.size());
}

TEST(RefitFamilies, a_width_says_which_rows_it_is_read_off) {
  const ScoreInputs inputs{.models = one_fitted(), .model = {}};
  const auto file = fitted_intervals(table_of({family_fields("h200-sxm", 9000)}), inputs);
  ASSERT_TRUE(file);
  int lines = 0;
  for (const std::string& line : split_lines(file->text)) {
    if (line.starts_with("unseen,")) continue;
    ++lines;
    EXPECT_TRUE(line.ends_with(line.starts_with("layout,")
                                   ? ",tuned rows whose layouts were left open: 80 % lie inside"
                                   : ",rows left out: 80 % lie inside"))
        << line;
  }
  EXPECT_EQ(lines, 10) << "five kinds, dense and mixed";
}

}  // namespace
}  // namespace orrery::score
