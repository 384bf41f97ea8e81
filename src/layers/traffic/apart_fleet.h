// Prefill and decode on fleets of their own, in simulated time, with the keys moved between them.
//
// A prompt is computed on the prefill fleet up to its first token; its keys leave over the ports of
// the replica that made them, one transfer after another at the ports' rate; it is decoded on the
// decode fleet, which has its keys and computes none of the prompt. Nothing flows back, so the two
// fleets run one after the other and give what they would side by side. A decode replica that dies
// takes keys with it: it computes the prompt itself when it is back (Fleet's failures). Wrong where
// a full decode fleet would hold prefill back: requests wait for decode instead.
#pragma once

#include <vector>

#include "layers/traffic/fleet.h"

namespace orrery::traffic {

struct ApartOptions {
  FleetOptions prefill;
  FleetOptions decode;
  double bytes_per_token = 0;  // of keys and values, all layers
  double port_rate = 0;        // bytes a second out of one prefill replica
};

struct ApartRun {
  FleetRun run;                // of whole requests; replica-seconds and failures of both fleets
  double transfer_mean = 0;    // seconds, waiting for the port included
  double prefill_seconds = 0;  // of replicas that stood
};

ApartRun run_apart(const ApartOptions& options, const engines::EnginePolicy& prefill_policy,
                   serving::StepClock& prefill_clock, const engines::EnginePolicy& decode_policy,
                   serving::StepClock& decode_clock, const std::vector<Timed>& arrivals);

}  // namespace orrery::traffic
