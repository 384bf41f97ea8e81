// Ways to serve one model on one kind of accelerator, side by side: engine, format, tensor split,
// one kind of replica or prefill and decode apart, with what each carries within the objectives.
//
// One kind: serving::capacity for each engine, format and tp. Apart, per replica and in closed
// form:
//   rho   the largest load with t_pre + transfer + around + ln(100) rho / (2 (1 - rho)) t_pre
//         within the p99 of the first token: prompts a second X_p = rho / t_pre   (M/D/1)
//   b     the most requests whose step stays within the p99 of a token, (1 + 2.33 / sqrt b)
//   t_dec(b),
//         and whose keys fit: X_d = b / (O t_dec(b))
// Of n replicas the split p : n - p with the largest min(p X_p, (n - p) X_d) is taken. For a rate,
// as many replicas as keep each at 80 % of what it carries. The largest batch that meets the
// objectives is the limit to give to the engine. Wrong where requests come in bursts beyond a
// Poisson stream's: a simulation of the load says how much.
#pragma once

#include <string>
#include <vector>

#include "model/jobs/serve_adapters.h"

namespace orrery::jobs {

struct ServingAsk {
  catalog::ModelShape model;
  const catalog::Accelerator* accelerator = nullptr;
  std::optional<machine::FleetSlice>
      slice;  // that each replica has, in place of whole accelerators
  serving::RequestShape request;
  serving::ServingTarget target;
  std::vector<std::string> engines;
  std::vector<catalog::Dtype> formats;  // of weights and cache; those it lacks are left out
  int tp = 0;                           // 0: every power of two up to most_tp
  int most_tp = 8;
  bool joined = true;                           // one kind of replica
  bool apart = true;                            // prefill and decode on replicas of their own
  std::optional<serving::AdapterSet> adapters;  // only where joined
};

struct ServingChoice {
  std::string engine;
  catalog::Dtype format = catalog::Dtype::bf16;
  int tp = 1;
  bool apart = false;
  double replicas = 0;  // all of them
  double prefill = 0;   // of them, where apart
  int gpus = 0;
  double batch = 0;    // requests that a replica runs at once, a decode replica where apart
  double users = 0;    // requests in flight, all replicas together
  PerSecond requests;  // of all replicas
  Seconds ttft;        // means at that load
  Seconds tpot;
  double error = 0;  // half-width of the 80 % interval
  AdapterView adapters;
};

// Most users first; none where no way meets the objectives.
std::vector<ServingChoice> serving_within(const machine::Models& models, const ServingAsk& ask,
                                          int gpus);
// Fewest accelerators first.
std::vector<ServingChoice> serving_for(const machine::Models& models, const ServingAsk& ask,
                                       PerSecond rate);

}  // namespace orrery::jobs
