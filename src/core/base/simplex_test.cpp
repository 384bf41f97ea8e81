#include "core/base/simplex.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Simplex, FindsTheEndOfABentValley) {
  const auto rosenbrock = [](const Point& p) {
    const double bend = p[1] - p[0] * p[0];
    return (1 - p[0]) * (1 - p[0]) + 100 * bend * bend;
  };
  const Point least = minimise(rosenbrock, {-1.2, 1}, {0.5, 0.5});
  EXPECT_NEAR(least[0], 1, 1e-6);
  EXPECT_NEAR(least[1], 1, 1e-6);
}

TEST(Simplex, StopsAfterTheStepsItIsGiven) {
  int asked = 0;
  minimise([&asked](const Point& p) { return ++asked, p[0] * p[0]; }, {3}, {1},
           {.steps = 5, .restarts = 1});
  EXPECT_LE(asked, 2 + 5 * 3);
}

}  // namespace
}  // namespace orrery
