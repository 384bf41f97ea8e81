// Whether a site's feed carries one more job: admission by power.
//
//   a job starts  <=>  (always + all that runs + its own) * PUE <= feed
// Jobs count at their highest, above what their hosts draw idle; switches, storage and idle hosts
// are there always. So the feed is never passed, whatever phases meet, and what is left over while
// jobs draw less is the price. Slurm can hold the same rule: kilowatts as licenses, which a job
// asks for. A job that alone is too much for the feed never starts. The PUE is that of the site's
// whole IT.
#pragma once

#include "layers/facility/node_power.h"

namespace orrery::facility {

struct PowerRoom {
  Watts feed;
  double pue = 1;
  Watts always;   // of IT
  Watts running;  // of jobs, at their highest, above idle

  Watts left() const;
};

// Of one host at work, above idle.
Watts rise_of(const NodePower& host);
// The most that one more job may rise by.
Watts admissible(const PowerRoom& room);
bool admits(const PowerRoom& room, Watts rise);

}  // namespace orrery::facility
