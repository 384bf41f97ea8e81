// What a service reads of its index before a prompt is complete, with all services of the tier at
// their peaks.
//
// A read takes the tier's latency divided by the free share of its load, as in M/M/1; its 99th
// percentile is the one that the design gives, or else four times that (assumed).
#pragma once

#include <optional>

#include "layers/serving/steady_state.h"
#include "layers/traffic/retrieval.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

struct RetrievalAsk {
  const machine::Tier* tier = nullptr;
  traffic::RetrievalLaw law;
  PerSecond asked;       // reads per second
  PerSecond gives;       // reads per second that the tier's drives and its rate allow
  bool by_rate = false;  // the rate is the limit, not the drives

  double load() const { return gives > PerSecond(0) ? asked / gives : 1; }
};
// Returns nothing for a service without retrieval.
std::optional<RetrievalAsk> retrieval_of(const machine::Machine& machine,
                                         const design::Serve& serve, const machine::Fleet& fleet);
// Adds the wait for its reads to a request's first token.
void add_retrieval(serving::RequestShape& request, const machine::Machine& machine,
                   const design::Serve& serve, const machine::Fleet& fleet);

}  // namespace orrery::jobs
