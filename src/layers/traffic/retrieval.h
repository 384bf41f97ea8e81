// Retrieval that a prompt waits for: reads of an index, several in parallel, in hops that follow
// one another.
//
//   hop       the slowest of k parallel reads, each log-normal by median and 99th percentile, plus
//             the transfer of their bytes
//   P(slowest <= x) = P(one <= x)^k, so the quantile q of a hop is the quantile q^(1/k) of a read
//   retrieval the sum of its hops; its 99th percentile is exact for one hop; for several it is
//             mean + sqrt(hops) (hop p99 - hop mean)
// The more parallel reads, the more often one of them is late (Dean and Barroso 2013, CACM 56:2):
// with 40 reads, every third request sees a read beyond the 99th percentile. If requests arrive as
// a Poisson stream, they also leave retrieval as one (displacement theorem), so retrieval shifts
// latencies and does not change the load. Wrong for: reads that are late together, such as those of
// one drive.
#pragma once

#include "core/base/quantity.h"
#include "core/base/random.h"

namespace orrery::traffic {

struct RetrievalLaw {
  double reads = 1;  // parallel reads per hop
  int hops = 1;
  Seconds median;  // per read
  Seconds p99;
  Seconds sending;  // transfer of a hop's bytes
};

Seconds retrieval_mean(const RetrievalLaw& law);
Seconds retrieval_p99(const RetrievalLaw& law);
Seconds draw_retrieval(const RetrievalLaw& law, RandomStream& stream);

}  // namespace orrery::traffic
