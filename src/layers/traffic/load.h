// The load of a service: when requests arrive and how long they are.
//
//   constant    every 1/rate
//   gamma       gaps of mean 1/rate and coefficient of variation cv (1: Poisson)
//   diurnal     Poisson with a rate that varies as a sine of one period, thinned from its peak
//   closed      `clients` clients, each of which sends its next request `think` after the last
//               answer; all start at once, as in benchmarks
// Lengths: fixed, uniform in [low L, L] (the random data set of vLLM's and SGLang's benchmarks), or
// log-normal by median and p99. Every draw comes from a named stream, so equal seeds give equal
// requests whatever else is drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/random.h"
#include "layers/traffic/replica_sim.h"

namespace orrery::traffic {

struct LengthLaw {
  double length = 1024;    // fixed length, maximum of uniform, or median of log-normal
  double least_share = 1;  // uniform in [share * length, length]; 1: fixed
  double p99 = 0;          // 99th percentile of a log-normal; 0: not log-normal
  double added = 0;        // added to every length, for example retrieved text
};

double mean_length(const LengthLaw& law);
int draw_length(const LengthLaw& law, RandomStream& stream);

struct Timed {
  engines::RequestSpec spec;
  double at = 0;
};

struct OpenLoad {
  double rate = 1;
  double cv = 1;          // coefficient of variation of the gaps; 0: constant
  double swing = 0;       // swing of the rate: peak / mean - 1
  double period = 86400;  // seconds per cycle
  int requests = 1000;
  LengthLaw prompt;
  LengthLaw output;
  std::uint64_t seed = 1;
};
std::vector<Timed> open_load(const OpenLoad& load);
std::vector<engines::RequestSpec> draw_requests(int count, const LengthLaw& prompt,
                                                const LengthLaw& output, std::uint64_t seed);

// Runs arrivals in order of time.
std::vector<RequestRecord> run_open(ReplicaSim& replica, const std::vector<Timed>& arrivals);
// Returns records in the order in which requests end; `id` is the index in `requests`.
std::vector<RequestRecord> run_closed(ReplicaSim& replica,
                                      const std::vector<engines::RequestSpec>& requests,
                                      int clients, double think = 0);

// Means and percentiles over records, the definitions of docs/models/serving.md.
struct LatencySummary {
  double count = 0;
  double ttft_mean = 0, ttft_p50 = 0, ttft_p99 = 0;
  double tpot_mean = 0, tpot_p50 = 0, tpot_p99 = 0;
  double e2e_mean = 0, e2e_p50 = 0, e2e_p99 = 0;
  double output_tokens_per_s = 0;
  double requests_per_s = 0;
};
LatencySummary summarise(const std::vector<RequestRecord>& records);

}  // namespace orrery::traffic
