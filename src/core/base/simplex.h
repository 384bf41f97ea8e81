// Minimises a function of several numbers without derivatives.
//
// The simplex method of Nelder and Mead (1965), restarted from its best point with steps half as
// long each time. Deterministic: equal functions give equal points. It finds a local minimum, not
// necessarily the global one. A function with bounds must return a high value outside them.
#pragma once

#include <functional>
#include <vector>

namespace orrery {

using Point = std::vector<double>;

struct SimplexOptions {
  int steps = 250;  // per restart
  int restarts = 3;
};

// `steps` are the side lengths of the first simplex, one for each number in `start`.
Point minimise(const std::function<double(const Point&)>& loss, Point start, const Point& steps,
               const SimplexOptions& options = {});

}  // namespace orrery
