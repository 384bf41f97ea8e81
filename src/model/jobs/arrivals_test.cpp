#include "model/jobs/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/jobs/service_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

// Half of 10 requests per second reach the first service; a fifth of these escalate to the second,
// and half of those to the third.
TEST(Arrivals, escalated_requests_follow_the_chain_of_services) {
  const design::Design d = service_design(
      "  - serve: { name: s, model: llama-3-8b, arrivals: { rate: 10 /s, peak: 3, cache_hits: "
      "0.5 }, escalate: { service: m, share: 0.2 } }\n"
      "  - serve: { name: m, model: llama-3-8b, arrivals: { rate: 2 /s, peak: 1.5 }, "
      "escalate: { service: l, share: 0.5 } }\n"
      "  - serve: { name: l, model: llama-3-8b, arrivals: { rate: 0 /s } }\n");
  const auto first = streams_into(d, d.workloads[0]);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_DOUBLE_EQ(first[0].rate.base(), 5);
  const auto last = streams_into(d, d.workloads[2]);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_DOUBLE_EQ(last[0].rate.base(), 1);
  EXPECT_DOUBLE_EQ(last[0].peak, 1.5);
  EXPECT_DOUBLE_EQ(last[1].rate.base(), 5 * 0.2 * 0.5);
  EXPECT_DOUBLE_EQ(last[1].peak, 3);
  const auto day = day_of_streams(last, 0.5);
  EXPECT_NEAR(day[15], 0.5 * (1 * 1.5 + 0.5 * 3), 1e-9);
}

// Ten requests per second on average, thirty at 15:00, symmetric around that hour.
TEST(Arrivals, a_day_keeps_its_mean_and_peaks_in_the_fifteenth_hour) {
  const auto day = day_of_requests(10, 3);
  double sum = 0;
  for (const double hour : day) sum += hour;
  EXPECT_NEAR(sum / 24, 10, 1e-9);
  EXPECT_NEAR(day[15], 30, 1e-6);
  EXPECT_EQ(std::ranges::max_element(day) - day.begin(), 15);
  EXPECT_EQ(std::ranges::min_element(day) - day.begin(), 3);
  EXPECT_NEAR(day[14], day[16], 1e-9);
  EXPECT_NEAR(day[9], day[21], 1e-9);
  for (const double hour : day_of_requests(10, 1)) EXPECT_DOUBLE_EQ(hour, 10);
}

// The rate at hour h is proportional to exp(k cos(2 pi (h - 15) / 24)). The cosine is 1 at the
// peak, 0 six hours later and -1 twelve hours later: equal ratios.
TEST(Arrivals, all_days_have_the_same_shape) {
  const auto day = day_of_requests(10, 3);
  EXPECT_NEAR(day[15] / day[9], day[9] / day[3], 1e-9);
  EXPECT_NEAR(day[15] / day[11], std::sqrt(day[15] / day[9]), 1e-9) << "cos 60 degrees is a half";
  EXPECT_NEAR(day[15], 30, 1e-9);
  EXPECT_NEAR(day_of_requests(1, 20)[15], 20, 1e-6);
  for (const double hour : day_of_requests(4, 0.5)) EXPECT_DOUBLE_EQ(hour, 4);
  const auto two = day_of_streams({{PerSecond(10), 3}, {PerSecond(5), 1}}, 0.5);
  EXPECT_NEAR(two[15], 15 + 2.5, 1e-9);
  EXPECT_NEAR(two[3], day[3] / 2 + 2.5, 1e-9);
}

}  // namespace
}  // namespace orrery::jobs
