#include "study/score/log_standing.h"

#include <algorithm>

namespace orrery::score {

int domain_of_host(const catalog::Accelerator& a, int per_host) {
  return a.scaleup_domain > 8 ? a.scaleup_domain : std::min(8, per_host);
}

LogStanding stand_log(const fabric::NcclLog& log, int ranks, const machine::Wiring& wiring,
                      const fabric::CollectiveParameters& parameters) {
  const machine::Links links(wiring, parameters);
  LogStanding s;
  for (const fabric::NcclLine& line : log.lines) {
    if (line.bytes <= 0) continue;
    const workload::CollectiveCall call{log.kind.value_or(workload::Collective::all_reduce),
                                        Bytes(line.bytes),
                                        machine::packed_group(ranks, wiring.domain)};
    s.lines.push_back({line, links.predict(call)});
  }
  fabric::GapFacts facts{.leaves_domain = ranks > wiring.domain,
                         .roce = wiring.network == catalog::NetworkKind::roce,
                         .nics = static_cast<int>(wiring.nics_per_host)};
  if (!s.lines.empty()) {
    facts.large_ratio = s.lines.back().expected.seconds.value / s.lines.back().seconds();
    facts.small_ratio = s.lines.front().expected.seconds.value / s.lines.front().seconds();
  }
  s.reasons = likely_reasons(facts);
  return s;
}

}  // namespace orrery::score
