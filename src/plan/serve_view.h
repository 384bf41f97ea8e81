// A service joined across the layers: does the model fit, how fast does it answer, how many
// replicas.
//
//   replicas needed = peak rate / what one replica serves within the objective, at 80 % of it
//   availability    = P(no more replicas down than stand by), replicas down ~ Poisson
// Traffic of a service with zones is split by their shares, each zone on its own fleet. A network
// that is no transformer answers at an assumed share of the peak, and waits as an M/M/1 queue.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "design/design.h"
#include "machine/machine.h"
#include "machine/predict_serving.h"

namespace orrery::plan {

struct ServeView {
  const design::Workload* workload = nullptr;
  const design::Serve* serve = nullptr;
  std::string label;  // "assistant", or "chatbot in europe" for a zone
  std::string path;
  const machine::Fleet* fleet = nullptr;
  const catalog::ModelShape* model = nullptr;
  std::string infeasible;

  PerSecond rate;  // mean arrivals
  PerSecond peak;
  serving::RequestShape request;
  int devices_per_replica = 1;
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
  Seconds latency_p99;             // of a whole request
  double output_tokens_per_s = 0;  // all replicas, mean traffic
  Watts device_power;
  serving::ServingBound bound = serving::ServingBound::none;
  double kv_tokens = 0;  // of one replica
  double availability = 1;
  double error = 0.3;
  Basis basis = Basis::derived;
  std::string reference = "docs/models/serving.md";

  bool feasible() const { return infeasible.empty(); }
};

// `earlier` are the views of a design whose services are the same.
std::vector<ServeView> view_serves(const machine::Machine& machine,
                                   const std::vector<ServeView>* earlier = nullptr);

}  // namespace orrery::plan
