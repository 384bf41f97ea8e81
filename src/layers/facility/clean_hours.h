// Delays work that can wait until hours in which the grid emits less.
//
//   start = the first of now and the whole hours up to now + wait for which the mean intensity over
//           the work's duration is at or below the bound; now, if there is none
// If no hour within its limit is clean enough, a job starts at once, because waiting would not
// help. The delay comes before the job enters the queue, so any wait in the queue is added to it.
// Wrong if work takes longer or shorter than stated, and if tomorrow's hours differ from the file,
// which acts as a perfect forecast.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/quantity.h"

namespace orrery::facility {

// Hourly values, repeated after the last one, as a function of time that can be integrated.
class HourCurve {
 public:
  explicit HourCurve(std::span<const GramsPerJoule> by_hour);

  bool is_empty() const { return sums_.size() < 2; }
  Seconds period() const;
  GramsPerJoule mean() const;
  // Returns the mean over `span` from `from`; for a span of zero, the value of that hour.
  GramsPerJoule mean(Seconds from, Seconds span) const;

 private:
  double until(double hours) const;  // integral from the start, in hours

  std::vector<double> sums_;  // sums of all hours before each
};

struct CleanRule {
  std::optional<GramsPerJoule> below;  // upper bound; nullopt: the mean of all hours
  Seconds wait;                        // maximum delay
};

// Returns when work that arrives at `now` and takes `takes` should start.
Seconds clean_start(const HourCurve& grid, const CleanRule& rule, Seconds now, Seconds takes);

struct CleanTimes {
  Seconds said;   // duration as known on arrival
  Seconds takes;  // actual duration
};

// The mean effect of the rule on work that arrives repeatedly from the first hour on.
struct CleanEffect {
  Seconds held;
  GramsPerJoule with;     // intensity while it runs
  GramsPerJoule without;  // intensity without waiting

  double ratio() const { return without > GramsPerJoule(0) ? with / without : 1; }
};
CleanEffect effect_of(const HourCurve& grid, const CleanRule& rule, Seconds every,
                      const CleanTimes& work);

}  // namespace orrery::facility
