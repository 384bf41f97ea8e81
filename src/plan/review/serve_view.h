// A service in closed form: how fast its replicas answer at the peak, and how often they can.
//
//   availability    = P(no more replicas down than spare), replicas down ~ Poisson
// The request, what a replica carries and the number of replicas come from the job
// (model/jobs/serve_job.h); how zones take over for each other is in failover_view.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/jobs/serve_adapters.h"
#include "model/jobs/resolve_jobs.h"
#include "model/machine/machine.h"
#include "plan/review/failover_view.h"

namespace orrery::review {

struct ServeView : jobs::ServeJob {
  PerSecond guests;          // requests per second from another zone, on top of its own peak
  PerSecond guests_asked;    // requests per second that a lost site would send if there were room
  double replicas_mean = 0;  // mean over a day, if they follow the load
  Seconds ttft;
  Seconds ttft_p99;
  Seconds tpot;
  Seconds tpot_p99;
  Seconds latency_p99;  // time of a whole request
  Seconds answer;       // mean time of a whole request; for a transformer
  Seconds task;         // mean time of an agent's whole task
  Seconds task_p99;
  double output_tokens_per_s = 0;  // all replicas, at mean traffic
  Watts device_power;
  jobs::AdapterView adapters;     // at the peak
  double replicas_up = 1;         // share of time with enough replicas
  double dark = 0;                // share of time in which its site is without power
  double dark_missed = 0;         // part of `dark` in which users get no answer
  double availability_alone = 1;  // without other zones
  double availability = 1;
  std::optional<FailoverView> failover;  // for a zone that names failover sites

  const char* devices_word() const { return fleet->host ? "hosts" : "accelerators"; }
};

// Returns one view per service, or per zone of it, in order. `earlier` are the views of a design
// with equal services.
std::vector<ServeView> view_serves(const jobs::Jobs& jobs, const machine::Machine& machine,
                                   const std::vector<ServeView>* earlier = nullptr);
// Returns the view of the same replicas with `guests` more requests at the peak.
ServeView with_guests(ServeView view, PerSecond guests, const machine::Machine& machine);

}  // namespace orrery::review
