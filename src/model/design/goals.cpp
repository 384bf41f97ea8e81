#include "model/design/goals.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/design/names.h"

namespace orrery::design {
namespace {

constexpr Dimension kNumber{};
constexpr Dimension kTime = DimensionOf<Seconds>::value;
constexpr Dimension kMoney = DimensionOf<Usd>::value;
constexpr Dimension kMoneyRate = DimensionOf<UsdPerSecond>::value;
constexpr Dimension kPower = DimensionOf<Watts>::value;
constexpr Dimension kRate = DimensionOf<PerSecond>::value;

constexpr GoalMetric kMetrics[] = {
    {"goodput", kNumber, "", "share of the training fleet's time that becomes progress"},
    {"mfu", kNumber, "", "model FLOP utilisation of the first training run"},
    {"availability", kNumber, "", "share of time that services are up"},
    {"pue", kNumber, "", "power usage effectiveness, of the worst site"},
    {"step_time", kTime, "s", "step time of the first training run"},
    {"train_time", kTime, "d", "wall time of the first training run, losses included"},
    {"tokens_per_s", kRate, "/s", "tokens trained per second, on all accelerators"},
    {"checkpoint_stall", kTime, "s", "time that training waits for one save"},
    {"recovery", kTime, "min", "time from a fault to useful work"},
    {"ttft_p99", kTime, "ms", "worst service: time to first token"},
    {"tpot_p99", kTime, "ms", "worst service: time per output token"},
    {"task_p99", kTime, "s", "worst service: whole tasks of its agents"},
    {"quality", kNumber, "", "share of right answers, worst service that gives one"},
    {"queue_wait", kTime, "h", "mean wait of a job"},
    {"power", kPower, "MW", "draw of all sites at nameplate, IT and facility"},
    {"rack_power", kPower, "kW", "power of the fullest rack"},
    {"energy", DimensionOf<Joules>::value, "MWh", "energy per year"},
    {"carbon", DimensionOf<GramsCo2>::value, "t", "carbon per year"},
    {"cost", kMoneyRate, "MUSD/y", "all costs, averaged over the horizon"},
    {"capex", kMoney, "MUSD", "purchase price of all that is bought"},
    {"opex", kMoneyRate, "MUSD/y", "yearly running cost"},
    {"cost_per_run", kMoney, "kUSD", "cost of the first training run"},
    {"cost_per_gpu_hour", kMoneyRate, "USD/h", "cost per useful accelerator-hour"},
    {"cost_per_mtoken", kMoney, "USD", "cost per million tokens served, worst service"},
    {"freshness", kTime, "d", "longest time from an event to a serving model trained on it"},
    {"lead_time", kTime, "week", "time until the last part is delivered"},
};

struct Parts {
  std::string_view metric;
  Comparison comparison;
  std::string_view bound;
};

std::optional<Parts> split_goal(std::string_view text) {
  const auto at = text.find_first_of("<>=");
  if (at == std::string_view::npos) return std::nullopt;
  const auto end = text.find_first_not_of("<>=", at);
  const auto comparison =
      from_word<Comparison>(text.substr(at, end == std::string_view::npos ? end : end - at));
  if (!comparison || end == std::string_view::npos) return std::nullopt;
  return Parts{trimmed(text.substr(0, at)), *comparison, trimmed(text.substr(end))};
}

GoalFault unknown_metric(std::string_view name) {
  std::vector<std::string> names;
  for (const GoalMetric& m : kMetrics) names.emplace_back(m.name);
  auto close = nearest(name, names);
  // `ttft` begins several names, such as `ttft_p99`.
  const auto longer = std::ranges::find_if(
      names, [&](const std::string& n) { return n.starts_with(std::string(name) + '_'); });
  if (!close && longer != names.end()) close = *longer;
  return {
      "goal.metric", "there is no metric `" + std::string(name) + "`",
      close ? "did you mean `" + *close + "`?" : "see docs/guide/design-file.md for the metrics"};
}

// The number of a goal without unit: a plain number or a share in per cent.
std::optional<double> plain_bound(std::string_view text) {
  if (!text.ends_with('%')) return parse_number(text);
  const auto percent = parse_number(trimmed(text.substr(0, text.size() - 1)));
  if (!percent) return std::nullopt;
  return *percent / 100;
}

}  // namespace

std::span<const GoalMetric> goal_metrics() { return kMetrics; }

const GoalMetric* find_goal_metric(std::string_view name) {
  const auto at = std::ranges::find(kMetrics, name, &GoalMetric::name);
  return at == std::end(kMetrics) ? nullptr : at;
}

std::expected<Goal, GoalFault> parse_goal(std::string_view text) {
  const auto parts = split_goal(text);
  if (!parts) {
    return std::unexpected(GoalFault{"goal.syntax", "`" + std::string(text) + "` is not a goal",
                                     "write a metric, one of < <= >= >, and a bound: goodput >= "
                                     "0.90"});
  }
  const GoalMetric* metric = find_goal_metric(parts->metric);
  if (!metric) return std::unexpected(unknown_metric(parts->metric));
  Goal goal{.metric = std::string(metric->name),
            .comparison = parts->comparison,
            .dimension = metric->dimension};
  if (metric->dimension == kNumber) {
    const auto bound = plain_bound(parts->bound);
    if (!bound) {
      return std::unexpected(GoalFault{"goal.unit",
                                       "`" + goal.metric + "` is compared with a plain number",
                                       "write it without a unit, as in goodput >= 0.90"});
    }
    goal.bound = *bound;
    return goal;
  }
  const auto bound = parse_any_quantity(parts->bound);
  if (!bound || bound->dimension != metric->dimension) {
    return std::unexpected(GoalFault{
        "goal.unit", "`" + std::string(parts->bound) + "` is not a bound for `" + goal.metric + "`",
        "write it with a unit such as " + std::string(metric->unit)});
  }
  goal.bound = bound->base_units;
  return goal;
}

namespace {

// Writes a bound on money per hour or per year, like its metric.
std::string bound_text(const Goal& goal) {
  if (goal.dimension == kNumber) return shortest(goal.bound);
  const GoalMetric* metric = find_goal_metric(goal.metric);
  if (metric != nullptr && goal.dimension == kMoneyRate) {
    const double one = parse_any_quantity("1 " + std::string(metric->unit))->base_units;
    std::string text = shortest(goal.bound / one) + ' ' + std::string(metric->unit);
    const auto again = parse_any_quantity(text);
    if (again && again->base_units == goal.bound) return text;
  }
  return quantity_to_text(goal.bound, goal.dimension);
}

}  // namespace

std::string to_text(const Goal& goal) {
  const std::string bound = bound_text(goal);
  return goal.metric + ' ' + std::string(word_of(goal.comparison)) + ' ' + bound;
}

}  // namespace orrery::design
