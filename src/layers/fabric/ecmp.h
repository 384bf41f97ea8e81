// What hashing costs: a random permutation over leaf and spine, each message split over some queue
// pairs, each queue pair hashed onto one of the equal paths.
//
//   load of a link = messages it carries, a queue pair counting 1/q; 1 is a full link
//   rate of a message = mean over its queue pairs of 1 / (largest load on the path)
// Only messages that leave their leaf count. Closed form beside it: with one queue pair and m = p
// messages over p links a share 1 - (1 - 1/p)^m -> 63 % of the links is busy, and the worst link
// has about 1 + sqrt(2 ln(P) / q) of a link's load for P links and q queue pairs. Source:
// data/validation/ecmp_collision_mc.csv, which it reproduces. Wrong where a NIC backs off: the rate
// is the fair share of the worst link, with nothing given to others.
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
  double worst_load = 0;  // mean over trials of the worst link's load
  double mean_rate = 0;   // of a message, as a share of its NIC
  double least_rate = 0;
  double worst_load_deviation = 0;  // over trials
  double mean_rate_deviation = 0;
};

EcmpSpread ecmp_spread(const EcmpStudy& study);

}  // namespace orrery::fabric
