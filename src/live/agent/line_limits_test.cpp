// Lines of metrics that break off in the middle of their labels, and ranks up to the last that a
// file of steps may name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/agent/exporter_metrics.h"
#include "live/agent/straggler_input.h"

namespace orrery::agent {
namespace {

// What follows would be a number, had the labels ended.
TEST(LineLimits, labels_that_do_not_end_are_no_labels) {
  const MetricFamilies known = {{.name = "m", .help = "h", .samples = {}}};
  for (const char* line :
       {"m{ 1", "m{a 1", "m{a= 1", "m{a=\"x\" 1", "m{a=\"x\", 1", "m{__a 1", "m{__a=\"x\"} 1",
        "m{a=\"x\",a=\"y\"} 1", "m{a=\"x\",a=\"y\" 1", "m{,} 1", "m{a=\"x\",,} 1", "m} 1"}) {
    const ParsedMetrics parsed = parse_metrics(line, "f", known);
    EXPECT_TRUE(parsed.families.empty()) << line;
    EXPECT_EQ(parsed.faults.size(), 1U) << line;
  }
  const ParsedMetrics good = parse_metrics("m{a=\"x\",b=\"y\",} 1.5\nm 2\n", "f", known);
  EXPECT_TRUE(good.faults.empty());
  ASSERT_EQ(good.families.size(), 1U);
  ASSERT_EQ(good.families[0].samples.size(), 2U);
  using Labels = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(good.families[0].samples[0].labels, (Labels{{"a", "x"}, {"b", "y"}}));
  EXPECT_EQ(good.families[0].samples[0].value, 1.5);
  EXPECT_TRUE(good.families[0].samples[1].labels.empty());
  EXPECT_EQ(good.families[0].samples[1].value, 2);
}

TEST(LineLimits, a_hundred_thousand_ranks_are_as_many_as_can_be) {
  EXPECT_EQ(kStragglerRanksMax, 100'000U);
  EXPECT_TRUE(step_times_from_csv("step,rank,seconds\n1,0,1.5\n1,1,2\n", "f"));
}

}  // namespace
}  // namespace orrery::agent
