#include "live/agent/journal_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.h"

namespace orrery::agent::journal_lines_tests {
namespace {

using failure::RecoveryEvent;
using failure::RecoveryEventKind;

// Draws values so that no field has its default and no two fields of a record are equal.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed, "journal-lines") {}

  int number() { return 1 + static_cast<int>(random_.below(1'000'000)); }
  Seconds time() { return seconds(1'700'000'000 + 0.25 * number()); }
  std::string name() { return "n" + std::to_string(number()); }
  std::vector<std::string> names() { return {name(), name()}; }
  failure::JobLoss loss() { return {time(), number(), names(), names()}; }
  failure::FadingCount count() { return {0.5 * number(), time()}; }

 private:
  RandomStream random_;
};

failure::JobView job_view(Drawn& d, failure::JobPhase phase) {
  return {.id = d.name(),
          .phase = phase,
          .restarts = d.number(),
          .requeueable = false,
          .held = true,
          .launch_failed = true,
          .waits_for_time = true,
          .eligible = d.time(),
          .ended = d.time(),
          .nodes = d.names(),
          .avoids = d.names()};
}

failure::NodeView node_view(Drawn& d, failure::FenceState fence) {
  return {.name = d.name(),
          .down = true,
          .silent = true,
          .drained = true,
          .broken = true,
          .spare = true,
          .fence = fence};
}

failure::RecoveryMemory memory_drawn(Drawn& d) {
  failure::RecoveryMemory m{.since = d.time(), .controller = d.time()};
  m.all = d.count();
  m.nodes[d.name()] = {.out = true,
                       .wants_drain = true,
                       .lemon = true,
                       .fenced = true,
                       .silent_since = d.time(),
                       .drain_seen = d.time(),
                       .forgotten = d.time(),
                       .out_shown = true,
                       .drain_shown = true,
                       .failures = d.number(),
                       .weight = d.count(),
                       .stood_in_for = d.name(),
                       .serves_for = d.name()};
  m.nodes[d.name()] = {.failures = 1};
  // One flag at a time, so that a mix-up of two is noticed.
  using Flag = bool failure::NodeMemory::*;
  for (const Flag flag : {&failure::NodeMemory::out, &failure::NodeMemory::wants_drain,
                          &failure::NodeMemory::lemon, &failure::NodeMemory::fenced,
                          &failure::NodeMemory::out_shown, &failure::NodeMemory::drain_shown}) {
    m.nodes[d.name()].*flag = true;
  }
  m.jobs[d.name()] = {.restarts = d.number(),
                      .started = d.time(),
                      .nodes = d.names(),
                      .loss = d.loss(),
                      .regained = d.loss(),
                      .losses = {{d.name(), d.time()}, {"", d.time()}},
                      .losses_total = d.number(),
                      .blamed = true,
                      .held_seen = true};
  m.jobs[d.name()] = {};
  m.jobs[d.name()] = {.blamed = true};
  m.jobs[d.name()] = {.held_seen = true};
  m.attempts["drain/" + d.name() + "/1"] = {.count = d.number(), .last = d.time(), .good = true};
  m.attempts["drain/" + d.name() + "/2"] = {.count = d.number(), .last = d.time(), .good = false};
  m.alerted = {d.name(), "quotes \" and\nbreaks"};
  return m;
}

TEST(JournalLines, memory_is_recalled_with_every_field) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    Drawn d(seed);
    const failure::RecoveryMemory memory = memory_drawn(d);
    const std::string line = line_of(memory);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto recalled = recall(line + '\n', "j", {});
    ASSERT_TRUE(recalled) << recalled.error().front().why;
    EXPECT_EQ(*recalled, memory);
  }
  EXPECT_EQ(*recall(line_of(failure::RecoveryMemory{}), "j", {}), failure::RecoveryMemory{});
}

TEST(JournalLines, events_are_recalled_as_they_were_applied) {
  failure::RecoveryMemory applied;
  std::string text = R"({"kind":"journal","of":"orrery agent recover","version":1})"
                     "\n";
  Drawn d(7);
  const failure::RecoveryPolicy policy;
  for (int k = 0; k <= static_cast<int>(RecoveryEventKind::node_shown); ++k) {
    const RecoveryEvent event{.kind = static_cast<RecoveryEventKind>(k),
                              .at = d.time(),
                              .node = "n1",
                              .job = "7",
                              .key = "drain/n1/" + std::to_string(k),
                              .restarts = d.number(),
                              .nodes = d.names(),
                              .weight = 0.5 * d.number(),
                              .lasted = d.time(),
                              .good = k % 2 == 0};
    apply(applied, event, policy.lemon.memory);
    text += line_of(event) + "\n\n";
  }
  const auto recalled = recall(text, "j", policy);
  ASSERT_TRUE(recalled) << recalled.error().front().why;
  EXPECT_EQ(*recalled, applied);
}

TEST(JournalLines, looks_written_as_changes_are_replayed_whole) {
  Drawn d(3);
  std::vector<failure::ClusterLook> looks(5);
  const std::vector<failure::JobView> jobs = {
      job_view(d, failure::JobPhase::pending), job_view(d, failure::JobPhase::starting),
      job_view(d, failure::JobPhase::running), job_view(d, failure::JobPhase::completing),
      job_view(d, failure::JobPhase::failed),  job_view(d, failure::JobPhase::ended)};
  const std::vector<failure::NodeView> nodes = {
      node_view(d, failure::FenceState::none), node_view(d, failure::FenceState::under_way),
      node_view(d, failure::FenceState::off), node_view(d, failure::FenceState::failed)};
  const auto sorted = [](failure::ClusterLook look) {
    std::ranges::sort(look.jobs, {}, &failure::JobView::id);
    std::ranges::sort(look.nodes, {}, &failure::NodeView::name);
    return look;
  };
  looks[0] = sorted({.now = d.time(), .controller_since = d.time(), .jobs = jobs, .nodes = nodes});
  looks[1] = looks[0];
  looks[1].jobs[2].restarts += 1;  // one job changed
  looks[1].nodes[1].down = false;
  looks[2] = looks[1];
  looks[2].jobs.erase(looks[2].jobs.begin() + 1);  // one job disappeared
  looks[2].nodes.erase(looks[2].nodes.begin());
  looks[3] = looks[2];
  looks[3].jobs.push_back({.id = "zz-new"});  // one job appeared
  looks[3].now = d.time();
  looks[4] = looks[0];
  std::string text;
  failure::ClusterLook before;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (i == 4) before = {};  // the journal was cut, so the next look is written as a whole
    text += line_of_change(before, looks[i]) + '\n';
    before = looks[i];
    text += line_of(failure::RecoveryAction{.kind = failure::ActionKind::exclude_nodes,
                                            .job = "7",
                                            .nodes = {"n1", "n2"},
                                            .why = "because",
                                            .key = "exclude/7/1"}) +
            '\n';
    text +=
        line_of(RecoveryEvent{.kind = RecoveryEventKind::job_gone, .at = seconds(1), .job = "9"}) +
        '\n';
    text += line_of(RecoveryEvent{
                .kind = RecoveryEventKind::tried, .at = seconds(2), .key = "k", .good = true}) +
            '\n';
  }
  const auto ticks = replay(text, "j");
  ASSERT_TRUE(ticks) << ticks.error().front().why;
  ASSERT_EQ(ticks->size(), looks.size());
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const JournalTick& tick = (*ticks)[i];
    EXPECT_EQ(tick.view, looks[i]) << i;
    ASSERT_EQ(tick.decision.actions.size(), 1u);
    EXPECT_EQ(tick.decision.actions[0].kind, failure::ActionKind::exclude_nodes);
    EXPECT_EQ(tick.decision.actions[0].nodes.size(), 2u);
    EXPECT_EQ(tick.decision.actions[0].why + tick.decision.actions[0].key, "becauseexclude/7/1");
    ASSERT_EQ(tick.decision.events.size(), 1u);
    EXPECT_EQ(tick.decision.events[0].kind, RecoveryEventKind::job_gone);
    ASSERT_EQ(tick.tried.size(), 1u);
    EXPECT_TRUE(tick.tried[0].good);
  }
}

TEST(JournalLines, invalid_line_is_a_fault_with_its_number) {
  const std::string good = line_of(RecoveryEvent{.kind = RecoveryEventKind::watch_began});
  for (const char* bad : {"rubbish", "{}", R"({"kind":"unheard_of","at_s":1})",
                          R"({"kind":"job_lost"})", R"({"kind":"memory"})"}) {
    const auto recalled = recall(good + '\n' + bad + '\n', "j.jsonl", {});
    ASSERT_FALSE(recalled) << bad;
    EXPECT_EQ(recalled.error().front().code, "journal.line");
    EXPECT_EQ(recalled.error().front().place.line, 2);
  }
  EXPECT_FALSE(replay(good, "j")) << "an event without a preceding observation";
  for (const char* bad : {R"({"kind":"seen","at_s":1,"jobs":[{"id":"1","phase":"asleep"}]})",
                          R"({"kind":"seen","at_s":1,"nodes":[{"name":"n","fence":"odd"}]})"}) {
    EXPECT_FALSE(replay(bad, "j")) << bad;
  }
}

// Journals of earlier versions lack some fields.
TEST(JournalLines, fields_a_line_lacks_are_unset) {
  const auto ticks = replay(
      "{\"kind\":\"seen\",\"at_s\":5,\"nodes\":[{\"name\":\"n\"}],\"jobs\":[{\"id\":\"7\","
      "\"phase\":\"running\"}]}\n{\"kind\":\"tried\",\"at_s\":6}\n",
      "j");
  ASSERT_TRUE(ticks) << to_text(ticks.error());
  ASSERT_EQ(ticks->size(), 1U);
  const failure::NodeView node{.name = "n"};
  EXPECT_EQ(ticks->front().view.nodes.at(0), node);
  EXPECT_FALSE(node.down || node.silent || node.drained || node.broken || node.spare);
  const failure::JobView& job = ticks->front().view.jobs.at(0);
  EXPECT_EQ(job.restarts, 0);
  EXPECT_TRUE(job.requeueable);
  EXPECT_FALSE(job.held || job.launch_failed || job.waits_for_time);
  EXPECT_EQ(job.eligible, Seconds());
  EXPECT_EQ(job.ended, Seconds());
  const failure::RecoveryEvent& tried = ticks->front().tried.at(0);
  EXPECT_EQ(tried.weight, 0);
  EXPECT_EQ(tried.restarts, 0);
  EXPECT_EQ(tried.lasted, Seconds());
  EXPECT_FALSE(tried.good);
}

// Journals outlive a release, so their lines are a format.
TEST(JournalLines, lines_are_ascii_json_in_a_fixed_order) {
  EXPECT_EQ(recovery_journal("j", {}).header,
            R"({"kind":"journal","of":"orrery agent recover","version":1})");
  EXPECT_EQ(line_of(RecoveryEvent{
                .kind = RecoveryEventKind::node_back, .at = seconds(5), .node = "n\xc3\xbc\xff"}),
            R"({"kind":"node_back","at_s":5.0,"node":"n\u00fc\ufffd"})");
  EXPECT_EQ(line_of(failure::RecoveryAction{.kind = failure::ActionKind::drain_node,
                                            .job = "17",
                                            .nodes = {"n1", "n2"},
                                            .why = "\xe2\x82\xac",
                                            .key = "drain/n1"}),
            R"({"kind":"act","action":"drain_node","job":"17","nodes":["n1","n2"],)"
            R"("why":"\u20ac","key":"drain/n1"})");
}

}  // namespace
}  // namespace orrery::agent::journal_lines_tests
