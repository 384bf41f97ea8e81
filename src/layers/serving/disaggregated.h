// Prefill and decode on replicas of their own, in steady state.
//
// Prompts queue for the prefill replicas, their keys move over the network, and decode replicas
// advance without a prompt in their way. A closed loop of c clients splits itself: b of them
// decode, the others wait for a first token.
//   X(b)   = b / ((O - 1) t_dec(b / n_d))         requests a second that b decoding requests mean
//   T(X)   = t_pre + queue(X n / n_p) + transfer   M/D/c: rho^sqrt(2 c + 2) / (2 c (1 - rho)) t_pre
//   c      = b + X(b) T(X(b))                      Little; solved for b by bisection, at most as
//                                                  many as decode replicas have places for
// Decode replicas hand out the first token, so who waits for a place waits for it: of 39 published
// tests with more clients than places, 35 had just so many decoding by Little's law (within 10 %).
// A test that starts all clients at once adds half of the burst's drain to one of its n requests.
// Wrong for: prefill replicas that also decode, caches of prefixes, links shared with others.
#pragma once

#include "layers/serving/steady_state.h"

namespace orrery::serving {

struct DisaggregatedPool {
  Replica replica;
  ServingCosts costs;
  double replicas = 1;
};

struct DisaggregatedPoint {
  double decoding = 0;  // requests that decode, of all replicas
  Seconds prefill;      // of one prompt
  Seconds transfer;
  Seconds ttft;
  Seconds tpot;
  PerSecond requests;
  double prefill_load = 0;  // share of the time that prefill replicas work
  Watts prefill_power;      // of one device while it works
  Watts decode_power;
};

DisaggregatedPoint disaggregated_loop(const DisaggregatedPool& prefill,
                                      const DisaggregatedPool& decode, const RequestShape& request,
                                      double concurrency, BytesPerSecond transfer_rate);

}  // namespace orrery::serving
