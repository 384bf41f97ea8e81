// A service as a run needs it: its job, and how its requests are answered at each load.
//
// What is asked, what a replica carries and how many there are is the job's
// (model/jobs/serve_job.h). Requests are not followed one by one for a month: windows of them are
// (service_windows.h), at the loads that the day brings. A run knows at every moment how many
// requests come and how many replicas stand; what the windows say at that load is weighted by the
// requests that came at it. Each window keeps the quantiles of its latencies, so that those of a
// mixture of loads are exact but for the sampling. A network that is no transformer waits as M/M/1.
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
  std::string stands_in;  // what closed form does, empty where requests are simulated
  int replicas = 0;       // at the most, where an autoscaler calls them
  int least = 0;          // that stand always; `replicas` without an autoscaler
  int prefill = 0;        // of them, where prefill and decode are apart
  int slots = 1;          // of a replica
  int beside = 1;         // replicas on one slot, where accelerators are cut
  double capacity = 0;    // requests a second of a replica within the objectives
  double most = 0;        // that it can carry at all
  ServiceWindows windows;
  WindowAsk ask;                         // what they are windows of; of no plain network
  std::optional<ZoneFailover> failover;  // of a service whose zones take each other's traffic

  bool feasible() const { return job.feasible(); }
  // Replicas are placed together where an accelerator is cut: so many placements, and the replicas
  // of each but the last.
  int placements(int of_replicas) const { return (of_replicas + beside - 1) / beside; }
  int replicas_at(int placement) const { return std::min(beside, replicas - placement * beside); }
  // How busy a replica is at a load.
  double busy_at(double rate) const;
  // How long a request stays at a load that is carried.
  Seconds stay_at(double rate) const;
  // Windows of requests at the loads of its own, and of guests where it has any.
  void simulate(const machine::Models& models);
  // Replicas that are wanted in an hour: all, or as many as its autoscaler would call for.
  int called_at(std::size_t hour) const;
};

// Returns the plans of one service's jobs: one, or one per zone. Without `windows` no request is
// simulated: a caller asks for those it wants. Once `stop` returns true the windows end early and
// must not be used.
std::vector<ServicePlan> service_plans(std::vector<jobs::ServeJob> jobs,
                                       const machine::Machine& machine, bool windows = true,
                                       const std::function<bool()>& stop = {});

}  // namespace orrery::processes
