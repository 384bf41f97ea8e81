// Prefill and decode on separate replicas, in steady state.
//
// Prompts queue for the prefill replicas, their keys and values move over the network, and decode
// replicas advance without prompts in their way. A closed loop of c clients divides: b of them
// decode, the others wait for a first token.
//   X(b)   = b / ((O - 1) t_dec(b / n_d))         requests per second with b decoding requests
//   T(X)   = t_pre + queue(X n / n_p) + transfer   M/D/c: rho^sqrt(2 c + 2) / (2 c (1 - rho)) t_pre
//   c      = b + X(b) T(X(b))                      Little; solved for b by bisection, at most as
//                                                  many as decode replicas have places
// Decode replicas deliver the first token, so a request that waits for a place also waits for its
// first token: of 39 published tests with more clients than places, 35 had exactly that many
// decoding by Little's law (within 10 %). A test that starts all clients at once adds half of the
// time to drain the burst, divided over its n requests per client. Wrong for: prefill replicas that
// also decode, prefix caches, links shared with other traffic.
#pragma once

#include "layers/serving/steady_state.h"

namespace orrery::serving {

struct DisaggregatedPool {
  Replica replica;
  ServingCosts costs;
  double replicas = 1;
};

struct DisaggregatedPoint {
  double decoding = 0;  // decoding requests on all replicas together
  Seconds prefill;      // per prompt
  Seconds transfer;
  Seconds ttft;
  Seconds tpot;
  PerSecond requests;
  double prefill_load = 0;  // share of the time that prefill replicas compute
  Watts prefill_power;      // per device while it computes
  Watts decode_power;
};

DisaggregatedPoint disaggregated_loop(const DisaggregatedPool& prefill,
                                      const DisaggregatedPool& decode, const RequestShape& request,
                                      double concurrency, BytesPerSecond transfer_rate);

}  // namespace orrery::serving
