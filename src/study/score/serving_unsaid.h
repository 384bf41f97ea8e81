// What a row leaves unsaid of a test with prefill and decode apart, by how such tests are made.
//
// Rows of older dumps name the devices of one replica of each role, or of both roles together, and
// say neither how many replicas there were nor whether every device attends by itself. What narrows
// it, none of which looks at what was measured:
//   together  both roles on one number of devices that no group has: of the ways to share them out,
//             prefill on replicas as small as hold the weights, that which answers the most
//             requests
//   wide      a decode group wider than a host, where a host holds the model, is one whose devices
//             attend by themselves, with the experts spread over all of them
//   usual     else four decode replicas, as most tests have whose replicas are published
//   places    TensorRT-LLM's tests send a few more clients than replicas take, and these take a
//             power of two each: 666 clients of one replica are 512 places. Of a sweep that doubles
//             its clients only the last exceeds them
//   prefill   testers add prefill replicas until decoding does not wait for them
//   guesses   three tokens a step, one where attention ranks have 64 requests each, of tests that
//             are taken to guess (ApartRows)
// Wrong where a tester did otherwise. Whether tokens were guessed, which halves the time of each,
// is told by what other dumps have, if at all: the interval reaches both.
#pragma once

#include "model/jobs/predict_serving.h"

namespace orrery::score {

struct UnsaidAsk {
  int prefill_devices = 1;  // as the row has them
  int decode_devices = 1;
  bool goes_on = false;  // its sweep has a row with twice the clients
  bool guessed = false;  // taken to be a test with guesses
};

// A group wider than a host that is not said to attend by rank, by the rule above.
void widen(const machine::Models& models, jobs::ServingQuery& query);

void settle_unsaid(const machine::Models& models, const UnsaidAsk& ask,
                   jobs::DisaggregatedQuery& query);

}  // namespace orrery::score
