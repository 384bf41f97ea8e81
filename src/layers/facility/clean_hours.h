// Work that can wait is held for hours in which the grid emits less.
//
//   start = the first of now and the whole hours up to now + wait from which on the mean intensity
//           over the time that the work takes is at or below the bound; now, where there is none
// A job that no hour within its limit is clean enough for starts at once: to wait would help
// nobody. It is held before it comes to the queue, so that whatever it then waits for a place is
// added to it. Wrong where work takes longer or shorter than was said, and where tomorrow's hours
// are not those of the file, which stands in for a forecast that is always right.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/quantity.h"

namespace orrery::facility {

// Values by the hour, repeated from their end, as a function of time that can be integrated.
class HourCurve {
 public:
  explicit HourCurve(std::span<const GramsPerJoule> by_hour);

  bool is_empty() const { return sums_.size() < 2; }
  Seconds period() const;
  GramsPerJoule mean() const;
  // From a time on, for a while; of no time, what the hour has.
  GramsPerJoule mean(Seconds from, Seconds span) const;

 private:
  double until(double hours) const;  // integral, in hours

  std::vector<double> sums_;  // of all hours before
};

struct CleanRule {
  std::optional<GramsPerJoule> below;  // none: the mean of all hours
  Seconds wait;                        // at the most
};

// When work that came now, and takes so long, starts.
Seconds clean_start(const HourCurve& grid, const CleanRule& rule, Seconds now, Seconds takes);

struct CleanTimes {
  Seconds said;   // how long it takes, as far as is known when it comes
  Seconds takes;  // in truth
};

// What the rule does to work that comes again and again from the first hour on, in the mean.
struct CleanEffect {
  Seconds held;
  GramsPerJoule with;     // intensity while it runs
  GramsPerJoule without;  // and if it did not wait

  double ratio() const { return without > GramsPerJoule(0) ? with / without : 1; }
};
CleanEffect effect_of(const HourCurve& grid, const CleanRule& rule, Seconds every,
                      const CleanTimes& work);

}  // namespace orrery::facility
