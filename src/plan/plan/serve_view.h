// A service joined across the layers: does the model fit, how fast does it answer, how many
// replicas.
//
//   replicas needed = peak rate / what one replica serves within the objective, at 80 % of it
//   availability    = P(no more replicas down than stand by), replicas down ~ Poisson
// Traffic of a service is what comes to it and what others escalate (machine/serve_job.h); with
// zones it is split by their shares, each zone on its own fleet; what they do for each other is in
// failover_view.h. A network
// that is no transformer answers at an assumed share of the peak, and waits as an M/M/1 queue.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/machine/machine.h"
#include "model/machine/predict_serving.h"
#include "model/machine/serve_adapters.h"
#include "plan/plan/failover_view.h"

namespace orrery::plan {

struct ServeView {
  const design::Workload* workload = nullptr;
  const design::Serve* serve = nullptr;
  std::string label;  // "assistant", or "chatbot in europe" for a zone
  std::string path;
  std::size_t zone = 0;  // of the service, where it has any
  const machine::Fleet* fleet = nullptr;
  const catalog::ModelShape* model = nullptr;
  std::string infeasible;

  double share = 1;  // of the service's traffic: a zone's part
  PerSecond rate;    // mean arrivals, those that others escalate among them
  PerSecond peak;
  PerSecond guests;              // of another zone beside its own peak
  PerSecond guests_asked;        // that a lost site would send, were there room
  std::array<double, 24> day{};  // arrivals a second, by the hour
  serving::RequestShape request;
  int devices_per_replica = 1;               // accelerators, or one slice
  std::optional<machine::FleetSlice> slice;  // that a replica runs on; none: whole accelerators
  double replicas_needed = 0;
  double replicas = 0;       // given, at the most where they follow the load; or as needed
  double replicas_mean = 0;  // of a day, where they follow the load
  double devices = 0;        // that they occupy
  double devices_there = 0;
  PerSecond capacity_per_replica;  // within the objective
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
  serving::ServingBound bound = serving::ServingBound::none;
  double kv_tokens = 0;           // of one replica
  machine::AdapterView adapters;  // at the peak
  double replicas_up = 1;         // share of the time with enough replicas
  double dark = 0;                // share of the time that its site is without power
  double dark_missed = 0;         // of it, what users miss
  double availability_alone = 1;  // without other zones
  double availability = 1;
  std::optional<FailoverView> failover;  // of a zone that names others
  double error = 0.3;
  Basis basis = Basis::derived;
  std::string reference = "docs/models/serving.md";

  bool feasible() const { return infeasible.empty(); }
  const char* devices_word() const { return fleet->host ? "hosts" : "accelerators"; }
  // That so many replicas occupy: an accelerator is cut for one service, and taken whole.
  double accelerators_for(double of_replicas) const;
  // That so many accelerators hold.
  double replicas_on(double accelerators) const;
};

// `earlier` are the views of a design whose services are the same.
std::vector<ServeView> view_serves(const machine::Machine& machine,
                                   const std::vector<ServeView>* earlier = nullptr);
// The same replicas with so many requests more at the peak.
ServeView with_guests(ServeView view, PerSecond guests, const machine::Machine& machine);

}  // namespace orrery::plan
