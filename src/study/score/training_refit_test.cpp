#include "study/score/training_refit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "core/catalog/embedded.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/training_held_out.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

const CsvTable& all_rows() {
  static const CsvTable table = catalog::embedded_table("validation/training.csv").value();
  return table;
}

// The rows of one H200: few enough for a fit in a test, three models among them.
CsvTable h200_rows() {
  std::string text;
  for (const std::string& column : all_rows().columns()) {
    text += (text.empty() ? "" : ",") + column;
  }
  text += '\n';
  for (const CsvRow& row : all_rows().rows()) {
    if (!all_rows().text(row, "id").starts_with("h200_")) continue;
    std::string line;
    for (const std::string& column : all_rows().columns()) {
      if (column != all_rows().columns().front()) line += ',';
      line += csv_field(all_rows().text(row, column));
    }
    text += line + '\n';
  }
  return *CsvTable::parse(text, "h200.csv");
}

std::vector<TrainingRow> read(const CsvTable& table, const ScoreInputs& inputs) {
  std::vector<TrainingRow> rows;
  for (const CsvRow& row : table.rows()) {
    auto r = read_training_row(table, row, inputs);
    if (r && r->tokens_per_s_per_gpu) rows.push_back(std::move(*r));
  }
  return rows;
}

TEST(TrainingRefit, EveryFittedParameterHasAPriorAndKeepsItsBounds) {
  const auto parameters = training_fit_parameters(*machine::known().knowledge);
  ASSERT_TRUE(parameters) << to_text(parameters.error());
  EXPECT_GT(parameters->size(), 100u);
  machine::Models models = machine::known();
  for (const TrainingFitParameter& p : *parameters) {
    const double* field = fitted_field(models.training, p);
    ASSERT_NE(field, nullptr) << p.id << ' ' << p.name;
    EXPECT_GE(*field, p.least * 0.999) << p.id << ' ' << p.name;
    EXPECT_LE(*field, p.most * 1.001) << p.id << ' ' << p.name;
    EXPECT_GT(p.width, 0) << p.id << ' ' << p.name;
  }
}

// A machine whose products take 30 % longer than the priors say is found out from its rows.
TEST(TrainingRefit, FindsTheFactorThatMadeTheRows) {
  const ScoreInputs inputs{machine::known(), nullptr};
  machine::Models models = machine::known();
  const TrainingFitParameter matrix{.subject = FitSubject::accelerator,
                                    .id = "h200-sxm",
                                    .name = "matrix",
                                    .prior = 1.1,
                                    .width = 0.5,
                                    .least = 0.5,
                                    .most = 3};
  *fitted_field(models.training, matrix) = 1.43;
  std::vector<TrainingRow> rows = read(h200_rows(), inputs);
  ASSERT_GE(rows.size(), 10u);
  for (TrainingRow& r : rows) {
    r.tokens_per_s_per_gpu = predict_training(models, r.query)->tokens_per_s_per_gpu.value;
  }
  machine::Models fitted = refit_training(models, rows, {matrix});
  EXPECT_NEAR(*fitted_field(fitted.training, matrix), 1.43, 0.03);
}

TEST(TrainingRefit, AModelLeftOutIsPredictedLessWellAndSaysSo) {
  const ScoreInputs inputs{machine::known(), nullptr};
  const CsvTable table = h200_rows();
  std::vector<int> told;
  const auto held_out = score_training_held_out(table, inputs, LeaveOut::model,
                                                [&](int done, int) { told.push_back(done); });
  ASSERT_TRUE(held_out) << to_text(held_out.error());
  EXPECT_EQ(told, (std::vector<int>{0, 1, 2}));
  const auto seen = score_training(table, inputs);
  ASSERT_TRUE(seen);
  const ScoredSeries& out = held_out->series[0];
  const ScoredSeries& in = seen->series[0];
  ASSERT_EQ(out.rows.size(), in.rows.size());
  EXPECT_GT(totals_of(out).mean_ape, totals_of(in).mean_ape);
  const auto width = [](const ScoredRow& r) { return r.predicted.high / r.predicted.value; };
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    EXPECT_GT(width(out.rows[i]), width(in.rows[i])) << out.rows[i].id;
  }
}

TEST(TrainingRefit, ACarriedValueNamesARelativeWithAFittedOrKnownOne) {
  const auto table = catalog::embedded_table("calibration/training_accelerators.csv");
  ASSERT_TRUE(table) << to_text(table.error());
  const auto origin_of = [&](std::string_view accelerator, std::string_view parameter) {
    for (const CsvRow& row : table->rows()) {
      const bool same = table->text(row, "accelerator") == accelerator &&
                        table->text(row, "parameter") == parameter;
      if (same) return from_word<ParameterOrigin>(table->text(row, "origin"));
    }
    return std::optional<ParameterOrigin>();
  };
  int carried = 0;
  for (const CsvRow& row : table->rows()) {
    const bool is_carried =
        from_word<ParameterOrigin>(table->text(row, "origin")) == ParameterOrigin::carried;
    EXPECT_EQ(is_carried, !table->text(row, "relative").empty()) << row.line;
    if (!is_carried) continue;
    ++carried;
    const auto origin = origin_of(table->text(row, "relative"), table->text(row, "parameter"));
    EXPECT_TRUE(origin && origin != ParameterOrigin::carried) << row.line;
  }
  EXPECT_GT(carried, 50);
}

// What the origin says decides, whatever the source tells: known rows stay as they are, fitted and
// carried ones take the fit's values, and no row is lost.
TEST(TrainingRefit, AFitRewritesTheRowsWhoseOriginSaysSo) {
  const ScoreInputs inputs{machine::known(), nullptr};
  const auto files = refitted_files(h200_rows(), inputs, "h200.csv");
  ASSERT_TRUE(files) << to_text(files.error());
  const CalibrationFile& file = (*files)[1];
  ASSERT_EQ(file.path, "calibration/training_accelerators.csv");
  const CsvTable before = catalog::embedded_table(file.path).value();
  const auto after = CsvTable::parse(file.text, file.path);
  ASSERT_TRUE(after) << to_text(after.error());
  ASSERT_EQ(after->columns(), before.columns());
  ASSERT_EQ(after->rows().size(), before.rows().size());
  std::map<std::string, std::string> values;  // of accelerator and parameter
  for (const CsvRow& row : after->rows()) {
    values[std::string(after->text(row, "accelerator")) + ' ' +
           std::string(after->text(row, "parameter"))] = after->text(row, "value");
  }
  int moved = 0;
  for (std::size_t i = 0; i < before.rows().size(); ++i) {
    const CsvRow& row = after->rows()[i];
    const auto origin = from_word<ParameterOrigin>(after->text(row, "origin"));
    if (origin == ParameterOrigin::known) {
      EXPECT_EQ(row.fields, before.rows()[i].fields);
    } else if (origin == ParameterOrigin::fitted) {
      moved += after->text(row, "value") != before.text(before.rows()[i], "value");
      EXPECT_TRUE(after->text(row, "source").starts_with("fit on its ")) << row.line;
      EXPECT_TRUE(after->text(row, "source").ends_with(" rows of h200.csv")) << row.line;
    } else if (origin == ParameterOrigin::carried) {
      const std::string of = std::string(after->text(row, "relative")) + ' ' +
                             std::string(after->text(row, "parameter"));
      EXPECT_DOUBLE_EQ(*after->number(row, "value"), std::stod(values.at(of))) << row.line;
    }
  }
  EXPECT_GT(moved, 20);
}

// A reader's two steps, 20 % slower than predicted, move their family and accelerator towards them
// and nothing else.
TEST(TrainingRefit, AFewStepsMoveOnlyWhatTheyCanTell) {
  const ScoreInputs inputs{machine::known(), nullptr};
  std::vector<TrainingRow> rows = read(h200_rows(), inputs);
  rows.resize(2);
  const auto predicted = [&](const machine::Models& m) {
    return predict_training(m, rows[0].query)->tokens_per_s_per_gpu.value;
  };
  const double before = predicted(machine::known());
  for (TrainingRow& r : rows) {
    r.tokens_per_s_per_gpu =
        0.8 * predict_training(machine::known(), r.query)->tokens_per_s_per_gpu.value;
  }
  const auto parameters = training_fit_parameters(*machine::known().knowledge);
  ASSERT_TRUE(parameters);
  machine::Models adjusted = adjust_training(machine::known(), rows, *parameters);
  EXPECT_LT(predicted(adjusted), 0.95 * before);
  machine::Models shipped = machine::known();
  for (const TrainingFitParameter& p : *parameters) {
    if (fit_touches(p, rows[0]) || fit_touches(p, rows[1])) continue;
    EXPECT_EQ(*fitted_field(adjusted.training, p), *fitted_field(shipped.training, p))
        << p.id << ' ' << p.name;
  }
}

// Half a minute with optimisation, so not in every run.
TEST(TrainingRefit, TheShippedParametersAreWhatTheFitGives) {
  if (std::getenv("ORRERY_FULL") == nullptr) GTEST_SKIP() << "set ORRERY_FULL to fit all rows";
  const ScoreInputs inputs{machine::known(), nullptr};
  const auto files = refitted_files(all_rows(), inputs, "data/validation/training.csv");
  ASSERT_TRUE(files) << to_text(files.error());
  for (const CalibrationFile& file : *files) {
    EXPECT_EQ(catalog::embedded_file(file.path).value_or(""), file.text) << file.path;
  }
}

}  // namespace
}  // namespace orrery::score
