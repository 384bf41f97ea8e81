// Fleets and conversations in their smallest cases: which record belongs to which request, and what
// a conversation remembers.
#include <gtest/gtest.h>

#include <set>

#include "layers/serving/test_costs.h"
#include "layers/traffic/apart_fleet.h"
#include "layers/traffic/talks.h"

namespace orrery::traffic {
namespace {

// Steps of a second with ten tokens. The first prompt takes three of them on one replica, the
// second takes one on the other: it is transferred first, and is still the second.
TEST(FleetCases, requests_keep_their_ids_when_transferred_in_another_order) {
  serving::StepClock clock = serving::even_clock(1);
  engines::EnginePolicy policy;
  policy.token_budget = 10;
  const std::vector<Timed> asked{{.spec = {.prompt = 30, .output = 3}, .at = 0},
                                 {.spec = {.prompt = 5, .output = 3}, .at = 0}};
  const ApartRun apart = run_apart({.prefill = {.replicas = 2},
                                    .decode = {.replicas = 1},
                                    .bytes_per_token = 1,
                                    .port_rate = 1e9},
                                   policy, clock, policy, clock, asked);
  const std::vector<RequestRecord>& records = apart.run.records;
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].id, 0);
  EXPECT_EQ(records[0].prompt, 30);
  EXPECT_EQ(records[0].output, 3);
  EXPECT_DOUBLE_EQ(records[0].first, 3);
  EXPECT_EQ(records[1].id, 1);
  EXPECT_EQ(records[1].prompt, 5);
  EXPECT_DOUBLE_EQ(records[1].first, 1);
  EXPECT_LT(records[1].last, records[0].last);
  // 5 and 30 bytes at 1e9 a second.
  EXPECT_NEAR(apart.transfer_mean, 17.5e-9, 1e-12);
  EXPECT_EQ(ApartOptions{}.bytes_per_token, 0);
  EXPECT_EQ(ApartOptions{}.port_rate, 0);
}

std::set<int> homes_of(const FleetRun& run) {
  std::set<int> places;
  for (const RequestRecord& r : run.records) places.insert(r.place);
  return places;
}

// A request without a session goes to the home of its prefix; a session stays in one place.
TEST(FleetCases, session_or_prefix_has_its_home) {
  serving::StepClock clock = serving::even_clock(1);
  for (const std::uint64_t session : {0, 9}) {
    std::vector<Timed> asked;
    for (int i = 0; i < 40; ++i) {
      asked.push_back({.spec = {.prompt = 5, .output = 2}, .at = 10.0 * i});
      asked.back().spec.shared = 1 + static_cast<std::uint64_t>(i);
      asked.back().spec.session = session;
    }
    Fleet fleet({.replicas = 4, .router = Router::session}, {}, clock);
    EXPECT_EQ(homes_of(fleet.run(asked)).size(), session == 0 ? 4u : 1u);
  }
}

// No request can be served: the fleet is paid for until the last one arrives.
TEST(FleetCases, fleet_is_paid_until_the_last_arrival) {
  serving::StepClock clock = serving::even_clock(1);
  engines::EnginePolicy policy;
  policy.blocks = 4;
  Fleet fleet({.replicas = 2}, policy, clock);
  const FleetRun run = fleet.run({{.spec = {.prompt = 1000, .output = 2}, .at = 20},
                                  {.spec = {.prompt = 1000, .output = 2}, .at = 50}});
  EXPECT_EQ(run.served, 0);
  EXPECT_EQ(run.refused, 2);
  EXPECT_DOUBLE_EQ(run.replica_seconds, 2 * 50);
}

// Turns of 100 tokens and answers of 50; the second turn brings back 150 and would hold 300.
TEST(FleetCases, too_long_conversation_is_replaced) {
  for (const int most_held : {300, 299, 250}) {
    TalkLoad load;
    load.rate = 1e-6;
    load.turns = 2;
    load.prompt.length = 100;
    load.output.length = 50;
    load.most_held = most_held;
    load.until = 1e12;
    load.adapters.count = 3;
    load.seed = 4;
    Talks talks(load);
    EXPECT_EQ(talks.patience(), kForever);
    const Timed first = talks.take();
    EXPECT_EQ(first.spec.prompt, 100);
    EXPECT_EQ(first.spec.output, 50);
    EXPECT_EQ(first.spec.content, 1u);
    EXPECT_EQ(first.spec.session, 1u);
    EXPECT_TRUE(first.spec.talks);
    EXPECT_GE(first.spec.adapter, 1);
    EXPECT_LE(first.spec.adapter, 3);
    const double thought = talks.patience();
    EXPECT_LT(thought, kForever);
    talks.answered({.id = 0, .prompt = 100, .output = 50, .last = first.at + 1});
    EXPECT_EQ(talks.patience(), kForever);
    EXPECT_DOUBLE_EQ(talks.next(), first.at + 1 + thought);
    const Timed second = talks.take();
    EXPECT_EQ(second.spec.content, 1u);
    EXPECT_EQ(second.spec.prompt, most_held == 300 ? 250 : 100);
    EXPECT_EQ(second.spec.adapter, first.spec.adapter);
    talks.refused(1);
    EXPECT_EQ(talks.patience(), kForever);
  }
}

}  // namespace
}  // namespace orrery::traffic
