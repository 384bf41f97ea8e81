// Users who talk in turns with one replica, simulated iteration by iteration: what of each turn's
// history is still on the device, what a KV tier brings back, and what that does to first tokens.
//
// traffic/sessions.h is the load, engines/kv_tier.h the tier. A tier's rate is what the replica
// gets of it: its own ports to its host's memory, or its part of drives or of a store. Kernels that
// copy many blocks at once reach 51 GB/s on one H200 over PCIe 5, of 55 in long copies (measured;
// one copy a block of 64 KiB has 16 GB/s).
#pragma once

#include "layers/traffic/sessions.h"
#include "model/jobs/predict_serving.h"

namespace orrery::jobs {

// A KV tier as one replica has it.
struct KvRoom {
  Bytes room;           // none: evicted blocks are gone
  BytesPerSecond rate;  // at which it is read
  Seconds first_byte;
};
// How the tier's fetches stand against computing again, in blocks of so many tokens.
engines::KvTierLaw kv_tier_law(const ServingQuery& query, const KvRoom& room,
                               const serving::Replica& replica, int block_tokens,
                               const serving::ServingCosts& costs);
// Pages of less than sixteen tokens (SGLang's are of one) are looked for by sixteen: a history
// loses 1 % of it, and a question takes seconds instead of minutes.
void coarsen_blocks(engines::EnginePolicy& policy);

struct SessionsAsk {
  ServingQuery query;
  traffic::SessionLoad load;
  KvRoom kv;
};

struct SessionsPrediction {
  traffic::LatencySummary latency;
  double error = 0;      // half-width of the 80 % interval of means
  double on_device = 0;  // of what was said before, the share found there
  double fetched = 0;    // and brought back from the tier
  double device_tokens = 0;
  double tier_tokens = 0;  // of room
  Seconds fetch_of_token;
  Seconds compute_of_token;  // of a prompt
};

Result<SessionsPrediction> predict_sessions(const machine::Models& models, const SessionsAsk& ask);

// Of a replica's ports to its hosts' memory, together.
BytesPerSecond host_memory_rate(const ServingQuery& query);

}  // namespace orrery::jobs
