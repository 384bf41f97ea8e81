#include "twin/work_figures.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"

namespace orrery::twin {
namespace {

using machine::Layer;
using machine::Section;
using machine::Unit;
using Of = OverReplications::Of;

// So many requests fell into this value.
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

// The windows on both sides of a load, the nearer one counting more.
template <class Use>
void each_window(const ServicePlan& p, double rate, double requests, const Use& use) {
  const auto above = std::ranges::lower_bound(p.windows, rate, {}, &LoadWindow::rate);
  if (above == p.windows.begin()) return use(p.windows.front(), requests);
  if (above == p.windows.end()) return use(p.windows.back(), requests);
  const LoadWindow& below = *std::prev(above);
  const double share = (rate - below.rate) / (above->rate - below.rate);
  use(below, requests * (1 - share));
  use(*above, requests * share);
}

// Requests of a replication by the load at which they came.
template <class Use>
void each_load(const ServicePlan& p, const ServiceOutcome& o, const Use& use) {
  for (const auto& [load, ns] : o.time_ns) {
    const double rate = p.rate_at[load.hour];
    const double each = load.standing > 0 ? rate / load.standing : p.most + 1;
    use(each, rate * static_cast<double>(ns) / 1e9, static_cast<double>(ns));
  }
}

double latency(const ServicePlan& p, const ServiceOutcome& o, LatencyPoints LoadWindow::* of,
               double share) {
  std::vector<Weighted> all;
  each_load(p, o, [&](double each, double requests, double) {
    each_window(p, each, requests, [&](const LoadWindow& w, double weight) {
      for (const double value : w.*of) all.push_back({value, weight / kLatencyPoints});
    });
  });
  if (share > 0) return quantile_of(std::move(all), share);
  WeightedMean<double> mean;
  for (const Weighted& w : all) mean.add(w.value, w.weight);
  return mean.value_or(0);
}

// Of the time, or of the requests, what came while the replicas that stood could carry `most` each.
double carried(const ServicePlan& p, const ServiceOutcome& o, double most, bool by_requests) {
  double good = 0;
  double all = 0;
  each_load(p, o, [&](double each, double requests, double ns) {
    const double weight = by_requests ? requests : ns;
    all += weight;
    if (each <= most) good += weight;
  });
  return all > 0 ? good / all : 0;
}

void add_latency(Section& s, const ServicePlan& p, const OverReplications& over, std::size_t at,
                 const char* id, const char* label, LatencyPoints LoadWindow::* of, double share) {
  Estimate e = over.estimate(
      [&p, at, of, share](const Replication& r) { return latency(p, r.services[at], of, share); });
  e.low *= 1 - std::min(0.9, p.error);
  e.high *= 1 + p.error;
  s.figures.push_back(
      {.id = id,
       .label = label,
       .unit = Unit::seconds,
       .estimate = e,
       .formula = p.stands_in.empty() ? "windows of requests, weighted by load" : p.stands_in});
}

void add_latencies(Section& s, const ServicePlan& p, const OverReplications& over, std::size_t at) {
  if (p.windows.empty()) return;
  if (!p.serve->model.empty()) {
    add_latency(s, p, over, at, "ttft", "time to first token, mean", &LoadWindow::ttft, 0);
    add_latency(s, p, over, at, "ttft_p99", "time to first token, p99", &LoadWindow::ttft, 0.99);
    add_latency(s, p, over, at, "tpot", "time per output token, mean", &LoadWindow::tpot, 0);
    add_latency(s, p, over, at, "tpot_p99", "time per output token, p99", &LoadWindow::tpot, 0.99);
  }
  add_latency(s, p, over, at, "latency_p99", "whole request, p99", &LoadWindow::whole, 0.99);
}

Of count(std::size_t at, std::vector<TaskOutcome> Replication::* kind,
         std::uint64_t TaskOutcome::* of) {
  return [=](const Replication& r) { return static_cast<double>((r.*kind)[at].*of); };
}

Of wait(std::size_t at, std::vector<TaskOutcome> Replication::* kind, double share) {
  return [=](const Replication& r) {
    std::vector<double> waits = (r.*kind)[at].waits_s;
    if (waits.empty()) return 0.0;
    if (share <= 0) return mean(waits);
    std::ranges::sort(waits);
    return quantile(waits, share);
  };
}

// Why jobs wait at the end, by reason; where many wait, of the first of them.
std::string waits_of(const TaskOutcome& o) {
  std::uint64_t asked = 0;
  for (const auto& [reason, count] : o.why) asked += count.jobs;
  const std::string who =
      asked < o.waiting ? fmt::format(" of the first {} that wait", asked) : std::string(" wait");
  std::string text;
  for (const auto& [reason, count] : o.why) {
    text += fmt::format("{}{}{} at the end: {}. {}{}", text.empty() ? "" : " ",
                        grouped(static_cast<std::int64_t>(count.jobs)), who, word_of(reason),
                        count.jobs > 1 ? "The first: " : "", count.first);
  }
  return text;
}

// A workload that cannot run; true where that is all there is to say.
bool cannot(Run& run, Layer layer, const std::string& label, const std::string& why) {
  if (why.empty()) return false;
  run.sections.push_back({.layer = layer, .name = label, .summary = why});
  run.infeasible.push_back(label + " cannot run: " + why);
  return true;
}

}  // namespace

void tell_service(Run& run, const Scenario& scenario, const OverReplications& over,
                  std::size_t at) {
  const ServicePlan& p = scenario.services[at];
  if (cannot(run, Layer::serving, p.label, p.infeasible)) return;
  Section s{.layer = Layer::serving, .name = p.label};
  s.summary = fmt::format("{} replicas of {} accelerator{}, {} to {} requests a second",
                          grouped(p.replicas), p.slots, p.slots == 1 ? "" : "s",
                          significant(std::ranges::min(p.rate_at), 3),
                          significant(std::ranges::max(p.rate_at), 3));
  add_latencies(s, p, over, at);
  over.add(
      s, "availability", "share of time with enough replicas", Unit::ratio,
      [&p, at](const Replication& r) { return carried(p, r.services[at], p.capacity, false); },
      fmt::format("each carries {} a second within the objective", significant(p.capacity, 3)));
  over.add(s, "requests_carried", "requests that found replicas able to carry them", Unit::ratio,
           [&p, at](const Replication& r) { return carried(p, r.services[at], p.most, true); });
  const double replica_ns = static_cast<double>(p.replicas) * run.simulated.base() * 1e9;
  over.add(s, "replicas_standing", "replicas that stand, mean", Unit::count,
           [&p, at, replica_ns](const Replication& r) {
             return p.replicas * (1 - static_cast<double>(r.services[at].down_ns) / replica_ns);
           });
  over.add(s, "replicas_lost", "replicas lost to faults", Unit::count, [at](const Replication& r) {
    return static_cast<double>(r.services[at].lost_replicas);
  });
  const double load = std::ranges::max(p.rate_at) / p.replicas / p.capacity;
  if (load > 1) {
    s.limit = fmt::format("at peak each replica gets {} of what it carries within the objective",
                          show(load, Unit::ratio));
  }
  run.sections.push_back(std::move(s));
}

void tell_batch(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t at) {
  const BatchPlan& p = scenario.batches[at];
  if (cannot(run, Layer::cluster, p.label, p.infeasible)) return;
  Section s{.layer = Layer::cluster, .name = p.label};
  s.summary = fmt::format("an array of {} elements of {}{}", grouped(p.elements), brief(p.element),
                          p.element > p.compute ? ", bound by its data" : "");
  over.add(s, "runs_finished", "runs that came to their end", Unit::count,
           count(at, &Replication::batches, &TaskOutcome::runs_finished));
  const bool any = std::ranges::all_of(
      over.done(), [at](const Replication& r) { return r.batches[at].runs_finished > 0; });
  if (any) {
    over.add(s, "duration", "time of one run, mean", Unit::seconds,
             [at](const Replication& r) { return mean(r.batches[at].run_times_s); });
    over.add(s, "duration_longest", "time of the longest run", Unit::seconds,
             [at](const Replication& r) { return std::ranges::max(r.batches[at].run_times_s); });
  }
  if (p.bound) {
    over.add(s, "windows_missed", fmt::format("runs that took longer than {}", brief(*p.bound)),
             Unit::count, count(at, &Replication::batches, &TaskOutcome::windows_missed));
  }
  over.add(s, "stops", "elements that lost their place", Unit::count,
           count(at, &Replication::batches, &TaskOutcome::stops));
  run.sections.push_back(std::move(s));
}

void tell_stream(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t at) {
  const StreamPlan& p = scenario.streams[at];
  if (cannot(run, Layer::cluster, p.label, p.infeasible)) return;
  Section s{.layer = Layer::cluster, .name = p.label};
  s.summary = p.trace.empty()
                  ? fmt::format("one job every {} on average, {} long",
                                brief(Seconds(1 / p.rate.base())), brief(p.mean_run))
                  : fmt::format("{} jobs of {}", grouped(static_cast<std::int64_t>(p.trace.size())),
                                p.jobs->trace);
  const auto kind = &Replication::streams;
  over.add(s, "jobs", "jobs that came", Unit::count, count(at, kind, &TaskOutcome::submitted));
  over.add(s, "finished", "jobs that ended", Unit::count, count(at, kind, &TaskOutcome::finished));
  over.add(s, "mean_wait", "mean wait", Unit::seconds, wait(at, kind, 0),
           "to the first start; of those that started");
  over.add(s, "wait_p50", "wait, median", Unit::seconds, wait(at, kind, 0.5));
  over.add(s, "wait_p99", "wait, p99", Unit::seconds, wait(at, kind, 0.99));
  over.add(s, "slowdown", "slowdown, mean", Unit::factor, [at](const Replication& r) {
    return r.streams[at].slowdowns.empty() ? 1.0 : mean(r.streams[at].slowdowns);
  });
  over.add(s, "waiting", "jobs that wait at the end", Unit::count,
           count(at, kind, &TaskOutcome::waiting));
  const Of stops = count(at, kind, &TaskOutcome::stops);
  if (over.estimate(stops).high > 0) {
    over.add(s, "stops", "jobs stopped by faults or preemption", Unit::count, stops);
  }
  const TaskOutcome& first = over.done().front().streams[at];
  s.limit = waits_of(first);
  const Of rejected = count(at, kind, &TaskOutcome::rejected);
  if (over.estimate(rejected).high > 0) {
    over.add(s, "rejected", "jobs wider than their share of the fleet", Unit::count, rejected);
  }
  run.sections.push_back(std::move(s));
}

}  // namespace orrery::twin
