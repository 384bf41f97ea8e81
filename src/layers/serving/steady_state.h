// A replica in steady state: time between tokens, time to the first, throughput, capacity.
//
// A closed loop of b requests, each with a prompt of I tokens and O tokens of output; at most
// R = min(b, sequences allowed, cache / (I + O/2)) run at once, the others wait.
//   t_dec  = one step in which R requests advance, cache I + O/2 each
//   t_pre  = what a prompt adds to the steps that carry it (chunks of the token budget)
//   TPOT   = t_dec + t_pre (R - 1) / O         R - 1 other prompts enter while one request decodes
//   rho    = R t_pre / (O TPOT)                share of the time that prompts take
//   X      = b / (TTFT + (O - 1) TPOT)         requests a second, by Little
// Steady arrivals: the prompts that come during one step are computed in the next, so a step T is
//   T' = t_dec + sum of the prompts that came during T,  E[T] = TPOT,
//   Var T = X E[T] E[t_pre^2] / (1 - rho^2)
//   TTFT  = rest of the step that is running, E[T^2] / 2 E[T], its own step with the prompts that
//           came beside it, rho E[T^2] / E[T], and the step that asynchronous scheduling is ahead
// A test that starts all clients at once and gives each n requests:
//   TTFT  = own prefill + half a step + rho / (2 (1 - rho)) t_pre + (b - R) / X + overhead, and the
//           first burst's mean wait ((R - 1) + (m - 1)) / 2 t_pre for 1 of n, m prompts to a step
// An adapter that is not there is loaded in the step that admits its request; one that has no slot
// waits for it before that (adapters.h).
// The interference term is the one that research on 165 measured points confirmed; docs/models/
// serving.md states the error on published rows. Percentiles take log-normal lengths, a Poisson
// number of running requests and the mean of o steps T for a request of o tokens (log-normal by its
// first two moments); independent parts add by their squares. Wrong for: bursts beyond a Poisson
// stream's, synchronised clients, routing imbalance among replicas; those need the simulated
// engine.
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
  double input_p99 = 0;  // log-normal about the mean; 0: all are equal
  double output_p99 = 0;
  double cached_share = 0;         // of the input, found in the prefix cache
  double accepted_per_step = 1;    // tokens a request advances in a step: more with speculation
  double checked_per_step = 1;     // tokens the step computes for it
  double requests_per_client = 0;  // of a test that starts all clients at once; 0: steady arrivals
  Seconds before;  // until a prompt is whole (retrieval.h), mean: it is no part of the replica's
  Seconds before_p99;  // own time, and stands before every first token
};

// Iterations that an engine with asynchronous scheduling is ahead (vLLM 0.15 and newer, SGLang): a
// request is seen so much later.
inline constexpr double kAheadSteps = 1;

// What passes around a first token beyond the steps that carry it: network, tokeniser, queues of
// the server, and kernels of routed layers that prompts run outside a graph.
Seconds around_first_token(const Replica& replica);

// Time of one step of the replica, all pipeline stages included.
struct StepTime {
  Seconds total;
  Seconds kernels;  // under the power limit
  Seconds messages;
  Seconds host;
  Watts power;  // of one device
};
// A kernel and a message with the replica's tuning, and what a step's sums settle at: the pieces
// that step_time() and StepClock share.
ServingOpCost kernel_with(const Replica& replica, const workload::Operation& op, bool expert,
                          const ServingCosts& costs);
Seconds message_with(const Replica& replica, const workload::CollectiveCall& call,
                     const ServingCosts& costs);
StepTime settled_step(const Replica& replica, const ServingOpCost& kernels, Seconds messages,
                      double prompts, double sequences, const ServingCosts& costs);
// Keys that the last query of a chunk sees, for chunks whose query-key pairs add up to `pairs`.
inline double chunk_keys(double pairs, double tokens, double chunks) {
  const double length = tokens / chunks;
  return pairs / tokens + length / 2 - 0.5;
}

StepTime step_time(const Replica& replica, const Iteration& iteration, const ServingCosts& costs);

// Requests that a replica runs at once at most: its sequences, and what its cache holds.
double most_running(const Replica& replica, const RequestShape& request);

enum class ServingBound { none, sequences, kv_cache };
const char* to_text(ServingBound b);

struct ServingPoint {
  double concurrency = 0;
  double running = 0;
  ServingBound bound = ServingBound::none;  // what keeps the others waiting
  StepTime decode;
  Seconds prefill;       // of one prompt on an otherwise idle replica
  Seconds prefill_adds;  // to the steps that carry it
  double prefill_share = 0;
  Seconds tpot;  // between tokens, the first left out
  Seconds ttft;
  Seconds tpot_p99;
  Seconds ttft_p99;
  Seconds whole_p99;  // from arrival to the last token
  PerSecond requests;
  double output_tokens_per_s = 0;  // of the replica
  double total_tokens_per_s = 0;   // input and output
  Watts power;                     // mean of one device
  Joules energy_per_output_token;  // of the replica's devices
};

// So many clients, each of whom asks again when it is answered.
ServingPoint closed_loop(const Replica& replica, const RequestShape& request, double concurrency,
                         const ServingCosts& costs);
// Requests that come one by one, often enough that so many decode on average. Work is conserved:
// of R that decode, X = R / (output d + R a) a second end, with a step's d a token and a prompt's a
// added to the steps that carry it. Those who wait for a first token come on top.
ServingPoint steady_arrivals(const Replica& replica, const RequestShape& request, double decoding,
                             const ServingCosts& costs);

struct ServingTarget {
  Seconds ttft_p99;  // zero: no bound
  Seconds tpot_p99;
  Seconds ttft_mean;
  Seconds tpot_mean;
};

// The most of steady arrivals that meets the target, in whole requests that decode; concurrency 0
// where not even one does.
ServingPoint capacity(const Replica& replica, const RequestShape& request,
                      const ServingTarget& target, const ServingCosts& costs);

// Whole replicas for an arrival rate, each at most `load` of its capacity (the rest absorbs
// bursts).
double replicas_needed(PerSecond arrivals, PerSecond per_replica, double load);

// Static batching: a batch is formed, padded to its longest output and drained before the next. Its
// cache is reserved for the longest output from the start.
struct StaticBatch {
  double batch = 0;
  double output_tokens_per_s = 0;
};
StaticBatch static_batching(const Replica& replica, const RequestShape& request, double output_cv,
                            double output_limit, double concurrency, const ServingCosts& costs);

}  // namespace orrery::serving
