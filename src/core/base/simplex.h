// The least of a function of several numbers, without its derivatives.
//
// The simplex method of Nelder and Mead (1965), restarted from its best point with steps half as
// long each time. Deterministic: equal functions give equal points. Finds a near minimum, not the
// least of all; a function that is cheap to be far from its bounds must say so by its value.
#pragma once

#include <functional>
#include <vector>

namespace orrery {

using Point = std::vector<double>;

struct SimplexOptions {
  int steps = 250;  // of each restart
  int restarts = 3;
};

// `steps` are the lengths of the first simplex's sides, one for each number of `start`.
Point minimise(const std::function<double(const Point&)>& loss, Point start, const Point& steps,
               const SimplexOptions& options = {});

}  // namespace orrery
