#include "layers/failure/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "layers/failure/effective_time.h"
#include "layers/failure/spares.h"

namespace orrery::failure {
namespace {

// data/validation/daly_examples.csv: intervals are printed to 0.1 s, goodput to 4 digits.
TEST(Interval, reproduces_all_daly_examples) {
  const CsvTable table = catalog::embedded_table("validation/daly_examples.csv").value();
  ASSERT_EQ(table.rows().size(), 8u);
  for (const CsvRow& row : table.rows()) {
    SCOPED_TRACE(std::string(table.text(row, "case")));
    const Seconds stall(*table.number(row, "stall_s"));
    const Seconds mtbf(*table.number(row, "mtbf_s"));
    const Seconds restart(*table.number(row, "restart_s"));
    EXPECT_NEAR(young_interval(stall, mtbf).base(), *table.number(row, "young_s"), 0.0501);
    EXPECT_NEAR(daly_interval(stall, mtbf).base(), *table.number(row, "daly_s"), 0.0501);
    EXPECT_NEAR(exact_interval(stall, mtbf).base(), *table.number(row, "exact_opt_s"), 0.0501);
    const IntervalChoice choice = choose_interval(
        {.save_stall = stall, .mtbf = mtbf, .restart = restart, .drain = Seconds(0)});
    EXPECT_NEAR(choice.interval.base(), *table.number(row, "used_s"), 0.0501);
    EXPECT_NEAR(choice.efficiency, *table.number(row, "goodput"), 0.000051);
    EXPECT_EQ(choice.limit, IntervalLimit::optimum);
  }
}

TEST(Interval, exact_optimum_beats_its_neighbours_and_does_not_depend_on_restart) {
  for (const double ratio : {1e-9, 1e-6, 1e-3, 0.05, 0.5, 2.0, 20.0}) {
    const Seconds mtbf = hours(3);
    const Seconds stall = mtbf * ratio;
    const Seconds best = exact_interval(stall, mtbf);
    for (const double restart_s : {0.0, 600.0, 7200.0}) {
      const auto at = [&](Seconds interval) {
        return exact_efficiency({.interval = interval,
                                 .save_stall = stall,
                                 .mtbf = mtbf,
                                 .restart = seconds(restart_s),
                                 .queue = {},
                                 .unsafe_window = {}});
      };
      EXPECT_GE(at(best), at(best * 1.02)) << ratio;
      EXPECT_GE(at(best), at(best * 0.98)) << ratio;
    }
    EXPECT_LT(best, mtbf);
  }
  EXPECT_EQ(exact_interval(Seconds(0), hours(1)), Seconds(0));
}

TEST(Interval, long_drain_lengthens_the_interval) {
  const IntervalChoice choice = choose_interval(
      {.save_stall = seconds(1), .mtbf = hours(3), .restart = minutes(5), .drain = minutes(10)});
  EXPECT_EQ(choice.interval, minutes(10));
  EXPECT_EQ(choice.limit, IntervalLimit::drain);
  EXPECT_STREQ(to_text(choice.limit), "drain");
}

TEST(Interval, without_failures_no_interval_is_needed) {
  const Seconds never(std::numeric_limits<double>::infinity());
  const IntervalChoice choice = choose_interval(
      {.save_stall = seconds(10), .mtbf = never, .restart = minutes(5), .drain = Seconds(0)});
  EXPECT_TRUE(std::isinf(choice.interval.base()));
  EXPECT_EQ(choice.efficiency, 1);
  EXPECT_NEAR(exact_efficiency({.interval = seconds(90), .save_stall = seconds(10), .mtbf = never}),
              0.9, 1e-12);
}

TEST(Interval, daly_stops_at_the_mtbf) {
  EXPECT_EQ(daly_interval(seconds(300), seconds(100)), seconds(100));
}

TEST(Interval, interval_without_cost_or_without_failures) {
  EXPECT_EQ(exact_interval(seconds(0), seconds(1000)).base(), 0);
  EXPECT_TRUE(std::isinf(
      exact_interval(seconds(10), Seconds(std::numeric_limits<double>::infinity())).base()));
  // x = tau/M solves x + ln(1 - x) = -c: x = 0.5 means c = ln 2 - 0.5.
  const double c = std::log(2.0) - 0.5;
  EXPECT_NEAR(exact_interval(seconds(1000 * c), seconds(1000)).base(), 500, 1e-9);
  // Young sqrt(2 x 50 x 3600) = 600; Daly 600 (1 + sqrt(h)/3 + h/9) - 50 with h = 50/7200.
  EXPECT_NEAR(young_interval(seconds(50), seconds(3600)).base(), 600, 1e-9);
  const double h = 50.0 / 7200;
  EXPECT_NEAR(daly_interval(seconds(50), seconds(3600)).base(),
              600 * (1 + std::sqrt(h) / 3 + h / 9) - 50, 1e-9);
  EXPECT_EQ(daly_interval(seconds(200), seconds(100)).base(), 100);
}

}  // namespace
}  // namespace orrery::failure
