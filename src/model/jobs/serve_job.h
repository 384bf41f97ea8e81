// A service on the machine: what is asked of it, on which replicas, and what one replica carries.
//
// Resolved once per fleet or zone; the review reads it in closed form and a run in time, and
// neither computes a split, a capacity, a count of replicas or a label of its own.
//   capacity   requests per second of a replica within every objective: TTFT, TPOT, whole request,
//              whole task
//   needed     peak / (capacity x 0.8): the rest absorbs bursts
//   replicas   what the design gives (of the zone, or of the service by the zone's share of the
//              traffic), else what is needed
// A network that is no transformer answers at an assumed share of the peak, and waits as M/M/1.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "layers/traffic/retrieval.h"
#include "model/jobs/apart_size.h"
#include "model/jobs/failover_ways.h"
#include "model/jobs/job_head.h"
#include "model/jobs/predict_sessions.h"
#include "model/jobs/request_shape.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

struct ServeJob : JobHead {
  const design::Serve* serve = nullptr;
  std::size_t zone = 0;                        // of the service, if it has zones
  const catalog::ModelShape* model = nullptr;  // nullptr for a plain network

  double share = 1;  // of the service's traffic: a zone's part
  PerSecond rate;    // mean arrivals, with those that others escalate
  PerSecond peak;
  std::array<double, 24> day{};  // arrivals per second, by the hour
  ServeLengths lengths;
  serving::RequestShape request;  // the mean request, its cache settled
  std::optional<double> shared;   // of a prompt, with others; none: what is found of it
  std::optional<traffic::RetrievalLaw> retrieval;  // before a prompt is whole

  ServingQuery query;                        // of a transformer
  Bytes weights;                             // likewise, of all its accelerators
  serving::Replica replica;                  // likewise
  int devices_per_replica = 1;               // accelerators, or one slice
  std::optional<machine::FleetSlice> slice;  // that a replica runs on; none: whole accelerators
  double devices_there = 0;                  // of the fleet, for this service
  KvRoom kv;
  Seconds start;  // from a placed replica to its first answer

  PerSecond capacity_per_replica;  // within every objective
  PerSecond most_per_replica;      // that it can carry at all
  double most_running = 0;         // requests in a replica at its capacity
  serving::ServingBound bound = serving::ServingBound::none;
  std::optional<ApartSize> apart;   // prefill and decode on replicas of their own
  std::optional<PerSecond> target;  // of a replica with its autoscaler's target in flight

  double replicas_needed = 0;
  double replicas = 0;        // the most, if they follow the load
  double replicas_least = 0;  // that always run; `replicas` without an autoscaler
  double devices = 0;         // that `replicas` occupy

  std::vector<FailoverWay> ways;  // of a zone, to the others
  double error = 0.3;             // half-width of the 80 % interval of latencies
  Basis basis = Basis::derived;
  std::string reference = "docs/models/serving.md";

  const design::Zone* in_zone() const {
    return serve->zones.empty() ? nullptr : &serve->zones[zone];
  }
  // Accelerators that so many replicas occupy: one is cut for one service, and taken whole.
  double accelerators_for(double of_replicas) const;
  // Replicas that so many accelerators hold.
  double replicas_on(double accelerators) const;
  // Replicas of this zone, of so many of the service: by its share of the traffic, at least one.
  double replicas_here(int of_service) const;
  // Whole replicas that carry a rate within every objective, at this share of their capacity.
  double replicas_for(PerSecond rate, double load = 1) const;
  // What the design gives, of the zone or of the service; nothing if it does not say.
  std::optional<double> replicas_given() const;
  // Replicas that are wanted at a rate: all, or as many as the autoscaler would call for.
  double replicas_at(double requests_per_second) const;
  // The largest tensor split that a node of the fleet holds.
  int widest_split() const;
};

// Returns the narrowest tensor split whose weights and one request fit the job's fleet with this
// precision; none if no split does.
std::optional<int> narrowest_split(const machine::Models& models, const ServeJob& job,
                                   const serving::ServingPrecision& precision);

// Resolves a service on each of its fleets, in the order of its zones.
std::vector<ServeJob> serve_jobs(const machine::Machine& machine, const design::Workload& workload);
// Returns the job of an equal service of another design, pointing into this machine and workload.
ServeJob taken_over(const ServeJob& earlier, const machine::Machine& machine,
                    const design::Workload& workload);

}  // namespace orrery::jobs
