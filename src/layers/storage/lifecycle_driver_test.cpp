#include "layers/storage/lifecycle_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/storage/lifecycle.h"
#include "layers/storage/lifecycle_memory.h"
#include "layers/storage/lifecycle_port.h"
#include "layers/storage/storage_fixture.h"

namespace orrery::storage {
namespace {

using testing::ElementsAre;

// A scripted place that records what the driver does.
class ScriptedPlaces final : public LifecyclePort {
 public:
  Result<LifecycleLook> look() override { return situation.look; }
  Result<LifecycleOutcome> act(const LifecycleAction& action) override {
    acted.push_back(action.key);
    if (fails) return fail({.code = "lifecycle.test", .what = "the disk is full"});
    return LifecycleOutcome{.good = true, .stamp = "s", .digest = "d"};
  }
  Seconds now() const override { return kThen + seconds(1); }

  Situation situation;
  std::vector<std::string> acted;
  bool fails = false;
};

TEST(LifecycleDriver, tick_reports_what_it_did_and_why_it_failed) {
  ScriptedPlaces places;
  Situation& s = places.situation;
  s.policy = {.places = {{.name = "hot", .written = true},
                         {.name = "cold", .keep = {.everything = true}},
                         {.name = "far"}}};
  s.look.items.reserve(2);
  s.copy(s.item("a", hours(2)), "hot", true);
  ItemView& b = s.item("b", hours(1));
  s.copy(b, "hot", false);
  b.copies[0].complete = false;
  b.copies[0].written = kThen - hours(7);
  s.look.away = {"far"};
  std::vector<LifecycleEvent> journal;
  const auto append = [&](const std::vector<LifecycleEvent>& events) -> Result<void> {
    journal.insert(journal.end(), events.begin(), events.end());
    return {};
  };
  LifecycleDriver driver(places, append, s.policy, s.memory);
  auto tick = driver.tick([] { return true; });
  ASSERT_TRUE(tick);
  EXPECT_TRUE(tick->done.empty() && places.acted.empty()) << "stopped before the first";
  places.fails = true;
  tick = driver.tick();
  ASSERT_TRUE(tick);
  EXPECT_EQ(tick->at, kThen);
  EXPECT_EQ(tick->items, 2u);
  EXPECT_THAT(tick->away, ElementsAre("far"));
  EXPECT_THAT(places.acted, ElementsAre("copy/cold/a")) << "an alert is reported, not carried out";
  ASSERT_EQ(tick->done.size(), 1u) << "and was reported in the first tick";
  EXPECT_FALSE(tick->done[0].good);
  EXPECT_EQ(driver.memory().attempts.at("copy/cold/a").count, 1);
  EXPECT_EQ(journal.back().kind, LifecycleEventKind::tried);
  EXPECT_EQ(journal.back().at, kThen + seconds(1));
  // An action that cannot be journalled is not carried out.
  places.acted.clear();
  LifecycleDriver mute(
      places, [](const auto&) -> Result<void> { return fail({.code = "x", .what = "x"}); },
      s.policy, s.memory);
  EXPECT_FALSE(mute.tick());
  EXPECT_TRUE(places.acted.empty());
}

}  // namespace
}  // namespace orrery::storage
