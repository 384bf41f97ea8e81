// Latency, throughput and memory of a serving replica: serving/ fed with compute's kernel times and
// fabric's collective times.
//
// The interval of TTFT and TPOT is the error of the closed form on published rows (docs/models/
// serving.md), wider if the accelerator's parameters are borrowed or the model is a mixture of
// experts, whose kernels differ most between engines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "core/catalog/catalog.h"
#include "layers/serving/disaggregated.h"
#include "layers/serving/steady_state.h"
#include "layers/traffic/load.h"
#include "model/figures/assumptions.h"
#include "model/machine/costs.h"
#include "model/machine/fleet.h"

namespace orrery::jobs {

struct ServingQuery {
  catalog::ModelShape model;
  const catalog::Accelerator* accelerator = nullptr;
  // slice of the accelerator that the replica uses; none: the whole accelerator
  std::optional<machine::FleetSlice> slice;
  std::string engine = "vllm";
  serving::ServingSplit split;
  serving::ServingPrecision precision;
  serving::RequestShape request;
  double concurrency = 1;
  std::optional<double> blocks;  // blocks of KV cache, as the engine printed them
  std::optional<engines::EngineLimits> limits;
  std::optional<double> memory_share;  // memory share that the engine is set to; none: its default
  int domain = 0;                      // accelerators joined by the scale-up link; 0: the catalog's
  double nics_per_accelerator = 1;     // used by a replica wider than the scale-up domain
  BytesPerSecond nic_rate = figures::assumptions::kNicRate;
  bool streams = true;  // tokens are streamed to clients; false: answers are collected offline
  // the engine's own 8-bit kernels and graphed all-reduce; false: PyTorch's
  bool own_kernels = true;
  std::string attention = "pytorch";  // the attention kernel's source, if it is not the engine's
  std::optional<serving::AdapterSet> adapters;  // LoRA adapters; each request uses one
  bool left_out = false;  // left out of the fit on purpose: the interval is that of an unseen model

  Bytes memory() const { return slice ? slice->profile->memory : accelerator->memory; }
  // Returns the accelerators that the query takes; a slice counts as its part of one.
  double accelerators() const { return 1.0 * split.devices() / (slice ? slice->each : 1); }
};

// Returns the costs of the query's device and links.
machine::Costs serving_costs(const machine::Models& models, const ServingQuery& query);

struct ServingPrediction {
  serving::Replica replica;
  serving::ServingPoint point;
  Estimate ttft_s;
  Estimate tpot_s;
  Estimate output_tokens_per_s;  // of the whole replica
  Estimate watts;                // per device
};

// Returns why these adapters cannot be served; empty if they can.
std::string adapter_fault(const ServingQuery& query);

// Returns the replica that a query describes, or why it is impossible: unknown engine, a format or
// a layer that is not supported, a split that does not divide, weights that do not fit.
Result<serving::Replica> replica_of(const machine::Models& models, const ServingQuery& query);

Result<ServingPrediction> predict_serving(const machine::Models& models, const ServingQuery& query);

// A benchmark load as in serving tests: all clients start at once, each sends its next request when
// the last one is answered, and lengths are uniform in [least_share, 1] of the query's. Simulated
// iteration by iteration; `requests_per_client` comes from the query's request.
struct BenchmarkLoad {
  double least_share = 0.8;
  int receive_every = 1;  // iterations between two checks of the queue (traffic/replica_sim.h)
  traffic::Gathering gathering = {};
  // requests simulated per client; further ones are taken to be like the last of these
  double waves_most = 10;
  std::uint64_t seed = 1;
};
Result<ServingPrediction> predict_benchmark(const machine::Models& models,
                                            const ServingQuery& query, const BenchmarkLoad& load);

// The result for given arrival times on one replica, simulated iteration by iteration.
struct OpenLoopPrediction {
  serving::Replica replica;
  traffic::LatencySummary latency;
  traffic::ReplicaCounts counts;
  double error = 0;  // half-width of the 80 % interval of the means
};
Result<OpenLoopPrediction> predict_open_loop(const machine::Models& models,
                                             const ServingQuery& query,
                                             const std::vector<traffic::Timed>& arrivals,
                                             bool prefix_cache);

// Returns the records of the same simulation, in the order of their ends, with the engine's own
// time stamps: without the time that a server adds.
Result<std::vector<traffic::RequestRecord>> replay_requests(
    const machine::Models& models, const ServingQuery& query,
    const std::vector<traffic::Timed>& arrivals, bool prefix_cache);

// Predicts a data set processed offline: `requests` of them are queued at once. The throughput is
// their tokens over the time until the last is done, so filling and draining the replica count.
Result<Estimate> predict_offline(const machine::Models& models, const ServingQuery& query,
                                 int requests);

// Prefill and decode on different replicas. The two queries describe the replicas; the decode query
// gives request and load.
struct DisaggregatedQuery {
  ServingQuery prefill;
  ServingQuery decode;
  double prefill_replicas = 1;
  double decode_replicas = 1;
};
struct DisaggregatedPrediction {
  serving::DisaggregatedPoint point;
  Estimate ttft_s;
  Estimate tpot_s;
};
Result<DisaggregatedPrediction> predict_disaggregated(const machine::Models& models,
                                                      const DisaggregatedQuery& query);

// Prediction of a single step.
struct StepPrediction {
  serving::StepTime step;
  Estimate seconds;
  Estimate watts;
};
Result<StepPrediction> predict_step(const machine::Models& models, const ServingQuery& query,
                                    const serving::Iteration& iteration);

// Predicts the most that one replica serves within `target`; query.concurrency is not read.
Result<ServingPrediction> predict_capacity(const machine::Models& models, const ServingQuery& query,
                                           const serving::ServingTarget& target);

// Returns the least tp (a power of two that divides the heads) at which the weights and one long
// request fit; nullopt if none up to `most` does.
std::optional<int> least_tp(const machine::Models& models, const ServingQuery& query, int most);

// Returns the half-width of the 80 % interval of TPOT; that of TTFT reaches further up.
double serving_error(const compute::DeviceModel& device, const ServingQuery& query);

}  // namespace orrery::jobs
