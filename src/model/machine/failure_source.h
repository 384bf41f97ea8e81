// How often a host of a fleet fails, and where that rate comes from.
//
//   rate = base ((1 - p) + p m) + links + storms + spot      p lemons at m times the base rate
// The base rate is the design's own node_mtbf, or else the rate that published runs of that size
// had (failure/rates.h), by accelerators per host; spot interruptions come on top if the fleet is
// rented that way, and so do links, if the design gives them a rate of their own. Published fleets
// differ by a factor of six at equal size, and the interval says so.
// Parts that many hosts share fail separately: a leaf switch or a power unit takes its group down
// at once.
//   a job on n hosts is hit by   n rate + sum over kinds of ceil(n / group) k / mtbf
// with k parts per group: with rails, a set of hosts has a leaf per NIC, and any of them stops it.
// Groups are counted fleet by fleet, in the order of the hosts: two fleets under one leaf count as
// two leaves. Published rates include switches and power: a rate of their own comes on top, and is
// meant for designs whose node_mtbf counts only the nodes.
#pragma once

#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "model/figures/assumptions.h"
#include "model/machine/fleet.h"
#include "model/machine/models.h"

namespace orrery::machine {

enum class SharedPart { leaf_switch, power_unit };
inline constexpr Word<SharedPart> kSharedPartWords[] = {
    {SharedPart::leaf_switch, "leaf switch"}, {SharedPart::power_unit, "power distribution unit"}};
constexpr WordTable<SharedPart> words_of(SharedPart) { return kSharedPartWords; }

// A fault of a part that takes a group of hosts down with it.
struct SharedFault {
  SharedPart part = SharedPart::leaf_switch;
  PerSecond rate;  // per group
  int hosts = 1;   // hosts per group
};
using figures::assumptions::kSharedRepair;

struct FailureSource {
  PerSecond base;    // per host of the common kind; without lemons and spot
  PerSecond rate;    // per host drawn at random, spot interruptions included
  PerSecond spot;    // part of `rate` from spot interruptions
  PerSecond links;   // part of `rate` from links
  PerSecond storms;  // part of `rate` from NICs that pause the network
  double shape = 1;  // Weibull shape of a host's life (failure/lifetime.h)
  std::vector<SharedFault> shared;
  // The 80 % interval of the base rate, as factors of it; 0 if nothing is published.
  double low = 0;
  double high = 0;
  bool own = false;  // the rate is the design's own
  std::string reference;

  // Returns the failure rate of one host that is not a lemon, from all causes except spot.
  PerSecond host_rate() const;
  // Returns the failure rate of all shared parts (switches, power units) under a job on `hosts`
  // hosts.
  PerSecond shared_rate(int hosts) const;
};

// Returns the source for a run on `hosts` of the fleet's hosts.
FailureSource failure_source(const Fleet& fleet, const Models& models, int hosts);
// Ports of a host, and the parts that its hosts share.
struct SharedParts {
  int ports = 0;
  int hosts_per_leaf = 1;
  int leaves = 1;  // that these hosts share
  int hosts_per_rack = 1;
  Watts rack_limit;  // of the site or its cooling; 0 if neither is known
};
void add_shared_faults(FailureSource& source, const design::Failures& own,
                       const SharedParts& parts);

}  // namespace orrery::machine
