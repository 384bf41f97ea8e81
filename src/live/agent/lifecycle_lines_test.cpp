#include "live/agent/lifecycle_lines.h"

#include <gtest/gtest.h>

namespace orrery::agent::lifecycle_lines_tests {
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
           // The only good copy of step-2 was overwritten; its digest must be kept.
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

TEST(LifecycleLines, shortened_journal_gives_the_same_memory) {
  const LifecycleMemory memory = busy_memory();
  const auto recalled = recall_lifecycle(joined(lines_of(memory)), "journal");
  ASSERT_TRUE(recalled.has_value());
  EXPECT_EQ(*recalled, memory);
}

TEST(LifecycleLines, events_with_any_bytes_are_recalled) {
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

// Lines written by hand or by another program.
TEST(LifecycleLines, attempt_is_good_only_if_the_line_says_true) {
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

TEST(LifecycleLines, field_of_the_wrong_type_is_ignored_but_the_kind_is_required) {
  const auto recalls = [](std::string line, const std::string& field) {
    line.replace(line.find(field), field.size(), "7");
    return recall_lifecycle(joined({lifecycle_header(), line}), "journal").has_value();
  };
  const std::string verified = line_of(storage::LifecycleEvent{
      .kind = LifecycleEventKind::verified, .at = seconds(5), .item = "i", .place = "p"});
  EXPECT_TRUE(recalls(verified, "\"i\""));
  EXPECT_FALSE(recalls(verified, "\"verified\""));
}

// Journals outlive a release, so their lines are a format.
TEST(LifecycleLines, lines_are_ascii_json_in_a_fixed_order) {
  EXPECT_EQ(lifecycle_header(), R"({"kind":"lifecycle","version":1})");
  EXPECT_EQ(line_of(storage::LifecycleEvent{
                .kind = LifecycleEventKind::gone, .at = seconds(2), .item = "\xc3\xa9"}),
            R"({"kind":"gone","at_s":2.0,"item":"\u00e9"})");
  const storage::LifecycleAction copy{.kind = storage::LifecycleActionKind::copy,
                                      .item = "step-7",
                                      .place = "cold",
                                      .from = "hot",
                                      .size = bytes(12345),
                                      .why = "two copies"};
  EXPECT_EQ(line_of(LifecycleDone{.action = copy, .good = true, .said = "ok"}),
            R"({"kind":"copy","item":"step-7","place":"cold","from":"hot","size_bytes":12345.0,)"
            R"("why":"two copies","good":true,"said":"ok"})");
  EXPECT_EQ(
      line_of(LifecycleDone{.action = {.kind = storage::LifecycleActionKind::alert, .item = "i"},
                            .good = false,
                            .said = ""}),
      R"({"kind":"alert","item":"i","why":"","good":false})");
}

TEST(LifecycleLines, foreign_text_is_refused_with_its_line) {
  EXPECT_TRUE(recall_lifecycle("", "journal"));
  for (const char* bad :
       {"{\"kind\":\"seen\"}\n", "plain\n", "{\"kind\":\"lifecycle\",\"version\":99}\n"}) {
    EXPECT_FALSE(recall_lifecycle(bad, "journal")) << bad;
  }
  for (const char* bad : {"{\"kind\":\"nonsense\"}", "[]", "7", "\"verified\"", "{}"}) {
    const auto memory = recall_lifecycle(joined({lifecycle_header(), bad}), "journal");
    ASSERT_FALSE(memory) << bad;
    EXPECT_EQ(memory.error().front().place.line, 2);
  }
}

}  // namespace
}  // namespace orrery::agent::lifecycle_lines_tests
