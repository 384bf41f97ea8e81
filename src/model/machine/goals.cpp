#include "model/machine/goals.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "model/design/goals.h"

namespace orrery::machine {
namespace {

// Where each metric of the design file is found among the figures; the first section that has it,
// or the worst over all where several count.
enum class Pick { first, largest, smallest, sum };

struct MetricSource {
  std::string_view metric;
  Layer layer;
  std::string_view figure;  // a prefix where it ends in '_'
  Pick pick;
  double to_goal = 1;  // from the figure's unit to the goal's
};

constexpr double kHour = 3600;
constexpr double kYear = 31536000;

constexpr MetricSource kSources[] = {
    {"goodput", Layer::failure, "goodput", Pick::smallest},
    {"mfu", Layer::training, "mfu", Pick::first},
    {"availability", Layer::serving, "availability", Pick::smallest},
    {"pue", Layer::facility, "pue", Pick::largest},
    {"step_time", Layer::training, "step_time", Pick::first},
    {"train_time", Layer::training, "run_time", Pick::first},
    {"tokens_per_s", Layer::training, "useful_rate", Pick::first},
    {"checkpoint_stall", Layer::storage, "stall", Pick::largest},
    {"recovery", Layer::failure, "restart", Pick::largest},
    {"ttft_p99", Layer::serving, "ttft_p99", Pick::largest},
    {"tpot_p99", Layer::serving, "tpot_p99", Pick::largest},
    {"task_p99", Layer::serving, "task_p99", Pick::largest},
    {"quality", Layer::serving, "quality", Pick::smallest},
    {"queue_wait", Layer::cluster, "mean_wait", Pick::largest},
    {"power", Layer::facility, "draw_peak", Pick::sum},
    {"rack_power", Layer::facility, "rack_power_", Pick::largest},
    {"energy", Layer::facility, "energy_year", Pick::sum},
    {"carbon", Layer::facility, "carbon_year", Pick::sum},
    {"cost", Layer::cost, "annual", Pick::first, 1 / kYear},
    {"capex", Layer::cost, "capex", Pick::first},
    {"opex", Layer::cost, "running", Pick::first, 1 / kYear},
    {"cost_per_run", Layer::cost, "run_", Pick::first},
    {"cost_per_gpu_hour", Layer::cost, "useful_hour", Pick::first, 1 / kHour},
    {"cost_per_mtoken", Layer::serving, "usd_per_mtoken", Pick::largest},
    {"freshness", Layer::cluster, "freshness", Pick::largest},
    {"lead_time", Layer::facility, "ready_in", Pick::largest},
};

bool matches(const Figure& f, std::string_view wanted) {
  return wanted.ends_with('_') ? std::string_view(f.id).starts_with(wanted) : f.id == wanted;
}

std::optional<Figure> picked(const MetricSource& source, const std::vector<Section>& sections) {
  std::optional<Figure> found;
  for (const Section& s : sections) {
    if (s.layer != source.layer) continue;
    for (const Figure& f : s.figures) {
      if (!matches(f, source.figure)) continue;
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
  const auto source = std::ranges::find(kSources, goal.metric, &MetricSource::metric);
  const auto figure = source == std::end(kSources) ? std::nullopt : picked(*source, sections);
  g.known = figure.has_value();
  if (!figure) return g;
  g.unit = figure->unit;
  g.actual = figure->estimate;
  g.bound = goal.bound / source->to_goal;
  g.met = holds(goal.comparison, g.actual.value, g.bound);
  g.likely = holds(goal.comparison, g.at_least ? g.actual.low : g.actual.high, g.bound);
  return g;
}

}  // namespace

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

}  // namespace orrery::machine
