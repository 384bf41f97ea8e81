#include "score/log_standing.h"

#include <algorithm>

namespace orrery {

int domain_of_host(const Accelerator& a, int per_host) {
  return a.scaleup_domain > 8 ? a.scaleup_domain : std::min(8, per_host);
}

LogStanding stand_log(const NcclLog& log, int ranks, const Wiring& wiring,
                      const CollectiveParameters& parameters) {
  const Links links(wiring, parameters);
  LogStanding s;
  for (const NcclLine& line : log.lines) {
    if (line.bytes <= 0) continue;
    const CollectiveCall call{log.kind.value_or(Collective::all_reduce), Bytes(line.bytes),
                              packed_group(ranks, wiring.domain)};
    s.lines.push_back({line, links.predict(call)});
  }
  GapFacts facts{.leaves_domain = ranks > wiring.domain,
                 .roce = wiring.network == NetworkKind::roce,
                 .nics = static_cast<int>(wiring.nics_per_host)};
  if (!s.lines.empty()) {
    facts.large_ratio = s.lines.back().expected.seconds.value / s.lines.back().seconds();
    facts.small_ratio = s.lines.front().expected.seconds.value / s.lines.front().seconds();
  }
  s.reasons = likely_reasons(facts);
  return s;
}

}  // namespace orrery
