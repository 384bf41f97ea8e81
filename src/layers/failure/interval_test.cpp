#include "layers/failure/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "layers/failure/effective_time.h"

namespace orrery::failure {
namespace {

// data/validation/daly_examples.csv: intervals are printed to 0.1 s, goodput to 4 digits.
TEST(Interval, ReproducesAllDalyExamples) {
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

TEST(Interval, ExactOptimumBeatsItsNeighboursAndDoesNotDependOnRestart) {
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

TEST(Interval, ALongDrainHoldsTheInterval) {
  const IntervalChoice choice = choose_interval(
      {.save_stall = seconds(1), .mtbf = hours(3), .restart = minutes(5), .drain = minutes(10)});
  EXPECT_EQ(choice.interval, minutes(10));
  EXPECT_EQ(choice.limit, IntervalLimit::drain);
  EXPECT_STREQ(to_text(choice.limit), "drain");
}

TEST(Interval, WithoutFailuresThereIsNothingToSaveFor) {
  const Seconds never(std::numeric_limits<double>::infinity());
  const IntervalChoice choice = choose_interval(
      {.save_stall = seconds(10), .mtbf = never, .restart = minutes(5), .drain = Seconds(0)});
  EXPECT_TRUE(std::isinf(choice.interval.base()));
  EXPECT_EQ(choice.efficiency, 1);
  EXPECT_NEAR(exact_efficiency({.interval = seconds(90), .save_stall = seconds(10), .mtbf = never}),
              0.9, 1e-12);
}

TEST(Interval, DalyStopsAtTheMtbf) {
  EXPECT_EQ(daly_interval(seconds(300), seconds(100)), seconds(100));
}

}  // namespace
}  // namespace orrery::failure
