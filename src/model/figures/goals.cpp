#include "model/figures/goals.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "model/design/goals.h"

namespace orrery::figures {
namespace {

constexpr double kHour = 3600;
constexpr double kYear = 31536000;

// Returns the first of `ids` for which there is a figure, picked as the source says.
std::optional<Figure> picked(const GoalSource& source, FigureId id,
                             const std::vector<Section>& sections) {
  std::optional<Figure> found;
  for (const Section& s : sections) {
    if (s.layer != kind_of(id).layer) continue;
    for (const Figure& f : s.figures) {
      if (f.kind != id) continue;
      if (!found) {
        found = f;
      } else if (source.pick == Pick::sum) {
        found->estimate = found->estimate + f.estimate;
      } else if ((source.pick == Pick::largest && f.estimate.value > found->estimate.value) ||
                 (source.pick == Pick::smallest && f.estimate.value < found->estimate.value)) {
        found = f;
      }
    }
  }
  return found;
}

std::optional<Figure> figure_for(std::string_view metric, const std::vector<Section>& sections) {
  const auto source = std::ranges::find(goal_sources(), metric, &GoalSource::metric);
  if (source == goal_sources().end()) return std::nullopt;
  for (const FigureId id : source->ids) {
    if (auto found = picked(*source, id, sections)) return found;
  }
  return std::nullopt;
}

double to_goal_of(std::string_view metric) {
  return std::ranges::find(goal_sources(), metric, &GoalSource::metric)->to_goal;
}

bool holds(design::Comparison c, double value, double bound) {
  switch (c) {
    case design::Comparison::less:
      return value < bound;
    case design::Comparison::at_most:
      return value <= bound;
    case design::Comparison::at_least:
      return value >= bound;
    case design::Comparison::greater:
      return value > bound;
  }
  return false;
}

GoalOutcome judge(const design::Goal& goal, const std::vector<Section>& sections) {
  GoalOutcome g{.text = to_text(goal), .metric = goal.metric};
  g.at_least = goal.comparison == design::Comparison::at_least ||
               goal.comparison == design::Comparison::greater;
  const auto figure = figure_for(goal.metric, sections);
  g.known = figure.has_value();
  if (!figure) return g;
  g.unit = figure->unit();
  g.actual = figure->estimate;
  g.bound = goal.bound / to_goal_of(goal.metric);
  g.met = holds(goal.comparison, g.actual.value, g.bound);
  g.likely = holds(goal.comparison, g.at_least ? g.actual.low : g.actual.high, g.bound);
  return g;
}

}  // namespace

std::span<const GoalSource> goal_sources() {
  using enum FigureId;
  static const std::vector<GoalSource> kSources = {
      {"goodput", {goodput}, Pick::smallest},
      {"mfu", {mfu}},
      {"availability", {availability}, Pick::smallest},
      {"pue", {pue}, Pick::largest},
      {"step_time", {step_time}},
      {"train_time", {run_time}},
      {"tokens_per_s", {useful_rate, useful_samples}},
      {"checkpoint_stall", {stall}, Pick::largest},
      {"recovery", {restart}, Pick::largest},
      {"ttft_p99", {ttft_p99}, Pick::largest},
      {"tpot_p99", {tpot_p99}, Pick::largest},
      {"task_p99", {task_p99}, Pick::largest},
      {"quality", {quality}, Pick::smallest},
      {"queue_wait", {mean_wait}, Pick::largest},
      {"power", {draw_nameplate}, Pick::sum},
      {"rack_power", {rack_power}, Pick::largest},
      {"energy", {energy_year}, Pick::sum},
      {"carbon", {carbon_year}, Pick::sum},
      {"cost", {annual}, Pick::first, 1 / kYear},
      {"capex", {capex}},
      {"opex", {running}, Pick::first, 1 / kYear},
      {"cost_per_run", {run_cost}},
      {"cost_per_gpu_hour", {useful_hour}, Pick::first, 1 / kHour},
      {"cost_per_mtoken", {usd_per_mtoken}, Pick::largest},
      {"freshness", {freshness}, Pick::largest},
      {"lead_time", {ready_in}, Pick::largest},
  };
  return kSources;
}

std::vector<GoalOutcome> judge_goals(const design::Design& design,
                                     const std::vector<Section>& sections) {
  std::vector<GoalOutcome> outcomes;
  for (std::size_t i = 0; i < design.goals.size(); ++i) {
    GoalOutcome g = judge(design.goals[i], sections);
    g.place = place_of(design, "goals[" + std::to_string(i) + "]");
    outcomes.push_back(std::move(g));
  }
  return outcomes;
}

}  // namespace orrery::figures
