#include "study/score/training_refit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/catalog/embedded.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/collectives_fit.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/storage_score.h"
#include "study/score/training_fit.h"
#include "study/score/training_held_out.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

// The shipped files with one of them changed.
catalog::Knowledge changed_knowledge(std::string_view path, std::string_view from,
                                     const std::string& to) {
  // the knowledge refers to them as long as it exists
  static std::vector<catalog::EmbeddedFile> files;
  files.assign(catalog::embedded_files().begin(), catalog::embedded_files().end());
  static std::string text;
  for (catalog::EmbeddedFile& file : files) {
    if (file.path != path) continue;
    text = file.text;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    file.text = text;
  }
  return load_knowledge(files).value();
}

// The shipped models, read without one file.
machine::Models without_file(std::string_view path) {
  static std::vector<std::unique_ptr<std::vector<catalog::EmbeddedFile>>> kept;
  auto files = std::make_unique<std::vector<catalog::EmbeddedFile>>(
      catalog::embedded_files().begin(), catalog::embedded_files().end());
  std::erase_if(*files, [&](const catalog::EmbeddedFile& f) { return f.path == path; });
  EXPECT_EQ(files->size() + 1, catalog::embedded_files().size()) << path;
  machine::Models models = machine::known();
  auto knowledge = std::make_shared<catalog::Knowledge>(*models.knowledge);
  kept.push_back(std::move(files));
  knowledge->files = *kept.back();
  models.knowledge = knowledge;
  return models;
}

// A user's own rows move their own parameters, and are added to what was seen.
TEST(TrainingRefit, own_rows_change_only_what_they_measure) {
  const auto files =
      refitted_files(table_of({step_row("a", {})}), known_inputs(), "mine.csv", FitFrom::shipped);
  ASSERT_TRUE(files) << to_text(files.error());
  ASSERT_EQ(files->size(), 4U);
  EXPECT_EQ((*files)[0].path, "calibration/training_frameworks.csv");
  EXPECT_EQ((*files)[3].path, "calibration/training_seen.csv");
  for (std::size_t i = 0; i < 3; ++i) {
    const CsvTable after = CsvTable::parse((*files)[i].text, "after.csv").value();
    const CsvTable before = machine::known().knowledge->table((*files)[i].path).value();
    ASSERT_EQ(after.rows().size(), before.rows().size());
    for (std::size_t k = 0; k < after.rows().size(); ++k) {
      const CsvRow& row = after.rows()[k];
      const bool fitted = after.text(row, "origin") == "fitted";
      const bool own = i == 0   ? after.text(row, "framework") == "nemo"
                       : i == 1 ? after.text(row, "accelerator") == "h100-sxm"
                                : after.text(row, "framework") == "nemo" &&
                                      after.text(row, "release") == "25.04";
      if (fitted && own) {
        EXPECT_NE(after.text(row, "source").find("mine.csv"), std::string_view::npos) << k;
      } else if (after.text(row, "origin") != "carried") {
        EXPECT_EQ(row.fields, before.rows()[k].fields) << k;
      }
    }
  }
  const CsvTable seen = CsvTable::parse((*files)[3].text, "seen.csv").value();
  const CsvTable known = machine::known().knowledge->table("calibration/training_seen.csv").value();
  std::vector<std::string> lines, all;
  for (const CsvRow& row : known.rows()) {
    lines.push_back(std::string(known.text(row, "subject")) + " " +
                    std::string(known.text(row, "id")));
  }
  for (const CsvRow& row : seen.rows()) {
    all.push_back(std::string(seen.text(row, "subject")) + " " + std::string(seen.text(row, "id")));
    EXPECT_EQ(seen.text(row, "source"), "mine.csv");
  }
  for (const char* thing :
       {"model llama-3-8b", "framework nemo", "release nemo 25.04", "accelerator h100-sxm"}) {
    EXPECT_EQ(std::ranges::count(all, thing), 1) << thing;
  }
  for (const std::string& line : lines) EXPECT_EQ(std::ranges::count(all, line), 1) << line;
}

TEST(TrainingRefit, a_parameter_may_have_its_own_prior) {
  const auto parameters = training_fit_parameters(*machine::known().knowledge);
  ASSERT_TRUE(parameters);
  const CsvTable priors =
      machine::known().knowledge->table("calibration/training_priors.csv").value();
  const auto prior = [&](const TrainingFitParameter& p, std::string_view of) -> const CsvRow* {
    for (const CsvRow& row : priors.rows()) {
      if (priors.text(row, "subject") == word_of(p.subject) && priors.text(row, "of") == of &&
          priors.text(row, "parameter") == (p.name.empty() ? "factor" : p.name)) {
        return &row;
      }
    }
    return nullptr;
  };
  int apart = 0;
  for (const TrainingFitParameter& p : *parameters) {
    const CsvRow* all = prior(p, "");
    const CsvRow* own = prior(p, p.id);
    ASSERT_NE(all, nullptr) << p.id << ' ' << p.name;
    const CsvRow& row = own != nullptr ? *own : *all;
    EXPECT_EQ(p.prior, priors.number(row, "prior")) << p.id << ' ' << p.name;
    EXPECT_EQ(p.width, priors.number(row, "width")) << p.id << ' ' << p.name;
    EXPECT_EQ(p.least, priors.number(row, "least")) << p.id << ' ' << p.name;
    EXPECT_EQ(p.most, priors.number(row, "most")) << p.id << ' ' << p.name;
    EXPECT_DOUBLE_EQ(p.apart, p.prior / *priors.number(*all, "prior")) << p.id << ' ' << p.name;
    apart += own != nullptr ? 1 : 0;
  }
  EXPECT_GT(apart, 0);
}

TEST(TrainingRefit, a_missing_table_is_an_error) {
  const CsvTable rows = table_of({{{"id", "a"}, {"system", "s"}, {"num_accelerators", "1"}}});
  const CsvTable saves = table_of({{{"system", "s"}, {"checkpoint_GiB", "1"}}});
  using Ask = std::function<Diagnostics(const ScoreInputs&)>;
  const auto faults = [](const auto& result) { return result ? Diagnostics() : result.error(); };
  const std::pair<const char*, Ask> asks[] = {
      {"calibration/mlperf_storage_workloads.csv",
       [&](const ScoreInputs& in) { return faults(score_storage(rows, in)); }},
      {"validation/checkpoint_truth.csv",
       [&](const ScoreInputs& in) { return faults(score_storage(saves, in)); }},
      {"calibration/collectives.csv",
       [&](const ScoreInputs& in) { return faults(score_collectives_held_out(rows, in)); }},
      {"calibration/collective_priors.csv",
       [&](const ScoreInputs& in) { return faults(score_collectives_held_out(rows, in)); }},
      {"calibration/collectives.csv",
       [&](const ScoreInputs& in) { return faults(collectives_markdown(rows, in)); }},
      {"calibration/collective_priors.csv",
       [&](const ScoreInputs& in) { return faults(fitted_collectives(rows, in)); }},
      {"calibration/training_priors.csv",
       [&](const ScoreInputs& in) {
         return faults(training_fit_parameters(*in.models.knowledge));
       }},
      {"calibration/training_releases.csv",
       [&](const ScoreInputs& in) {
         return faults(training_fit_parameters(*in.models.knowledge));
       }},
      {"calibration/training_frameworks.csv",
       [&](const ScoreInputs& in) { return faults(refitted_files(rows, in, "r.csv")); }}};
  for (const auto& [path, ask] : asks) {
    const machine::Models models = without_file(path);
    const Diagnostics decided = ask({.models = models, .model = {}});
    ASSERT_FALSE(decided.empty()) << path;
    EXPECT_NE(to_text(decided).find(path), std::string::npos) << to_text(decided);
    EXPECT_TRUE(ask(known_inputs()).empty()) << path;
  }
}

// By kind and then by name, whatever the order of the rows; rows that do not count are in no line.
TEST(TrainingRefit, seen_subjects_are_sorted) {
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

// A user's own rows: values that they do not affect keep value and source, widths stay, and what
// was seen before stays.
TEST(TrainingRefit, own_rows_leave_other_values) {
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
  EXPECT_NE(after.source.find("mine"), std::string::npos);
  EXPECT_EQ(written(files[1], "h800-sxm", "matrix").value, after.value);
  std::size_t seen = 0;
  for (const training::SeenThing& thing : one_fitted().training.seen) {
    seen += files[3].text.find(thing.id + ",\"own rows, mine\"\n") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(seen, one_fitted().training.seen.size());
}

TEST(TrainingRefit, a_value_without_origin_or_prior_is_refused) {
  const auto code = [](const catalog::Knowledge& k) {
    const auto p = training_fit_parameters(k);
    return p ? "" : p.error().front().code;
  };
  EXPECT_EQ(code(*machine::known().knowledge), "");
  EXPECT_EQ(code(changed_knowledge("calibration/training_accelerators.csv", ",fitted", ",heard")),
            "calibration.origin");
  EXPECT_EQ(
      code(changed_knowledge("calibration/training_priors.csv", "framework,,", "framework,x,")),
      "calibration.prior");
}

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

TEST(TrainingRefit, fitted_parameters_have_priors_and_bounds) {
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

// A machine whose products take 30 % longer than the priors predict is recognised from its rows.
TEST(TrainingRefit, the_fit_recovers_a_known_factor) {
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

TEST(TrainingRefit, held_out_models_have_larger_errors) {
  const ScoreInputs inputs{machine::known(), nullptr};
  const CsvTable table = h200_rows();
  std::vector<int> decided;
  const auto held_out = score_training_held_out(table, inputs, LeaveOut::model,
                                                [&](int done, int) { decided.push_back(done); });
  ASSERT_TRUE(held_out) << to_text(held_out.error());
  EXPECT_EQ(decided, (std::vector<int>{0, 1, 2}));
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

TEST(TrainingRefit, a_carried_value_names_its_source) {
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

// The origin decides, whatever the source says: known rows stay as they are, fitted and carried
// ones take the fit's values, and no row is lost.
TEST(TrainingRefit, a_fit_rewrites_fitted_rows_only) {
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

// A user's two steps, 20 % slower than predicted, move their family and accelerator, and nothing
// else.
TEST(TrainingRefit, uninformed_parameters_do_not_move) {
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
TEST(TrainingRefit, shipped_parameters_equal_the_fit) {
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
