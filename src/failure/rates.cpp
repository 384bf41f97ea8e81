#include "failure/rates.h"

#include <limits>

#include "base/math.h"

namespace orrery::failure {
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
                        .why = "the range is what the plan's interval is made of",
                        .fix = "give all three, in failures per 1000 node-days"});
      continue;
    }
    rates.push_back({.id = std::string(table.text(row, "id")),
                     .gpus_per_node = static_cast<int>(*gpus),
                     .per_node = per_1000_node_days(*value),
                     .low = per_1000_node_days(*low),
                     .high = per_1000_node_days(*high),
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

PerSecond mean_node_rate(PerSecond base, const LemonMix& mix) {
  return base * ((1 - mix.share) + mix.share * mix.multiplier);
}

PerSecond base_node_rate(PerSecond observed_mean, const LemonMix& mix) {
  return observed_mean / ((1 - mix.share) + mix.share * mix.multiplier);
}

double lemon_share_of_failures(const LemonMix& mix) {
  const double lemons = mix.share * mix.multiplier;
  return lemons / ((1 - mix.share) + lemons);
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

PerSecond mean_hazard(const Weibull& w, Seconds age) {
  return PerSecond(math::pow(age / w.scale, w.shape) / age.base());
}

double lemon_odds(const LemonMix& mix, PerSecond base, double failures, Seconds node_time) {
  const double prior = mix.share / (1 - mix.share);
  const double expected = base * node_time;
  return prior * math::exp(failures * math::log(mix.multiplier) - (mix.multiplier - 1) * expected);
}

}  // namespace orrery::failure
