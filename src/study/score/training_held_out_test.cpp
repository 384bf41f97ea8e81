#include "study/score/training_held_out.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <deque>

#include "core/catalog/embedded.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/training_refit.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

// Rows 10 % off a framework's prediction: its width is that, and at least 0.03.
TEST(TrainingHeldOut, framework_intervals_hold_80_percent_of_rows) {
  std::vector<RowFields> rows;
  for (const char* rate : {"8000", "9000", "10000", "11000", "12000", "13000"}) {
    rows.push_back(step_row(rate, {{"tokens_per_s_per_gpu", rate}}));
  }
  const CsvTable table = table_of(rows);
  const auto parameters = training_fit_parameters(*machine::known().knowledge);
  const machine::Models fitted =
      refit_training(machine::known(), rows_to_fit(table, known_inputs()), *parameters);
  const double rate = predict_training(fitted, rows_to_fit(table, known_inputs())[0].query)
                          ->tokens_per_s_per_gpu.value;
  std::vector<double> misses;
  for (const double measured : {8e3, 9e3, 10e3, 11e3, 12e3, 13e3}) {
    misses.push_back(std::abs(std::log(rate / measured)));
  }
  std::ranges::sort(misses);
  const auto files = refitted_files(table, known_inputs(), "t.csv");
  ASSERT_TRUE(files);
  const CsvTable file = CsvTable::parse((*files)[0].text, "f.csv").value();
  int widths = 0;
  for (const CsvRow& row : file.rows()) {
    if (file.text(row, "origin") != "width" || file.text(row, "framework") != "nemo") continue;
    EXPECT_NEAR(*file.number(row, "value"), misses[4], 6e-4);
    ++widths;
  }
  EXPECT_EQ(widths, 1);
}

// The shipped models with only one fitted parameter: its folds take no time.
machine::Models models_of_one_parameter(std::string_view origin = ",fitted,") {
  // The texts must outlive the knowledge that refers to them.
  static std::deque<std::string> texts;
  static std::deque<std::vector<catalog::EmbeddedFile>> all;
  auto& files =
      all.emplace_back(catalog::embedded_files().begin(), catalog::embedded_files().end());
  for (catalog::EmbeddedFile& file : files) {
    const bool frameworks = file.path == "calibration/training_frameworks.csv";
    const bool releases = file.path == "calibration/training_releases.csv";
    if (!frameworks && !releases && file.path != "calibration/training_accelerators.csv") continue;
    std::string text;
    for (std::string line : split_lines(file.text)) {
      const std::size_t at = line.find(",fitted,");
      const bool kept = line.starts_with("h100-sxm,matrix,");
      if (at != std::string::npos) line.replace(at, 8, kept ? std::string(origin) : ",known,");
      text += line + "\n";
    }
    texts.push_back(std::move(text));
    file.text = texts.back();
  }
  return machine::load_models(files).value();
}

const machine::Models& one_parameter() {
  static const machine::Models* const kModels = new machine::Models(models_of_one_parameter());
  return *kModels;
}

RowFields fold_row(const std::string& id, const RowFields& more) {
  return training_fields(with_fields({{"id", id}}, more));
}

CsvTable four_rows() {
  return table_of({fold_row("a", {}),
                   fold_row("b", {{"model", "llama-2-7b"},
                                  {"source", "one, other page"},
                                  {"tokens_per_s_per_gpu", "14000"}}),
                   fold_row("c", {{"model", "mixtral-8x7b"},
                                  {"source", "two"},
                                  {"release", "25.02"},
                                  {"n_gpus", "64"},
                                  {"gbs", "128"},
                                  {"ep", "1"},
                                  {"tokens_per_s_per_gpu", "4500"}}),
                   fold_row("d", {{"gpu", "h200-sxm"},
                                  {"source", "three"},
                                  {"release", ""},
                                  {"framework", "megatron-core"},
                                  {"tokens_per_s_per_gpu", "11000"}})});
}

ScoreInputs few_inputs() { return {.models = one_parameter(), .model = {}}; }

struct FoldsTold {
  std::vector<std::string> ids;
  int folds = 0;
};

FoldsTold folds_by(const CsvTable& table, LeaveOut by) {
  FoldsTold decided;
  const auto score = score_training_held_out(table, few_inputs(), by, [&](int done, int all) {
    EXPECT_EQ(done, decided.folds++);
    EXPECT_GE(all, decided.folds);
  });
  EXPECT_TRUE(score) << to_text(score.error());
  for (const ScoredRow& row : score->series[0].rows) decided.ids.push_back(row.id);
  return decided;
}

// A source is identified by its first word; a row without a release is in no fold of releases.
TEST(TrainingHeldOut, folds_share_a_key) {
  const CsvTable table = four_rows();
  using testing::ElementsAre;
  EXPECT_EQ(folds_by(table, LeaveOut::model).folds, 3);
  EXPECT_EQ(folds_by(table, LeaveOut::source).folds, 3);
  EXPECT_EQ(folds_by(table, LeaveOut::accelerator).folds, 2);
  EXPECT_EQ(folds_by(table, LeaveOut::framework).folds, 2);
  const FoldsTold releases = folds_by(table, LeaveOut::release);
  EXPECT_EQ(releases.folds, 2);
  EXPECT_THAT(releases.ids, ElementsAre("a", "b", "c"));
  EXPECT_THAT(folds_by(table, LeaveOut::source).ids, ElementsAre("a", "b", "c", "d"));
}

// Leaving out "one" leaves the other two sources to fit by.
TEST(TrainingHeldOut, each_row_is_predicted_by_a_fit_without_it) {
  const CsvTable table = four_rows();
  const auto score = score_training_held_out(table, few_inputs(), LeaveOut::source);
  ASSERT_TRUE(score);
  const auto parameters = training_fit_parameters(*one_parameter().knowledge);
  ASSERT_TRUE(parameters);
  ASSERT_EQ(parameters->size(), 1U);
  const std::vector<TrainingRow> rows = rows_to_fit(table, few_inputs());
  ASSERT_EQ(rows.size(), 4U);
  const machine::Models fold = refit_training(one_parameter(), {rows[2], rows[3]}, *parameters);
  for (const std::size_t i : {0U, 1U}) {
    const auto p = predict_training(fold, rows[i].query);
    ASSERT_TRUE(p);
    EXPECT_DOUBLE_EQ(score->series[0].rows[i].predicted.value, p->tokens_per_s_per_gpu.value);
    EXPECT_DOUBLE_EQ(score->series[0].rows[i].predicted.high, p->tokens_per_s_per_gpu.high);
  }
}

TEST(TrainingHeldOut, uncounted_rows_make_no_fold) {
  const CsvTable table =
      table_of({fold_row("a", {}), fold_row("b", {{"model", "llama-2-7b"}, {"certainty", "no"}}),
                fold_row("c", {{"model", "llama-3-70b"}, {"tokens_per_s_per_gpu", ""}}),
                fold_row("d", {{"model", "unheard"}})});
  EXPECT_EQ(folds_by(table, LeaveOut::model).folds, 1);
  EXPECT_EQ(rows_to_fit(table, few_inputs()).size(), 1U);
}

// The half-width that one row needs beyond the other widths of its interval.
double beyond(const machine::Models& fold, const TrainingRow& row, double now) {
  const Estimate e = predict_training(fold, row.query)->tokens_per_s_per_gpu;
  const double ratio = e.value / *row.tokens_per_s_per_gpu;
  const double miss = std::max(ratio, 1 / ratio) - 1;
  const double seen = e.high / e.value - 1;
  return std::sqrt(std::max(0.0, miss * miss - (seen * seen - now * now)));
}

std::map<std::string, double> widths_in(const std::string& text) {
  const CsvTable table = CsvTable::parse(text, "w.csv").value();
  std::map<std::string, double> all;
  for (const CsvRow& row : table.rows()) {
    const std::string key =
        std::string(table.text(row, "unseen")) + " " + std::string(table.text(row, "class"));
    all[key] = *table.number(row, "width");
  }
  return all;
}

// One row: nothing like it was fitted, whatever is left out. Each width is read together with those
// read before it.
TEST(TrainingHeldOut, interval_width_is_the_excess_error) {
  const CsvTable table = table_of({fold_row("a", {{"tokens_per_s_per_gpu", "2500"}})});
  const auto file = fitted_intervals(table, few_inputs());
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_EQ(file->path, "calibration/training_intervals.csv");
  const auto parameters = training_fit_parameters(*one_parameter().knowledge);
  const TrainingRow row = rows_to_fit(table, few_inputs()).at(0);
  machine::Models models = one_parameter();
  const auto got = widths_in(file->text);
  using training::Unseen;
  for (const auto& [of, name] : {std::pair{Unseen::model, "model dense"},
                                 {Unseen::release, "release dense"},
                                 {Unseen::accelerator, "accelerator dense"},
                                 {Unseen::framework, "framework dense"}}) {
    const machine::Models fold = refit_training(models, {}, *parameters);
    const double expected =
        std::max(0.02, beyond(fold, row, models.training.unseen_width(of, false)));
    EXPECT_NEAR(got.at(name), expected, 0.00051) << name;
    for (training::UnseenWidth& w : models.training.widths) {
      if (w.of == of && !w.experts) w.width = expected;
    }
  }
  EXPECT_GT(got.at("model dense"), 1);
  for (const training::UnseenWidth& w : one_parameter().training.widths) {
    if (!w.experts && w.of != Unseen::layout) continue;
    const std::string name = std::string(word_of(w.of)) + (w.experts ? " moe" : " dense");
    EXPECT_NEAR(got.at(name), w.width, 0.00051) << name;
  }
  EXPECT_THAT(file->text, testing::StartsWith("unseen,class,width,source\n"));
  EXPECT_THAT(file->text, HasSubstr("80 %"));
  EXPECT_THAT(file->text, HasSubstr("80 %"));
}

TEST(TrainingHeldOut, rows_inside_their_interval_need_the_least_width) {
  const TrainingRow open = rows_to_fit(table_of({fold_row("a", {})}), few_inputs()).at(0);
  const auto parameters = training_fit_parameters(*one_parameter().knowledge);
  const machine::Models fold = refit_training(one_parameter(), {}, *parameters);
  const double met = predict_training(fold, open.query)->tokens_per_s_per_gpu.value;
  const auto file = fitted_intervals(
      table_of({fold_row("a", {{"tokens_per_s_per_gpu", fmt::format("{}", met)}})}), few_inputs());
  ASSERT_TRUE(file);
  EXPECT_EQ(widths_in(file->text).at("model dense"), 0.02);
}

// Six rows of one model, with errors of 100 to 600 %: four fifths of them are the first five. A
// source of four rows weighs as much as two of one: 2 + 1 rows, so 2.4 of them reach the single
// one.
TEST(TrainingHeldOut, intervals_hold_80_percent_weighted_by_source) {
  const TrainingRow open = rows_to_fit(table_of({fold_row("a", {})}), few_inputs()).at(0);
  const auto parameters = training_fit_parameters(*one_parameter().knowledge);
  const machine::Models fold = refit_training(one_parameter(), {}, *parameters);
  const double met = predict_training(fold, open.query)->tokens_per_s_per_gpu.value;
  const auto missed = [&](int i, const RowFields& more) {
    return fold_row(
        fmt::format("r{}", i),
        with_fields({{"tokens_per_s_per_gpu", fmt::format("{}", met / (1 + i))}}, more));
  };
  std::vector<RowFields> six;
  for (int i = 6; i >= 1; --i) six.push_back(missed(i, {}));
  const CsvTable table = table_of(six);
  const auto got = widths_in(fitted_intervals(table, few_inputs())->text);
  const TrainingRow fifth = rows_to_fit(table, few_inputs()).at(1);
  const double now = one_parameter().training.unseen_width(training::Unseen::model, false);
  EXPECT_NEAR(got.at("model dense"), beyond(fold, fifth, now), 0.00051);

  std::vector<RowFields> sources;
  for (int i = 1; i <= 4; ++i) sources.push_back(missed(i, {}));
  sources.push_back(missed(9, {{"source", "two"}, {"framework", "megatron-core"}}));
  const CsvTable both = table_of(sources);
  const auto decided = widths_in(fitted_intervals(both, few_inputs())->text);
  machine::Models models = one_parameter();
  for (training::UnseenWidth& w : models.training.widths) {
    if (w.of != training::Unseen::framework && w.of != training::Unseen::layout && !w.experts) {
      w.width = decided.at(std::string(word_of(w.of)) + " dense");
    }
  }
  std::vector<TrainingRow> rows = rows_to_fit(both, few_inputs());
  const TrainingRow single = rows.back();
  rows.pop_back();
  const machine::Models without = refit_training(models, rows, *parameters);
  const double before = models.training.unseen_width(training::Unseen::framework, false);
  EXPECT_NEAR(decided.at("framework dense"), beyond(without, single, before), 0.01);
}

TEST(TrainingHeldOut, a_calibration_without_origin_is_refused) {
  static const machine::Models kIll = models_of_one_parameter(",heard,");
  const ScoreInputs inputs{.models = kIll, .model = {}};
  const CsvTable table = four_rows();
  EXPECT_EQ(score_training_held_out(table, inputs, LeaveOut::model).error().front().code,
            "calibration.origin");
  EXPECT_EQ(held_out_markdown(table, inputs).error().front().code, "calibration.origin");
  EXPECT_EQ(fitted_intervals(table, inputs).error().front().code, "calibration.origin");
  EXPECT_EQ(refitted_files(table, inputs, "t.csv").error().front().code, "calibration.origin");
}

// Seven rows with errors of 0.02 to 0.14: four fifths of the way from the first to the last is
// place 4.8 of 6, and the row at 4 is taken. No row moves the H100.
TEST(TrainingHeldOut, family_intervals_hold_80_percent_of_rows) {
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
            written(before, "torchtitan", "error").value);
  EXPECT_THAT(written(files[1], "h100-sxm", "matrix").source, HasSubstr("mine.csv"));
  const double prior = training_fit_parameters(*one_fitted().knowledge)->at(0).prior;
  EXPECT_EQ(written(files[1], "h100-sxm", "matrix").value, fmt::format("{:.4g}", prior));
  EXPECT_EQ(written(files[1], "h100-pcie", "matrix").value, fmt::format("{:.4g}", prior))
      << "carried over";
  EXPECT_EQ(files[3].text,
            "subject,id,source\nmodel,llama-3-8b,mine.csv\nframework,nemo,mine.csv\n"
            "accelerator,h200-sxm,mine.csv\nrelease,nemo 25.04,mine.csv\n");
}

}  // namespace
}  // namespace orrery::score
