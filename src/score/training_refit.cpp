#include "score/training_refit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/csv.h"
#include "base/math.h"
#include "base/statistics.h"
#include "catalog/embedded_table.h"
#include "score/training_score.h"

namespace orrery {
namespace {

constexpr std::string_view kModelFile = "calibration/training_models.csv";
constexpr std::string_view kPriorFile = "calibration/training_priors.csv";
constexpr std::string_view kFitted = "fit on";
constexpr std::string_view kWidth = "80 % half-width";
constexpr std::string_view kCarried = "carried over from ";

// A calibration file and what its rows are of.
struct ParameterFile {
  std::string_view path;
  FitSubject subject;
  std::string_view subject_name;  // in the priors
  std::string_view id_column;
  std::string_view value_column;
};
constexpr ParameterFile kFiles[] = {
    {"calibration/training_frameworks.csv", FitSubject::framework, "framework", "framework",
     "value"},
    {"calibration/training_accelerators.csv", FitSubject::accelerator, "accelerator", "accelerator",
     "value"},
    {"calibration/training_releases.csv", FitSubject::release, "release", "framework", "factor"}};

// As TrainingCalibration names it; a release goes by family and version.
std::string id_in(const ParameterFile& file, const CsvTable& table, const CsvRow& row) {
  std::string id(table.text(row, file.id_column));
  if (file.subject == FitSubject::release) id += " " + std::string(table.text(row, "release"));
  return id;
}

std::string parameter_in(const ParameterFile& file, const CsvTable& table, const CsvRow& row) {
  return file.subject == FitSubject::release ? "factor" : std::string(table.text(row, "parameter"));
}

bool is_fitted(const CsvTable& table, const CsvRow& row) {
  return table.text(row, "source").starts_with(kFitted);
}

Diagnostic no_prior(const CsvTable& table, const CsvRow& row) {
  return {.severity = Severity::error,
          .code = "calibration.prior",
          .place = {.file = table.file(), .line = row.line, .column = 0},
          .what = "a fitted parameter has no prior",
          .why = "a fit holds every parameter at one unless rows ask otherwise",
          .fix = "add it to data/calibration/training_priors.csv"};
}

std::optional<TrainingFitParameter> with_prior(const CsvTable& priors, const ParameterFile& file,
                                               const std::string& parameter) {
  for (const CsvRow& row : priors.rows()) {
    if (priors.text(row, "subject") != file.subject_name) continue;
    if (priors.text(row, "parameter") != parameter) continue;
    return TrainingFitParameter{.subject = file.subject,
                                .id = {},
                                .name = parameter,
                                .prior = priors.number(row, "prior").value_or(1),
                                .width = priors.number(row, "width").value_or(0.1),
                                .least = priors.number(row, "least").value_or(0),
                                .most = priors.number(row, "most").value_or(0)};
  }
  return std::nullopt;
}

// Rows that a fit may use, with the fold that each belongs to.
struct FoldedRow {
  std::string fold;
  TrainingRow row;
};

std::vector<FoldedRow> fit_rows(const CsvTable& table, const ScoreInputs& inputs,
                                std::string_view column) {
  std::vector<FoldedRow> rows;
  for (const CsvRow& row : table.rows()) {
    auto read = read_training_row(table, row, inputs);
    if (!read || !read->counts || !read->tokens_per_s_per_gpu) continue;
    rows.push_back({std::string(table.text(row, column)), std::move(*read)});
  }
  return rows;
}

std::vector<TrainingRow> all_but(const std::vector<FoldedRow>& rows, std::string_view fold) {
  std::vector<TrainingRow> kept;
  for (const FoldedRow& r : rows) {
    if (r.fold != fold) kept.push_back(r.row);
  }
  return kept;
}

std::vector<std::string> models_of(const std::vector<TrainingRow>& rows) {
  std::set<std::string> ids;
  for (const TrainingRow& r : rows) ids.insert(r.query.model.id);
  return {ids.begin(), ids.end()};
}

// Rows of the table that a parameter's subject is part of.
int rows_of(const std::vector<TrainingRow>& rows, const TrainingFitParameter& p) {
  return static_cast<int>(
      std::ranges::count_if(rows, [&](const TrainingRow& r) { return fit_touches(p, r); }));
}

// Half-widths are read off a few rows: a quantile a little beyond the interval's own, and a floor.
constexpr double kWidthQuantile = 0.85;
constexpr double kLeastWidth = 0.03;

// |ln(predicted / measured)| that most rows of each framework stay within.
std::map<std::string, double, std::less<>> widths_of(const TrainingModels& models,
                                                     const std::vector<TrainingRow>& rows) {
  std::map<std::string, std::vector<double>, std::less<>> misses;
  for (const TrainingRow& r : rows) {
    const auto p = predict_training(models, r.query);
    if (!p) continue;
    misses[r.query.framework].push_back(
        std::abs(math::log(p->tokens_per_s_per_gpu.value / *r.tokens_per_s_per_gpu)));
  }
  std::map<std::string, double, std::less<>> widths;
  for (auto& [framework, all] : misses) {
    widths[framework] =
        std::max(kLeastWidth, quantile(std::move(all), kWidthQuantile, Between::lower));
  }
  return widths;
}

// A calibration file written anew: fitted values from `models`, carried ones from their relative,
// half-widths from the rows.
struct FileWriter {
  const ParameterFile& file;
  const CsvTable& table;
  const std::vector<TrainingRow>& rows;
  std::string_view rows_name;
  TrainingCalibration& fitted;
  const std::map<std::string, double, std::less<>>& widths;

  double* field(const CsvRow& row, std::string_view id) const {
    const TrainingFitParameter p{
        .subject = file.subject, .id = std::string(id), .name = parameter_in(file, table, row)};
    return fitted_field(fitted, p);
  }

  std::string line(const CsvRow& row) const {
    std::string value(table.text(row, file.value_column));
    std::string source(table.text(row, "source"));
    const std::string id = id_in(file, table, row);
    if (is_fitted(table, row)) {
      value = fmt::format("{:.4g}", *field(row, id));
      const TrainingFitParameter p{.subject = file.subject, .id = id, .name = {}};
      source = fmt::format("{} its {} rows of {}", kFitted, rows_of(rows, p), rows_name);
    } else if (source.starts_with(kWidth) && widths.contains(id)) {
      value = fmt::format("{:.3f}", widths.find(id)->second);
    } else if (source.starts_with(kCarried)) {
      value = fmt::format("{:.4g}", *field(row, source.substr(kCarried.size())));
    }
    const std::string second =
        std::string(table.text(row, file.subject == FitSubject::release ? "release" : "parameter"));
    return fmt::format("{},{},{},{}\n", csv_field(table.text(row, file.id_column)),
                       csv_field(second), value, csv_field(source));
  }
};

}  // namespace

Result<std::vector<TrainingFitParameter>> training_fit_parameters() {
  const auto priors = embedded_table(kPriorFile);
  if (!priors) return std::unexpected(priors.error());
  std::vector<TrainingFitParameter> all;
  Diagnostics faults;
  for (const ParameterFile& file : kFiles) {
    const auto table = embedded_table(file.path);
    if (!table) return std::unexpected(table.error());
    for (const CsvRow& row : table->rows()) {
      if (!is_fitted(*table, row)) continue;
      auto p = with_prior(*priors, file, parameter_in(file, *table, row));
      if (!p) {
        faults.push_back(no_prior(*table, row));
        continue;
      }
      p->id = id_in(file, *table, row);
      all.push_back(std::move(*p));
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return all;
}

TrainingModels refit_training(const TrainingModels& shipped, const std::vector<TrainingRow>& rows,
                              const std::vector<TrainingFitParameter>& parameters) {
  TrainingModels models = shipped;
  for (const TrainingFitParameter& p : parameters) {
    if (double* field = fitted_field(models.training, p)) *field = p.prior;
  }
  models.training.models = models_of(rows);
  fit_training(rows, parameters, {}, models);
  return models;
}

Result<Score> score_training_held_out(const CsvTable& table, const ScoreInputs& inputs,
                                      std::string_view column, const FoldProgress& progress) {
  const auto shipped = load_training_models(inputs.catalog);
  if (!shipped) return std::unexpected(shipped.error());
  const auto parameters = training_fit_parameters();
  if (!parameters) return std::unexpected(parameters.error());
  const std::vector<FoldedRow> rows = fit_rows(table, inputs, column);
  std::map<std::string, TrainingModels, std::less<>> folds;
  std::set<std::string> names;
  for (const FoldedRow& r : rows) names.insert(r.fold);
  for (const std::string& name : names) {
    if (progress) progress(static_cast<int>(folds.size()), static_cast<int>(names.size()));
    folds.emplace(name, refit_training(*shipped, all_but(rows, name), *parameters));
  }
  Score score = score_training_with(table, inputs, [&](const CsvRow& row) -> const TrainingModels& {
    const auto at = folds.find(table.text(row, column));
    return at != folds.end() ? at->second : *shipped;
  });
  return score;
}

Result<std::vector<CalibrationFile>> refitted_files(const CsvTable& table,
                                                    const ScoreInputs& inputs,
                                                    std::string_view rows_name) {
  const auto shipped = load_training_models(inputs.catalog);
  if (!shipped) return std::unexpected(shipped.error());
  const auto parameters = training_fit_parameters();
  if (!parameters) return std::unexpected(parameters.error());
  const std::vector<TrainingRow> rows = all_but(fit_rows(table, inputs, "id"), "");
  TrainingModels models = refit_training(*shipped, rows, *parameters);
  const auto widths = widths_of(models, rows);
  std::vector<CalibrationFile> files;
  for (const ParameterFile& file : kFiles) {
    const auto old = embedded_table(file.path);
    if (!old) return std::unexpected(old.error());
    const FileWriter writer{file, *old, rows, rows_name, models.training, widths};
    std::string text;
    for (const std::string& column : old->columns()) text += (text.empty() ? "" : ",") + column;
    text += '\n';
    for (const CsvRow& row : old->rows()) text += writer.line(row);
    files.push_back({std::string(file.path), std::move(text)});
  }
  std::string seen = "model,source\n";
  for (const std::string& id : models.training.models) {
    seen += fmt::format("{},{}\n", csv_field(id), csv_field(rows_name));
  }
  files.push_back({std::string(kModelFile), std::move(seen)});
  return files;
}

}  // namespace orrery
