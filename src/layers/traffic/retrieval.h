// What a prompt waits for before it is whole: reads of an index, several at once, in hops that wait
// for one another.
//
//   hop       the slowest of k reads at once, each log-normal by its median and 99th percentile,
//             and the sending of their bytes
//   P(slowest <= x) = P(one <= x)^k, so the quantile q of a hop is the quantile q^(1/k) of a read
//   retrieval the sum of its hops; its 99th percentile is exact for one hop, of several
//             mean + sqrt(hops) (hop p99 - hop mean)
// The more reads stand side by side, the more often one of them is late (Dean and Barroso 2013,
// CACM 56:2): of 40 reads the slowest is the 99th percentile of one in every third request.
// Requests that leave it are a Poisson stream where those that came were (displacement), so that it
// shifts latencies and not the load. Wrong for: reads that are late together, as those of one drive
// are.
#pragma once

#include "core/base/quantity.h"
#include "core/base/random.h"

namespace orrery::traffic {

struct RetrievalLaw {
  double reads = 1;  // at once, of one hop
  int hops = 1;
  Seconds median;  // of one read
  Seconds p99;
  Seconds sending;  // of a hop's bytes
};

Seconds retrieval_mean(const RetrievalLaw& law);
Seconds retrieval_p99(const RetrievalLaw& law);
Seconds draw_retrieval(const RetrievalLaw& law, RandomStream& stream);

}  // namespace orrery::traffic
