// Adapters (LoRA) of a replica: what they take of its memory and of a step, how long one is loaded,
// and in closed form how many run at once and who waits for a slot.
//
//   memory   slots x rank (slices K + N) x 2 bytes of every product that has one; a tensor split
//            cuts the outputs of what is cut by columns and the inputs of what is cut by rows, the
//            other side is whole on every device (vLLM and SGLang so by default). vLLM rounds the
//            rank up to one that it knows
//   step     a shrink and an expand beside each product:
//              products x launch + hypot(bytes / (share x bandwidth), FLOP / (share x peak))
//              bytes = adapters in the step x their weights + tokens x (slices K + 2 N) x 2
//   load     copies x 2.6 us + bytes / port: every tensor by itself, from the host's memory, in the
//            step that needs it
// Constants: tools/probe/adapter_probe.py on one H200 (data/validation/h200_adapters.csv).
//
// Use: the i-th of `count` adapters is asked for as 1 / i^skew. R requests run, x_i = p_i R of them
// with adapter i, as a Poisson number:
//   running adapters   sum 1 - e^-x_i
//   loads a request    sum p_i e^-(p_i y), where y solves sum 1 - e^-(p_i y) = slots: the slots are
//                      a cache of those used last (Che, Tung and Wang 2002, IEEE JSAC 20:1305);
//                      at most one for each turn of an adapter, below
//   wait for a slot    in times of a request, adapter i is idle for 1 / x_i, waits w, and runs for
//                      b_i = (e^x_i - 1) / x_i until none of its requests is left, so that it has a
//                      slot for f_i = b_i / (b_i + 1 / x_i + w) of the time; w is where
//                        w = P(all taken) / (release rate of one (slots - sum f_i))
//                      and requests that come in a wait have the rest of it before them
// What waits gathers and then runs together, so slots bound latency and not throughput. An adapter
// that is asked for all the time never lets go of its slot (b_i is long): with as many of them as
// slots others starve, as in the engines. Wrong where adapters differ in rank, where many requests
// of one come together, and for adapters of experts.
#pragma once

#include <vector>

#include "core/base/quantity.h"
#include "core/base/random.h"
#include "core/catalog/model_shape.h"
#include "core/workload/adapters.h"
#include "layers/engines/scheduler.h"
#include "layers/serving/costs.h"
#include "layers/serving/iteration.h"

namespace orrery::serving {

struct AdapterSet {
  int count = 0;  // 0: requests have none
  int slots = 1;  // on the device at a time
  double rank = 16;
  workload::AdapterTargets targets{.qkv = true, .o = true, .mlp = true};
  double skew = 1;
};

// Shares of the adapters in use, those used about as often together.
struct AdapterClass {
  double share = 0;  // of one of them
  double many = 1;
};
std::vector<AdapterClass> adapter_use(int count, double skew);

// Which adapter a request has, from 1 on.
class AdapterDraw {
 public:
  AdapterDraw(int count, double skew);
  int operator()(RandomStream& stream) const;

 private:
  std::vector<double> up_to_;
};

// What is known of the device.
struct AdapterDevice {
  FlopsPerSecond products;  // dense peak in 16 bits
  BytesPerSecond port;      // from its host's memory
};

struct ReplicaAdapters {
  AdapterSet set;
  Bytes each;           // of one device, at the rank that is used
  Bytes reserved;       // of one device, all slots
  double products = 0;  // of a step of one stage
  double token_bytes = 0;
  double token_flops = 0;
  FlopsPerSecond rate;
  Seconds load;
  double missed = 0;  // share of the requests whose adapter lies in no slot, were none waited for
  std::vector<AdapterClass> use;

  bool any() const { return set.count > 0; }
};
ReplicaAdapters adapters_on(const catalog::ModelShape& model, const ServingSplit& split,
                            const AdapterSet& set, engines::EngineKind engine,
                            const AdapterDevice& device);

// The least rank that the engine keeps slots for.
int reserved_rank(engines::EngineKind engine, int rank);

// What `distinct` adapters add to the kernels of a step of so many tokens of one attention rank.
ServingOpCost adapter_cost(const ReplicaAdapters& adapters, double tokens, double distinct,
                           const ServingCosts& costs);

// Of R requests that run: distinct adapters, at most the slots.
double running_adapters(const ReplicaAdapters& adapters, double running);
// What slots do to requests, so many of which run.
struct SlotUse {
  double loads = 0;     // of adapters, for one request
  double wait = 0;      // for a slot, of all requests, in times that a request runs
  double wait_p99 = 0;  // likewise
};
SlotUse slot_use(const ReplicaAdapters& adapters, double running);
// Of so many that run or wait for a slot, those that run: R (1 + wait(R)) of them in all.
double running_with_slots(const ReplicaAdapters& adapters, double all);

// A prefix that all prompts share is computed once for each adapter, and stays while requests hold
// it and then until what others left behind fills the cache: that of the R that run and of the last
// y that do not is there, y from
//   y fresh + prefix sum (1 - e^-(p_i (R + y))) = room
// Share of the requests that find it. Sizes are in tokens.
struct PrefixCase {
  double prefix = 0;
  double fresh = 1;    // that a request leaves behind beside it
  double room = 0;     // of the cache, less what running requests hold of their own
  double running = 0;  // R
};
double prefix_found(const ReplicaAdapters& adapters, const PrefixCase& c);

}  // namespace orrery::serving
