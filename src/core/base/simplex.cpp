#include "core/base/simplex.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace orrery {
namespace {

using Loss = std::function<double(const Point&)>;

struct Simplex {
  std::vector<Point> points;
  std::vector<double> losses;

  void sort() {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return losses[a] < losses[b]; });
    Simplex sorted;
    for (const std::size_t i : order) {
      sorted.points.push_back(points[i]);
      sorted.losses.push_back(losses[i]);
    }
    *this = std::move(sorted);
  }
};

// Returns the point on the line from the centre of all points except the worst towards the worst,
// `reach` times as far as the worst is.
Point towards_worst(const Simplex& s, double reach) {
  const std::size_t n = s.points.size() - 1;
  Point at(n);
  for (std::size_t j = 0; j < n; ++j) {
    double centre = 0;
    for (std::size_t i = 0; i < n; ++i) centre += s.points[i][j] / static_cast<double>(n);
    at[j] = centre + reach * (s.points[n][j] - centre);
  }
  return at;
}

void shrink(Simplex& s, const Loss& loss) {
  for (std::size_t i = 1; i < s.points.size(); ++i) {
    for (std::size_t j = 0; j < s.points[i].size(); ++j) {
      s.points[i][j] = (s.points[0][j] + s.points[i][j]) / 2;
    }
    s.losses[i] = loss(s.points[i]);
  }
}

void step(Simplex& s, const Loss& loss) {
  s.sort();
  const std::size_t worst = s.points.size() - 1;
  const auto take = [&](Point p, double l) {
    s.points[worst] = std::move(p);
    s.losses[worst] = l;
  };
  Point reflected = towards_worst(s, -1);
  const double l = loss(reflected);
  if (l < s.losses[0]) {
    Point expanded = towards_worst(s, -2);
    const double e = loss(expanded);
    return e < l ? take(std::move(expanded), e) : take(std::move(reflected), l);
  }
  if (l < s.losses[worst - 1]) return take(std::move(reflected), l);
  Point contracted = towards_worst(s, l < s.losses[worst] ? -0.5 : 0.5);
  const double c = loss(contracted);
  if (c < std::min(l, s.losses[worst])) return take(std::move(contracted), c);
  shrink(s, loss);
}

}  // namespace

Point minimise(const Loss& loss, Point start, const Point& steps, const SimplexOptions& options) {
  for (int restart = 0; restart < options.restarts; ++restart) {
    Simplex s{.points = {start}, .losses = {loss(start)}};
    for (std::size_t j = 0; j < start.size(); ++j) {
      Point p = start;
      p[j] += steps[j] / (1 << restart);
      s.losses.push_back(loss(p));
      s.points.push_back(std::move(p));
    }
    for (int i = 0; i < options.steps; ++i) step(s, loss);
    s.sort();
    start = s.points[0];
  }
  return start;
}

}  // namespace orrery
