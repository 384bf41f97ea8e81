// Admission by power: whether a site's feed can carry one more job.
//
//   a job starts  <=>  (always + all that runs + its own) * PUE <= feed
// Jobs count with their peak draw above the idle draw of their hosts; switches, storage and idle
// hosts are always counted. So the feed is never exceeded, whichever phases coincide; the price is
// the power left unused while jobs draw less. Slurm can enforce the same rule with kilowatts as
// licenses that a job requests. A job that alone exceeds the feed never starts. The PUE is that of
// the site's whole IT.
#pragma once

#include "layers/facility/node_power.h"

namespace orrery::facility {

struct PowerRoom {
  Watts feed;
  double pue = 1;
  Watts always;   // IT power that is always drawn
  Watts running;  // drawn by jobs at their peak, above idle

  Watts left() const;
};

// Returns the rise of one host from idle to peak.
Watts rise_of(const NodePower& host);
// Returns the largest rise that one more job may have.
Watts admissible(const PowerRoom& room);
bool admits(const PowerRoom& room, Watts rise);

}  // namespace orrery::facility
