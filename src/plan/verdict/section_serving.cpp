// Sections of services: fit, speed, replicas, cost per token.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/figures/assumptions.h"
#include "model/figures/half_width.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/retrieval.h"
#include "plan/review/cascade_view.h"
#include "plan/review/serve_sizing.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::FigureId;

figures::Figure timed(const review::ServeView& v, FigureId id, Seconds value) {
  return {.kind = id,
          .estimate = figures::widened(id, value.base(), v.error, v.basis, v.reference)};
}

void add_speed(figures::Section& s, const review::ServeView& v) {
  if (v.model) {
    s.figures.push_back(timed(v, FigureId::ttft, v.ttft));
    s.figures.push_back(timed(v, FigureId::ttft_p99, v.ttft_p99));
    s.figures.push_back(timed(v, FigureId::tpot, v.tpot));
    s.figures.push_back(timed(v, FigureId::tpot_p99, v.tpot_p99));
  }
  if (v.serve->arrivals.visits() > 1) {
    // A closed form: only a run sees what other conversations evict, and homes that are loaded
    // unevenly.
    s.figures.push_back(
        {.kind = FigureId::cache_found,
         .estimate = figures::estimated(FigureId::cache_found, v.request.cached_share,
                                        Basis::derived, v.reference),
         .formula = fmt::format(
             "{} {}, {} tokens in a mean one with its history; {} of {}, during which other blocks "
             "may evict its own; router {}",
             v.serve->arrivals.visits(), v.serve->arrivals.agent ? "calls" : "turns",
             significant(v.request.input, 4), v.serve->arrivals.agent ? "tools" : "thoughts",
             brief(v.serve->arrivals.pause()), word_of(v.serve->router))});
  }
  s.figures.push_back(timed(v, FigureId::latency_p99, v.latency_p99));
  if (v.serve->arrivals.agent) {
    s.figures.push_back(timed(v, FigureId::task_time, v.task));
    s.figures.back().formula =
        fmt::format("{} calls of {}, with tool times of {} between them",
                    v.serve->arrivals.visits(), brief(v.answer), brief(v.serve->arrivals.pause()));
    s.figures.push_back(timed(v, FigureId::task_p99, v.task_p99));
  }
  s.figures.push_back(
      {.kind = FigureId::replica_capacity,
       .estimate = within(v.capacity_per_replica.base(), v.error, v.error, v.basis, v.reference),
       .formula = v.model ? fmt::format("{} in, {} out; {}", significant(v.request.input, 4),
                                        significant(v.request.output, 4), to_text(v.bound))
                          : ""});
}

// Names the devices of a replica.
std::string device_text(const review::ServeView& v) {
  if (v.slice) return "a slice of " + v.slice->profile->profile;
  const char* what = v.fleet->host ? "host" : "accelerator";
  return fmt::format("{} {}{}", v.devices_per_replica, what, v.devices_per_replica == 1 ? "" : "s");
}

// Replicas are bought whole, so the interval's ends are whole too.
Estimate whole_replicas(const review::ServeView& v) {
  Estimate e = within(v.replicas_needed, v.error, v.error, v.basis, v.reference);
  e.low = std::min(e.value, std::ceil(e.low));
  e.high = std::ceil(e.high);
  return e;
}

void add_size(figures::Section& s, const review::ServeView& v, const review::CostView& cost) {
  s.figures.push_back(
      {.kind = FigureId::replicas, .estimate = exact(v.replicas, Basis::derived, v.reference)});
  s.figures.push_back(
      {.kind = FigureId::replicas_needed,
       .estimate = whole_replicas(v),
       .formula = fmt::format("{} per second at peak / ({} x {})", significant(v.peak.base(), 3),
                              significant(v.capacity_per_replica.base(), 3),
                              significant(figures::assumptions::kReplicaLoad, 2))});
  s.figures.push_back(
      {.kind = FigureId::accelerators,
       .note = v.fleet->host ? "hosts" : "",
       .estimate = exact(v.devices, Basis::derived, v.reference),
       .formula =
           v.slice ? fmt::format("{} replicas, {} on each accelerator, {} accelerators available",
                                 significant(v.replicas, 4), v.slice->each,
                                 significant(v.devices_there, 6))
                   : fmt::format("{} replicas x {}, {} available", significant(v.replicas, 4),
                                 v.devices_per_replica, significant(v.devices_there, 6))});
  if (v.serve->autoscale) {
    s.figures.push_back(
        {.kind = FigureId::replicas_mean,
         .estimate = within(v.replicas_mean, v.error, v.error, v.basis, v.reference),
         .formula =
             fmt::format("hour by hour, {} requests in flight each, {} to {} replicas; assumes "
                         "instant starts, only a run sees the time to start. All {} are paid for",
                         significant(v.serve->autoscale->target, 3), v.serve->autoscale->min,
                         v.serve->autoscale->max, significant(v.replicas, 4))});
  }
  s.figures.push_back(
      {.kind = FigureId::availability,
       .estimate = figures::estimated(FigureId::availability, v.availability, Basis::assumed,
                                      "docs/models/failure.md"),
       .formula = v.dark > 0 ? fmt::format("its site is without power for {} per year",
                                           brief(years(v.dark)))
                             : ""});
  if (v.output_tokens_per_s > 0 && cost.accelerators > 0) {
    const double hour = cost.annual.base() / cost.accelerators / 8760;
    const double usd_per_mtoken = v.devices * hour / (v.output_tokens_per_s * 3600) * 1e6;
    s.figures.push_back(
        {.kind = FigureId::usd_per_mtoken,
         .estimate = figures::estimated(FigureId::usd_per_mtoken, usd_per_mtoken, Basis::derived,
                                        "docs/models/ownership.md"),
         .formula =
             fmt::format("{} accelerators x {} USD/h / {} tokens/s", significant(v.devices, 4),
                         significant(hour, 3), significant(v.output_tokens_per_s, 4))});
  }
}

// When its site is lost at peak: how many users other zones take, and the latency that they get
// there.
void add_failover(figures::Section& s, const review::ServeView& v) {
  if (!v.failover) return;
  const review::FailoverView& f = *v.failover;
  const auto add = [&](FigureId id, Estimate estimate, std::string formula) {
    s.figures.push_back(
        {.kind = id, .estimate = std::move(estimate), .formula = std::move(formula)});
  };
  std::string where;
  BytesPerSecond line;
  for (const review::FailoverTo& to : f.to) {
    where += fmt::format("{}{}: {} per second, {} replicas needed of {}", where.empty() ? "" : "; ",
                         v.serve->zones[to.zone].site, significant(to.rate.base(), 3),
                         significant(to.replicas_needed, 4), significant(to.replicas, 4));
    line += to.line;
  }
  add(FigureId::failover_served, within(f.served(v.peak), v.error, 0, v.basis, v.reference),
      where.empty() ? "no other zone has a line and room" : where);
  add(FigureId::availability_alone,
      figures::estimated(FigureId::availability_alone, v.availability_alone, Basis::assumed,
                         "docs/models/failure.md"),
      "");
  if (f.to.empty()) return;
  add(FigureId::failover_load, within(f.load(), v.error, v.error, v.basis, v.reference), "");
  const Seconds away = std::ranges::max_element(f.to, {}, [](const review::FailoverTo& t) {
                         return t.way.away();
                       })->way.away();
  const std::string way = fmt::format("with up to {} on the way", brief(away));
  if (v.model) {
    s.figures.push_back(timed(v, FigureId::failover_ttft_p99, f.ttft_p99()));
    s.figures.back().formula = way;
  }
  s.figures.push_back(timed(v, FigureId::failover_latency_p99, f.latency_p99()));
  s.figures.back().formula = way;
  add(FigureId::failover_bytes,
      figures::estimated(FigureId::failover_bytes, line.base(), Basis::derived, "the design"), "");
}

// The bytes that arrive with the requests at peak, and how long a new replica waits for its
// weights.
void add_bytes(figures::Section& s, const review::ServeView& v, const review::Review& r) {
  if (v.serve->kv_tier && v.model != nullptr) {
    s.figures.push_back(
        {.kind = FigureId::kv_tier_rate,
         .note = v.serve->kv_tier->tier,
         .estimate = figures::estimated(FigureId::kv_tier_rate, v.kv.rate.base(), Basis::derived,
                                        v.reference),
         .formula = "all replicas at once; only a run sees how many tokens this saves"});
  }
  if (v.serve->request_size) {
    // Requests that a response cache answers bring their bytes too.
    const design::Arrivals& own = v.serve->arrivals;
    const PerSecond come = v.peak + own.rate * (own.cache_hits * own.peak * v.share);
    s.figures.push_back(
        {.kind = FigureId::inbound,
         .estimate = exact((*v.serve->request_size * come).base(), Basis::derived, "the design"),
         .formula = fmt::format("{} x {} /s", brief(*v.serve->request_size),
                                significant(come.base(), 3))});
  }
  const machine::Tier* tier = jobs::weights_tier(*r.machine, *v.serve, *v.fleet);
  if (v.model == nullptr || tier == nullptr || tier->read <= BytesPerSecond(0)) return;
  const BytesPerSecond rate =
      jobs::weights_rate(*r.machine, *tier, *v.fleet, v.devices_per_replica);
  s.figures.push_back(
      {.kind = FigureId::load_time,
       .note = "from " + tier->label,
       .estimate = figures::estimated(FigureId::load_time, (v.weights / rate).base(),
                                      Basis::derived, "docs/models/storage.md"),
       .formula = fmt::format(
           "{} / {}: alone on the tier and one host's ports, 5.9 GB/s per accelerator at most",
           brief(v.weights), brief(rate))});
}

}  // namespace

namespace {

// The retrieval that a request waits for before its prompt is complete.
void add_retrieval(figures::Section& s, const review::ServeView& v, const review::Review& r) {
  const auto ask = jobs::retrieval_of(*r.machine, *v.serve, *v.fleet);
  if (!ask) return;
  const auto add = [&](FigureId id, Seconds value, std::string formula) {
    s.figures.push_back({.kind = id,
                         .estimate =
                             figures::estimated(id, value.base(), Basis::assumed, v.reference),
                         .formula = std::move(formula)});
  };
  const traffic::RetrievalLaw& law = ask->law;
  add(FigureId::retrieval, v.request.before,
      fmt::format("{} hop{}, each waiting for the slowest of {} reads; the median read takes {} at "
                  "a load of {} of the tier's reads",
                  law.hops, law.hops == 1 ? "" : "s", significant(law.reads, 3), brief(law.median),
                  show(ask->load(), figures::Unit::ratio)));
  s.figures.back().note = ask->tier->label;
  add(FigureId::retrieval_p99, v.request.before_p99,
      fmt::format("p99 of one read {}", brief(law.p99)));
  s.figures.push_back({.kind = FigureId::retrieval_reads,
                       .note = "all services on " + ask->tier->label,
                       .estimate = exact(ask->asked.base(), Basis::derived, "the design"),
                       .formula = fmt::format("the tier gives {} per second, limited by its {}",
                                              significant(ask->gives.base(), 3),
                                              ask->by_rate ? "rate" : "drives")});
}

void add_quality(figures::Section& s, double value, double better, const review::ServeView& v,
                 std::string formula) {
  const bool is_told = !v.serve->quality_source.empty();
  s.figures.push_back({.kind = FigureId::quality,
                       .estimate = {.value = value,
                                    .low = value,
                                    .high = std::max(value, better),
                                    .basis = is_told ? Basis::given : Basis::assumed,
                                    .reference = is_told ? v.serve->quality_source
                                                         : "the design, without a source"},
                       .formula = std::move(formula)});
}

// Quality, time and cost of a cascade's answers, beside those of the larger model alone.
void add_cascade(figures::Section& s, const review::ServeView& v, const review::Review& r) {
  const std::optional<review::CascadeView> c = review::view_cascade(r, v);
  if (!c) {
    if (v.serve->quality) add_quality(s, *v.serve->quality, 0, v, v.serve->quality_source);
    return;
  }
  const double share = v.serve->escalate->share;
  const std::string& name = v.serve->escalate->service;
  if (c->quality) {
    add_quality(s, *c->quality, *c->quality_best, v,
                fmt::format("{} x {} + {} x {} of '{}', if escalated requests are like the others; "
                            "at best, they are those answered wrong. '{}' alone: {}",
                            significant(1 - share, 3), significant(*v.serve->quality, 3),
                            significant(share, 3), significant(*c->large->serve->quality, 3), name,
                            name, significant(*c->large->serve->quality, 3)));
  }
  s.figures.push_back(timed(v, FigureId::answer_time, c->answer));
  s.figures.back().formula = fmt::format("{} + {} x {} of '{}'", brief(v.answer),
                                         significant(share, 3), brief(c->large->answer), name);
  const auto add_cost = [&](FigureId id, double usd, std::string formula) {
    s.figures.push_back(
        {.kind = id,
         .estimate = figures::estimated(id, usd, Basis::derived, "docs/models/ownership.md"),
         .formula = std::move(formula)});
  };
  if (c->usd_alone <= 0) return;
  add_cost(FigureId::usd_per_kanswer, c->usd * 1e3,
           fmt::format("{} USD here and {} of {} USD of '{}'", significant(c->usd_here * 1e3, 3),
                       significant(share, 3), significant(c->usd_large * 1e3, 3), name));
  add_cost(FigureId::usd_per_kanswer_alone, c->usd_alone * 1e3,
           fmt::format("{} replicas for this service's peak", significant(c->replicas_alone, 4)));
  s.figures.back().note = name;
}

}  // namespace

std::vector<figures::Section> serving_sections(const review::Review& review) {
  std::vector<figures::Section> sections;
  for (const review::ServeView& v : review.serves) {
    figures::Section s{.layer = figures::Layer::serving, .name = v.label};
    if (!v.feasible()) {
      s.summary = "cannot be served: " + v.infeasible;
      s.figures.push_back(
          {.kind = FigureId::replicas, .estimate = exact(0, Basis::derived, v.reference)});
      sections.push_back(std::move(s));
      continue;
    }
    const std::string on = device_text(v);
    s.summary = fmt::format("{} on {}, {} per replica, {}",
                            v.model ? v.model->id : "non-transformer network",
                            v.fleet->device()->name, on, v.serve->engine);
    add_speed(s, v);
    add_retrieval(s, v, review);
    std::ranges::copy(adapter_figures(v.adapters, v.error), std::back_inserter(s.figures));
    add_cascade(s, v, review);
    add_size(s, v, review.cost);
    add_failover(s, v);
    add_bytes(s, v, review);
    s.limit =
        v.model ? fmt::format("{}", v.bound == serving::ServingBound::none ? "the latency objective"
                                                                           : to_text(v.bound))
                : "matrix work";
    sections.push_back(std::move(s));
  }
  return sections;
}

}  // namespace orrery::verdict
