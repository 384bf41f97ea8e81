#include "live/agent/lifecycle_lines.h"

#include <gtest/gtest.h>

namespace orrery::agent {
namespace {

using storage::LifecycleEventKind;
using storage::LifecycleMemory;

LifecycleMemory busy_memory() {
  LifecycleMemory memory;
  for (const storage::LifecycleEvent& event : std::vector<storage::LifecycleEvent>{
           {.kind = LifecycleEventKind::verified,
            .item = "step-1",
            .place = "hot",
            .stamp = "a",
            .digest = "d"},
           {.kind = LifecycleEventKind::corrupt, .item = "step-1", .place = "cold", .stamp = "b"},
           {.kind = LifecycleEventKind::verified,
            .item = "step-2",
            .place = "hot",
            .stamp = "c",
            .digest = "e"},
           // The only good copy of step-2 was written again: its digest must outlive it.
           {.kind = LifecycleEventKind::conflict, .item = "step-2", .place = "hot", .stamp = "x"},
           {.kind = LifecycleEventKind::tried, .at = seconds(5), .key = "copy/cold/step-1"},
           {.kind = LifecycleEventKind::tried, .at = seconds(9), .key = "copy/cold/step-1"},
           {.kind = LifecycleEventKind::tried,
            .at = seconds(3.25),
            .key = "verify/hot/step-1",
            .good = true},
           {.kind = LifecycleEventKind::paced, .place = "cold", .until = seconds(100)},
           {.kind = LifecycleEventKind::alerted, .key = "corrupt/cold/step-1"}}) {
    apply(memory, event);
  }
  return memory;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(LifecycleLines, a_shortened_journal_gives_the_same_memory) {
  const LifecycleMemory memory = busy_memory();
  const auto recalled = recall_lifecycle(joined(lines_of(memory)), "journal");
  ASSERT_TRUE(recalled.has_value());
  EXPECT_EQ(*recalled, memory);
}

TEST(LifecycleLines, events_of_any_bytes_come_back) {
  const storage::LifecycleEvent event{.kind = LifecycleEventKind::verified,
                                      .at = seconds(1.5),
                                      .item = "odd \"name\"\n\x1b[2J",
                                      .place = "hot",
                                      .stamp = "s",
                                      .digest = "d"};
  const auto recalled =
      recall_lifecycle(joined({lifecycle_header(), agent::line_of(event)}), "journal");
  ASSERT_TRUE(recalled.has_value());
  LifecycleMemory memory;
  apply(memory, event);
  EXPECT_EQ(*recalled, memory);
}

// Written by hand or by another: a try counts as good only where it says so.
TEST(LifecycleLines, a_try_is_good_only_where_the_line_says_true) {
  const auto attempt = [](const std::string& good) {
    const auto memory = recall_lifecycle(
        lifecycle_header() + "\n{\"kind\":\"tried\",\"at_s\":4,\"key\":\"k\"" + good + "}\n",
        "journal");
    return memory.has_value() && memory->attempts.at("k").good;
  };
  EXPECT_FALSE(attempt(""));
  EXPECT_FALSE(attempt(",\"good\":false"));
  EXPECT_FALSE(attempt(",\"good\":1"));
  EXPECT_TRUE(attempt(",\"good\":true"));
}

TEST(LifecycleLines, what_was_said_of_an_action_stands_in_its_line) {
  storage::LifecycleDone done{
      .action = {.kind = storage::LifecycleActionKind::copy, .item = "step-1"},
      .good = false,
      .said = "no room"};
  EXPECT_NE(agent::line_of(done).find("\"said\":\"no room\""), std::string::npos);
  EXPECT_NE(agent::line_of(done).find("\"good\":false"), std::string::npos);
  done = {.action = done.action};
  EXPECT_EQ(agent::line_of(done).find("said"), std::string::npos);
}

TEST(LifecycleLines, what_is_no_journal_is_refused_with_its_line) {
  EXPECT_TRUE(recall_lifecycle("", "journal").has_value());
  EXPECT_FALSE(recall_lifecycle("{\"kind\":\"seen\"}\n", "journal").has_value());
  EXPECT_FALSE(recall_lifecycle("plain\n", "journal").has_value());
  EXPECT_FALSE(recall_lifecycle("{\"kind\":\"lifecycle\",\"version\":99}\n", "journal"))
      << "of a later agent";
  const auto bad = recall_lifecycle(lifecycle_header() + "\n{\"kind\":\"nonsense\"}\n", "journal");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().front().place.line, 2);
}

}  // namespace
}  // namespace orrery::agent
