// Which ranks of a synchronous job are slow, from the time each spends on its own work in each
// step.
//
// Within a step the ranks of a healthy job are exchangeable: any of them may be last. So only their
// order counts, and the test holds whatever the distribution, heavy tails included.
//   steady  u = mid-rank in (0, 1) of t/(1 + slow_min) among the step's ranks; on average over S
//   steps
//           P(mean u >= x) <= e^(-S I(x)),  I(x) = sup_a (a x - ln((e^a - 1)/a))       Chernoff
//   bursts  k steps in which it was the last and 1 + spike_min times the median or more:
//           P(Binomial(S, 1/n) >= k) <= e^(-S KL(k/S, 1/n))                            Chernoff
// Each test has half of the stated false-positive rate, divided by the ranks (Bonferroni), so the
// rate is per run over all ranks. Steps that resemble their neighbours count less: S is cut by
// (1 - r)/(1 + r), r the lag-one correlation of u about each rank's own mean.
// Wrong where more than half of the ranks are slow (they are then the measure), where the times
// include the wait for the others (all are equal then), and where ranks do unequal work by plan
// (the stages of a pipeline: give each stage by itself).
#pragma once

#include <string>
#include <vector>

namespace orrery::failure {

struct RankPlace {
  int rank = 0;
  std::string host = {};  // empty: unknown
  std::string leaf = {};
};

struct StepTimes {
  std::vector<RankPlace> ranks;            // in the order of the columns below
  std::vector<std::vector<double>> steps;  // seconds; 0 where a rank has no measurement
};

struct StragglerTest {
  double false_positives = 0.01;  // per run, over all ranks
  double slow_min = 0.02;         // a steady rank must be slower than the rest by more than this
  double spike_min = 0.10;        // and a burst above the step's median by this
  int steps_min = 5;              // a rank with fewer measurements is not judged
};

enum class SlowPattern { steady, growing, bursts };
enum class SlowLayer { gpu_clock, thermal, host_input, link, fabric };
const char* to_text(SlowPattern pattern);
const char* to_text(SlowLayer layer);  // "GPU clock", "GPU or memory heat", ...

struct Straggler {
  RankPlace place;
  SlowPattern pattern = SlowPattern::steady;
  double excess = 0;      // over the step's median: of all steps, or of the bursts
  double step_share = 1;  // of the steps, in which it was slow
  double confidence = 0;  // 1 - the bound on a false alarm anywhere in the run
  SlowLayer layer = SlowLayer::gpu_clock;
  std::string shared;  // "host h3", "leaf l1", "rail 2": what it has in common with the others
};

struct StragglerReport {
  std::size_t ranks = 0;
  std::size_t steps = 0;
  double steps_effective = 0;
  std::vector<Straggler> slow;  // the slowest first
  // What the slow ranks cost: the mean step against the mean step of the others alone.
  double step_cost = 0;
};

StragglerReport find_stragglers(const StepTimes& times, const StragglerTest& test = {});

// ln of the two bounds, for tests and the page: of a mean of uniforms, of a binomial share.
double log_uniform_mean_bound(double steps, double mean);
double log_binomial_bound(double steps, double share, double chance);

}  // namespace orrery::failure
