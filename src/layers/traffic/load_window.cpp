#include "layers/traffic/load_window.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/math.h"
#include "core/base/statistics.h"
#include "layers/serving/steady_state.h"

namespace orrery::traffic {

namespace {

LatencyPoints points_of(std::vector<double> values) {
  std::ranges::sort(values);
  LatencyPoints points{};
  if (values.empty()) return points;
  for (std::size_t i = 0; i < kLatencyPoints; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / kLatencyPoints;
    const auto n = static_cast<double>(values.size());
    points[i] = values[static_cast<std::size_t>(std::min(n - 1, at * n))];
  }
  return points;
}

struct PartValues {
  std::vector<double> ttft, tpot, whole, task;
  double good = 0;
};

// A task, built up from its calls as they are seen one after the other.
struct SeenTask {
  int calls = 0;
  double began = 0;
  double last = 0;
  double later = 0;  // time that its client waited in addition to the replicas' records
};

std::size_t part_at(double at, const WindowSpan& span) {
  const double share = (at - span.begins) / (span.ends - span.begins);
  return std::min(kWindowParts - 1, static_cast<std::size_t>(share * kWindowParts));
}

}  // namespace

LoadWindow window_of(const FleetRun& done, double rate, const WindowSpan& span,
                     const ClientView& view) {
  std::array<PartValues, kWindowParts> parts;
  LoadWindow w{.rate = rate};
  double stays = 0;
  double counted = 0;
  double prompts = 0;
  std::map<std::uint64_t, SeenTask> tasks;
  RandomStream lookups(view.seed, "serving/retrieval");
  for (const RequestRecord& record : done.records) {
    // An engine notices a request a step after it arrived, and the first token takes time in the
    // server.
    double later = view.aside + serving::kAheadSteps * record.tpot();
    if (view.retrieval) later += draw_retrieval(*view.retrieval, lookups).base();
    if (view.calls > 0) {
      SeenTask& task = tasks[record.session];
      if (++task.calls == 1) task.began = record.arrived;
      task.last = record.last;
      task.later += later;
    }
    if (record.arrived < span.begins || record.arrived >= span.ends) continue;
    const double ttft = record.ttft() + later;
    const double tpot = record.tpot() / view.accepted;
    const double whole = record.e2e() + later;
    PartValues& v = parts[part_at(record.arrived, span)];
    v.ttft.push_back(ttft);
    if (record.output > 1) v.tpot.push_back(tpot);
    v.whole.push_back(whole);
    v.good += ttft <= view.ttft && tpot <= view.tpot && whole <= view.whole ? 1 : 0;
    stays += record.e2e();
    prompts += record.prompt;
    w.found += record.cached;
    w.fetched += record.fetched;
    ++counted;
  }
  // Tasks that were already in progress at the start have fewer calls and are skipped.
  for (const auto& [session, task] : tasks) {
    if (task.calls < view.calls || task.began < span.begins || task.began >= span.ends) continue;
    parts[part_at(task.began, span)].task.push_back(task.last - task.began + task.later);
  }
  for (std::size_t i = 0; i < kWindowParts; ++i) {
    PartValues& v = parts[i];
    const auto n = static_cast<double>(v.whole.size());
    w.parts[i] = {.requests = n,
                  .good = n > 0 ? v.good / n : 1,
                  .ttft = points_of(std::move(v.ttft)),
                  .tpot = points_of(std::move(v.tpot)),
                  .whole = points_of(std::move(v.whole)),
                  .tasks = static_cast<double>(v.task.size()),
                  .task = points_of(v.task)};
  }
  w.stay = stays / std::max(1.0, counted);
  // With n requests present on average (Poisson), a replica computes whenever it is not empty.
  w.busy = 1 - math::exp(-w.stay * rate);
  w.found /= std::max(1.0, prompts);
  w.fetched /= std::max(1.0, prompts);
  return w;
}

namespace {

// Half of the 80 % interval divided by the standard deviation: for eight parts, four, and many.
constexpr double kStudentOfEight = 1.415;
constexpr double kStudentOfFour = 1.638;
constexpr double kNormal = 1.2816;
static_assert(kWindowParts == 8);

// Parts of a window that are left out.
struct LeftOut {
  std::size_t first = 0;
  std::size_t count = 0;

  bool has(std::size_t part) const { return part >= first && part < first + count; }
};

// A value and the number of requests that have it.
struct Weighted {
  double value = 0;
  double weight = 0;
};

double quantile_of(std::vector<Weighted> all, double share) {
  std::ranges::sort(all, {}, &Weighted::value);
  double sum = 0;
  for (const Weighted& w : all) sum += w.weight;
  double below = 0;
  for (const Weighted& w : all) {
    below += w.weight;
    if (below >= share * sum) return w.value;
  }
  return all.empty() ? 0 : all.back().value;
}

double requests_of(const LoadWindow& w, const LeftOut& left_out) {
  double requests = 0;
  for (std::size_t i = 0; i < kWindowParts; ++i) {
    requests += left_out.has(i) ? 0 : w.parts[i].requests;
  }
  return requests;
}

double without(std::span<const LoadWindow> levels, std::span<const double> weights,
               LatencyPoints WindowPart::* of, double share, const LeftOut& left_out) {
  std::vector<Weighted> all;
  WeightedMean<double> mean;
  for (std::size_t w = 0; w < levels.size(); ++w) {
    const double requests = requests_of(levels[w], left_out);
    for (std::size_t i = 0; i < kWindowParts; ++i) {
      const WindowPart& part = levels[w].parts[i];
      if (left_out.has(i) || part.requests <= 0 || weights[w] <= 0) continue;
      const double weight = weights[w] * part.requests / requests / kLatencyPoints;
      for (const double value : part.*of) {
        mean.add(value, weight);
        if (share > 0) all.push_back({value, weight});
      }
    }
  }
  return share > 0 ? quantile_of(std::move(all), share) : mean.value_or(0);
}

// Returns the share of requests that took no longer than this.
double share_within(std::span<const LoadWindow> levels, std::span<const double> weights,
                    LatencyPoints WindowPart::* of, double most, const LeftOut& left_out) {
  WeightedMean<double> within;
  for (std::size_t w = 0; w < levels.size(); ++w) {
    const double requests = requests_of(levels[w], left_out);
    for (std::size_t i = 0; i < kWindowParts; ++i) {
      const WindowPart& part = levels[w].parts[i];
      if (left_out.has(i) || part.requests <= 0 || weights[w] <= 0) continue;
      const auto count = std::ranges::upper_bound(part.*of, most) - (part.*of).begin();
      within.add(static_cast<double>(count) / kLatencyPoints,
                 weights[w] * part.requests / requests);
    }
  }
  return within.value_or(0);
}

// Returns half of the 80 % interval of a figure, leaving out groups of `neighbours` adjacent parts.
double jackknife(std::size_t neighbours, double student, const auto& figure) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kWindowParts; i += neighbours) {
    values.push_back(figure(LeftOut{.first = i, .count = neighbours}));
  }
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  const auto n = static_cast<double>(values.size());
  return student * std::sqrt(squares * (n - 1) / n);
}

double jackknife(const auto& figure) {
  return std::max(jackknife(1, kStudentOfEight, figure), jackknife(2, kStudentOfFour, figure));
}

// Returns half of the 80 % interval of a share of requests if they were independent.
double binomial_error(std::span<const LoadWindow> levels, std::span<const double> weights,
                      double share) {
  double sum = 0, squares = 0;
  for (std::size_t w = 0; w < levels.size(); ++w) {
    sum += weights[w];
    squares += weights[w] * weights[w] / std::max(1.0, requests_of(levels[w], {}));
  }
  return sum > 0 ? kNormal * std::sqrt(share * (1 - share) * squares) / sum : 0;
}

}  // namespace

void add_weight(std::span<double> weights, std::span<const LoadWindow> levels, double rate,
                double requests) {
  if (levels.empty()) return;
  const auto above = std::ranges::lower_bound(levels, rate, {}, &LoadWindow::rate);
  const auto at = static_cast<std::size_t>(above - levels.begin());
  if (at == 0) {
    weights.front() += requests;
  } else if (at == levels.size()) {
    weights.back() += requests;
  } else {
    const double low = levels[at - 1].rate;
    const double share = (rate - low) / (levels[at].rate - low);
    weights[at - 1] += requests * (1 - share);
    weights[at] += requests * share;
  }
}

Sampled sampled(std::span<const LoadWindow> levels, std::span<const double> weights,
                LatencyPoints WindowPart::* of, double share) {
  const double value = without(levels, weights, of, share, {});
  if (value <= 0) return {};
  if (share <= 0) {
    const auto mean_of = [&](const LeftOut& l) { return without(levels, weights, of, 0, l); };
    return {.value = value, .error = jackknife(mean_of) / value};
  }
  const auto within = [&](const LeftOut& l) { return share_within(levels, weights, of, value, l); };
  const double rank = std::max(jackknife(within), binomial_error(levels, weights, share));
  const auto at = [&](double s) {
    return without(levels, weights, of, std::clamp(s, 0.5 / kLatencyPoints, 1.0), {});
  };
  return {.value = value,
          .error = std::max(at(share + rank) - value, value - at(share - rank)) / value};
}

double good_share(std::span<const LoadWindow> levels, std::span<const double> weights) {
  WeightedMean<double> good;
  for (std::size_t w = 0; w < levels.size(); ++w) {
    const double requests = std::max(1.0, requests_of(levels[w], {}));
    for (const WindowPart& part : levels[w].parts) {
      good.add(part.good, weights[w] * part.requests / requests);
    }
  }
  return good.value_or(0);
}

std::vector<LoadWindow> of_tasks(std::vector<LoadWindow> levels) {
  for (LoadWindow& w : levels) {
    for (WindowPart& part : w.parts) part.requests = part.tasks;
  }
  return levels;
}

double tasks_within(std::span<const LoadWindow> tasks, std::span<const double> weights,
                    double most) {
  return share_within(tasks, weights, &WindowPart::task, most, {});
}

}  // namespace orrery::traffic
