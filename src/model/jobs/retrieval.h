// What a service reads of its index before a prompt is whole, all services of the tier at their
// peaks.
//
// A read takes the tier's latency over what the load leaves free, as of M/M/1; its 99th percentile
// is as the design says, else four times that (assumed).
#pragma once

#include <optional>

#include "layers/serving/steady_state.h"
#include "layers/traffic/retrieval.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

struct RetrievalAsk {
  const machine::Tier* tier = nullptr;
  traffic::RetrievalLaw law;
  PerSecond asked;       // reads
  PerSecond gives;       // reads that the tier's drives and its rate allow
  bool by_rate = false;  // the rate is what binds

  double load() const { return gives > PerSecond(0) ? asked / gives : 1; }
};
// Returns nothing for a service without retrieval.
std::optional<RetrievalAsk> retrieval_of(const machine::Machine& machine,
                                         const design::Serve& serve, const machine::Fleet& fleet);
// Lets the first token of a request wait for its reads.
void add_retrieval(serving::RequestShape& request, const machine::Machine& machine,
                   const design::Serve& serve, const machine::Fleet& fleet);

}  // namespace orrery::jobs
