// A service on the machine: its requests, its replicas, and what one replica carries.
//
// Resolved once per fleet or zone; the review uses it in closed form and a run in simulated time,
// and neither computes a split, a capacity, a count of replicas or a label of its own.
//   capacity   requests per second of a replica within every objective: TTFT, TPOT, whole request,
//              whole task
//   needed     peak / (capacity x 0.8): the rest absorbs bursts
//   replicas   what the design gives (for the zone, or for the service by the zone's share of the
//              traffic), else what is needed
// A non-transformer network answers at an assumed share of the peak, and waits as M/M/1.
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
  std::size_t zone = 0;                        // index of the zone, if the service has zones
  const catalog::ModelShape* model = nullptr;  // nullptr for a non-transformer network

  double share = 1;  // share of the service's traffic: a zone's part
  PerSecond rate;    // mean arrivals, including requests that others escalate
  PerSecond peak;
  std::array<double, 24> day{};  // arrivals per second, by the hour
  ServeLengths lengths;
  serving::RequestShape request;  // the mean request, with its cache hits settled
  std::optional<double> shared;   // share of a prompt that is shared; none: the share that is found
  std::optional<traffic::RetrievalLaw> retrieval;  // reads that complete a prompt

  ServingQuery query;                        // for a transformer
  Bytes weights;                             // of a transformer
  serving::Replica replica;                  // for a transformer
  int devices_per_replica = 1;               // accelerators, or one slice
  // slice that a replica runs on; none: whole accelerators
  std::optional<machine::FleetSlice> slice;
  // devices of the fleet that are available to this service
  double devices_there = 0;
  KvRoom kv;
  Seconds start;  // time from placing a replica to its first answer

  PerSecond capacity_per_replica;  // requests per second within every objective
  PerSecond most_per_replica;      // requests per second that it can carry at all
  double most_running = 0;         // requests in a replica at its capacity
  serving::ServingBound bound = serving::ServingBound::none;
  std::optional<ApartSize> apart;   // prefill and decode on separate replicas
  std::optional<PerSecond> target;  // requests per second of a replica at its autoscaler's target

  double replicas_needed = 0;
  double replicas = 0;        // the most, if they follow the load
  double replicas_least = 0;  // replicas that always run; equal to `replicas` without an autoscaler
  double devices = 0;         // devices that `replicas` occupy

  std::vector<FailoverWay> ways;  // from this zone to the others
  double error = 0.3;             // half-width of the 80 % interval of latencies
  Basis basis = Basis::derived;
  std::string reference = "docs/models/serving.md";

  const design::Zone* in_zone() const {
    return serve->zones.empty() ? nullptr : &serve->zones[zone];
  }
  // Returns the accelerators that `of_replicas` occupy: a cut accelerator serves one service only
  // and counts as a whole.
  double accelerators_for(double of_replicas) const;
  // Returns the replicas that fit on `accelerators`.
  double replicas_on(double accelerators) const;
  // Returns this zone's replicas if the service has `of_service`: by its share of the traffic, at
  // least one.
  double replicas_here(int of_service) const;
  // Returns the whole replicas that carry a rate within every objective, at a share of their
  // capacity.
  double replicas_for(PerSecond rate, double load = 1) const;
  // Returns what the design gives for the zone or the service; nothing if it gives no number.
  std::optional<double> replicas_given() const;
  // Returns the replicas that run at a rate: all, or as many as the autoscaler would start.
  double replicas_at(double requests_per_second) const;
  // Returns the largest tensor split that fits on a node of the fleet.
  int widest_split() const;
};

// Returns the narrowest tensor split whose weights and one request fit the job's fleet with this
// precision; none if no split does.
std::optional<int> narrowest_split(const machine::Models& models, const ServeJob& job,
                                   const serving::ServingPrecision& precision);

// Resolves a service on each of its fleets, in the order of its zones.
std::vector<ServeJob> serve_jobs(const machine::Machine& machine, const design::Workload& workload);
// Returns the job of an equal service in another design, changed to point into this machine and
// workload.
ServeJob taken_over(const ServeJob& earlier, const machine::Machine& machine,
                    const design::Workload& workload);

}  // namespace orrery::jobs
