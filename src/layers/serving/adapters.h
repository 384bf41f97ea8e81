// LoRA adapters of a replica: their memory, their cost per step, the time to load one, and in
// closed form how many run at once and how long requests wait for a slot.
//
//   memory   slots x rank (slices K + N) x 2 bytes for every product that has an adapter; a tensor
//            split divides the output side of column-split products and the input side of row-split
//            ones, and every device holds the whole other side (the default of vLLM and SGLang).
//            vLLM rounds the rank up to one that it supports
//   step     a shrink and an expand beside each product:
//              products x launch + hypot(bytes / (share x bandwidth), FLOP / (share x peak))
//              bytes = adapters in the step x their weights + tokens x (slices K + 2 N) x 2
//   load     copies x 2.6 us + bytes / port: each tensor separately, from host memory, in the step
//            that needs it
// Constants: tools/probe/adapter_probe.py on one H200 (data/validation/h200_adapters.csv).
//
// Use: the i-th of `count` adapters is requested with weight 1 / i^skew. R requests run; the number
// with adapter i is Poisson with mean x_i = p_i R:
//   running adapters   sum 1 - e^-x_i
//   loads per request  sum p_i e^-(p_i y), where y solves sum 1 - e^-(p_i y) = slots: the slots are
//                      an LRU cache (Che, Tung and Wang 2002, IEEE JSAC 20:1305);
//                      at most one per turn of an adapter, see below
//   wait for a slot    in units of a request's time, adapter i is idle for 1 / x_i, waits w, and
//                      runs for b_i = (e^x_i - 1) / x_i until none of its requests is left, so it
//                      has a slot for f_i = b_i / (b_i + 1 / x_i + w) of the time; w solves
//                        w = P(all taken) / (release rate per slot x (slots - sum f_i))
//                      and requests that arrive during a wait have the rest of it
// Waiting requests gather and then run together, so slots limit latency and not throughput. An
// adapter that is requested all the time never releases its slot (b_i is long): if there are as
// many of those as slots, the others starve, as in real engines. Wrong if adapters differ in rank,
// if many requests for one adapter arrive together, and for adapters on experts.
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
  int count = 0;  // 0: requests have no adapter
  int slots = 1;  // adapters on the device at a time
  double rank = 16;
  workload::AdapterTargets targets{.qkv = true, .o = true, .mlp = true};
  double skew = 1;
};

// Adapters that are used about equally often, as one class.
struct AdapterClass {
  double share = 0;  // share of requests for each of them
  double many = 1;
};
std::vector<AdapterClass> adapter_use(int count, double skew);

// Draws which adapter a request has, counted from 1.
class AdapterDraw {
 public:
  AdapterDraw(int count, double skew);
  int operator()(RandomStream& stream) const;

 private:
  std::vector<double> up_to_;
};

// What the adapter model needs to know about the device.
struct AdapterDevice {
  FlopsPerSecond products;  // dense peak in 16 bits
  BytesPerSecond port;      // from host memory to the device
};

struct ReplicaAdapters {
  AdapterSet set;
  Bytes each;           // one adapter on one device, at the rank used
  Bytes reserved;       // all slots of one device
  double products = 0;  // adapted products in a step of one stage
  double token_bytes = 0;
  double token_flops = 0;
  FlopsPerSecond rate;
  Seconds load;
  double missed = 0;  // share of requests whose adapter is not in a slot, if none waited
  std::vector<AdapterClass> use;

  bool any() const { return set.count > 0; }
};
ReplicaAdapters adapters_on(const catalog::ModelShape& model, const ServingSplit& split,
                            const AdapterSet& set, engines::EngineKind engine,
                            const AdapterDevice& device);

// Returns the smallest rank, at least `rank`, for which the engine keeps slots.
int reserved_rank(engines::EngineKind engine, int rank);

// Returns what `distinct` adapters add to the kernels of a step, given the tokens of one attention
// rank.
ServingOpCost adapter_cost(const ReplicaAdapters& adapters, double tokens, double distinct,
                           const ServingCosts& costs);

// Returns the mean number of distinct adapters among R running requests, at most the number of
// slots.
double running_adapters(const ReplicaAdapters& adapters, double running);
// The effect of slots on requests, for a given number of running ones.
struct SlotUse {
  double loads = 0;     // adapter loads per request
  double wait = 0;      // mean wait for a slot over all requests, in request times
  double wait_p99 = 0;  // 99th percentile of that wait
};
SlotUse slot_use(const ReplicaAdapters& adapters, double running);
// Given `all` requests that run or wait for a slot, returns R, the number that run:
//   R (1 + wait(R)) = all
double running_with_slots(const ReplicaAdapters& adapters, double all);

// A prefix that all prompts share is computed once per adapter. It stays while requests hold it,
// and then until other requests' leftovers fill the cache. Present are the prefixes of the R
// running requests and of the last y finished ones, where y solves
//   y fresh + prefix sum (1 - e^-(p_i (R + y))) = room
// prefix_found() returns the share of requests that find it. Sizes are in tokens.
struct PrefixCase {
  double prefix = 0;
  double fresh = 1;    // tokens that a request leaves behind besides it
  double room = 0;     // cache size without what running requests hold of their own
  double running = 0;  // R
};
double prefix_found(const ReplicaAdapters& adapters, const PrefixCase& c);

}  // namespace orrery::serving
