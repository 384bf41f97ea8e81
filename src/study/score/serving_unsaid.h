// What a row leaves open about a test with separate prefill and decode, filled in by how such tests
// are made.
//
// Rows of older dumps name the devices of one replica of each role, or of both roles together, and
// say neither how many replicas there were nor whether every device had its own attention. These
// rules narrow it down; none of them looks at what was measured:
//   together  both roles on one number of devices that no group has: of the ways to divide them,
//             with prefill on the smallest replicas that hold the weights, the one that answers
//             the most requests
//   wide      a decode group wider than a host, if a host holds the model, is one whose devices
//             have their own attention, with the experts spread over all of them
//   usual     otherwise four decode replicas, as in most tests whose replicas are published
//   places    TensorRT-LLM's tests send a few more clients than replicas take, and each replica
//             takes a power of two: 666 clients of one replica are 512 places. Of a sweep that
//             doubles its clients only the last exceeds them
//   prefill   testers add prefill replicas until decoding does not wait for them
//   guesses   three tokens per step, or one if attention ranks have 64 requests each, in tests that
//             are taken to guess (ApartRows)
// Wrong if a tester did otherwise. Whether tokens were guessed, which halves the time per token,
// can only be inferred from other dumps, if at all: the interval covers both cases.
#pragma once

#include "model/jobs/predict_serving.h"

namespace orrery::score {

struct UnsaidAsk {
  int prefill_devices = 1;  // as in the row
  int decode_devices = 1;
  bool goes_on = false;  // its sweep has a row with twice the clients
  bool guessed = false;  // taken to be a test with guesses
};

// Gives a group wider than a host attention by rank, by the rule above, if the row does not say so.
void widen(const machine::Models& models, jobs::ServingQuery& query);

void settle_unsaid(const machine::Models& models, const UnsaidAsk& ask,
                   jobs::DisaggregatedQuery& query);

}  // namespace orrery::score
