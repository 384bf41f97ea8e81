// Where the requests of a region go: to itself, to another region, or nowhere.
//
// A region answers its own users first. What it cannot carry goes to the regions that it names, in
// their order, as far as these have room besides their own users:
//   down for `after` or longer   all requests
//   over its capacity            the excess, at once, but only to regions within `farthest`:
//                                the way to others would by itself make requests late
//   room = capacity - load, of a region that is up
// Regions that ask the same region at the same position of their lists share its room in proportion
// to what they ask. Requests that find no room are refused if their region is down, so that regions
// which took the others keep their own objectives; if it is up, they stay there and wait. Between
// its loss and `after`, a region that is down loses all its requests. When it comes back, it gets
// its users back as fast as it has replicas to carry them. It is a policy without a clock or
// replicas, so it drives a run (processes/service_regions.h) and a live front end alike. Looks come
// in order of time, whenever a load or a capacity has changed, and at next_look().
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "layers/traffic/replica_sim.h"

namespace orrery::traffic {

struct RegionWay {
  std::size_t to = 0;     // index of the other region
  double round_trip = 0;  // seconds
};

struct Region {
  std::vector<RegionWay> ways;  // in the order in which they are tried
  double after = 60;            // seconds from its loss until its users are sent elsewhere
  // Longest round trip to which a region over its capacity sends users.
  double farthest = kForever;
};

struct RegionNow {
  double load = 0;      // requests per second of its own users
  double capacity = 0;  // requests per second within its objectives; 0: it is down
};

struct RegionMove {
  std::size_t from = 0;
  std::size_t to = 0;
  double rate = 0;
};

// For every region, which part of the load stays, is refused, and is moved:
//   load = stays + refused + moved away
struct RegionRouting {
  std::vector<double> stays;
  std::vector<double> refused;
  std::vector<RegionMove> moves;

  double away(std::size_t region) const;
  double guests(std::size_t region) const;
};

// `given_up` are the regions known to be down.
RegionRouting route(std::span<const Region> regions, std::span<const RegionNow> now,
                    const std::vector<bool>& given_up);

class FailoverPolicy {
 public:
  explicit FailoverPolicy(std::vector<Region> regions);
  RegionRouting look(double at, std::span<const RegionNow> now);
  // Returns when a region that is down will be given up; kForever if there is none.
  double next_look() const { return next_; }

 private:
  std::vector<Region> regions_;
  std::vector<double> down_since_;  // kForever: it is up
  double next_ = kForever;
};

// The shares of time, and of the load at those times, from which a region's availability follows.
//   1 - availability = unseen + (dark - unseen) (1 - carried others)
//                      + (1 - dark) few (1 - spilled others)
// Sites fail independently. Requests that are refused count by their share of the users.
struct RegionLosses {
  double dark = 0;     // share of time during which its site is down
  double unseen = 0;   // part of `dark` before its users are sent elsewhere
  double few = 0;      // share of time, with the site up, with too few replicas for the peak
  double carried = 0;  // share of peak load for which others have room while it is down
  double spilled = 0;  // share of the load above its capacity for which others have room
  double others = 1;   // share of time during which those others are available
};
double region_availability(const RegionLosses& losses);

}  // namespace orrery::traffic
