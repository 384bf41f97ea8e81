#include "study/score/training_fit.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/math.h"

namespace orrery::score {
namespace {

// A row with everything that does not change during a fit.
struct FitRow {
  TrainingRow row;
  training::TrainingJob job;
  training::Layout layout;
  std::unique_ptr<machine::Costs> costs;
};

// One residual's share of the loss, and its weight in the normal equations: rho'(x) / x.
double rho(double x, double knee) { return x * x / (std::abs(x) + knee); }
double weight_of(double x, double knee) {
  const double a = std::abs(x) + knee;
  return (std::abs(x) + 2 * knee) / (a * a);
}

// Solves A y = b for a symmetric, positive definite A, in place (Cholesky).
bool solve(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    double* row = &a[j * n];
    for (std::size_t k = 0; k < j; ++k) row[j] -= row[k] * row[k];
    if (!(row[j] > 0)) return false;
    row[j] = std::sqrt(row[j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * row[k];
      a[i * n + j] = sum / row[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

// A row's change of ln(predicted) for each ln(parameter) that moves it.
struct Slope {
  std::size_t parameter = 0;
  double value = 0;
};

struct Fitter {
  std::vector<FitRow> rows;
  const std::vector<TrainingFitParameter>& parameters;
  const FitOptions& options;
  machine::Models& models;
  std::vector<double*> fields;
  std::vector<double> misses;  // ln(predicted / measured) of each row
  // of each row; parameters that do not affect it are left out
  std::vector<std::vector<Slope>> slopes;
  training::StepScratch scratch;
  int evaluations = 0;

  double miss(const FitRow& r) {
    ++evaluations;
    const jobs::TrainingQuery& q = r.row.query;
    r.costs->retune(models.training.accelerator(q.accelerator->id));
    const training::FrameworkModel framework = framework_of(models, q);
    const training::StepEstimate e =
        estimate_step(r.job, r.layout, framework, training_source(*r.costs), scratch);
    const double tokens = q.sequence * q.batch / q.gpus / e.seconds;
    return math::log(tokens / *r.row.tokens_per_s_per_gpu);
  }
  double distance(std::size_t p) const {  // from the prior, in units of its width
    return math::log(*fields[p] / parameters[p].prior) / parameters[p].width;
  }
  double loss() const {
    double sum = 0;
    for (double x : misses) sum += rho(x, options.knee);
    for (std::size_t p = 0; p < fields.size(); ++p) {
      if (fields[p] != nullptr) sum += options.knee * distance(p) * distance(p);
    }
    return sum;
  }
  void measure() {
    for (std::size_t i = 0; i < rows.size(); ++i) misses[i] = miss(rows[i]);
  }
  // Computes the slopes; those that were zero are computed again only if `all` is true, since most
  // parameters of a family do not affect most of its rows.
  void differentiate(bool all) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (Slope& s : slopes[i]) {
        if (!all && s.value == 0) continue;
        double* field = fields[s.parameter];
        const double before = *field;
        *field = before * math::exp(options.probe);
        s.value = (miss(rows[i]) - misses[i]) / options.probe;
        *field = before;
      }
    }
  }
  double hold(std::size_t p) const {  // what the prior adds to the diagonal
    return 2 * options.knee / (parameters[p].width * parameters[p].width);
  }
  // Returns the normal equations; an empty b is left unchanged.
  std::vector<double> normal(double damping, std::vector<double>& b) const {
    const std::size_t n = fields.size();
    std::vector<double> a(n * n);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double w = weight_of(misses[i], options.knee);
      for (const Slope& s : slopes[i]) {
        if (s.value == 0) continue;
        if (!b.empty()) b[s.parameter] -= w * s.value * misses[i];
        for (const Slope& t : slopes[i]) a[s.parameter * n + t.parameter] += w * s.value * t.value;
      }
    }
    for (std::size_t p = 0; p < n; ++p) {
      a[p * n + p] = a[p * n + p] * (1 + damping) + hold(p);
      if (!b.empty() && fields[p]) b[p] -= hold(p) * distance(p) * parameters[p].width;
    }
    return a;
  }
  // Returns the Gauss-Newton step with Marquardt's damping; empty if it cannot be solved.
  std::vector<double> step(double damping) const {
    std::vector<double> b(fields.size());
    std::vector<double> a = normal(damping, b);
    return solve(a, b) ? b : std::vector<double>{};
  }
  // Returns 1 - (variance after the rows / variance of the prior).
  std::vector<double> decided() const {
    std::vector<double> none;
    const std::vector<double> a = normal(0, none);
    std::vector<double> all(fields.size());
    for (std::size_t p = 0; p < fields.size(); ++p) {
      std::vector<double> work = a;
      std::vector<double> unit(fields.size());
      unit[p] = 1;
      if (solve(work, unit)) all[p] = std::clamp(1 - hold(p) * unit[p], 0.0, 1.0);
    }
    return all;
  }
  void apply(const std::vector<double>& before, const std::vector<double>& by) {
    for (std::size_t p = 0; p < fields.size(); ++p) {
      if (fields[p] == nullptr) continue;
      const double most = options.largest_step;
      *fields[p] = std::clamp(before[p] * math::exp(std::clamp(by[p], -most, most)),
                              parameters[p].least, parameters[p].most);
    }
    measure();
  }
  // Runs one round: slopes, then the least damping whose step lowers the loss. Returns false if
  // none does.
  bool round(int number, double& damping) {
    differentiate(number % 3 == 0);
    const double start = loss();
    std::vector<double> before(fields.size());
    for (std::size_t p = 0; p < fields.size(); ++p) before[p] = fields[p] ? *fields[p] : 0;
    for (int tries = 0; tries < 6; ++tries, damping *= 8) {
      const std::vector<double> by = step(damping);
      if (by.empty()) continue;
      apply(before, by);
      const double now = loss();
      if (now < start) {
        damping = std::max(1e-3, damping / 20);
        return start - now > options.enough * start;
      }
    }
    apply(before, std::vector<double>(fields.size()));
    return false;
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
                       : Result<jobs::TrainingPrediction>(std::unexpected(Diagnostics{}));
    if (!p) continue;
    auto costs = std::make_unique<machine::Costs>(training_costs(models, row.query));
    fixed.push_back({row, job_of(row.query), p->layout, std::move(costs)});
  }
  Fitter fitter{
      .rows = std::move(fixed), .parameters = parameters, .options = options, .models = models};
  for (const TrainingFitParameter& p : parameters) {
    fitter.fields.push_back(fitted_field(models.training, p));
  }
  fitter.misses.resize(fitter.rows.size());
  for (const FitRow& row : fitter.rows) {
    std::vector<Slope> touched;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (fitter.fields[p] && fit_touches(parameters[p], row.row)) touched.push_back({p, 0});
    }
    fitter.slopes.push_back(std::move(touched));
  }
  fitter.measure();
  const double count = std::max(1.0, static_cast<double>(fitter.rows.size()));
  FitReport report{.loss_before = fitter.loss() / count};
  double damping = options.first_damping;
  bool again = true;
  for (int i = 0; again && i < options.rounds; ++i) again = fitter.round(i, damping) || i < 3;
  report.loss_after = fitter.loss() / count;
  report.evaluations = fitter.evaluations;
  if (options.with_decided) report.decided = fitter.decided();
  return report;
}

}  // namespace orrery::score
