#include "layers/failure/straggler_detector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/base/math.h"
#include "core/base/statistics.h"

namespace orrery::failure {
namespace {

// If at least this share of a group's ranks show the pattern, it is attributed to the group.
constexpr double kGroupShare = 0.75;
// If a rank's excess time grows by more than this factor over the run, heat is building up.
constexpr double kGrowth = 2;
// Ranks that keep their position differ from their own mean by rounding alone, which says nothing
// about the similarity of steps. One position in 100,000 ranks is 1e-10.
constexpr double kNoSpread = 1e-18;

// The measurements of one rank over the run.
struct Track {
  std::vector<double> u;       // mid-ranks of the shifted times
  std::vector<double> excess;  // t / median - 1 per step
  int bursts = 0;
  std::vector<double> burst_excess;
};

struct Tracks {
  std::vector<Track> ranks;
  double steps = 0;
  double mean_width = 0;  // ranks measured in a step, on average
};

struct Measured {
  std::size_t rank = 0;
  double seconds = 0;
};

void add_step(const std::vector<double>& step, const StragglerTest& test, Tracks& tracks) {
  std::vector<Measured> present;
  for (std::size_t r = 0; r < step.size() && r < tracks.ranks.size(); ++r) {
    if (std::isfinite(step[r]) && step[r] > 0) present.push_back({r, step[r]});
  }
  if (present.size() < 2) return;
  std::vector<double> sorted;
  for (const Measured& m : present) sorted.push_back(m.seconds);
  std::ranges::sort(sorted);
  const double middle = median(sorted);
  const auto n = static_cast<double>(sorted.size());
  const auto last = std::ranges::max_element(present, {}, &Measured::seconds);
  for (const Measured& m : present) {
    Track& track = tracks.ranks[m.rank];
    // The rank's own unshifted time is excluded from the comparison.
    const double shifted = m.seconds / (1 + test.slow_min);
    const auto [low, high] = std::ranges::equal_range(sorted, shifted);
    double below = static_cast<double>(low - sorted.begin());
    double equal = static_cast<double>(high - low);
    if (shifted == m.seconds) --equal;
    below += equal / 2;
    track.u.push_back((below + 0.5) / n);
    track.excess.push_back(m.seconds / middle - 1);
    if (m.rank == last->rank && track.excess.back() >= test.spike_min) {
      ++track.bursts;
      track.burst_excess.push_back(track.excess.back());
    }
  }
  tracks.steps += 1;
  tracks.mean_width += n;
}

Tracks tracks_of(const StepTimes& times, const StragglerTest& test) {
  Tracks tracks;
  tracks.ranks.resize(times.ranks.size());
  for (const std::vector<double>& step : times.steps) add_step(step, test, tracks);
  if (tracks.steps > 0) tracks.mean_width /= tracks.steps;
  return tracks;
}

// Correlation between a step and the next, relative to each rank's own mean, pooled over the ranks.
double lag_one(const Tracks& tracks) {
  double product = 0, square = 0;
  for (const Track& track : tracks.ranks) {
    const std::size_t n = track.u.size();
    if (n < 3) continue;
    const double middle = mean(track.u);
    for (std::size_t i = 0; i < n; ++i) {
      square += (track.u[i] - middle) * (track.u[i] - middle);
      if (i > 0) product += (track.u[i] - middle) * (track.u[i - 1] - middle);
    }
  }
  return square > kNoSpread ? std::clamp(product / square, 0.0, 0.99) : 0;
}

bool grows(const Track& track) {
  const auto third = static_cast<std::ptrdiff_t>(track.excess.size() / 3);
  if (third < 3) return false;
  const double early = median<double>({track.excess.begin(), track.excess.begin() + third});
  const double late = median<double>({track.excess.end() - third, track.excess.end()});
  return late > 0 && late > kGrowth * std::max(early, 0.0) && late - early > 0.01;
}

// Judges one rank by itself; confidence is 0 if nothing is found.
Straggler judge(const Track& track, double shrink, double width, double log_bound,
                double judged_ranks) {
  Straggler found;
  const auto steps = static_cast<double>(track.u.size());
  const double steady = log_uniform_mean_bound(steps * shrink, mean(track.u));
  const double bursts = log_binomial_bound(steps * shrink, track.bursts / steps, 1 / width);
  const double better = std::min(steady, bursts);
  if (better > log_bound) return found;
  // Two tests were made for every rank, so both count in the bound on a false alarm.
  found.confidence = 1 - std::min(1.0, 2 * judged_ranks * math::exp(better));
  const double typical = median(track.excess);
  if (steady <= log_bound && typical > 0) {
    found.excess = typical;
    found.pattern = grows(track) ? SlowPattern::growing : SlowPattern::steady;
  } else {
    found.excess = median(track.burst_excess);
    found.step_share = track.bursts / steps;
    found.pattern = SlowPattern::bursts;
  }
  return found;
}

// Groups that ranks may have in common, by name: "host h3", "leaf l1", "rail 2".
using Groups = std::map<std::string, std::set<std::size_t>>;

void add_rails(const StepTimes& times, Groups& groups) {
  std::map<std::string, std::vector<std::size_t>> hosts;
  for (std::size_t r = 0; r < times.ranks.size(); ++r) {
    if (!times.ranks[r].host.empty()) hosts[times.ranks[r].host].push_back(r);
  }
  for (auto& [host, members] : hosts) {
    if (members.size() < 2) return;  // with one rank per host, rails mean nothing
    std::ranges::sort(members, {}, [&](std::size_t r) { return times.ranks[r].rank; });
    for (std::size_t i = 0; i < members.size(); ++i) {
      groups["rail " + std::to_string(i)].insert(members[i]);
    }
  }
}

// Groups of one kind, and the layer at fault if most ranks of a group are slow.
struct GroupKind {
  Groups groups;
  SlowLayer layer;
};

std::vector<GroupKind> groups_of(const StepTimes& times) {
  Groups hosts, leaves, rails;
  for (std::size_t r = 0; r < times.ranks.size(); ++r) {
    if (!times.ranks[r].host.empty()) hosts["host " + times.ranks[r].host].insert(r);
    if (!times.ranks[r].leaf.empty()) leaves["leaf " + times.ranks[r].leaf].insert(r);
  }
  add_rails(times, rails);
  // The widest cause first.
  return {{std::move(leaves), SlowLayer::fabric},
          {std::move(rails), SlowLayer::fabric},
          {std::move(hosts), SlowLayer::host_input}};
}

SlowLayer layer_alone(SlowPattern pattern) {
  switch (pattern) {
    case SlowPattern::steady:
      return SlowLayer::gpu_clock;
    case SlowPattern::growing:
      return SlowLayer::thermal;
    case SlowPattern::bursts:
      return SlowLayer::link;
  }
  return SlowLayer::gpu_clock;
}

void name_layers(const StepTimes& times, std::map<std::size_t, Straggler>& slow) {
  for (auto& [rank, found] : slow) found.layer = layer_alone(found.pattern);
  for (const auto& [groups, layer] : groups_of(times)) {
    for (const auto& [name, members] : groups) {
      std::size_t hit = 0;
      for (const std::size_t r : members) hit += slow.contains(r) && slow.at(r).shared.empty();
      const bool whole_job = members.size() == times.ranks.size();
      if (hit < 2 || whole_job ||
          static_cast<double>(hit) < kGroupShare * static_cast<double>(members.size())) {
        continue;
      }
      for (const std::size_t r : members) {
        if (!slow.contains(r) || !slow.at(r).shared.empty()) continue;
        slow.at(r).shared = name;
        slow.at(r).layer = layer;
      }
    }
  }
}

double cost_of(const StepTimes& times, const std::map<std::size_t, Straggler>& slow) {
  double with = 0, without = 0;
  for (const std::vector<double>& step : times.steps) {
    double all = 0, others = 0;
    for (std::size_t r = 0; r < step.size(); ++r) {
      if (!std::isfinite(step[r])) continue;
      all = std::max(all, step[r]);
      if (!slow.contains(r)) others = std::max(others, step[r]);
    }
    with += all;
    without += others;
  }
  return without > 0 ? with / without - 1 : 0;
}

}  // namespace

const char* to_text(SlowPattern pattern) {
  static constexpr std::array<const char*, 3> kNames = {"steady", "growing", "bursts"};
  return kNames[static_cast<std::size_t>(pattern)];
}

const char* to_text(SlowLayer layer) {
  static constexpr std::array<const char*, 5> kNames = {
      "GPU clock", "GPU or memory heat", "host or input", "NIC or its link", "fabric"};
  return kNames[static_cast<std::size_t>(layer)];
}

double log_uniform_mean_bound(double steps, double mean) {
  if (mean <= 0.5 || steps <= 0) return 0;
  if (mean >= 1) return -std::numeric_limits<double>::infinity();
  // The exponent a x - ln((e^a - 1)/a) is concave in a; its maximum is near a = 1/(1 - x).
  const auto exponent = [mean](double a) {
    return a * mean - (a + math::log1p(-math::exp(-a)) - math::log(a));
  };
  double low = 1e-6, high = 4 / (1 - mean) + 12;
  for (int i = 0; i < 200; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (exponent(a) < exponent(b) ? low : high) = exponent(a) < exponent(b) ? a : b;
  }
  return -steps * std::max(0.0, exponent((low + high) / 2));
}

double log_binomial_bound(double steps, double share, double chance) {
  if (share <= chance || steps <= 0 || chance <= 0 || chance >= 1) return 0;
  double divergence = share * math::log(share / chance);
  if (share < 1) divergence += (1 - share) * math::log((1 - share) / (1 - chance));
  return -steps * divergence;
}

StragglerReport find_stragglers(const StepTimes& times, const StragglerTest& test) {
  const Tracks tracks = tracks_of(times, test);
  const double r = lag_one(tracks);
  const double shrink = (1 - r) / (1 + r);
  const auto is_judged = [&test](const Track& t) {
    return t.u.size() >= static_cast<std::size_t>(std::max(1, test.steps_min));
  };
  const auto judged = static_cast<double>(std::ranges::count_if(tracks.ranks, is_judged));
  StragglerReport report{.ranks = times.ranks.size(),
                         .steps = static_cast<std::size_t>(tracks.steps),
                         .steps_effective = tracks.steps * shrink};
  if (judged == 0) return report;
  const double log_bound = math::log(test.false_positives / (2 * judged));
  std::map<std::size_t, Straggler> slow;
  for (std::size_t i = 0; i < tracks.ranks.size(); ++i) {
    if (!is_judged(tracks.ranks[i])) continue;
    Straggler found = judge(tracks.ranks[i], shrink, tracks.mean_width, log_bound, judged);
    if (found.confidence <= 0) continue;
    found.place = times.ranks[i];
    slow[i] = std::move(found);
  }
  name_layers(times, slow);
  report.step_cost = cost_of(times, slow);
  for (auto& [index, found] : slow) report.slow.push_back(std::move(found));
  std::ranges::stable_sort(report.slow, std::ranges::greater(),
                           [](const Straggler& s) { return s.excess * s.step_share; });
  return report;
}

}  // namespace orrery::failure
