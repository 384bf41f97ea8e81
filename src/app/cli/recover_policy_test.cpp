// The options of the recovery policy at their bounds, and the lines in which a tick is told.
#include "app/cli/recover_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace orrery::cli {
namespace {

using failure::ActionKind;
using failure::RecoveryEvent;
using Kind = failure::RecoveryEventKind;

TEST(RecoverPolicy, clocks_show_the_time_of_the_day) {
  EXPECT_EQ(clock_text(Seconds()), "00:00:00.000");
  EXPECT_EQ(clock_text(seconds(59.5)), "00:00:59.500");
  EXPECT_EQ(clock_text(seconds(60)), "00:01:00.000");
  EXPECT_EQ(clock_text(seconds(721.5)), "00:12:01.500");
  // 23 h 59 min 7.25 s of the third day.
  EXPECT_EQ(clock_text(seconds(2 * 86400 + 23 * 3600 + 59 * 60 + 7.25)), "23:59:07.250");
  EXPECT_EQ(clock_text(seconds(86400 + 3600)), "01:00:00.000");
}

TEST(RecoverPolicy, a_lost_job_that_waits_brings_the_next_look_nearer) {
  agent::TickReport report;
  EXPECT_EQ(next_look(report, seconds(3)), seconds(3));
  report.jobs_waiting = 1;
  EXPECT_EQ(next_look(report, seconds(3)), milliseconds(200));
  EXPECT_EQ(next_look(report, milliseconds(70)), milliseconds(70));
}

TEST(RecoverPolicy, options_become_the_policy) {
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

TEST(RecoverPolicy, bounds_are_allowed_and_what_is_beyond_them_is_not) {
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

TEST(RecoverPolicy, all_that_is_wrong_is_said_at_once) {
  const auto read =
      policy_of({.interval = "1 ms", .silence = "-1 s", .out_share_max = 2, .crash_loop = 9});
  ASSERT_FALSE(read);
  std::string said;
  for (const Diagnostic& d : read.error()) said += d.code + ": " + d.what + '\n';
  EXPECT_EQ(said,
            "agent.usage: not an interval: 1 ms\nagent.usage: not a time: -1 s\n"
            "agent.usage: a share is not between 0 and 1\nagent.usage: a count is out of range\n");
}

std::string told(const agent::TickReport& report, Format format = Format::text) {
  std::ostringstream out, err;
  Terminal terminal{.out = out, .err = err};
  show(report, format, terminal);
  return out.str();
}

TEST(RecoverPolicy, each_finding_has_its_sentence) {
  const std::pair<RecoveryEvent, const char*> rows[] = {
      {{.kind = Kind::node_failed, .node = "n3", .weight = 0.5}, "node n3 failed"},
      {{.kind = Kind::node_failed, .node = "n3"}, "node n3 is out already"},
      {{.kind = Kind::node_silent, .node = "n3"}, "node n3 does not answer"},
      {{.kind = Kind::node_back, .node = "n3"}, "node n3 is back"},
      {{.kind = Kind::lemon_found, .node = "n3", .weight = 123.4},
       "node n3 is a lemon, odds 120 to 1"},
      {{.kind = Kind::node_fenced, .node = "n3"}, "node n3 is surely off"},
      {{.kind = Kind::fence_failed, .node = "n3"}, "the fence of node n3 failed"},
      {{.kind = Kind::node_forgotten, .node = "n3"},
       "the controller was started again and forgot that node n3 was taken out"},
      {{.kind = Kind::job_undone, .job = "81"},
       "the controller was started again and forgot the new run of job 81"},
      {{.kind = Kind::job_lost, .job = "81", .nodes = {"n3", "n5"}},
       "job 81 lost its run on n3 n5"},
      {{.kind = Kind::job_lost, .job = "81"}, "job 81 lost its run on unseen cause"},
      {{.kind = Kind::job_back, .job = "81", .lasted = seconds(25)},
       "job 81 runs again, 25 s after it was seen lost"}};
  for (const auto& [event, sentence] : rows) {
    EXPECT_EQ(told({.at = seconds(3723.5), .events = {event}}),
              std::string("01:02:03.500  ") + sentence + '\n');
  }
  EXPECT_EQ(told({.events = {{.kind = Kind::watch_began}, {.kind = Kind::tried}}}), "");
}

TEST(RecoverPolicy, each_action_says_what_where_and_why_and_how_it_went) {
  const agent::TickReport report{
      .at = seconds(61),
      .outcomes = {{.action = {.kind = ActionKind::exclude_nodes,
                               .job = "81",
                               .nodes = {"n3", "n5"},
                               .why = "lost there"}},
                   {.action = {.kind = ActionKind::drain_node, .nodes = {"n4"}, .why = "down"},
                    .good = false,
                    .said = "no\x1bright"},
                   {.action = {.kind = ActionKind::alert, .job = "82", .why = "look"}}}};
  EXPECT_EQ(told(report),
            "00:01:01.000  exclude_nodes 81 n3 n5: lost there\n"
            "00:01:01.000  drain_node n4: down -- refused: no\\x1bright\n"
            "00:01:01.000  ALERT: look\n");
}

TEST(RecoverPolicy, json_has_a_line_for_each_finding_and_each_action) {
  const agent::TickReport report{
      .events = {{.kind = Kind::watch_began, .at = seconds(5)},
                 {.kind = Kind::node_back, .at = seconds(6), .node = "n3"}},
      .outcomes = {{.action = {.kind = ActionKind::hold_job, .job = "81", .why = "w"}}}};
  std::istringstream lines(told(report, Format::json));
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
