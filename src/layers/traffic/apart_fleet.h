// Prefill and decode on separate fleets, in simulated time, with keys and values moved between
// them.
//
// A prompt is computed on the prefill fleet up to its first token. Its keys and values leave
// through the ports of the replica that made them, one transfer after another at the ports' rate.
// It is decoded on the decode fleet, which has its keys and computes none of the prompt. Nothing
// flows back, so the two fleets are simulated one after the other with the same result as together.
// A decode replica that fails loses its keys: it computes the prompts itself when it is back
// (Fleet's failures). Wrong if a full decode fleet would hold prefill back: here requests wait for
// decode instead.
#pragma once

#include <vector>

#include "layers/traffic/fleet.h"

namespace orrery::traffic {

struct ApartOptions {
  FleetOptions prefill;
  FleetOptions decode;
  double bytes_per_token = 0;  // keys and values of all layers
  double port_rate = 0;        // bytes per second out of one prefill replica
};

struct ApartRun {
  // Records of whole requests; replica-seconds and failures are of both fleets.
  FleetRun run;
  double transfer_mean = 0;    // seconds, including the wait for the port
  double prefill_seconds = 0;  // replica-seconds of the prefill fleet
};

ApartRun run_apart(const ApartOptions& options, const engines::EnginePolicy& prefill_policy,
                   serving::StepClock& prefill_clock, const engines::EnginePolicy& decode_policy,
                   serving::StepClock& decode_clock, const std::vector<Timed>& arrivals);

}  // namespace orrery::traffic
