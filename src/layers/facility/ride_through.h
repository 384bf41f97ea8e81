// What a site lives on when the utility is out: batteries, then generators.
//
//   ride     = battery x nameplate / load       the battery's energy is that of `battery` at
//   nameplate dark     from the battery's end until a generator carries the site or the utility is
//   back cooling  stands until a generator carries it, or the utility does: pumps and fans are on
//   no UPS seconds a year without power = outages a year x E[(min(D, G) - ride)+],  D exponential,
//   mean d
//                                = n d (e^(-ride/d) - e^(-G/d)) where the ride ends before G
// Generators that are there start, and have fuel: published outages that they did not carry are of
// other causes. Lengths of outages vary more than an exponential where storms are in them.
#pragma once

#include <optional>

#include "core/base/quantity.h"

namespace orrery::facility {

struct BackupPower {
  std::optional<Seconds> battery;    // at nameplate; none: the IT falls with the utility
  std::optional<Seconds> generator;  // until it carries the site; none: there is none
};

inline constexpr Seconds kWhole = years(1000);

struct Outage {
  Seconds dark_from;    // since the utility failed; at dark_to where the IT never falls
  Seconds dark_to;      // power is back
  Seconds cooled_from;  // the cooling is back

  bool takes_hosts() const { return dark_from < dark_to; }
};

// Of an outage of that length, at a load that is this share of the nameplate.
Outage live_through(const BackupPower& backup, Seconds length, double load_share);

// Of a year, the time without power; of each such time at most the first `until`.
Seconds dark_a_year(const BackupPower& backup, double outages, Seconds mean_length,
                    double load_share, Seconds until = kWhole);

}  // namespace orrery::facility
