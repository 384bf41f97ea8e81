#include "layers/failure/rates.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/base/math.h"

namespace orrery::failure {
namespace {

constexpr int kGpusOfRates = 8;
// Below and above these sizes too few runs are published to follow the trend, so the rate stays
// constant.
constexpr double kFewNodes = 128;
constexpr double kManyNodes = 2048;
// Uncertainty factors of a fleet's own rate: if no count is given, and from one season to the next.
// Both are assumed.
constexpr double kOwnFactor = 1.5;
constexpr double kSeason = 0.2;
constexpr double kNormal90 = 1.2816;

double scale_of(double nodes) { return math::log(std::clamp(nodes, kFewNodes, kManyNodes)); }

// The 90th percentile of Student's t: an 80 % interval from few rows.
double student_90(std::size_t freedom) {
  constexpr double kTable[] = {3.078, 1.886, 1.638, 1.533, 1.476,
                               1.440, 1.415, 1.397, 1.383, 1.372};
  return freedom <= std::size(kTable) ? kTable[std::max<std::size_t>(1, freedom) - 1] : kNormal90;
}

}  // namespace

Result<std::vector<NodeFailureRate>> read_node_failure_rates(const CsvTable& table) {
  std::vector<NodeFailureRate> rates;
  Diagnostics faults;
  for (const CsvRow& row : table.rows()) {
    const auto value = table.number(row, "failures_per_1000_node_days");
    const auto low = table.number(row, "low");
    const auto high = table.number(row, "high");
    const auto gpus = table.integer(row, "gpus_per_node");
    if (!value || !low || !high || !gpus || !(*low <= *value && *value <= *high)) {
      faults.push_back({.severity = Severity::error,
                        .code = "failure.rate",
                        .place = {table.file(), row.line, 0},
                        .what = "a failure rate needs gpus_per_node and low <= value <= high",
                        .why = "the plan's interval is computed from this range",
                        .fix = "give all three, in failures per 1000 node-days"});
      continue;
    }
    rates.push_back({.id = std::string(table.text(row, "id")),
                     .gpus_per_node = static_cast<int>(*gpus),
                     .per_node = per_1000_node_days(*value),
                     .low = per_1000_node_days(*low),
                     .high = per_1000_node_days(*high),
                     .nodes = table.number(row, "nodes").value_or(1),
                     .interruptions = table.text(row, "counts") == "interruptions",
                     .source = std::string(table.text(row, "source")),
                     .confidence = std::string(table.text(row, "confidence"))});
  }
  if (!faults.empty()) return std::unexpected(faults);
  return rates;
}

const NodeFailureRate* find_rate(const std::vector<NodeFailureRate>& all, std::string_view id) {
  for (const NodeFailureRate& rate : all) {
    if (rate.id == id) return &rate;
  }
  return nullptr;
}

PublishedRate published_rate(const std::vector<NodeFailureRate>& all, double nodes) {
  std::vector<double> x;
  std::vector<double> y;
  for (const NodeFailureRate& r : all) {
    if (!r.interruptions) continue;
    x.push_back(scale_of(r.nodes * r.gpus_per_node / kGpusOfRates));
    y.push_back(math::log(r.per_node.base() * kGpusOfRates / r.gpus_per_node));
  }
  if (x.size() < 4) return {};
  const double n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double sxx = 0;
  double sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sxx += (x[i] - mean_x) * (x[i] - mean_x);
    sxy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  const double slope = sxx > 0 ? sxy / sxx : 0;
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = y[i] - mean_y - slope * (x[i] - mean_x);
    squares += off * off;
  }
  const double at = scale_of(nodes) - mean_x;
  const double spread = std::sqrt(squares / (n - 2) * (1 + 1 / n + (sxx > 0 ? at * at / sxx : 0)));
  const auto [least, most] = std::ranges::minmax(y);
  return {.per_node = PerSecond(math::exp(mean_y + slope * at)),
          .factor = math::exp(student_90(x.size() - 2) * spread),
          .fleets = n,
          .apart = math::exp(most - least)};
}

double own_rate_factor(double observed) {
  if (observed <= 0) return kOwnFactor;
  return math::exp(kNormal90 * std::sqrt(1 / observed + kSeason * kSeason));
}

PerSecond mean_node_rate(PerSecond base, const LemonMix& mix) {
  return base * ((1 - mix.share) + mix.share * mix.multiplier);
}

PerSecond base_node_rate(PerSecond observed_mean, const LemonMix& mix) {
  return observed_mean / ((1 - mix.share) + mix.share * mix.multiplier);
}

PerSecond job_failure_rate(double nodes, PerSecond per_node) { return per_node * nodes; }

Seconds job_mtbf(double nodes, PerSecond per_node) {
  const double rate = job_failure_rate(nodes, per_node).base();
  return Seconds(rate > 0 ? 1 / rate : std::numeric_limits<double>::infinity());
}

PerSecond scaled_to_host(const NodeFailureRate& rate, int gpus_per_host) {
  return rate.per_node * (static_cast<double>(gpus_per_host) / rate.gpus_per_node);
}

PerSecond hazard(const Weibull& w, Seconds age) {
  return PerSecond(w.shape / w.scale.base() * math::pow(age / w.scale, w.shape - 1));
}

double lemon_odds(const LemonMix& mix, PerSecond base, double failures, Seconds node_time) {
  const double prior = mix.share / (1 - mix.share);
  const double expected = base * node_time;
  return prior * math::exp(failures * math::log(mix.multiplier) - (mix.multiplier - 1) * expected);
}

}  // namespace orrery::failure
