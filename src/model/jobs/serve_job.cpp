#include "model/jobs/serve_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/constants.h"
#include "core/base/math.h"
#include "core/base/units.h"
#include "model/figures/assumptions.h"
#include "model/jobs/arrivals.h"
#include "model/jobs/autoscale.h"
#include "model/jobs/conversations.h"
#include "model/jobs/kv_room.h"
#include "model/jobs/plain_network.h"
#include "model/jobs/prefix_cache.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/retrieval.h"
#include "model/jobs/serve_adapters.h"
#include "model/jobs/serving_query.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kPlainError;
using figures::assumptions::kReplicaLoad;
using figures::assumptions::kUnseenLoad;
using figures::assumptions::kWidestTp;
using orrery::math::kLog100;
constexpr double kWholeRounding = 1e-9;  // rounding tolerance of a whole number

std::string first_fault(const Diagnostics& faults) {
  return faults.empty() ? "it cannot be served" : faults.front().what;
}

void count_replicas(ServeJob& job) {
  job.replicas_needed = std::max(1.0, job.replicas_for(job.peak, kReplicaLoad));
  job.replicas = job.replicas_given().value_or(job.replicas_needed);
  job.replicas_least = job.serve->autoscale
                           ? std::min(job.replicas, job.replicas_here(job.serve->autoscale->min))
                           : job.replicas;
  job.devices = job.accelerators_for(job.replicas);
}

void size_apart(ServeJob& job, const serving::ServingCosts& costs,
                const serving::ServingTarget& target) {
  const BytesPerSecond link = job.query.nic_rate * job.query.split.devices();
  const ApartSize size =
      apart_size(job.replica, costs, job.request, target, link,
                 {.peak = job.peak, .prefill = job.serve->prefill_replicas, .load = kReplicaLoad});
  if (!size.infeasible.empty()) {
    job.infeasible = size.infeasible;
    return;
  }
  job.apart = size;
  job.capacity_per_replica = job.most_per_replica = size.per_replica();
  job.replicas_needed = size.decode + size.prefill;
  // At least one of the replicas decodes.
  job.replicas = std::max(job.replicas_given().value_or(job.replicas_needed), size.prefill + 1);
  job.replicas_least = job.replicas;
  job.devices = job.accelerators_for(job.replicas);
}

// Returns true if whole requests and whole tasks end within their bounds.
bool ends_within(const ServeJob& job, const serving::ServingPoint& p) {
  const design::Objective& o = job.serve->objective;
  return (!o.latency_p99 || p.whole_p99 <= *o.latency_p99) &&
         (!o.task_p99 || task_p99(task_of(*job.serve, job.request, p)) <= *o.task_p99);
}

// Returns the largest load up to `most` that ends within the bounds; concurrency 0 if not even one
// request does.
serving::ServingPoint within_latency(const ServeJob& job, const serving::ServingPoint& most,
                                     const serving::ServingCosts& costs) {
  if (ends_within(job, most)) return most;
  serving::ServingPoint best;
  double low = 0;
  double high = most.concurrency;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    const serving::ServingPoint p = steady_arrivals(job.replica, job.request, middle, costs);
    const bool ends = ends_within(job, p);
    (ends ? low : high) = middle;
    if (ends) best = p;
  }
  return best;
}

// Says why no split works. Memory is not the only reason: an accelerator may lack the number
// format.
std::string why_no_split(const ServeJob& job, const machine::Models& models, int most) {
  const auto alone = replica_of(models, job.query);
  const std::string code = alone ? "" : alone.error().front().code;
  if (code == "serving.format") {
    return fmt::format("{} for `precision: {}`", first_fault(alone.error()),
                       word_of(job.serve->precision));
  }
  if (!alone && (most == 1 || code != "serving.memory")) return first_fault(alone.error());
  return fmt::format("weights and one request do not fit {} accelerators of {}", most,
                     brief(job.fleet->accelerator()->memory));
}

// Chooses the split and the replica; returns false, with the reason, if there is none.
bool choose_replica(ServeJob& job, const machine::Machine& m) {
  const machine::Models& models = m.models();
  job.query = serving_query(models, *job.serve, *job.model, *job.fleet, job.request);
  job.weights = serving::serving_weights(*job.model, {}, job.query.precision);
  const int most = job.widest_split();
  const auto tp = job.serve->tp ? job.serve->tp : least_tp(models, job.query, most);
  if (!tp) {
    job.infeasible = why_no_split(job, models, most);
    return false;
  }
  job.query.split.tp = *tp;
  job.devices_per_replica = job.query.split.devices();
  job.slice = job.query.slice;
  job.start = replica_start(m, *job.serve, *job.fleet, job.devices_per_replica);
  auto replica = replica_of(models, job.query);
  if (!replica) job.infeasible = first_fault(replica.error());
  if (!replica) return false;
  job.replica = std::move(*replica);
  if (job.serve->disaggregated && job.fleet->host) {
    job.infeasible = "prefill and decode on different replicas are not modelled on CPU cores";
  }
  return job.feasible();
}

// Computes what a replica carries within the objectives and at most, and the number of replicas.
void size_joined(ServeJob& job, const serving::ServingCosts& costs,
                 const serving::ServingTarget& target) {
  serving::ServingPoint within = capacity(job.replica, job.request, target, costs);
  if (within.concurrency >= 1) within = within_latency(job, within, costs);
  if (within.concurrency < 1) {
    job.infeasible = "not even one request meets the objective on this split";
    return;
  }
  job.capacity_per_replica = within.requests;
  job.most_running = within.concurrency;
  job.bound = within.bound;
  job.most_per_replica =
      max(within.requests, capacity(job.replica, job.request, {}, costs).requests);
  count_replicas(job);
  if (!job.serve->autoscale) return;
  job.target = rate_in_flight(job.replica, job.request, job.serve->autoscale->target, costs);
}

void fill_transformer(ServeJob& job, const machine::Machine& m) {
  if (!choose_replica(job, m)) return;
  const machine::Costs device_costs = serving_costs(m.models(), job.query);
  const serving::ServingCosts costs = serving_source(device_costs);
  const serving::ServingTarget target = target_of(*job.serve, job.request.output);
  job.error = math::hypot(serving_error(device_costs.device(), job.query), kUnseenLoad);
  // For CPU cores there is only a roofline.
  job.basis = job.fleet->host ? Basis::assumed : Basis::fitted;
  ConversationAsk talks{.target = target, .peak = job.peak, .load = kReplicaLoad};
  if (!job.serve->autoscale) talks.replicas = job.replicas_given();
  settle_conversations(job.request, *job.serve, job.replica, costs, talks);
  job.shared = job.request.cached_share;
  settle_prefixes(job.request, *job.serve, job.replica, costs, target);
  job.query.request = job.request;
  if (job.serve->disaggregated) {
    size_apart(job, costs, target);
  } else {
    size_joined(job, costs, target);
  }
  if (job.feasible()) job.kv = kv_room(m, *job.serve, *job.fleet, job.query, job.replicas);
}

void fill_plain(ServeJob& job, const machine::Machine& m) {
  const auto products = plain_rate(m, *job.fleet);
  if (!job.serve->network || !products || job.serve->network->forward <= Flops(0)) {
    job.infeasible =
        "a non-transformer network needs `network.forward` and an accelerator with 16-bit products";
    return;
  }
  const Seconds service = job.serve->network->forward / *products;
  job.most_per_replica = 1.0 / service;
  PerSecond within = job.most_per_replica;
  if (job.serve->objective.latency_p99) {
    // M/M/1: p99 = ln 100 / (mu - lambda), so lambda = mu - ln 100 / bound.
    within = PerSecond(
        std::max(0.0, 1.0 / service.base() - kLog100 / job.serve->objective.latency_p99->base()));
  }
  if (within <= PerSecond(0)) {
    job.infeasible = fmt::format("one request takes {} on an idle {}, too long for the objective",
                                 brief(service), job.fleet->device()->name);
    return;
  }
  job.capacity_per_replica = within;
  if (job.fleet->slice() != nullptr) job.slice = *job.fleet->slice();
  job.start = replica_start(m, *job.serve, *job.fleet, 1);
  count_replicas(job);
  if (job.serve->autoscale) {
    // M/M/1 has rho / (1 - rho) requests in flight.
    const double in_flight = job.serve->autoscale->target;
    job.target = in_flight / (1 + in_flight) / service;
  }
  job.error = kPlainError;
  job.basis = Basis::assumed;
  job.reference = "docs/models/plain-network.md";
}

void fill_traffic(ServeJob& job, const machine::Machine& m) {
  const auto streams = streams_into(m.design(), *job.workload);
  for (const RequestStream& s : streams) {
    job.rate += s.rate * job.share;
    job.peak += s.rate * job.share * s.peak;
  }
  job.day = day_of_streams(streams, job.share);
}

void fill(ServeJob& job, const machine::Machine& m) {
  fill_traffic(job, m);
  if (!job.serve->zones.empty()) job.ways = failover_ways(m, *job.workload, job.zone);
  if (job.fleet == nullptr) {
    job.infeasible = "there is no fleet to run on";
    return;
  }
  job.lengths = lengths_of(*job.serve);
  job.request = request_of(m, *job.serve);
  if (const auto lookup = retrieval_of(m, *job.serve, *job.fleet)) job.retrieval = lookup->law;
  add_retrieval(job.request, m, *job.serve, *job.fleet);
  job.devices_there = job.fleet->devices();
  if (job.workload->terms.nodes && job.serve->zones.empty()) {
    job.devices_there = std::min(job.devices_there,
                                 *job.workload->terms.nodes * machine::units_per_node(*job.fleet));
  }
  if (job.model != nullptr) {
    fill_transformer(job, m);
  } else {
    fill_plain(job, m);
  }
}

// Two zones at one site are distinguished by their fleets.
std::string zone_label(const std::string& service, const design::Serve& serve,
                       const design::Zone& zone) {
  const bool alone = std::ranges::count(serve.zones, zone.site, &design::Zone::site) == 1;
  return service + " in " + zone.site + (alone || zone.fleet.empty() ? "" : ", " + zone.fleet);
}

}  // namespace

double ServeJob::accelerators_for(double of_replicas) const {
  if (!slice) return of_replicas * devices_per_replica;
  return std::ceil(of_replicas / slice->each - kWholeRounding);
}

double ServeJob::replicas_on(double accelerators) const {
  if (slice) return std::floor(accelerators + kWholeRounding) * slice->each;
  return std::floor(accelerators / devices_per_replica + kWholeRounding);
}

double ServeJob::replicas_here(int of_service) const {
  // Halves round up, whatever the last bit of a share is.
  return std::max(1.0, std::floor(of_service * share + 0.5 + kWholeRounding));
}

std::optional<double> ServeJob::replicas_given() const {
  if (in_zone() != nullptr && in_zone()->replicas) return *in_zone()->replicas;
  const std::optional<int> all = design::most_replicas(*serve);
  return all ? std::optional(replicas_here(*all)) : std::nullopt;
}

double ServeJob::replicas_for(PerSecond rate_wanted, double load) const {
  return serving::replicas_needed(rate_wanted, capacity_per_replica, load);
}

double ServeJob::replicas_at(double requests_per_second) const {
  if (!target) return replicas;
  const double wanted = std::ceil(requests_per_second / target->base() - kWholeRounding);
  return std::clamp(wanted, replicas_least, replicas);
}

int ServeJob::widest_split() const {
  const bool alone = fleet->host != nullptr || fleet->slice() != nullptr;
  return alone ? 1 : std::min(kWidestTp, fleet->node.part.accelerators);
}

std::optional<int> narrowest_split(const machine::Models& models, const ServeJob& job,
                                   const serving::ServingPrecision& precision) {
  ServingQuery query = job.query;
  query.precision = precision;
  return least_tp(models, query, job.widest_split());
}

std::vector<ServeJob> serve_jobs(const machine::Machine& m, const design::Workload& w) {
  const design::Design& design = m.design();
  const auto& serve = std::get<design::Serve>(w.task);
  ServeJob whole;
  static_cast<JobHead&>(whole) = job_head(m, w);
  whole.serve = &serve;
  whole.model = serve.model.empty() ? nullptr : find_model(design, m.catalog(), serve.model);
  std::vector<ServeJob> jobs(std::max<std::size_t>(1, serve.zones.size()), whole);
  for (std::size_t z = 0; z < serve.zones.size(); ++z) {
    jobs[z].label = zone_label(whole.label, serve, serve.zones[z]);
    jobs[z].zone = z;
    jobs[z].fleet = fleet_of_zone(m.fleets, serve.zones[z]);
    jobs[z].share = serve.zones[z].share;
  }
  for (ServeJob& job : jobs) fill(job, m);
  return jobs;
}

ServeJob taken_over(const ServeJob& earlier, const machine::Machine& m, const design::Workload& w) {
  ServeJob job = earlier;
  job.workload = &w;
  job.serve = &std::get<design::Serve>(w.task);
  job.path = machine::path_of(w);
  job.model =
      job.serve->model.empty() ? nullptr : find_model(m.design(), m.catalog(), job.serve->model);
  job.fleet = job.serve->zones.empty() ? fleet_of(m.fleets, w)
                                       : fleet_of_zone(m.fleets, job.serve->zones[job.zone]);
  return job;
}

}  // namespace orrery::jobs
