// How often a host of a fleet fails, and who says so.
//
//   rate = base ((1 - p) + p m) + links + storms + spot      p lemons at m times the base rate
// The base rate is the design's own node_mtbf, else what the published runs say of a run of that
// size (failure/rates.h), by accelerators of a host; spot interruptions come on top where the fleet
// is rented so, and so do links, where the design gives them a rate of their own. Published fleets
// differ by a factor of six at equal size, and the interval says so.
// What many hosts hang on fails by itself: a leaf switch or a power unit takes its group at once.
//   a job on n hosts is struck by   n rate + sum over kinds of ceil(n / group) / mtbf
// Groups are counted out fleet by fleet, in the order of the hosts: two fleets under one leaf are
// two leaves here. Published rates have switches and power in them: a rate of their own comes on
// top, and is for designs whose node_mtbf counts the nodes alone.
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

// A part that takes a group of hosts with it.
struct SharedFault {
  SharedPart part = SharedPart::leaf_switch;
  PerSecond rate;  // of one such part
  int hosts = 1;   // on one
};
using figures::assumptions::kSharedRepair;

struct FailureSource {
  PerSecond base;    // of one host of the common kind; no lemons, no spot
  PerSecond rate;    // of a host drawn at random, spot interruptions included
  PerSecond spot;    // of it
  PerSecond links;   // likewise
  PerSecond storms;  // likewise: NICs that pause the network
  double shape = 1;  // of a host's life (failure/lifetime.h)
  std::vector<SharedFault> shared;
  // The 80 % interval of the base rate, as factors of it; 0 where nothing is published.
  double low = 0;
  double high = 0;
  bool own = false;  // the design's
  std::string reference;

  // Of one host that is no lemon, whatever takes it, spot apart.
  PerSecond host_rate() const;
  // Of all parts that a run on so many hosts hangs on.
  PerSecond shared_rate(int hosts) const;
};

// For a run on so many of the fleet's hosts.
FailureSource failure_source(const Fleet& fleet, const Models& models, int hosts);
// Ports of a host, and what its hosts hang on.
struct SharedParts {
  int ports = 0;
  int hosts_per_leaf = 1;
  int hosts_per_rack = 1;
  Watts rack_limit;  // of the site or its cooling; 0 where neither is known
};
void add_shared_faults(FailureSource& source, const design::Failures& own,
                       const SharedParts& parts);

}  // namespace orrery::machine
