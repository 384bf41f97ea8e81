#include "study/score/training_refit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/csv.h"
#include "core/base/math.h"
#include "core/base/statistics.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

constexpr std::string_view kSeenFile = "calibration/training_seen.csv";
constexpr std::string_view kPriorFile = "calibration/training_priors.csv";

// A calibration file and the subject of its rows.
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

// Returns the id that TrainingCalibration uses; a release is identified by family and version.
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
          .what = "'" + std::string(table.text(row, "origin")) +
                  "' is not a valid origin of a parameter",
          .why = "a fit must know which values it may change",
          .fix = "write one of " + listed(word_list<ParameterOrigin>())};
}

Diagnostic no_prior(const CsvTable& table, const CsvRow& row) {
  return {.code = "calibration.prior",
          .place = place_of(table, row),
          .what = "a fitted parameter has no prior",
          .why = "a fit keeps every parameter at its prior unless rows support another value",
          .fix = "add it to data/calibration/training_priors.csv"};
}

const CsvRow* prior_row(const CsvTable& priors, const ParameterFile& file, std::string_view id,
                        std::string_view parameter) {
  for (const CsvRow& row : priors.rows()) {
    if (priors.text(row, "subject") == word_of(file.subject) && priors.text(row, "of") == id &&
        priors.text(row, "parameter") == parameter) {
      return &row;
    }
  }
  return nullptr;
}

// Adds the parameter's own prior, if something is known of it alone, or else the common one.
std::optional<TrainingFitParameter> with_prior(const CsvTable& priors, const ParameterFile& file,
                                               const std::string& id,
                                               const std::string& parameter) {
  const CsvRow* all = prior_row(priors, file, "", parameter);
  if (all == nullptr) return std::nullopt;
  const CsvRow* own = prior_row(priors, file, id, parameter);
  const CsvRow& row = own != nullptr ? *own : *all;
  const double prior = priors.number(row, "prior").value_or(1);
  return TrainingFitParameter{.subject = file.subject,
                              .id = id,
                              .name = parameter,
                              .prior = prior,
                              .width = priors.number(row, "width").value_or(0.1),
                              .least = priors.number(row, "least").value_or(0),
                              .most = priors.number(row, "most").value_or(0),
                              .apart = prior / priors.number(*all, "prior").value_or(1)};
}

std::vector<training::SeenThing> seen_in(const std::vector<TrainingRow>& rows) {
  std::vector<training::SeenThing> all;
  const auto note = [&](training::Unseen kind, std::string id) {
    training::SeenThing thing{kind, std::move(id)};
    if (std::ranges::find(all, thing) == all.end()) all.push_back(std::move(thing));
  };
  for (const TrainingRow& r : rows) {
    const jobs::TrainingQuery& q = r.query;
    note(training::Unseen::model, q.model.id);
    note(training::Unseen::framework, q.framework);
    note(training::Unseen::accelerator, q.accelerator->id);
    note(training::Unseen::release, q.framework + " " + q.release);
  }
  std::ranges::sort(all, {}, [](const training::SeenThing& t) { return std::pair(t.kind, t.id); });
  return all;
}

// Returns the number of rows that a parameter's subject is part of.
int rows_of(const std::vector<TrainingRow>& rows, const TrainingFitParameter& p) {
  return static_cast<int>(
      std::ranges::count_if(rows, [&](const TrainingRow& r) { return fit_touches(p, r); }));
}

// Half-widths are the interval's own quantile of the rows, with a lower limit.
constexpr double kWidthQuantile = 0.8;
constexpr double kLeastWidth = 0.03;

// Returns the |ln(predicted / measured)| that most rows of each framework stay within.
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

// Writes a calibration file again: fitted values from `models`, carried ones from their relative,
// half-widths from the rows.
struct FileWriter {
  const ParameterFile& file;
  const CsvTable& table;
  const std::vector<TrainingRow>& rows;
  std::string_view rows_name;
  training::TrainingCalibration& fitted;
  const std::map<std::string, double, std::less<>>& widths;
  FitFrom from;

  double* field(const CsvRow& row, std::string_view id) const {
    const TrainingFitParameter p{
        .subject = file.subject, .id = std::string(id), .name = parameter_in(file, table, row)};
    return fitted_field(fitted, p);
  }

  std::string value(const CsvRow& row, const std::string& id) const {
    switch (origin_in(table, row).value_or(ParameterOrigin::known)) {
      case ParameterOrigin::fitted:
      case ParameterOrigin::pooled:
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
    const TrainingFitParameter of{.subject = file.subject, .id = id, .name = {}};
    const bool untouched = from == FitFrom::shipped && rows_of(rows, of) == 0;
    if (origin_in(table, row) != ParameterOrigin::fitted || untouched) {
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
      auto p = with_prior(*priors, file, id_in(file, *table, row), parameter_in(file, *table, row));
      if (p) {
        all.push_back(std::move(*p));
      } else {
        faults.push_back(no_prior(*table, row));
      }
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return all;
}

namespace {

// Accelerators of one generation of the scale-up link count as one family of silicon.
std::string generation_of(const machine::Models& models, const TrainingFitParameter& p) {
  if (p.subject != FitSubject::accelerator) return std::string(word_of(p.subject));
  const catalog::Accelerator* a = models.catalog().accelerator(p.id);
  return a != nullptr ? a->scaleup_link.substr(0, a->scaleup_link.find(' ')) : "";
}

struct Pool {
  double weight = 1;  // the common prior counts as one family
  double sum = 0;     // of ln(value)
  double mean() const { return math::exp(sum / weight); }
};

// Fields of families without a value of their own, which take the default's: while the default is
// being fitted, its prior and then the pooled value.
struct Inherited {
  double* field = nullptr;
  std::string name;
};
std::vector<Inherited> inherited_fields(training::TrainingCalibration& c,
                                        const std::vector<TrainingFitParameter>& parameters) {
  std::set<std::string> names;
  std::set<std::pair<std::string, std::string>> own;
  for (const TrainingFitParameter& p : parameters) {
    if (p.subject != FitSubject::framework) continue;
    names.insert(p.name);
    own.emplace(p.id, p.name);
  }
  std::vector<Inherited> all;
  for (training::FrameworkModel& f : c.frameworks) {
    for (const std::string& name : names) {
      if (own.contains({f.id, name})) continue;
      double* field = framework_field(f, name);
      if (*field == *framework_field(c.frameworks.front(), name)) all.push_back({field, name});
    }
  }
  return all;
}

// Makes what families and generations have in common the prior of each, and the family "default": a
// family without rows is then predicted like the others, not by an old assumption.
void pool_priors(machine::Models& models, const std::vector<double>& decided,
                 std::vector<TrainingFitParameter>& parameters) {
  std::map<std::string, Pool> all;
  const auto name = [](const TrainingFitParameter& p) {
    return std::string(word_of(p.subject)) + " " + p.name;
  };
  const auto value = [&](const TrainingFitParameter& p) {
    const double* field = fitted_field(models.training, p);
    return math::log((field != nullptr ? *field : p.prior) / p.apart);
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TrainingFitParameter& p = parameters[i];
    Pool& pool = all.try_emplace(name(p), Pool{1, math::log(p.prior / p.apart)}).first->second;
    pool.weight += decided[i];
    pool.sum += decided[i] * value(p);
  }
  std::map<std::string, Pool> near;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TrainingFitParameter& p = parameters[i];
    const std::string key = name(p) + " " + generation_of(models, p);
    Pool& pool = near.try_emplace(key, Pool{1, math::log(all[name(p)].mean())}).first->second;
    pool.weight += decided[i];
    pool.sum += decided[i] * value(p);
  }
  for (TrainingFitParameter& p : parameters) {
    TrainingFitParameter common = p;
    common.id = "default";
    if (double* field = fitted_field(models.training, common)) {
      *field = std::clamp(all[name(p)].mean(), p.least, p.most);
    }
    const double here = near[name(p) + " " + generation_of(models, p)].mean() * p.apart;
    p.prior = std::clamp(here, p.least, p.most);
  }
}

}  // namespace

namespace {
constexpr double kUndecided = 1e-6;  // a parameter that no row affects
// Share of a prior's width: a shipped value is based on hundreds of rows, a user's on few.
constexpr double kAdjustWidth = 0.7;
}  // namespace

machine::Models refit_training(const machine::Models& shipped, const std::vector<TrainingRow>& rows,
                               const std::vector<TrainingFitParameter>& given) {
  std::vector<TrainingFitParameter> parameters = given;
  machine::Models models = shipped;
  const std::vector<Inherited> inherited = inherited_fields(models.training, parameters);
  const auto to_priors = [&](const std::vector<double>& decided) {
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const TrainingFitParameter& p = parameters[k];
      double* field = fitted_field(models.training, p);
      if (field != nullptr && (decided.empty() || decided[k] < kUndecided)) *field = p.prior;
      if (p.subject != FitSubject::framework) continue;
      for (const Inherited& i : inherited) {
        if (i.name == p.name) *i.field = p.prior / p.apart;
      }
    }
  };
  to_priors({});
  models.training.seen = seen_in(rows);
  const FitReport first = fit_training(rows, parameters, {.with_decided = true}, models);
  if (parameters.size() > 1) {
    pool_priors(models, first.decided, parameters);
    // What rows decide starts from the result of the first fit.
    to_priors(first.decided);
    fit_training(rows, parameters, {}, models);
  }
  // A release without rows is taken to be like its neighbour.
  for (const TrainingFitParameter& p : parameters) {
    if (p.subject != FitSubject::release || rows_of(rows, p) > 0) continue;
    const auto is_seen = [&](const training::ReleaseFactor& r) {
      const TrainingFitParameter other{FitSubject::release, r.framework + " " + r.release};
      return rows_of(rows, other) > 0;
    };
    const std::size_t space = p.id.find(' ');
    *fitted_field(models.training, p) = training::nearest_factor(
        models.training.releases, p.id.substr(0, space), p.id.substr(space + 1), is_seen);
  }
  return models;
}

machine::Models adjust_training(const machine::Models& shipped,
                                const std::vector<TrainingRow>& rows,
                                const std::vector<TrainingFitParameter>& given) {
  machine::Models models = shipped;
  std::vector<TrainingFitParameter> parameters;
  for (TrainingFitParameter p : given) {
    const double* field = fitted_field(models.training, p);
    if (field == nullptr || rows_of(rows, p) == 0) continue;
    p.prior = *field;
    p.width *= kAdjustWidth;
    parameters.push_back(std::move(p));
  }
  fit_training(rows, parameters, {}, models);
  for (training::SeenThing& thing : seen_in(rows)) {
    if (!models.training.saw(thing.kind, thing.id)) {
      models.training.seen.push_back(std::move(thing));
    }
  }
  return models;
}

std::vector<TrainingRow> rows_to_fit(const CsvTable& table, const ScoreInputs& inputs) {
  std::vector<TrainingRow> rows;
  for (const CsvRow& row : table.rows()) {
    auto read = read_training_row(table, row, inputs);
    if (read && read->counts && read->tokens_per_s_per_gpu) rows.push_back(std::move(*read));
  }
  return rows;
}

Result<std::vector<CalibrationFile>> refitted_files(const CsvTable& table,
                                                    const ScoreInputs& inputs,
                                                    std::string_view rows_name, FitFrom from) {
  const auto parameters = training_fit_parameters(*inputs.models.knowledge);
  if (!parameters) return std::unexpected(parameters.error());
  const std::vector<TrainingRow> rows = rows_to_fit(table, inputs);
  machine::Models models = from == FitFrom::shipped
                               ? adjust_training(inputs.models, rows, *parameters)
                               : refit_training(inputs.models, rows, *parameters);
  // A few rows of the user's own say nothing about how large other errors are.
  const auto widths = from == FitFrom::shipped ? std::map<std::string, double, std::less<>>{}
                                               : widths_of(models, rows);
  std::vector<CalibrationFile> files;
  for (const ParameterFile& file : kFiles) {
    const auto old = inputs.models.knowledge->table(file.path);
    if (!old) return std::unexpected(old.error());
    const FileWriter writer{file, *old, rows, rows_name, models.training, widths, from};
    std::string text;
    for (const std::string& column : old->columns()) text += (text.empty() ? "" : ",") + column;
    text += '\n';
    for (const CsvRow& row : old->rows()) text += writer.line(row);
    files.push_back({std::string(file.path), std::move(text)});
  }
  std::string seen = "subject,id,source\n";
  for (const training::SeenThing& thing : models.training.seen) {
    seen +=
        fmt::format("{},{},{}\n", word_of(thing.kind), csv_field(thing.id), csv_field(rows_name));
  }
  files.push_back({std::string(kSeenFile), std::move(seen)});
  return files;
}

}  // namespace orrery::score
