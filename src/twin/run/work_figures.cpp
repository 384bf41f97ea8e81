#include "twin/run/work_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "core/base/math.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "twin/run/site_figures.h"

namespace orrery::run {

using cluster::GpuTime;

namespace {

using figures::FigureId;
using figures::Layer;
using figures::Section;
using figures::Unit;
using Of = OverReplications::Of;

constexpr const char* kServePage = "docs/models/serving.md";

// Traffic between zones below this is rounding.
constexpr double kNothing = 1e-9;

// Calls `use` with the requests of a replication by the load at which they arrived, including those
// of other zones.
template <class Use>
void each_load(const processes::ServicePlan& p, const processes::ServiceOutcome& o,
               const Use& use) {
  for (const auto& [load, ns] : o.time_ns) {
    const processes::ZoneTraffic& t = load.traffic;
    const double rate = std::max(0.0, p.job.day[load.hour] - t.away - t.refused + t.guests);
    const double each = load.standing > 0 ? rate / load.standing : p.most + 1;
    use(each, rate * static_cast<double>(ns) / 1e9, static_cast<double>(ns));
  }
}

std::vector<double> weights_of(const processes::ServicePlan& p,
                               const processes::ServiceOutcome& o) {
  std::vector<double> weights(p.windows.levels.size());
  each_load(p, o, [&](double rate, double requests, double) {
    processes::add_weight(weights, p.windows.levels, rate, requests);
  });
  return weights;
}

// Returns the share of time, or of its own users' requests, for which the running replicas could
// carry `most` each, or another zone could.
double carried(const processes::ServicePlan& p, const processes::ServiceOutcome& o, double most,
               bool by_requests) {
  double good = 0;
  double all = 0;
  for (const auto& [load, time] : o.time_ns) {
    const processes::ZoneTraffic& t = load.traffic;
    const double rate = p.job.day[load.hour];
    const double stays = rate - t.away - t.refused;
    const double ns = static_cast<double>(time);
    const bool carries =
        load.standing > 0 ? (stays + t.guests) / load.standing <= most : stays <= kNothing * rate;
    all += by_requests ? rate * ns / 1e9 : ns;
    if (by_requests) {
      good += (t.away + (carries ? stays : 0)) * ns / 1e9;
    } else if (carries && t.refused <= kNothing * rate) {
      good += ns;
    }
  }
  return all > 0 ? good / all : 0;
}

double mean_level(const processes::ServicePlan& p, const std::vector<double>& weights,
                  double processes::LoadWindow::* of) {
  WeightedMean<double> mean;
  for (std::size_t i = 0; i < weights.size(); ++i) mean.add(p.windows.levels[i].*of, weights[i]);
  return mean.value_or(0);
}

double good_of(const processes::ServicePlan& p, const processes::ServiceOutcome& o) {
  return processes::good_share(p.windows.levels, weights_of(p, o)) * carried(p, o, p.most, true);
}

void add_latency(Section& s, const processes::ServicePlan& p, const OverReplications& over,
                 std::size_t at, FigureId id, processes::LatencyPoints processes::WindowPart::* of,
                 double share) {
  const auto sampled_in = [&](const Replication& r) {
    return processes::sampled(p.windows.levels, weights_of(p, r.services[at]), of, share);
  };
  Estimate e = over.estimate([&](const Replication& r) { return sampled_in(r).value; });
  const double error = math::hypot(p.job.error, sampled_in(over.done().front()).error);
  e.low *= 1 - std::min(0.9, error);
  e.high *= 1 + error;
  s.figures.push_back(
      {.kind = id,
       .estimate = e,
       .formula = p.stands_in.empty()
                      ? fmt::format("windows of requests, weighted by load; +-{} by sampling",
                                    show(sampled_in(over.done().front()).error, Unit::ratio))
                      : p.stands_in});
}

// Adds whole tasks of agents, from the first call to the last token of the last call.
void add_tasks(Section& s, const processes::ServicePlan& p, const OverReplications& over,
               std::size_t at) {
  processes::ServicePlan tasks = p;
  tasks.windows.levels = traffic::of_tasks(std::move(tasks.windows.levels));
  add_latency(s, tasks, over, at, FigureId::task_time, &processes::WindowPart::task, 0);
  add_latency(s, tasks, over, at, FigureId::task_p99, &processes::WindowPart::task, 0.99);
  if (!p.job.serve->objective.task_p99) return;
  over.add(s, FigureId::tasks_in_time, [&tasks, at](const Replication& r) {
    return traffic::tasks_within(tasks.windows.levels, weights_of(tasks, r.services[at]),
                                 tasks.job.serve->objective.task_p99->base());
  });
}

// Adds the time to the final answer, if a larger model generates part of the answers again.
void add_cascade(Section& s, const processes::Scenario& scenario, const OverReplications& over,
                 std::size_t at) {
  const processes::ServicePlan& p = scenario.services[at];
  if (!p.job.serve->escalate || p.windows.levels.empty()) return;
  for (std::size_t other = 0; other < scenario.services.size(); ++other) {
    const processes::ServicePlan& large = scenario.services[other];
    const std::string name = label_of(scenario.machine->design(), *large.job.workload);
    if (name != p.job.serve->escalate->service || large.windows.levels.empty()) continue;
    const auto mean_of = [](const processes::ServicePlan& of, std::size_t n, const Replication& r) {
      return processes::sampled(of.windows.levels, weights_of(of, r.services[n]),
                                &processes::WindowPart::whole, 0)
          .value;
    };
    Estimate e = over.estimate([&](const Replication& r) {
      return mean_of(p, at, r) + p.job.serve->escalate->share * mean_of(large, other, r);
    });
    e.low *= 1 - std::min(0.9, p.job.error);
    e.high *= 1 + p.job.error;
    s.figures.push_back(
        {.kind = FigureId::answer_time,
         .estimate = e,
         .formula = fmt::format("{} of the answers are generated again by '{}'",
                                show(p.job.serve->escalate->share, Unit::ratio), name)});
    return;
  }
}

void add_latencies(Section& s, const processes::ServicePlan& p, const OverReplications& over,
                   std::size_t at) {
  if (p.windows.levels.empty()) return;
  if (!p.job.serve->model.empty()) {
    add_latency(s, p, over, at, FigureId::ttft, &processes::WindowPart::ttft, 0);
    add_latency(s, p, over, at, FigureId::ttft_p99, &processes::WindowPart::ttft, 0.99);
    add_latency(s, p, over, at, FigureId::tpot, &processes::WindowPart::tpot, 0);
    add_latency(s, p, over, at, FigureId::tpot_p99, &processes::WindowPart::tpot, 0.99);
  }
  add_latency(s, p, over, at, FigureId::latency_p99, &processes::WindowPart::whole, 0.99);
  if (p.job.serve->arrivals.agent) add_tasks(s, p, over, at);
  over.add(s, FigureId::requests_in_time,
           [&](const Replication& r) { return good_of(p, r.services[at]); });
  const auto tell_level = [&](FigureId id, double processes::LoadWindow::* of) {
    over.add(s, id, [&p, at, of](const Replication& r) {
      return mean_level(p, weights_of(p, r.services[at]), of);
    });
  };
  if (p.job.serve->kv_tier) {
    tell_level(FigureId::kv_fetched, &processes::LoadWindow::fetched);
  }
  if (p.job.serve->arrivals.visits() <= 1 && !p.job.serve->kv_tier) return;
  tell_level(FigureId::cache_found, &processes::LoadWindow::found);
}

// Adds the requests from shortly before a loss until the replica was back, in the busiest hour.
void add_loss(Section& s, const processes::ServicePlan& p) {
  if (p.job.serve->model.empty() || p.windows.levels.empty()) return;
  const std::span<const processes::LoadWindow> loss(&p.windows.loss, 1);
  const std::vector<double> weight{1};
  const processes::Sampled ttft =
      processes::sampled(loss, weight, &processes::WindowPart::ttft, 0.99);
  const double error = math::hypot(p.job.error, ttft.error);
  s.figures.push_back(
      {.kind = FigureId::loss_ttft_p99,
       .estimate = within(ttft.value, std::min(0.9, error), error, Basis::derived, kServePage),
       .formula =
           fmt::format("in the busiest hour; {} requests start over, the replica is back after {}",
                       significant(p.windows.restarted, 3), brief(p.job.start))});
  s.figures.push_back(
      {.kind = FigureId::loss_in_time,
       .estimate = exact(processes::good_share(loss, weight), Basis::derived, kServePage)});
}

double moved(const processes::ServicePlan& p, const processes::ServiceOutcome& o,
             double processes::ZoneTraffic::* of, bool by_share) {
  double sum = 0;
  for (const auto& [load, ns] : o.time_ns) {
    const double rate = p.job.day[load.hour];
    sum += load.traffic.*of / (by_share ? rate : 1) * static_cast<double>(ns) / 1e9;
  }
  return sum;
}

// Adds the zone's users at other sites, from the moment at which they are sent there in the busiest
// hour, and the users that were there before.
void add_guests(Section& s, const processes::ServicePlan& p) {
  std::vector<processes::LoadWindow> guests;
  std::vector<processes::LoadWindow> hosts;
  std::vector<double> weights;
  double restarted = 0;
  for (const processes::FailoverHost& host : p.failover->hosts) {
    if (!host.windows) continue;
    guests.push_back(host.windows->guests);
    hosts.push_back(host.windows->hosts);
    weights.push_back(host.rate);
    restarted += host.windows->restarted;
  }
  if (guests.empty()) return;
  const auto tell = [&](FigureId id, std::span<const processes::LoadWindow> of,
                        std::string formula) {
    const processes::Sampled ttft =
        processes::sampled(of, weights, &processes::WindowPart::ttft, 0.99);
    const double error = math::hypot(p.job.error, ttft.error);
    s.figures.push_back(
        {.kind = id,
         .estimate = within(ttft.value, std::min(0.9, error), error, Basis::derived, kServePage),
         .formula = std::move(formula)});
  };
  tell(FigureId::failover_ttft_p99, guests,
       fmt::format("in the busiest hour; {} requests start over at once, after {}, and {} per "
                   "second find no room",
                   significant(restarted, 3), brief(Seconds(p.failover->region.after)),
                   significant(p.failover->refused, 3)));
  tell(FigureId::failover_hosts_ttft_p99, hosts, "");
  s.figures.push_back(
      {.kind = FigureId::failover_in_time,
       .estimate = exact(processes::good_share(guests, weights), Basis::derived, kServePage)});
}

void add_failover(Section& s, const processes::ServicePlan& p, const OverReplications& over,
                  std::size_t at) {
  if (!p.failover || p.failover->region.ways.empty()) return;
  add_guests(s, p);
  const auto sum = [&p, at](const Replication& r, double processes::ZoneTraffic::* of) {
    return moved(p, r.services[at], of, false);
  };
  over.add(
      s, FigureId::failed_over,
      [=](const Replication& r) { return sum(r, &processes::ZoneTraffic::away); },
      "when its own was down or over its capacity");
  over.add(s, FigureId::failover_answered, [=](const Replication& r) {
    const double away = sum(r, &processes::ZoneTraffic::away);
    const double refused = sum(r, &processes::ZoneTraffic::refused);
    return away + refused > 0 ? away / (away + refused) : 1;
  });
  over.add(
      s, FigureId::unserved_time,
      [&p, at](const Replication& r) {
        return moved(p, r.services[at], &processes::ZoneTraffic::refused, true);
      },
      "weighted by their share; until they are sent elsewhere, and while no zone has room");
  over.add(s, FigureId::sites_given_up,
           [at](const Replication& r) { return static_cast<double>(r.services[at].given_up); });
}

// Adds what following the load saves, and what it costs the first requests of a rise.
void add_autoscale(Section& s, const processes::ServicePlan& p, const OverReplications& over,
                   std::size_t at) {
  if (!p.job.serve->autoscale) return;
  over.add(
      s, FigureId::replicas_called,
      [at](const Replication& r) { return static_cast<double>(r.services[at].called); },
      fmt::format("from {} to {} replicas, {} requests in flight each; a new one answers after {}",
                  grouped(p.least), grouped(p.replicas),
                  significant(p.job.serve->autoscale->target, 3), brief(p.job.start)));
  if (!p.windows.rise) return;
  const std::span<const processes::LoadWindow> rise(&*p.windows.rise, 1);
  const std::vector<double> weight{1};
  const processes::Sampled ttft =
      processes::sampled(rise, weight, &processes::WindowPart::ttft, 0.99);
  const double error = math::hypot(p.job.error, ttft.error);
  s.figures.push_back(
      {.kind = FigureId::rise_ttft_p99,
       .estimate = within(ttft.value, std::min(0.9, error), error, Basis::derived, kServePage),
       .formula = fmt::format("from {} to {} requests per second at once, {} replicas before",
                              significant(p.ask.rise->before, 3), significant(p.ask.rise->after, 3),
                              grouped(p.ask.rise->replicas))});
}

Of count(std::size_t at, std::vector<processes::TaskOutcome> Replication::* kind,
         std::uint64_t processes::TaskOutcome::* of) {
  return [=](const Replication& r) { return static_cast<double>((r.*kind)[at].*of); };
}

Of wait(std::size_t at, std::vector<processes::TaskOutcome> Replication::* kind, double share) {
  return [=](const Replication& r) {
    std::vector<double> waits = (r.*kind)[at].waits_s;
    if (waits.empty()) return 0.0;
    if (share <= 0) return mean(waits);
    std::ranges::sort(waits);
    return quantile(waits, share);
  };
}

// Returns why jobs wait at the end, by reason; if many wait, for the first of them.
std::string waits_of(const processes::TaskOutcome& o) {
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

// Adds a workload that cannot run; returns true if there is nothing else to report.
bool cannot(Run& run, Layer layer, const std::string& label, const std::string& why) {
  if (why.empty()) return false;
  run.sections.push_back({.layer = layer, .name = label, .summary = why});
  run.infeasible.push_back(label + " cannot run: " + why);
  return true;
}

// Adds what waiting for clean hours cost, and what it saved.
void add_clean(Section& s, const processes::Scenario& scenario, const OverReplications& over,
               std::size_t at, std::vector<processes::TaskOutcome> Replication::* kind,
               design::FleetIndex fleet) {
  const auto& first = (over.done().front().*kind)[at];
  if (first.drawn.empty()) return;
  const facility::Hours by_hour = hours_of_run(scenario, over, scenario.fleets[fleet].site);
  over.add(s, FigureId::held, count(at, kind, &processes::TaskOutcome::held));
  over.add(
      s, FigureId::clean_hold,
      [=](const Replication& r) {
        const processes::TaskOutcome& o = (r.*kind)[at];
        return o.submitted > 0 ? o.held_s / static_cast<double>(o.submitted) : 0;
      },
      "of all arrivals; including their wait");
  if (by_hour.is_empty()) return;
  const auto grams = [=](const Replication& r, std::vector<Joules> processes::TaskOutcome::* of) {
    return carbon_of(by_hour, (r.*kind)[at].*of).base();
  };
  over.add(
      s, FigureId::carbon_saved,
      [=](const Replication& r) {
        return grams(r, &processes::TaskOutcome::drawn_else) -
               grams(r, &processes::TaskOutcome::drawn);
      },
      "above idle, compared with the same runs started earlier by the time that they were held");
  over.add(s, FigureId::clean_ratio, [=](const Replication& r) {
    const double otherwise = grams(r, &processes::TaskOutcome::drawn_else);
    return otherwise > 0 ? grams(r, &processes::TaskOutcome::drawn) / otherwise : 1;
  });
}

}  // namespace

void tell_service(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                  std::size_t at) {
  const processes::ServicePlan& p = scenario.services[at];
  if (cannot(run, Layer::serving, p.job.label, p.job.infeasible)) {
    run.sections.back().figures.push_back(
        {.kind = FigureId::replicas, .estimate = exact(0, Basis::derived, kServePage)});
    return;
  }
  Section s{.layer = Layer::serving, .name = p.job.label};
  const bool is_host = scenario.machine->fleets[p.fleet].host != nullptr;
  const std::string on = p.beside > 1
                             ? fmt::format("on slices, {} per accelerator", p.beside)
                             : fmt::format("of {} {}{}", p.slots, is_host ? "host" : "accelerator",
                                           p.slots == 1 ? "" : "s");
  s.summary = fmt::format("{} replica{} {}, {}{} to {} requests per second", grouped(p.replicas),
                          p.replicas == 1 ? "" : "s", on,
                          p.prefill > 0 ? fmt::format("{} for prefill, ", p.prefill) : "",
                          significant(std::ranges::min(p.job.day), 3),
                          significant(std::ranges::max(p.job.day), 3));
  if (p.job.serve->arrivals.visits() <= 1 && !p.windows.levels.empty() &&
      p.windows.levels.back().found > 0) {
    s.summary += fmt::format(", {} of their prompts in the prefix cache",
                             show(p.windows.levels.back().found, Unit::ratio));
  }
  add_latencies(s, p, over, at);
  add_cascade(s, scenario, over, at);
  add_loss(s, p);
  add_failover(s, p, over, at);
  over.add(
      s, FigureId::availability,
      [&p, at](const Replication& r) { return carried(p, r.services[at], p.capacity, false); },
      fmt::format("each carries {} per second within the objective", significant(p.capacity, 3)));
  over.add(s, FigureId::requests_carried,
           [&p, at](const Replication& r) { return carried(p, r.services[at], p.most, true); });
  const double replica_ns = static_cast<double>(p.replicas) * run.simulated.base() * 1e9;
  s.figures.push_back(
      {.kind = FigureId::replicas, .estimate = exact(p.replicas, Basis::derived, kServePage)});
  over.add(s, FigureId::replicas_standing, [&p, at, replica_ns](const Replication& r) {
    const processes::ServiceOutcome& o = r.services[at];
    if (p.job.serve->autoscale) {
      return p.replicas * static_cast<double>(o.standing_ns) / replica_ns;
    }
    return p.replicas * (1 - static_cast<double>(o.down_ns) / replica_ns);
  });
  add_autoscale(s, p, over, at);
  over.add(s, FigureId::replicas_lost, [at](const Replication& r) {
    return static_cast<double>(r.services[at].lost_replicas);
  });
  const double load = std::ranges::max(p.job.day) / p.replicas / p.capacity;
  if (load > 1) {
    s.limit = fmt::format("at peak each replica gets {} of what it carries within the objective",
                          show(load, Unit::ratio));
  }
  run.sections.push_back(std::move(s));
}

void tell_batch(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                std::size_t at) {
  const processes::BatchPlan& p = scenario.batches[at];
  if (cannot(run, Layer::cluster, p.job.label, p.job.infeasible)) return;
  Section s{.layer = Layer::cluster, .name = p.job.label};
  s.summary =
      fmt::format("an array of {} elements of {}{}", grouped(p.job.elements), brief(p.element),
                  p.element > p.job.element_compute ? ", limited by its data" : "");
  over.add(s, FigureId::batches_finished,
           count(at, &Replication::batches, &processes::TaskOutcome::runs_finished));
  const bool any = std::ranges::all_of(
      over.done(), [at](const Replication& r) { return r.batches[at].runs_finished > 0; });
  if (any) {
    over.add(s, FigureId::duration,
             [at](const Replication& r) { return mean(r.batches[at].run_times_s); });
    over.add(s, FigureId::duration_longest,
             [at](const Replication& r) { return std::ranges::max(r.batches[at].run_times_s); });
  }
  if (p.job.bound) {
    over.add(s, FigureId::batches_late,
             count(at, &Replication::batches, &processes::TaskOutcome::windows_missed));
    s.figures.back().note = brief(*p.job.bound);
  }
  over.add(s, FigureId::stops, count(at, &Replication::batches, &processes::TaskOutcome::stops));
  add_clean(s, scenario, over, at, &Replication::batches, p.fleet);
  run.sections.push_back(std::move(s));
}

void tell_stream(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                 std::size_t at) {
  const processes::StreamPlan& p = scenario.streams[at];
  if (cannot(run, Layer::cluster, p.job.label, p.job.infeasible)) return;
  Section s{.layer = Layer::cluster, .name = p.job.label};
  s.summary = p.trace.empty()
                  ? fmt::format("one job every {} on average, each for {}",
                                brief(Seconds(1 / p.job.rate.base())), brief(p.job.mean_run))
                  : fmt::format("{} jobs of {}", grouped(static_cast<std::int64_t>(p.trace.size())),
                                p.job.jobs->trace);
  const auto kind = &Replication::streams;
  over.add(s, FigureId::jobs, count(at, kind, &processes::TaskOutcome::submitted));
  over.add(s, FigureId::finished, count(at, kind, &processes::TaskOutcome::finished));
  over.add(s, FigureId::mean_wait, wait(at, kind, 0), "to the first start; only jobs that started");
  over.add(s, FigureId::wait_p50, wait(at, kind, 0.5));
  over.add(s, FigureId::wait_p99, wait(at, kind, 0.99));
  over.add(s, FigureId::slowdown, [at](const Replication& r) {
    return r.streams[at].slowdowns.empty() ? 1.0 : mean(r.streams[at].slowdowns);
  });
  over.add(s, FigureId::waiting, count(at, kind, &processes::TaskOutcome::waiting));
  const Of stops = count(at, kind, &processes::TaskOutcome::stops);
  if (over.estimate(stops).high > 0) {
    over.add(s, FigureId::stops, stops);
  }
  add_clean(s, scenario, over, at, kind, p.fleet);
  const processes::TaskOutcome& first = over.done().front().streams[at];
  s.limit = waits_of(first);
  const Of timed_out = count(at, kind, &processes::TaskOutcome::timed_out);
  if (over.estimate(timed_out).high > 0) {
    over.add(s, FigureId::timed_out, timed_out);
  }
  const Of rejected = count(at, kind, &processes::TaskOutcome::rejected);
  if (over.estimate(rejected).high > 0) {
    over.add(s, FigureId::rejected, rejected);
  }
  run.sections.push_back(std::move(s));
}

void tell_slices(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                 std::size_t at) {
  const processes::SlicePlan& p = scenario.slices[at];
  if (cannot(run, Layer::cluster, p.job.label, p.job.infeasible)) return;
  if (over.done().front().slices[at].never_fits) {
    run.infeasible.push_back(p.job.label + " never starts: it may not have even one accelerator");
  }
  Section s{.layer = Layer::cluster, .name = p.job.label};
  s.summary = fmt::format("one slice every {} on average, for {}; {}",
                          brief(Seconds(1 / p.job.rate.base())), brief(p.job.mean_run),
                          p.job.fixed.empty() ? "accelerators are cut as jobs arrive"
                                              : "accelerators are cut as the design says");
  const auto add_count = [&](FigureId id, std::uint64_t processes::SliceOutcome::* of) {
    over.add(s, id, [=](const Replication& r) { return static_cast<double>(r.slices[at].*of); });
  };
  add_count(FigureId::jobs, &processes::SliceOutcome::submitted);
  add_count(FigureId::finished, &processes::SliceOutcome::finished);
  const auto waits = [at](double q) {
    return [at, q](const Replication& r) {
      const std::vector<double>& all = r.slices[at].waits_s;
      return all.empty() ? 0.0 : q > 0 ? quantile(all, q) : mean(all);
    };
  };
  over.add(s, FigureId::mean_wait, waits(0), "to the first start");
  over.add(s, FigureId::wait_p99, waits(0.99));
  add_count(FigureId::waiting, &processes::SliceOutcome::waiting);
  const double span = run.simulated.base() * 1e9 * cluster::kMigComputeSlices;
  over.add(s, FigureId::sliced,
           [=](const Replication& r) { return static_cast<double>(r.slices[at].open) / span; });
  const auto of_open = [at](GpuTime processes::SliceOutcome::* part) {
    return [at, part](const Replication& r) {
      const processes::SliceOutcome& o = r.slices[at];
      return o.open > 0 ? static_cast<double>(o.*part) / static_cast<double>(o.open) : 0.0;
    };
  };
  over.add(s, FigureId::slices_used, of_open(&processes::SliceOutcome::used));
  over.add(s, FigureId::slices_stranded, of_open(&processes::SliceOutcome::stranded));
  run.sections.push_back(std::move(s));
}

}  // namespace orrery::run
