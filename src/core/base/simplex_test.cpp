#include "core/base/simplex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery {
namespace {

using testing::ElementsAre;

TEST(Simplex, finds_the_end_of_a_bent_valley) {
  const auto rosenbrock = [](const Point& p) {
    const double bend = p[1] - p[0] * p[0];
    return (1 - p[0]) * (1 - p[0]) + 100 * bend * bend;
  };
  const Point least = minimise(rosenbrock, {-1.2, 1}, {0.5, 0.5});
  EXPECT_NEAR(least[0], 1, 1e-6);
  EXPECT_NEAR(least[1], 1, 1e-6);
}

TEST(Simplex, stops_after_the_steps_it_is_given) {
  int asked = 0;
  minimise([&asked](const Point& p) { return ++asked, p[0] * p[0]; }, {3}, {1},
           {.steps = 5, .restarts = 1});
  EXPECT_LE(asked, 2 + 5 * 3);
}

// Losses are returned one by one, so that each answer decides one branch.
struct Walk {
  std::vector<double> losses;
  std::vector<Point> asked;

  Point from(Point start, const Point& steps, SimplexOptions options) {
    const auto loss = [this](const Point& p) {
      asked.push_back(p);
      return losses.at(asked.size() - 1);
    };
    return minimise(loss, std::move(start), steps, options);
  }
};

// A (0,0), B (4,0) and C (0,8), of which C is the worst: the middle of the others is (2,0).
TEST(Simplex, losses_choose_the_simplex_step) {
  const auto walk = [](std::vector<double> after) {
    Walk w{.losses = {1, 2, 3}};
    w.losses.insert(w.losses.end(), after.begin(), after.end());
    w.from({0, 0}, {4, 8}, {.steps = 1, .restarts = 1});
    return std::vector<Point>(w.asked.begin() + 3, w.asked.end());
  };
  const Point mirrored = {4, -8}, far = {6, -16}, outside = {3, -4}, inside = {1, 4};
  EXPECT_THAT(walk({0.5, 0.4}), ElementsAre(mirrored, far)) << "better than the best";
  EXPECT_THAT(walk({1, 9, 9, 9}).size(), 1U) << "as good as the best";
  EXPECT_THAT(walk({1.9}), ElementsAre(mirrored)) << "better than the second worst";
  EXPECT_THAT(walk({2, 1.9}), ElementsAre(mirrored, outside));
  EXPECT_THAT(walk({2.9, 1.9}), ElementsAre(mirrored, outside));
  EXPECT_THAT(walk({3, 1.9}), ElementsAre(mirrored, inside)) << "no better than the worst";
  EXPECT_THAT(walk({3.5, 1.9}), ElementsAre(mirrored, inside));
  // Neither helps, so B and C move half way to A.
  EXPECT_THAT(walk({3.5, 3, 8, 9}), ElementsAre(mirrored, inside, Point{2, 0}, Point{0, 4}));
  EXPECT_THAT(walk({2.5, 2.5, 8, 9}), ElementsAre(mirrored, outside, Point{2, 0}, Point{0, 4}));
}

TEST(Simplex, best_point_is_returned) {
  const auto best = [](std::vector<double> losses) {
    return Walk{.losses = std::move(losses)}.from({0, 0}, {4, 8}, {.steps = 1, .restarts = 1});
  };
  EXPECT_EQ(best({1, 2, 3, 0.5, 0.4}), (Point{6, -16}));
  EXPECT_EQ(best({1, 2, 3, 0.5, 0.5}), (Point{4, -8})) << "farther is no better";
  EXPECT_EQ(best({1, 2, 3, 0.5, 0.6}), (Point{4, -8}));
  EXPECT_EQ(best({3, 1, 2, 0.9, 0.95}), (Point{4, 8})) << "A mirrored at the middle of B and C";
  EXPECT_EQ(best({1, 2, 3, 2.5, 0.1}), (Point{3, -4}));
  EXPECT_EQ(best({1, 2, 3, 3.5, 3.2, 0.2, 9}), (Point{2, 0}));
}

TEST(Simplex, restart_begins_at_the_best_point_with_half_the_step) {
  Walk w{.losses = {5, 4, 6, 4, 7, 8}};
  EXPECT_EQ(w.from({1, 1}, {4, 8}, {.steps = 0, .restarts = 2}), (Point{5, 1}));
  EXPECT_THAT(w.asked, ElementsAre(Point{1, 1}, Point{5, 1}, Point{1, 9}, Point{5, 1}, Point{7, 1},
                                   Point{5, 5}));
}

// A valley a thousand steps away is reached because steps grow.
TEST(Simplex, steps_grow_while_the_slope_continues) {
  const Point p = minimise([](const Point& x) { return std::abs(x[0] - 1000); }, {0}, {1},
                           {.steps = 60, .restarts = 1});
  EXPECT_NEAR(p[0], 1000, 1);
}

// If nothing is better than the start, the other points close in on it from all sides.
TEST(Simplex, simplex_shrinks_when_nothing_improves) {
  double last = 1;
  minimise(
      [&last](const Point& x) {
        last = std::hypot(x[0], x[1]);
        return last == 0 ? 0.0 : 1.0;
      },
      {0, 0}, {1, 1}, {.steps = 12, .restarts = 1});
  EXPECT_LT(last, 0.1);
}

TEST(Simplex, four_dimensional_minimum_is_found) {
  const Point least = minimise(
      [](const Point& x) {
        double sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          const double d = x[i] - static_cast<double>(i);
          sum += (static_cast<double>(i) + 1) * d * d;
        }
        return sum;
      },
      {5, 5, 5, 5}, {1, 1, 1, 1});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(least[i], static_cast<double>(i), 1e-4);
}

}  // namespace
}  // namespace orrery
