// Training rows predicted by fits that saw nothing like them: which rows make a fold, what the
// table of them says, and the widths that their misses ask for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "core/catalog/embedded.h"
#include "study/score/rows_fixture.h"
#include "study/score/training_held_out.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

// The shipped models where but one parameter is fitted: its folds take no time.
machine::Models models_of_one_parameter(std::string_view origin = ",fitted,") {
  // The knowledge looks at them as long as it is.
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
  FoldsTold told;
  const auto score = score_training_held_out(table, few_inputs(), by, [&](int done, int all) {
    EXPECT_EQ(done, told.folds++);
    EXPECT_GE(all, told.folds);
  });
  EXPECT_TRUE(score) << to_text(score.error());
  for (const ScoredRow& row : score->series[0].rows) told.ids.push_back(row.id);
  return told;
}

// A source goes by its first word; a row whose release is not told is in no fold of releases.
TEST(HeldOut, rows_fold_by_what_they_share) {
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
TEST(HeldOut, a_row_is_predicted_by_the_fit_of_all_others) {
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

TEST(HeldOut, rows_that_do_not_count_or_measure_nothing_make_no_fold) {
  const CsvTable table =
      table_of({fold_row("a", {}), fold_row("b", {{"model", "llama-2-7b"}, {"certainty", "no"}}),
                fold_row("c", {{"model", "llama-3-70b"}, {"tokens_per_s_per_gpu", ""}}),
                fold_row("d", {{"model", "unheard"}})});
  EXPECT_EQ(folds_by(table, LeaveOut::model).folds, 1);
  EXPECT_EQ(rows_to_fit(table, few_inputs()).size(), 1U);
}

TEST(HeldOut, the_table_has_three_lines_of_each_way_to_leave_out) {
  const CsvTable table = four_rows();
  const auto text = held_out_markdown(table, few_inputs());
  ASSERT_TRUE(text) << to_text(text.error());
  const std::vector<std::string> lines = split_lines(*text);
  ASSERT_EQ(lines.size(), 2U + 5 * 3);
  EXPECT_EQ(lines[0], "| rows predicted | class | rows | median | p90 | in interval |");
  const char* names[] = {"in sample", "left out by model", "left out by source",
                         "left out by accelerator", "left out by release"};
  const char* counts[][3] = {
      {"4", "3", "1"}, {"4", "3", "1"}, {"4", "3", "1"}, {"4", "3", "1"}, {"3", "2", "1"}};
  const char* classes[] = {"all", "dense", "moe"};
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_THAT(lines[2 + 3 * i + k],
                  testing::StartsWith(
                      fmt::format("| {} | {} | {} | ", names[i], classes[k], counts[i][k])));
    }
  }
  const Score seen = score_training(table, few_inputs()).value();
  const ScoreSummary all = totals_of(seen.series[0]);
  EXPECT_EQ(lines[2], fmt::format("| in sample | all | 4 | {:.1f} % | {:.1f} % | {:.0f} % |",
                                  100 * all.median_ape, 100 * all.p90_ape, 100 * all.coverage));
  const double moe = 100 * seen.series[0].rows[2].ape();
  EXPECT_THAT(lines[4], HasSubstr(fmt::format("| {:.1f} % | {:.1f} % |", moe, moe)));
}

// The half-width that one row misses beyond the other widths of its interval.
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

// One row: nothing like it was fitted, whatever it is left out by. Each width is read with those
// that were read before it.
TEST(HeldOut, a_width_is_what_a_row_misses_beyond_the_others) {
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
  EXPECT_GT(got.at("model dense"), 1) << "four times as fast as it was";
  for (const training::UnseenWidth& w : one_parameter().training.widths) {
    if (!w.experts && w.of != Unseen::layout) continue;
    const std::string name = std::string(word_of(w.of)) + (w.experts ? " moe" : " dense");
    EXPECT_NEAR(got.at(name), w.width, 0.00051) << name << ": no row speaks of it";
  }
  EXPECT_THAT(file->text, testing::StartsWith("unseen,class,width,source\n"));
  EXPECT_THAT(file->text, HasSubstr(",rows left out: 80 % lie inside\n"));
  EXPECT_THAT(file->text, HasSubstr(",tuned rows whose layouts were left open: 80 % lie inside\n"));
}

TEST(HeldOut, rows_inside_their_interval_ask_for_the_least_width) {
  const TrainingRow open = rows_to_fit(table_of({fold_row("a", {})}), few_inputs()).at(0);
  const auto parameters = training_fit_parameters(*one_parameter().knowledge);
  const machine::Models fold = refit_training(one_parameter(), {}, *parameters);
  const double met = predict_training(fold, open.query)->tokens_per_s_per_gpu.value;
  const auto file = fitted_intervals(
      table_of({fold_row("a", {{"tokens_per_s_per_gpu", fmt::format("{}", met)}})}), few_inputs());
  ASSERT_TRUE(file);
  EXPECT_EQ(widths_in(file->text).at("model dense"), 0.02);
}

// Six rows of one model, missed by 100 to 600 %: four fifths of them are the first five. A source
// of four rows weighs as much as two of one: 2 + 1 rows, so 2.4 of them reach the single one.
TEST(HeldOut, four_fifths_of_the_rows_lie_inside_and_sources_count_by_the_root_of_their_rows) {
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
  const auto told = widths_in(fitted_intervals(both, few_inputs())->text);
  machine::Models models = one_parameter();
  for (training::UnseenWidth& w : models.training.widths) {
    if (w.of != training::Unseen::framework && w.of != training::Unseen::layout && !w.experts) {
      w.width = told.at(std::string(word_of(w.of)) + " dense");
    }
  }
  std::vector<TrainingRow> rows = rows_to_fit(both, few_inputs());
  const TrainingRow single = rows.back();
  rows.pop_back();
  const machine::Models without = refit_training(models, rows, *parameters);
  const double before = models.training.unseen_width(training::Unseen::framework, false);
  EXPECT_NEAR(told.at("framework dense"), beyond(without, single, before), 0.01);
}

TEST(HeldOut, a_calibration_that_says_nothing_of_its_origin_is_refused) {
  static const machine::Models kIll = models_of_one_parameter(",heard,");
  const ScoreInputs inputs{.models = kIll, .model = {}};
  const CsvTable table = four_rows();
  EXPECT_EQ(score_training_held_out(table, inputs, LeaveOut::model).error().front().code,
            "calibration.origin");
  EXPECT_EQ(held_out_markdown(table, inputs).error().front().code, "calibration.origin");
  EXPECT_EQ(fitted_intervals(table, inputs).error().front().code, "calibration.origin");
  EXPECT_EQ(refitted_files(table, inputs, "t.csv").error().front().code, "calibration.origin");
}

}  // namespace
}  // namespace orrery::score
