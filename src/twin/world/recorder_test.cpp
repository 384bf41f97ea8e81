// Levels over time as means of bins, and how many events are kept.
#include "twin/world/recorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace orrery::world {
namespace {

// Ten seconds in four bins of 2.5 s: a level of 2 from second 1, of 5 from second 6.
TEST(Recorder, a_bin_holds_the_mean_of_its_level) {
  const auto at_s = [](double s) { return sim::SimTime::from(Seconds(s)); };
  Recorder r(at_s(10), 4);
  const std::size_t a = r.add_column("a");
  const std::size_t b = r.add_column("b");
  r.change(at_s(1), a, 2);
  r.change(at_s(6), a, 3);
  r.change(at_s(6), b, 1);
  const Series s = r.series(at_s(9));
  EXPECT_EQ(s.bin, seconds(2.5));
  ASSERT_EQ(s.means.size(), 4u);
  EXPECT_NEAR(s.means[0][a], 2 * 1.5 / 2.5, 1e-12);
  EXPECT_NEAR(s.means[1][a], 2, 1e-12);
  EXPECT_NEAR(s.means[2][a], (2 * 1 + 5 * 1.5) / 2.5, 1e-12);
  EXPECT_NEAR(s.means[3][a], 5, 1e-12) << "of the 1.5 s that were";
  EXPECT_NEAR(s.means[2][b], 1.5 / 2.5, 1e-12);
  // Bins that cover the whole of a span that they do not divide.
  Recorder odd(sim::SimTime::nanoseconds(10), 3);
  odd.add_column("a");
  EXPECT_EQ(odd.series(sim::SimTime::nanoseconds(10)).bin, sim::SimTime::nanoseconds(4).seconds());
  EXPECT_EQ(Recorder(at_s(10), 4).series(at_s(5)).means.size(), 2u);
}

// Two hundred thousand events are kept, and later ones are counted.
TEST(Recorder, events_beyond_the_limit_are_counted) {
  Recorder r(sim::SimTime::from(hours(1)), 4);
  for (int i = 0; i < 200'000; ++i) {
    r.record({.time = {}, .kind = sim::TraceKind::instant, .track = "t", .name = "n", .value = 1});
    r.record_host({});
  }
  EXPECT_EQ(r.events_left_out(), 0U);
  r.record({.time = {}, .kind = sim::TraceKind::instant, .track = "t", .name = "n", .value = 1});
  EXPECT_EQ(r.events_left_out(), 1U);
  r.record_host({});
  r.record_host({});
  EXPECT_EQ(r.events_left_out(), 3U);
  EXPECT_EQ(r.events().size(), 200'000U);
  EXPECT_EQ(r.host_changes().size(), 200'000U);
}

// Seven seconds in three bins of three: the last has one.
TEST(Recorder, the_last_bin_is_a_mean_over_what_is_left) {
  Recorder r(sim::SimTime::from(seconds(7)), 3);
  const std::size_t column = r.add_column("a");
  const std::size_t other = r.add_column("b");
  EXPECT_EQ(column, 0U);
  EXPECT_EQ(other, 1U);
  const auto at = [](double s) { return sim::SimTime::from(Seconds(s)); };
  r.change(at(1), column, 6);
  r.change(at(4), column, -2);
  r.change(at(6.5), other, 10);
  const Series s = r.series(at(7));
  EXPECT_NEAR(s.bin.base(), 7 / 3.0, 1e-8);
  EXPECT_EQ(s.columns, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(s.means.size(), 3U);
  const double bin = s.bin.base();
  EXPECT_NEAR(s.means[0][0], 6 * (bin - 1) / bin, 1e-6);
  EXPECT_NEAR(s.means[1][0], (6 * (4 - bin) + 4 * (2 * bin - 4)) / bin, 1e-6);
  EXPECT_NEAR(s.means[2][0], 4, 1e-6);
  EXPECT_EQ(s.means[1][1], 0);
  EXPECT_NEAR(s.means[2][1], 10 * 0.5 / (7 - 2 * bin), 1e-6);
  // A run that was cut short has fewer.
  Recorder cut(sim::SimTime::from(seconds(9)), 3);
  cut.add_column("a");
  cut.change(at(0), 0, 2);
  EXPECT_EQ(cut.series(at(6)).means.size(), 2U);
}

}  // namespace
}  // namespace orrery::world
