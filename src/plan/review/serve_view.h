// A service in closed form: how fast its replicas answer at the peak, and how often they can.
//
//   availability    = P(no more replicas down than stand by), replicas down ~ Poisson
// What is asked, what a replica carries and how many there are is the job's
// (model/jobs/serve_job.h); what zones do for each other is in failover_view.h.
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
  PerSecond guests;          // of another zone beside its own peak
  PerSecond guests_asked;    // that a lost site would send, were there room
  double replicas_mean = 0;  // of a day, where they follow the load
  Seconds ttft;
  Seconds ttft_p99;
  Seconds tpot;
  Seconds tpot_p99;
  Seconds latency_p99;  // of a whole request
  Seconds answer;       // mean of the same; of a transformer
  Seconds task;         // of an agent's whole task, mean
  Seconds task_p99;
  double output_tokens_per_s = 0;  // all replicas, mean traffic
  Watts device_power;
  jobs::AdapterView adapters;     // at the peak
  double replicas_up = 1;         // share of the time with enough replicas
  double dark = 0;                // share of the time that its site is without power
  double dark_missed = 0;         // of it, what users miss
  double availability_alone = 1;  // without other zones
  double availability = 1;
  std::optional<FailoverView> failover;  // of a zone that names others

  const char* devices_word() const { return fleet->host ? "hosts" : "accelerators"; }
};

// One view per service, or zone of it, in order. `earlier` are the views of a design whose services
// are the same.
std::vector<ServeView> view_serves(const jobs::Jobs& jobs, const machine::Machine& machine,
                                   const std::vector<ServeView>* earlier = nullptr);
// The same replicas with so many requests more at the peak.
ServeView with_guests(ServeView view, PerSecond guests, const machine::Machine& machine);

}  // namespace orrery::review
