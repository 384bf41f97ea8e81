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
#include "score/training_score.h"

namespace orrery::score {
namespace {

constexpr std::string_view kModelFile = "calibration/training_models.csv";
constexpr std::string_view kPriorFile = "calibration/training_priors.csv";

// A calibration file and what its rows are of.
struct ParameterFile {
  std::string_view path;
  FitSubject subject;
  std::string_view id_column;
  std::string_view value_column;
};
constexpr ParameterFile kFiles[] = {
    {"calibration/training_frameworks.csv", FitSubject::framework, "framework", "value"},
    {"calibration/training_accelerators.csv", FitSubject::accelerator, "accelerator", "value"},
    {"calibration/training_releases.csv", FitSubject::release, "framework", "factor"}};

// As TrainingCalibration names it; a release goes by family and version.
std::string id_in(const ParameterFile& file, const CsvTable& table, const CsvRow& row) {
  std::string id(table.text(row, file.id_column));
  if (file.subject == FitSubject::release) id += " " + std::string(table.text(row, "release"));
  return id;
}

std::string parameter_in(const ParameterFile& file, const CsvTable& table, const CsvRow& row) {
  return file.subject == FitSubject::release ? "factor" : std::string(table.text(row, "parameter"));
}

std::optional<ParameterOrigin> origin_in(const CsvTable& table, const CsvRow& row) {
  return from_word<ParameterOrigin>(table.text(row, "origin"));
}

Place place_of(const CsvTable& table, const CsvRow& row) {
  return {.file = table.file(), .line = row.line, .column = 0};
}

Diagnostic no_origin(const CsvTable& table, const CsvRow& row) {
  return {.code = "calibration.origin",
          .place = place_of(table, row),
          .what = "'" + std::string(table.text(row, "origin")) + "' is no origin of a parameter",
          .why = "a fit must know which values it may move",
          .fix = "write one of " + listed(word_list<ParameterOrigin>())};
}

Diagnostic no_prior(const CsvTable& table, const CsvRow& row) {
  return {.code = "calibration.prior",
          .place = place_of(table, row),
          .what = "a fitted parameter has no prior",
          .why = "a fit holds every parameter at one unless rows ask otherwise",
          .fix = "add it to data/calibration/training_priors.csv"};
}

std::optional<TrainingFitParameter> with_prior(const CsvTable& priors, const ParameterFile& file,
                                               const std::string& parameter) {
  for (const CsvRow& row : priors.rows()) {
    if (priors.text(row, "subject") != word_of(file.subject)) continue;
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
std::map<std::string, double, std::less<>> widths_of(const machine::Models& models,
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
  training::TrainingCalibration& fitted;
  const std::map<std::string, double, std::less<>>& widths;

  double* field(const CsvRow& row, std::string_view id) const {
    const TrainingFitParameter p{
        .subject = file.subject, .id = std::string(id), .name = parameter_in(file, table, row)};
    return fitted_field(fitted, p);
  }

  std::string value(const CsvRow& row, const std::string& id) const {
    switch (origin_in(table, row).value_or(ParameterOrigin::known)) {
      case ParameterOrigin::fitted:
        return fmt::format("{:.4g}", *field(row, id));
      case ParameterOrigin::carried:
        return fmt::format("{:.4g}", *field(row, table.text(row, "relative")));
      case ParameterOrigin::width:
        if (widths.contains(id)) return fmt::format("{:.3f}", widths.find(id)->second);
        break;
      case ParameterOrigin::known:
        break;
    }
    return std::string(table.text(row, file.value_column));
  }

  std::string source(const CsvRow& row, const std::string& id) const {
    if (origin_in(table, row) != ParameterOrigin::fitted) {
      return std::string(table.text(row, "source"));
    }
    const TrainingFitParameter p{.subject = file.subject, .id = id, .name = {}};
    return fmt::format("fit on its {} rows of {}", rows_of(rows, p), rows_name);
  }

  std::string line(const CsvRow& row) const {
    const std::string id = id_in(file, table, row);
    std::string text;
    for (const std::string& column : table.columns()) {
      if (&column != &table.columns().front()) text += ',';
      text += csv_field(column == file.value_column ? value(row, id)
                        : column == "source"        ? source(row, id)
                                                    : std::string(table.text(row, column)));
    }
    return text + '\n';
  }
};

}  // namespace

Result<std::vector<TrainingFitParameter>> training_fit_parameters(
    const catalog::Knowledge& knowledge) {
  const auto priors = knowledge.table(kPriorFile);
  if (!priors) return std::unexpected(priors.error());
  std::vector<TrainingFitParameter> all;
  Diagnostics faults;
  for (const ParameterFile& file : kFiles) {
    const auto table = knowledge.table(file.path);
    if (!table) return std::unexpected(table.error());
    for (const CsvRow& row : table->rows()) {
      const auto origin = origin_in(*table, row);
      if (!origin) faults.push_back(no_origin(*table, row));
      if (origin != ParameterOrigin::fitted) continue;
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

machine::Models refit_training(const machine::Models& shipped, const std::vector<TrainingRow>& rows,
                               const std::vector<TrainingFitParameter>& parameters) {
  machine::Models models = shipped;
  for (const TrainingFitParameter& p : parameters) {
    if (double* field = fitted_field(models.training, p)) *field = p.prior;
  }
  models.training.models = models_of(rows);
  fit_training(rows, parameters, {}, models);
  return models;
}

Result<Score> score_training_held_out(const CsvTable& table, const ScoreInputs& inputs,
                                      std::string_view column, const FoldProgress& progress) {
  const auto parameters = training_fit_parameters(*inputs.models.knowledge);
  if (!parameters) return std::unexpected(parameters.error());
  const std::vector<FoldedRow> rows = fit_rows(table, inputs, column);
  std::map<std::string, machine::Models, std::less<>> folds;
  std::set<std::string> names;
  for (const FoldedRow& r : rows) names.insert(r.fold);
  for (const std::string& name : names) {
    if (progress) progress(static_cast<int>(folds.size()), static_cast<int>(names.size()));
    folds.emplace(name, refit_training(inputs.models, all_but(rows, name), *parameters));
  }
  Score score =
      score_training_with(table, inputs, [&](const CsvRow& row) -> const machine::Models& {
        const auto at = folds.find(table.text(row, column));
        return at != folds.end() ? at->second : inputs.models;
      });
  return score;
}

Result<std::vector<CalibrationFile>> refitted_files(const CsvTable& table,
                                                    const ScoreInputs& inputs,
                                                    std::string_view rows_name) {
  const auto parameters = training_fit_parameters(*inputs.models.knowledge);
  if (!parameters) return std::unexpected(parameters.error());
  const std::vector<TrainingRow> rows = all_but(fit_rows(table, inputs, "id"), "");
  machine::Models models = refit_training(inputs.models, rows, *parameters);
  const auto widths = widths_of(models, rows);
  std::vector<CalibrationFile> files;
  for (const ParameterFile& file : kFiles) {
    const auto old = inputs.models.knowledge->table(file.path);
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

}  // namespace orrery::score
