// The cost of hash collisions: a random permutation over leaf and spine, each message split over
// several queue pairs, each queue pair hashed onto one of the equal-cost paths.
//
//   load of a link = messages it carries, where a queue pair counts 1/q; 1 is a full link
//   rate of a message = mean over its queue pairs of 1 / (largest load on the path)
// Only messages that leave their leaf count. For comparison, the closed form: with one queue pair
// and m = p messages over p links, a share 1 - (1 - 1/p)^m -> 63 % of the links is busy; the most
// loaded link carries about 1 + sqrt(2 ln(P) / q) for P links and q queue pairs. Source:
// data/validation/ecmp_collision_mc.csv, which it reproduces. Wrong if a NIC backs off: the rate is
// the fair share of the most loaded link, and what a message leaves unused elsewhere goes to no
// other.
#pragma once

#include <cstdint>

#include "layers/fabric/router.h"

namespace orrery::fabric {

struct EcmpStudy {
  int leaves = 32;
  int hosts_per_leaf = 32;
  int spines = 32;
  int queue_pairs = 1;
  int trials = 4;
  std::uint64_t seed = 1;
  catalog::RoutingKind routing = catalog::RoutingKind::ecmp;
};

struct EcmpSpread {
  double worst_load = 0;  // mean over trials of the highest link load
  double mean_rate = 0;   // per message, as a share of its NIC
  double least_rate = 0;
  double worst_load_deviation = 0;  // standard deviation over trials
  double mean_rate_deviation = 0;
};

EcmpSpread ecmp_spread(const EcmpStudy& study);

}  // namespace orrery::fabric
