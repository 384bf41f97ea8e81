#include "score/training_fit.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/math.h"

namespace orrery::score {
namespace {

// A row with all that does not move during a fit.
struct FitRow {
  TrainingRow row;
  training::TrainingJob job;
  training::Layout layout;
  std::unique_ptr<machine::Costs> costs;
};

struct Fitter {
  std::vector<FitRow> rows;
  const FitOptions& options;
  machine::Models& models;
  std::vector<double> losses;  // of each row
  training::StepScratch scratch;
  int evaluations = 0;

  double row_loss(const FitRow& r) {
    ++evaluations;
    const machine::TrainingQuery& q = r.row.query;
    r.costs->retune(models.training.accelerator(q.accelerator->id));
    const training::FrameworkModel framework = models.training.framework(q.framework, q.release);
    const training::StepEstimate e =
        estimate_step(r.job, r.layout, framework, training_source(*r.costs), scratch);
    const double tokens = q.sequence * q.batch / q.gpus / e.seconds;
    const double x = std::abs(math::log(tokens / *r.row.tokens_per_s_per_gpu));
    return x * x / (x + options.knee);
  }
  static double penalty(const TrainingFitParameter& p, double value) {
    const double x = math::log(value / p.prior) / p.width;
    return x * x;
  }
  double total() const {
    double sum = 0;
    for (double l : losses) sum += l;
    return sum;
  }
  // Tries one value; keeps it, and the row losses, where the loss falls.
  bool try_value(const TrainingFitParameter& p, double* field, double value) {
    value = std::clamp(value, p.least, p.most);
    const double before = *field;
    if (value == before) return false;
    *field = value;
    double change = options.knee * (penalty(p, value) - penalty(p, before));
    std::vector<std::pair<std::size_t, double>> fresh;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!fit_touches(p, rows[i].row)) continue;
      fresh.emplace_back(i, row_loss(rows[i]));
      change += fresh.back().second - losses[i];
    }
    if (change >= -1e-9) {
      *field = before;
      return false;
    }
    for (const auto& [i, loss] : fresh) losses[i] = loss;
    return true;
  }
};

}  // namespace

double* fitted_field(training::TrainingCalibration& c, const TrainingFitParameter& p) {
  if (p.subject == FitSubject::framework) {
    const auto at = std::ranges::find(c.frameworks, p.id, &training::FrameworkModel::id);
    return at != c.frameworks.end() ? framework_field(*at, p.name) : nullptr;
  }
  if (p.subject == FitSubject::accelerator) {
    const auto at = std::ranges::find(c.accelerators, p.id, &training::AcceleratorTuning::id);
    return at != c.accelerators.end() ? accelerator_field(*at, p.name) : nullptr;
  }
  for (training::ReleaseFactor& r : c.releases) {
    if (r.framework + " " + r.release == p.id) return &r.factor;
  }
  return nullptr;
}

bool fit_touches(const TrainingFitParameter& p, const TrainingRow& row) {
  switch (p.subject) {
    case FitSubject::framework:
      return row.query.framework == p.id;
    case FitSubject::accelerator:
      return row.query.accelerator->id == p.id;
    case FitSubject::release:
      return row.query.framework + " " + row.query.release == p.id;
  }
  return false;
}

FitReport fit_training(const std::vector<TrainingRow>& rows,
                       const std::vector<TrainingFitParameter>& parameters,
                       const FitOptions& options, machine::Models& models) {
  std::vector<FitRow> fixed;
  for (const TrainingRow& row : rows) {
    const auto p = row.tokens_per_s_per_gpu
                       ? predict_training(models, row.query)
                       : Result<machine::TrainingPrediction>(std::unexpected(Diagnostics{}));
    if (!p) continue;
    auto costs = std::make_unique<machine::Costs>(training_costs(models, row.query));
    fixed.push_back({row, job_of(row.query), p->layout, std::move(costs)});
  }
  Fitter fitter{std::move(fixed), options, models, {}, {}};
  for (const FitRow& row : fitter.rows) fitter.losses.push_back(fitter.row_loss(row));
  const double count = std::max(1.0, static_cast<double>(fitter.rows.size()));
  FitReport report{.loss_before = fitter.total() / count};
  double step = options.first_step;
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    for (const TrainingFitParameter& p : parameters) {
      double* field = fitted_field(models.training, p);
      if (field == nullptr) continue;
      for (const double direction : {1.0, -1.0}) {
        while (fitter.try_value(p, field, *field * math::exp(direction * step))) {
        }
      }
    }
    step *= options.shrink;
  }
  report.loss_after = fitter.total() / count;
  report.evaluations = fitter.evaluations;
  return report;
}

}  // namespace orrery::score
