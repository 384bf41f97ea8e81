// What keeps a site running when the utility fails: batteries, then generators.
//
//   ride     = battery x nameplate / load       the battery lasts for `battery` at nameplate load
//   dark     from the battery's end until a generator carries the site or the utility is back
//   cooling  off until a generator or the utility carries it: pumps and fans have no UPS
//   seconds per year without power = outages per year x E[(min(D, G) - ride)+]
//                                  = n d (e^(-ride/d) - e^(-G/d))     if the ride ends before G
// D, the length of an outage, is exponential with mean d; G is the generator's start time.
// Generators are assumed to start and to have fuel: published outages that they did not carry have
// other causes. Real lengths vary more than an exponential distribution if storms are among the
// causes.
#pragma once

#include <optional>

#include "core/base/quantity.h"

namespace orrery::facility {

struct BackupPower {
  std::optional<Seconds> battery;    // at nameplate load; nullopt: the IT fails with the utility
  std::optional<Seconds> generator;  // time until it carries the site; nullopt: there is none
};

inline constexpr Seconds kWhole = years(1000);

struct Outage {
  Seconds dark_from;    // since the utility failed; equal to dark_to if the IT never loses power
  Seconds dark_to;      // power is back
  Seconds cooled_from;  // cooling is back

  bool takes_hosts() const { return dark_from < dark_to; }
};

// Returns the course of an outage of that length, at a load that is this share of the nameplate.
Outage live_through(const BackupPower& backup, Seconds length, double load_share);

// Returns the time per year without power, counting at most the first `until` of each such time.
Seconds dark_a_year(const BackupPower& backup, double outages, Seconds mean_length,
                    double load_share, Seconds until = kWhole);

}  // namespace orrery::facility
