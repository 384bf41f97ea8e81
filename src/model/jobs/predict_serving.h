// Latency, throughput and memory of a serving replica: serving/ fed with compute's kernel times and
// fabric's collective times.
//
// The interval of TTFT and TPOT is the error of the closed form on published rows (docs/models/
// serving.md), wider where the accelerator's parameters are borrowed and where the model is a
// mixture of experts, whose kernels differ most between engines.
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
  std::optional<machine::FleetSlice> slice;  // of it, that the replica has; none: it is whole
  std::string engine = "vllm";
  serving::ServingSplit split;
  serving::ServingPrecision precision;
  serving::RequestShape request;
  double concurrency = 1;
  std::optional<double> blocks;  // of KV cache, as the engine printed it
  std::optional<engines::EngineLimits> limits;
  std::optional<double> memory_share;  // that the engine is told to take; else its default
  int domain = 0;                   // accelerators that the scale-up link joins; 0: the catalog's
  double nics_per_accelerator = 1;  // a replica wider than the scale-up domain crosses them
  BytesPerSecond nic_rate = figures::assumptions::kNicRate;
  bool streams = true;      // tokens go to clients one by one; false: answers are collected offline
  bool own_kernels = true;  // the engine's 8-bit kernels and graphed all-reduce; false: PyTorch's
  std::string attention = "pytorch";  // whose kernels it is where they are not the engine's
  std::optional<serving::AdapterSet> adapters;  // one of which each request asks for
  bool left_out = false;  // of the fit on purpose: the interval is that of a model it has not seen

  Bytes memory() const { return slice ? slice->profile->memory : accelerator->memory; }
  // Accelerators that it takes: of a slice, its part of one.
  double accelerators() const { return 1.0 * split.devices() / (slice ? slice->each : 1); }
};

// Device and links of one query.
machine::Costs serving_costs(const machine::Models& models, const ServingQuery& query);

struct ServingPrediction {
  serving::Replica replica;
  serving::ServingPoint point;
  Estimate ttft_s;
  Estimate tpot_s;
  Estimate output_tokens_per_s;  // of the replica
  Estimate watts;                // of one device
};

// Why these adapters are not served here; empty where they are.
std::string adapter_fault(const ServingQuery& query);

// The replica that a query describes, or why there is none: unknown engine, a format or a layer
// that is not supported, a split that does not divide, weights that do not fit.
Result<serving::Replica> replica_of(const machine::Models& models, const ServingQuery& query);

Result<ServingPrediction> predict_serving(const machine::Models& models, const ServingQuery& query);

// A benchmark as serving tests are run: all clients start at once, each sends its next request when
// the last is answered, lengths are uniform in [least_share, 1] of the query's. Simulated iteration
// by iteration; `requests_per_client` comes from the query's request.
struct BenchmarkLoad {
  double least_share = 0.8;
  int receive_every = 1;  // iterations between two looks at the queue (traffic/replica_sim.h)
  traffic::Gathering gathering = {};
  double waves_most = 10;  // simulated for each client; further ones count as the last of these
  std::uint64_t seed = 1;
};
Result<ServingPrediction> predict_benchmark(const machine::Models& models,
                                            const ServingQuery& query, const BenchmarkLoad& load);

// Given arrivals on one replica, simulated iteration by iteration.
struct OpenLoopPrediction {
  serving::Replica replica;
  traffic::LatencySummary latency;
  traffic::ReplicaCounts counts;
  double error = 0;  // half-width of the 80 % interval of means
};
Result<OpenLoopPrediction> predict_open_loop(const machine::Models& models,
                                             const ServingQuery& query,
                                             const std::vector<traffic::Timed>& arrivals,
                                             bool prefix_cache);

// The records of the same, in order of their ends, as the engine itself stamps them: without what a
// server adds around it.
Result<std::vector<traffic::RequestRecord>> replay_requests(
    const machine::Models& models, const ServingQuery& query,
    const std::vector<traffic::Timed>& arrivals, bool prefix_cache);

// A data set processed offline: `requests` of them queued at once, tokens over the time until the
// last is done, so that filling and draining the replica count.
Result<Estimate> predict_offline(const machine::Models& models, const ServingQuery& query,
                                 int requests);

// Prefill and decode apart. The queries say the replicas; the decode's say request and load.
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

// One step by itself.
struct StepPrediction {
  serving::StepTime step;
  Estimate seconds;
  Estimate watts;
};
Result<StepPrediction> predict_step(const machine::Models& models, const ServingQuery& query,
                                    const serving::Iteration& iteration);

// The most that one replica serves within `target`; query.concurrency is not read.
Result<ServingPrediction> predict_capacity(const machine::Models& models, const ServingQuery& query,
                                           const serving::ServingTarget& target);

// The least tp (a power of two that divides the heads) whose weights and one long request fit;
// nullopt where none up to `most` does.
std::optional<int> least_tp(const machine::Models& models, const ServingQuery& query, int most);

// Half-width of the 80 % interval of TPOT; TTFT's reaches further up.
double serving_error(const compute::DeviceModel& device, const ServingQuery& query);

}  // namespace orrery::jobs
