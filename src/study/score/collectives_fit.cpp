#include "study/score/collectives_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/math.h"
#include "core/base/statistics.h"

namespace orrery::score {
namespace {

constexpr std::string_view kParameterFile = "calibration/collectives.csv";
constexpr std::string_view kPriorFile = "calibration/collective_priors.csv";

constexpr double kFarMiss = 0.4;  // a row with a larger error counts less
constexpr double kFarPull = 0.3;
constexpr double kPriorWeight = 0.1;  // of a parameter that is one width away from its prior
constexpr double kFirstStep = 0.2;    // in ln(value)
constexpr double kLastStep = 0.004;
constexpr int kMostRounds = 60;

struct FitParameter {
  std::string group, name, parameter;
  double prior = 1;
  double width = 0.1;
  double value = 1;
  std::vector<std::size_t> rows;  // rows that it affects
};

struct MeasuredRow {
  CollectiveRow row;
  std::string system;
  double weight = 1;
};

std::vector<MeasuredRow> measured_rows(const CsvTable& table, const ScoreInputs& inputs,
                                       std::string_view without) {
  std::vector<MeasuredRow> rows;
  std::map<std::string, int> count;
  for (const CsvRow& row : table.rows()) {
    auto read = read_collective_row(table, row, inputs.catalog());
    std::string system = system_of(table.text(row, "system"));
    if (!read || !read->counts || !read->measured_us || system == without) continue;
    ++count[system];
    rows.push_back({std::move(*read), std::move(system)});
  }
  for (MeasuredRow& r : rows) r.weight = 1 / std::sqrt(count[r.system]);
  return rows;
}

bool moves(const FitParameter& p, const MeasuredRow& r,
           const fabric::CollectiveParameters& parameters) {
  const machine::Wiring& w = r.row.wiring;
  if (p.group == "scaleup") {
    return parameters.scaleup(w.accelerator->scaleup_link).link == p.name;
  }
  if (p.group == "network") {
    return w.network != catalog::NetworkKind::none && parameters.network(w.network).kind == p.name;
  }
  return p.group != "harness" || w.torch_timed;
}

// Returns the row of priors for a link or network of this name, or for all of them.
const CsvRow* prior_of(const CsvTable& priors, const CsvTable& table, const CsvRow& row) {
  const CsvRow* general = nullptr;
  for (const CsvRow& prior : priors.rows()) {
    if (priors.text(prior, "group") != table.text(row, "group") ||
        priors.text(prior, "parameter") != table.text(row, "parameter")) {
      continue;
    }
    if (priors.text(prior, "of").empty()) general = &prior;
    if (priors.text(prior, "of") == table.text(row, "name") && !table.text(row, "name").empty()) {
      return &prior;
    }
  }
  return general;
}

Result<std::vector<FitParameter>> fit_parameters(const ScoreInputs& inputs,
                                                 const std::vector<MeasuredRow>& rows) {
  const auto table = inputs.models.knowledge->table(kParameterFile);
  if (!table) return std::unexpected(table.error());
  const auto priors = inputs.models.knowledge->table(kPriorFile);
  if (!priors) return std::unexpected(priors.error());
  std::vector<FitParameter> all;
  for (const CsvRow& row : table->rows()) {
    const CsvRow* prior = prior_of(*priors, *table, row);
    // A share of zero means that the link lacks the feature.
    if (prior == nullptr || table->text(row, "basis") != "fitted" ||
        table->number(row, "value").value_or(0) <= 0) {
      continue;
    }
    FitParameter p{.group = std::string(table->text(row, "group")),
                   .name = std::string(table->text(row, "name")),
                   .parameter = std::string(table->text(row, "parameter")),
                   .prior = priors->number(*prior, "prior").value_or(1),
                   .width = priors->number(*prior, "width").value_or(0.1)};
    p.value = p.prior;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (moves(p, rows[i], inputs.models.collectives)) p.rows.push_back(i);
    }
    all.push_back(std::move(p));
  }
  return all;
}

struct Search {
  const std::vector<MeasuredRow>& rows;
  std::vector<FitParameter>& parameters;
  fabric::CollectiveParameters& models;
  std::vector<double> misses;

  double miss(const MeasuredRow& r) const {
    const machine::Links links(r.row.wiring, models);
    const double us = links.time(r.row.call, r.row.algorithm).time.base() * 1e6;
    const double x = std::abs(math::log(us / *r.row.measured_us));
    return r.weight * (x <= kFarMiss ? x : kFarMiss + kFarPull * (x - kFarMiss));
  }
  double pull(const FitParameter& p) const {
    const double widths = math::log(p.value / p.prior) / p.width;
    return kPriorWeight * widths * widths;
  }
  void set(FitParameter& p, double value) {
    p.value = value;
    set_collective_parameter(models, {p.group, p.name, p.parameter}, value);
  }
  // Returns true if the step lowers the loss; it is then kept.
  bool step(FitParameter& p, double by) {
    const double before = p.value;
    double change = -pull(p);
    set(p, before * math::exp(by));
    change += pull(p);
    std::vector<double> now;
    for (std::size_t i : p.rows) {
      now.push_back(miss(rows[i]));
      change += now.back() - misses[i];
    }
    if (change >= 0) return set(p, before), false;
    for (std::size_t i = 0; i < p.rows.size(); ++i) misses[p.rows[i]] = now[i];
    return true;
  }
  void run() {
    for (FitParameter& p : parameters) set(p, p.prior);
    for (const MeasuredRow& r : rows) misses.push_back(miss(r));
    std::vector<double> steps(parameters.size(), kFirstStep);
    for (int round = 0; round < kMostRounds; ++round) {
      bool any = false;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (parameters[i].rows.empty() || std::abs(steps[i]) < kLastStep) continue;
        any = true;
        if (step(parameters[i], steps[i])) continue;
        // Reverses the direction, and shortens the step once both directions have failed.
        steps[i] *= steps[i] > 0 ? -1 : -0.5;
      }
      if (!any) break;
    }
  }
};

// Links and networks without rows are not fitted, whatever the file says of them.
void mark_measured(const std::vector<MeasuredRow>& rows, fabric::CollectiveParameters& models) {
  std::set<std::string> seen;
  for (const MeasuredRow& r : rows) {
    seen.insert(models.scaleup(r.row.wiring.accelerator->scaleup_link).link);
    if (r.row.wiring.network != catalog::NetworkKind::none) {
      seen.insert(models.network(r.row.wiring.network).kind);
    }
  }
  for (auto& s : models.scaleups) s.fitted = seen.contains(s.link);
  for (auto& n : models.networks) n.fitted = seen.contains(n.kind);
}

Result<fabric::CollectiveParameters> fitted_without(const CsvTable& table,
                                                    const ScoreInputs& inputs,
                                                    std::string_view system,
                                                    std::vector<FitParameter>* values = nullptr) {
  const std::vector<MeasuredRow> rows = measured_rows(table, inputs, system);
  auto parameters = fit_parameters(inputs, rows);
  if (!parameters) return std::unexpected(parameters.error());
  fabric::CollectiveParameters models = inputs.models.collectives;
  Search{rows, *parameters, models, {}}.run();
  mark_measured(rows, models);
  if (values != nullptr) *values = std::move(*parameters);
  return models;
}

std::string table_line(std::string_view name, const Score& score, std::string_view group) {
  std::vector<const ScoredRow*> rows;
  for (const ScoredRow& r : score.series[0].rows) {
    if (r.counts && r.measured && std::ranges::find(r.groups, group) != r.groups.end()) {
      rows.push_back(&r);
    }
  }
  const ScoreSummary s = summarise(rows);
  return fmt::format("| {} | {} | {} | {:.1f} % | {:.1f} % | {:.0f} % |\n", name,
                     group.substr(group.find('=') + 1), s.scored, 100 * s.median_ape,
                     100 * s.p90_ape, 100 * s.coverage);
}

// The quantiles of left-out rows that an interval named in the file is taken from.
struct Width {
  double low = 0;
  double high = 0;
};
// Share of left-out rows inside the interval: of systems with rows, more are inside.
constexpr double kInside = 0.78;
Width width_of(const std::vector<double>& ratios) {
  const double tail = (1 - kInside) / 2;
  constexpr double kLeast = 0.03;
  return {.low = std::max(kLeast, -quantile(ratios, tail)),
          .high = std::max(kLeast, quantile(ratios, 1 - tail))};
}

}  // namespace

std::string system_of(std::string_view name) {
  const std::size_t first = name.find(' ');
  if (first == std::string_view::npos) return std::string(name);
  return std::string(name.substr(0, name.find(' ', first + 1)));
}

Result<Score> score_collectives_held_out(const CsvTable& table, const ScoreInputs& inputs,
                                         const SystemProgress& progress) {
  std::map<std::string, fabric::CollectiveParameters, std::less<>> folds;
  std::set<std::string> systems;
  for (const CsvRow& row : table.rows()) systems.insert(system_of(table.text(row, "system")));
  for (const std::string& system : systems) {
    if (progress) progress(static_cast<int>(folds.size()), static_cast<int>(systems.size()));
    auto fitted = fitted_without(table, inputs, system);
    if (!fitted) return std::unexpected(fitted.error());
    folds.emplace(system, std::move(*fitted));
  }
  return score_collectives_with(table, inputs,
                                [&](const CsvRow& row) -> const fabric::CollectiveParameters& {
                                  return folds.find(system_of(table.text(row, "system")))->second;
                                });
}

Result<std::string> collectives_markdown(const CsvTable& table, const ScoreInputs& inputs,
                                         const SystemProgress& progress) {
  const auto seen = score_collectives(table, inputs);
  if (!seen) return std::unexpected(seen.error());
  const auto left_out = score_collectives_held_out(table, inputs, progress);
  if (!left_out) return std::unexpected(left_out.error());
  std::string out =
      "| rows predicted | size | rows | median | p90 | in interval |\n"
      "|---|---|---:|---:|---:|---:|\n";
  for (const auto& [name, score] :
       {std::pair("in sample", &*seen), {"left out by system", &*left_out}}) {
    for (const std::string_view group : {"size=from 64 MiB", "size=below 64 MiB"}) {
      out += table_line(name, *score, group);
    }
  }
  return out;
}

Result<std::string> fitted_collectives(const CsvTable& table, const ScoreInputs& inputs,
                                       const SystemProgress& progress) {
  std::vector<FitParameter> values;
  const auto fitted = fitted_without(table, inputs, "", &values);
  if (!fitted) return std::unexpected(fitted.error());
  const auto left_out = score_collectives_held_out(table, inputs, progress);
  if (!left_out) return std::unexpected(left_out.error());
  const auto old = inputs.models.knowledge->table(kParameterFile);
  if (!old) return std::unexpected(old.error());
  std::map<std::pair<bool, double>, std::vector<double>> ratios;  // by network and size class
  for (const CsvRow& row : table.rows()) {
    const auto read = read_collective_row(table, row, inputs.catalog());
    if (!read || !read->counts || !read->measured_us) continue;
    const auto at = std::ranges::find(left_out->series[0].rows, read->id, &ScoredRow::id);
    if (at->predicted.basis != Basis::fitted) continue;  // only predictions of fitted Links count
    const bool network = read->wiring.network != catalog::NetworkKind::none;
    const auto i = inputs.models.collectives.interval(network, read->call.bytes);
    ratios[{network, i.below.base()}].push_back(
        math::log(*read->measured_us / at->predicted.value));
  }
  std::string text;
  for (const std::string& column : old->columns()) text += (text.empty() ? "" : ",") + column;
  text += '\n';
  for (const CsvRow& row : old->rows()) {
    std::string value(old->text(row, "value"));
    for (const FitParameter& p : values) {
      if (p.group == old->text(row, "group") && p.name == old->text(row, "name") &&
          p.parameter == old->text(row, "parameter")) {
        value = fmt::format("{:.4g}", p.value);
      }
    }
    if (old->text(row, "group") == "interval") {
      fabric::CollectiveParameters one;
      set_collective_parameter(one, {"interval", old->text(row, "name"), "low"}, 0);
      const auto& i = one.intervals.front();
      const auto at = ratios.find({i.network, i.below.base()});
      if (at != ratios.end()) {
        const Width w = width_of(at->second);
        value = fmt::format("{:.3f}", old->text(row, "parameter") == "low" ? w.low : w.high);
      }
    }
    for (const std::string& column : old->columns()) {
      if (&column != &old->columns().front()) text += ',';
      text += csv_field(column == "value" ? value : std::string(old->text(row, column)));
    }
    text += '\n';
  }
  return text;
}

}  // namespace orrery::score
