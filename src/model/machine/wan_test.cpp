#include "model/machine/wan.h"

#include <gtest/gtest.h>

#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

// Over two lines latencies add up and the narrower rate counts; the direct line is slower here.
TEST(Wan, path_has_the_least_latency) {
  design::Design d = template_design("chatbot-zones");
  d.fabric.wan = {
      {.between = {"us-east", "us-west"}, .rate = gbits_per_s(10), .latency = milliseconds(60)},
      {.between = {"us-west", "europe"}, .rate = gbits_per_s(4), .latency = milliseconds(50)},
      {.between = {"europe", "us-east"}, .rate = gbits_per_s(100), .latency = milliseconds(120)}};
  const auto path = wan_between(d, "europe", "us-east");
  ASSERT_TRUE(path);
  EXPECT_NEAR(path->latency.base(), 0.11, 1e-12);
  EXPECT_NEAR(path->rate.base(), 4e9 / 8, 1);
  EXPECT_EQ(path->slowest, 1U);
  d.fabric.wan.resize(1);
  EXPECT_FALSE(wan_between(d, "europe", "us-east"));
}

TEST(Wan, parallel_lines_and_crossings) {
  design::Design d;
  d.fabric.wan = {{.between = {"a"}, .rate = gbits_per_s(9), .latency = milliseconds(1)},
                  {.between = {"a", "b"}, .rate = gbits_per_s(8), .latency = milliseconds(9)},
                  {.between = {"a", "b"}, .rate = gbits_per_s(16), .latency = milliseconds(7)},
                  {.between = {"b", "c"}, .rate = gbits_per_s(24), .latency = milliseconds(2)},
                  {.between = {"a", "c"}, .rate = gbits_per_s(32), .latency = milliseconds(4)}};
  const auto direct = wan_between(d, "a", "b");
  ASSERT_TRUE(direct);
  EXPECT_DOUBLE_EQ(direct->latency.base(), 6e-3) << "through c";
  EXPECT_EQ(direct->rate, gbytes_per_s(3));
  EXPECT_EQ(direct->slowest, 3U);
  const auto here = wan_between(d, "a", "a");
  ASSERT_TRUE(here);
  EXPECT_EQ(here->latency, Seconds(0));
  const Crossing none{.leaves_site = true};
  EXPECT_FALSE(none.leads_there());
  EXPECT_EQ(none.capped(gbytes_per_s(5)), gbytes_per_s(5));
  EXPECT_EQ(none.latency(), Seconds(0));
  const Crossing line{.leaves_site = true, .path = *direct};
  EXPECT_TRUE(line.leads_there());
  EXPECT_EQ(line.capped(gbytes_per_s(5)), gbytes_per_s(3));
  EXPECT_EQ(line.capped(gbytes_per_s(2)), gbytes_per_s(2));
  EXPECT_DOUBLE_EQ(line.latency().base(), 6e-3);
}

}  // namespace
}  // namespace orrery::machine
