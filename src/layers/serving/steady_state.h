// A replica in steady state: time between tokens, time to first token, throughput, capacity.
//
// A closed loop of b requests, each with a prompt of I tokens and O tokens of output; at most R =
// min(b, sequences allowed, cache / (I + O/2)) run at once, the others wait.
//   t_dec  = one step in which R requests advance, with I + O/2 tokens of cache each
//   t_pre  = what a prompt adds to the steps that carry it (chunks of the token budget)
//   TPOT   = t_dec + t_pre (R - 1) / O         R - 1 other prompts join while one request decodes
//   rho    = R t_pre / (O TPOT)                share of the time spent on prompts
//   X      = b / (TTFT + (O - 1) TPOT)         requests per second, by Little's law
// Steady arrivals: prompts that arrive during one step are computed in the next, so a step T is
//   T' = t_dec + sum of the prompts that arrived during T,  E[T] = TPOT,
//   Var T = X E[T] E[t_pre^2] / (1 - rho^2)
//   TTFT  = rest of the running step, E[T^2] / 2 E[T], its own step with the prompts that arrived
//           beside it, rho E[T^2] / E[T], and the step by which asynchronous scheduling is ahead
// A test that starts all clients at once and gives each n requests:
//   TTFT  = own prefill + half a step + rho / (2 (1 - rho)) t_pre + (b - R) / X + overhead, and for
//           1 of n requests the first burst's mean wait ((R - 1) + (m - 1)) / 2 t_pre, with m
//           prompts per step
// An adapter that is not loaded is loaded in the step that admits its request; before that, the
// request waits until its adapter has a slot (adapters.h). The interference term is the one that
// research on 165 measured points confirmed; docs/models/serving.md states the error on published
// rows. Percentiles assume log-normal lengths, a Poisson number of running requests, and for a
// request of o tokens the mean of o steps T (log-normal by its first two moments); independent
// parts add by their squares. Wrong for: bursts beyond a Poisson stream's, synchronised clients,
// routing imbalance among replicas; those need the simulated engine.
#pragma once

#include "layers/serving/adapters.h"
#include "layers/serving/costs.h"
#include "layers/serving/memory.h"

namespace orrery::serving {

struct Replica {
  catalog::ModelShape model;
  ServingSplit split;
  ServingPrecision precision;
  engines::Engine engine;
  engines::EngineLimits limits;
  ServingMemory memory;
  engines::ServingTuning tuning;
  ReplicaAdapters adapters = {};
};

struct RequestShape {
  double input = 1024;  // means
  double output = 1024;
  double input_p99 = 0;  // log-normal around the mean; 0: all are equal
  double output_p99 = 0;
  double cached_share = 0;  // share of the input found in the prefix cache
  // Tokens by which a request advances per step: more than 1 with speculation.
  double accepted_per_step = 1;
  double checked_per_step = 1;     // tokens that the step computes for it
  double requests_per_client = 0;  // in a test that starts all clients at once; 0: steady arrivals
  // Mean time until a prompt is complete (retrieval.h), added before every first token.
  Seconds before;
  Seconds before_p99;  // 99th percentile of `before`; not part of the replica's own time
};

// Iterations by which an engine with asynchronous scheduling is ahead (vLLM 0.15 and newer,
// SGLang): it notices a request that much later.
inline constexpr double kAheadSteps = 1;

// Returns the time around a first token besides the steps that carry it: network, tokeniser, server
// queues, and kernels of routed layers that prompts run outside a graph.
Seconds around_first_token(const Replica& replica);

// The time of one step of the replica, over all pipeline stages.
struct StepTime {
  Seconds total;
  Seconds kernels;  // kernel time at the clock that the power limit allows
  Seconds messages;
  Seconds host;
  Watts power;  // per device
};
// The building blocks that step_time() and StepClock share: a kernel and a message with the
// replica's tuning, and the time and power that follow from a step's sums.
ServingOpCost kernel_with(const Replica& replica, const workload::Operation& op, bool expert,
                          const ServingCosts& costs);
Seconds message_with(const Replica& replica, const workload::CollectiveCall& call,
                     const ServingCosts& costs);
StepTime settled_step(const Replica& replica, const ServingOpCost& kernels, Seconds messages,
                      double prompts, double sequences, const ServingCosts& costs);
// Returns the keys that the last query of a chunk sees, for chunks whose query-key pairs add up to
// `pairs`.
inline double chunk_keys(double pairs, double tokens, double chunks) {
  const double length = tokens / chunks;
  return pairs / tokens + length / 2 - 0.5;
}

StepTime step_time(const Replica& replica, const Iteration& iteration, const ServingCosts& costs);

// Returns the most requests that a replica runs at once: limited by its sequences and by its cache.
double most_running(const Replica& replica, const RequestShape& request);

enum class ServingBound { none, sequences, kv_cache };
const char* to_text(ServingBound b);

struct ServingPoint {
  double concurrency = 0;
  double running = 0;
  ServingBound bound = ServingBound::none;  // what makes the others wait
  StepTime decode;
  Seconds prefill;       // one prompt on an otherwise idle replica
  Seconds prefill_adds;  // what one prompt adds to the steps that carry it
  double prefill_share = 0;
  Seconds tpot;  // mean time between tokens, without the first
  Seconds ttft;
  Seconds tpot_p99;
  Seconds ttft_p99;
  Seconds whole_p99;  // from arrival to the last token
  PerSecond requests;
  double output_tokens_per_s = 0;  // per replica
  double total_tokens_per_s = 0;   // input and output
  Watts power;                     // mean per device
  Joules energy_per_output_token;  // summed over the replica's devices
};

// The state with `concurrency` clients, each of which sends its next request when it is answered.
ServingPoint closed_loop(const Replica& replica, const RequestShape& request, double concurrency,
                         const ServingCosts& costs);
// The state when requests arrive one by one, often enough that `decoding` of them decode on
// average. Work is conserved: with R decoding, X = R / (output d + R a) requests end per second,
// where d is a step's time per token and a what a prompt adds to the steps that carry it. Requests
// that wait for a first token come in addition.
ServingPoint steady_arrivals(const Replica& replica, const RequestShape& request, double decoding,
                             const ServingCosts& costs);

struct ServingTarget {
  Seconds ttft_p99;  // zero: no limit
  Seconds tpot_p99;
  Seconds ttft_mean;
  Seconds tpot_mean;
};

// Returns the highest steady arrival rate that meets the target, in whole decoding requests;
// concurrency 0 if not even one does.
ServingPoint capacity(const Replica& replica, const RequestShape& request,
                      const ServingTarget& target, const ServingCosts& costs);

// Returns the whole number of replicas for an arrival rate, each loaded to at most `load` of its
// capacity (the rest absorbs bursts).
double replicas_needed(PerSecond arrivals, PerSecond per_replica, double load);

// Static batching: a batch is formed, padded to its longest output, and finished before the next
// begins. Its cache is reserved for the longest output from the start.
struct StaticBatch {
  double batch = 0;
  double output_tokens_per_s = 0;
};
StaticBatch static_batching(const Replica& replica, const RequestShape& request, double output_cv,
                            double output_limit, double concurrency, const ServingCosts& costs);

}  // namespace orrery::serving
