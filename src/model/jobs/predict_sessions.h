// Users in conversation with one replica, simulated iteration by iteration: how much of each turn's
// history is still on the device, how much a KV tier brings back, and the effect on first tokens.
//
// traffic/sessions.h is the load, engines/kv_tier.h the tier. The rate of a tier is the replica's
// share of it: its own ports to its host's memory, or its share of drives or of a store. Kernels
// that copy many blocks at once reach 51 GB/s on one H200 over PCIe 5, against 55 in long copies
// (measured; copying one block of 64 KiB at a time reaches 16 GB/s).
#pragma once

#include "layers/traffic/sessions.h"
#include "model/jobs/predict_serving.h"

namespace orrery::jobs {

// A replica's share of a KV tier.
struct KvRoom {
  Bytes room;           // zero: evicted blocks are lost
  BytesPerSecond rate;  // read rate
  Seconds first_byte;
};
// Returns how the tier's fetches compare with computing again, in blocks of `block_tokens`.
engines::KvTierLaw kv_tier_law(const ServingQuery& query, const KvRoom& room,
                               const serving::Replica& replica, int block_tokens,
                               const serving::ServingCosts& costs);
// Raises pages of fewer than sixteen tokens (SGLang's have one) to sixteen: a history loses 1 % of
// its hits, and a simulation takes seconds instead of minutes.
void coarsen_blocks(engines::EnginePolicy& policy);

struct SessionsAsk {
  ServingQuery query;
  traffic::SessionLoad load;
  KvRoom kv;
};

struct SessionsPrediction {
  traffic::LatencySummary latency;
  double error = 0;      // half-width of the 80 % interval of the means
  double on_device = 0;  // share of the history that is found on the device
  double fetched = 0;    // share of the history brought back from the tier
  double device_tokens = 0;
  double tier_tokens = 0;  // capacity in tokens
  Seconds fetch_of_token;
  Seconds compute_of_token;  // compute time per prompt token
};

Result<SessionsPrediction> predict_sessions(const machine::Models& models, const SessionsAsk& ask);

// Returns the rate of a replica's ports to its hosts' memory, all together.
BytesPerSecond host_memory_rate(const ServingQuery& query);

}  // namespace orrery::jobs
