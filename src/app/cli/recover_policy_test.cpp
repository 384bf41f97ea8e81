#include "app/cli/recover_policy.h"

#include <gmock/gmock.h>

#include <sstream>

namespace orrery::cli {
namespace {

using Kind = failure::RecoveryEventKind;
using failure::ActionKind;

TEST(RecoverPolicy, clocks_show_the_time_of_day) {
  EXPECT_EQ(clock_text(Seconds()), "00:00:00.000");
  EXPECT_EQ(clock_text(seconds(59.5)), "00:00:59.500");
  EXPECT_EQ(clock_text(seconds(60)), "00:01:00.000");
  EXPECT_EQ(clock_text(seconds(721.5)), "00:12:01.500");
  // 23 h 59 min 7.25 s of the third day.
  EXPECT_EQ(clock_text(seconds(2 * 86400 + 23 * 3600 + 59 * 60 + 7.25)), "23:59:07.250");
  EXPECT_EQ(clock_text(seconds(86400 + 3600)), "01:00:00.000");
}

TEST(RecoverPolicy, a_lost_job_shortens_the_interval) {
  agent::TickReport report;
  EXPECT_EQ(next_look(report, seconds(3)), seconds(3));
  report.jobs_waiting = 1;
  EXPECT_EQ(next_look(report, seconds(3)), milliseconds(200));
  EXPECT_EQ(next_look(report, milliseconds(70)), milliseconds(70));
}

TEST(RecoverPolicy, options_set_the_policy) {
  const auto read = policy_of({.interval = "750 ms",
                               .silence = "13 s",
                               .out_share_max = 0.17,
                               .avoid_share_max = 0.31,
                               .crash_loop = 3,
                               .losses_max = 29});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->interval, milliseconds(750));
  EXPECT_EQ(read->policy.silence, seconds(13));
  EXPECT_EQ(read->policy.out_share_max, 0.17);
  EXPECT_EQ(read->policy.avoid_share_max, 0.31);
  EXPECT_EQ(read->policy.crash_loop, 3);
  EXPECT_EQ(read->policy.losses_max, 29);
  const auto usual = policy_of({});
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->interval, milliseconds(500));
  EXPECT_EQ(usual->policy.silence, seconds(10));
  EXPECT_EQ(usual->policy.avoid_share_max, failure::RecoveryPolicy{}.avoid_share_max);
}

TEST(RecoverPolicy, values_beyond_the_bounds_are_refused) {
  EXPECT_TRUE(policy_of({.interval = "50 ms"}));
  EXPECT_FALSE(policy_of({.interval = "49.9 ms"}));
  EXPECT_FALSE(policy_of({.interval = "50"}));
  EXPECT_TRUE(policy_of({.silence = "0 s"}));
  EXPECT_FALSE(policy_of({.silence = "-1 s"}));
  EXPECT_FALSE(policy_of({.silence = "long"}));
  EXPECT_TRUE(policy_of({.out_share_max = 0, .avoid_share_max = 1}));
  EXPECT_TRUE(policy_of({.out_share_max = 1, .avoid_share_max = 0}));
  EXPECT_FALSE(policy_of({.out_share_max = -0.01}));
  EXPECT_FALSE(policy_of({.out_share_max = 1.01}));
  EXPECT_FALSE(policy_of({.avoid_share_max = -0.01}));
  EXPECT_FALSE(policy_of({.avoid_share_max = 1.01}));
  EXPECT_TRUE(policy_of({.crash_loop = 0}));
  EXPECT_TRUE(policy_of({.crash_loop = 8}));
  EXPECT_FALSE(policy_of({.crash_loop = 9}));
  EXPECT_FALSE(policy_of({.crash_loop = -1}));
  EXPECT_TRUE(policy_of({.losses_max = 1}));
  EXPECT_FALSE(policy_of({.losses_max = 0}));
  EXPECT_TRUE(policy_of({.losses_max = 1'000'000}));
  EXPECT_FALSE(policy_of({.losses_max = 1'000'001}));
}

TEST(RecoverPolicy, all_errors_are_reported_at_once) {
  const auto read =
      policy_of({.interval = "1 ms", .silence = "-1 s", .out_share_max = 2, .crash_loop = 9});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().size(), 4U);
  for (const Diagnostic& d : read.error()) EXPECT_EQ(d.code, "agent.usage");
}

std::string printed(const agent::TickReport& report, Format format = Format::text) {
  std::ostringstream out, err;
  Terminal terminal{.out = out, .err = err};
  show(report, format, terminal);
  return out.str();
}

TEST(RecoverPolicy, json_has_a_line_per_finding_and_action) {
  const agent::TickReport report{
      .events = {{.kind = Kind::watch_began, .at = seconds(5)},
                 {.kind = Kind::node_back, .at = seconds(6), .node = "n3"}},
      .outcomes = {{.action = {.kind = ActionKind::hold_job, .job = "81", .why = "w"}}}};
  std::istringstream lines(printed(report, Format::json));
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, testing::HasSubstr("\"watch_began\""));
  std::getline(lines, line);
  EXPECT_THAT(line,
              testing::AllOf(testing::HasSubstr("\"node_back\""), testing::HasSubstr("\"n3\"")));
  std::getline(lines, line);
  EXPECT_THAT(line, testing::AllOf(testing::HasSubstr("hold_job"), testing::HasSubstr("\"81\"")));
  EXPECT_FALSE(std::getline(lines, line));
}

}  // namespace
}  // namespace orrery::cli
