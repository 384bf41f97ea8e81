// Where the requests of a region go: home, to another region, or nowhere.
//
// A region answers its own users first. What it cannot carry goes to the regions that it names, the
// first before the second, as far as these have room beside users of their own:
//   down for `after` or longer   all of it
//   over its capacity            what is over, at once, and to nobody farther than `farthest`: who
//                                is sent that far is late by the way alone
//   room = capacity - load, of a region that is up
// Those who ask the same region with the same place of their lists share its room by what they ask.
// What finds no room is turned away where the region is down, so that whoever took the rest keeps
// its own promise; where it is up it stays at home and waits. Between its loss and `after` a region
// that is down loses all that comes. It has its users back as it has replicas to carry them.
// A policy: it knows no clock and no replica, so that a run (processes/service_regions.h) and a
// live front are driven alike. Looks come in order of time, whenever a load or a capacity has
// changed and at next_look().
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "layers/traffic/replica_sim.h"

namespace orrery::traffic {

struct RegionWay {
  std::size_t to = 0;     // another region
  double round_trip = 0;  // seconds
};

struct Region {
  std::vector<RegionWay> ways;  // in the order in which they are asked
  double after = 60;            // seconds from its loss until its users are sent elsewhere
  double farthest = kForever;   // round trip that a region over its capacity sends its users
};

struct RegionNow {
  double load = 0;      // requests a second of its own users
  double capacity = 0;  // that it carries within its objectives; 0: it is down
};

struct RegionMove {
  std::size_t from = 0;
  std::size_t to = 0;
  double rate = 0;
};

// Of every region's load: what stays, what is turned away, and what is moved.
//   load = stays + refused + moved away
struct RegionRouting {
  std::vector<double> stays;
  std::vector<double> refused;
  std::vector<RegionMove> moves;

  double away(std::size_t region) const;
  double guests(std::size_t region) const;
};

// `given_up` are the regions that are known to be down.
RegionRouting route(std::span<const Region> regions, std::span<const RegionNow> now,
                    const std::vector<bool>& given_up);

class FailoverPolicy {
 public:
  explicit FailoverPolicy(std::vector<Region> regions);
  RegionRouting look(double at, std::span<const RegionNow> now);
  // When a region that is down will be given up; kForever: none is waited for.
  double next_look() const { return next_; }

 private:
  std::vector<Region> regions_;
  std::vector<double> down_since_;  // kForever: it is up
  double next_ = kForever;
};

// Shares of the time, and of the load then, that make up whether a region's users are answered.
//   1 - availability = unseen + (dark - unseen) (1 - carried others)
//                      + (1 - dark) few (1 - spilled others)
// Sites fail apart from one another; who is turned away counts by its share of the users.
struct RegionLosses {
  double dark = 0;     // of the time: its site is down
  double unseen = 0;   // of it: before its users are sent elsewhere
  double few = 0;      // of the time with the site up: too few replicas for the peak
  double carried = 0;  // of the load at peak: for which others have room while it is down
  double spilled = 0;  // of what is over its capacity then: for which others have room
  double others = 1;   // of the time: those others can
};
double region_availability(const RegionLosses& losses);

}  // namespace orrery::traffic
