// Ways to serve one model on one kind of accelerator, compared: engine, format, tensor split,
// prefill and decode together or on separate replicas, with what each carries within the
// objectives.
//
// Together: serving::capacity for each engine, format and tp. Separate, per replica and in closed
// form:
//   rho   the largest load with t_pre + transfer + around + ln(100) rho / (2 (1 - rho)) t_pre
//         within the p99 of the first token: prompts per second X_p = rho / t_pre   (M/D/1)
//   b     the most requests with (1 + 2.33 / sqrt b) t_dec(b) within the p99 of a token, and
//         whose KV cache fits: X_d = b / (O t_dec(b))
// For n replicas, the split p : n - p with the largest min(p X_p, (n - p) X_d) is taken. For a
// given rate, there are as many replicas as keep each at 80 % of what it carries. The largest batch
// that meets the objectives is the limit to set in the engine. Wrong if requests arrive in larger
// bursts than a Poisson stream's: a simulation of the load shows by how much.
#pragma once

#include <string>
#include <vector>

#include "model/jobs/serve_adapters.h"

namespace orrery::jobs {

struct ServingAsk {
  catalog::ModelShape model;
  const catalog::Accelerator* accelerator = nullptr;
  std::optional<machine::FleetSlice> slice;  // slice per replica, instead of whole accelerators
  serving::RequestShape request;
  serving::ServingTarget target;
  std::vector<std::string> engines;
  // of weights and cache; formats that the accelerator lacks are left out
  std::vector<catalog::Dtype> formats;
  int tp = 0;  // 0: every power of two up to most_tp
  int most_tp = 8;
  bool joined = true;                           // try prefill and decode on the same replicas
  bool apart = true;                            // try prefill and decode on separate replicas
  std::optional<serving::AdapterSet> adapters;  // for joined replicas only
};

struct ServingChoice {
  std::string engine;
  catalog::Dtype format = catalog::Dtype::bf16;
  int tp = 1;
  bool apart = false;
  double replicas = 0;  // all replicas
  double prefill = 0;   // how many of them do prefill, if separate
  int gpus = 0;
  double batch = 0;    // requests that a replica runs at once; for separate roles, a decode replica
  double users = 0;    // requests in flight on all replicas together
  PerSecond requests;  // on all replicas together
  Seconds ttft;        // mean at that load
  Seconds tpot;
  double error = 0;  // half-width of the 80 % interval
  AdapterView adapters;
};

// Returns the choices, most users first; none if no way meets the objectives.
std::vector<ServingChoice> serving_within(const machine::Models& models, const ServingAsk& ask,
                                          int gpus);
// Returns the choices, fewest accelerators first.
std::vector<ServingChoice> serving_for(const machine::Models& models, const ServingAsk& ask,
                                       PerSecond rate);

}  // namespace orrery::jobs
