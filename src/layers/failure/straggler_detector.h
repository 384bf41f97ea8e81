// Finds the slow ranks of a synchronous job from the time that each spends on its own work per
// step.
//
// Within a step the ranks of a healthy job are exchangeable: any of them may be last. So only their
// order counts, and the test holds for any distribution, heavy tails included.
//   steady  u = mid-rank in (0, 1) of t/(1 + slow_min) among the step's ranks; mean over S steps
//           P(mean u >= x) <= e^(-S I(x)),  I(x) = sup_a (a x - ln((e^a - 1)/a))       Chernoff
//   bursts  k steps in which it was last, at 1 + spike_min times the median or more:
//           P(Binomial(S, 1/n) >= k) <= e^(-S KL(k/S, 1/n))                            Chernoff
// Each test gets half of the stated false-positive rate, divided by the number of ranks
// (Bonferroni), so the rate holds per run over all ranks. Steps that resemble their neighbours
// count less: S is multiplied by (1 - r)/(1 + r), where r is the lag-one correlation of u about
// each rank's own mean. Wrong if more than half of the ranks are slow (they then set the standard),
// if the times include waiting for other ranks (all are then equal), and if ranks do unequal work
// by design (pipeline stages: pass each stage separately).
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
  std::vector<std::vector<double>> steps;  // seconds; 0 if a rank has no measurement
};

struct StragglerTest {
  double false_positives = 0.01;  // per run, over all ranks
  // A steady rank must be slower than the rest by more than this share.
  double slow_min = 0.02;
  double spike_min = 0.10;  // a burst must exceed the step's median by more than this share
  int steps_min = 5;        // a rank with fewer measurements is not judged
};

enum class SlowPattern { steady, growing, bursts };
enum class SlowLayer { gpu_clock, thermal, host_input, link, fabric };
const char* to_text(SlowPattern pattern);
const char* to_text(SlowLayer layer);  // "GPU clock", "GPU or memory heat", ...

struct Straggler {
  RankPlace place;
  SlowPattern pattern = SlowPattern::steady;
  double excess = 0;      // above the step's median, as a share: over all steps, or over the bursts
  double step_share = 1;  // share of the steps in which it was slow
  double confidence = 0;  // 1 - the bound on a false alarm anywhere in the run
  SlowLayer layer = SlowLayer::gpu_clock;
  std::string shared;  // "host h3", "leaf l1", "rail 2": what it shares with other slow ranks
};

struct StragglerReport {
  std::size_t ranks = 0;
  std::size_t steps = 0;
  double steps_effective = 0;
  std::vector<Straggler> slow;  // slowest first
  // The cost of the slow ranks: the mean step with them compared with the mean step of the others
  // alone.
  double step_cost = 0;
};

StragglerReport find_stragglers(const StepTimes& times, const StragglerTest& test = {});

// ln of the two bounds (mean of uniforms, binomial share), for tests and the docs page.
double log_uniform_mean_bound(double steps, double mean);
double log_binomial_bound(double steps, double share, double chance);

}  // namespace orrery::failure
