// A service as a run needs it: its job, and how its requests are answered at each load.
//
// The requests, what a replica carries and the number of replicas come from the job
// (model/jobs/serve_job.h). Requests are not simulated one by one for a month, but in windows
// (service_windows.h), at the loads that occur over the day. A run always knows how many requests
// arrive and how many replicas run; what the windows show at that load is weighted by the requests
// that arrived at it. Each window keeps the quantiles of its latencies, so the quantiles of a
// mixture of loads are exact except for sampling. A non-transformer network waits as in M/M/1.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "model/jobs/serve_job.h"
#include "twin/processes/service_failover.h"
#include "twin/processes/service_windows.h"

namespace orrery::processes {

struct ServicePlan {
  jobs::ServeJob job;
  design::FleetIndex fleet;
  std::string stands_in;  // the closed form in use; empty if requests are simulated
  int replicas = 0;       // the most, if there is an autoscaler
  int least = 0;          // replicas that always run; equal to `replicas` without an autoscaler
  int prefill = 0;        // replicas for prefill, if prefill and decode are separate
  int slots = 1;          // per replica
  int beside = 1;         // replicas per slot, if accelerators are cut
  double capacity = 0;    // requests per second of a replica within the objectives
  double most = 0;        // requests per second that a replica can carry at all
  ServiceWindows windows;
  // what its windows simulate; unused for a non-transformer network
  WindowAsk ask;
  std::optional<ZoneFailover> failover;  // for a service whose zones take each other's traffic

  bool feasible() const { return job.feasible(); }
  // Replicas on slices of one accelerator are placed together: returns the number of placements.
  int placements(int of_replicas) const { return (of_replicas + beside - 1) / beside; }
  int replicas_at(int placement) const { return std::min(beside, replicas - placement * beside); }
  // Returns how busy a replica is at a load.
  double busy_at(double rate) const;
  // Returns how long a request stays at a replica, at a load that it can carry.
  Seconds stay_at(double rate) const;
  // Simulates the windows of requests at the service's own loads, and of guests if it gets any.
  void simulate(const machine::Models& models);
  // Returns the replicas wanted in an hour: all, or as many as its autoscaler would start.
  int called_at(std::size_t hour) const;
};

// Returns the plans of one service's jobs: one, or one per zone. Without `windows` no request is
// simulated: the caller then simulates those that it needs. Once `stop` returns true the windows
// end early, and the result must not be used.
std::vector<ServicePlan> service_plans(std::vector<jobs::ServeJob> jobs,
                                       const machine::Machine& machine, bool windows = true,
                                       const std::function<bool()>& stop = {});

}  // namespace orrery::processes
