// The thread that moves objects between tiers: what it counts and logs, when it rests, and that it
// waits for its turn.
#include "live/s3server/mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "live/s3server/requests_fixture.h"

namespace orrery::s3server::mover_tests {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

template <class Condition>
bool soon(Condition holds) {
  for (int i = 0; i < 10'000 && !holds(); ++i) std::this_thread::sleep_for(1ms);
  return holds();
}

TEST(MovePolicy, tiers_are_told_by_name_and_the_others_keep_nothing_back) {
  const std::vector<store::Tier> tiers = {{"cold", {1, 0}, {}}, {"hot", {1, 0}, {}}};
  storage::KeepPlace told{.name = "cold"};
  told.keep.newest = 3;
  const auto policy = move_policy({.places = {told, {.name = "elsewhere"}}}, tiers);
  ASSERT_EQ(policy.places.size(), 2u);
  EXPECT_EQ(policy.places[0].name, "hot") << "the fastest first";
  EXPECT_EQ(policy.places[0].keep.newest, 0);
  EXPECT_EQ(policy.places[1].name, "cold");
  EXPECT_EQ(policy.places[1].keep.newest, 3);
}

class MoverTest : public RequestsTest {
 protected:
  // The fixture's clock ticks at every look, and this thread and the mover's would race for it.
  MoverTest() {
    StoreSetting setting = store->setting();
    setting.now_ms = [this] { return clock.load(); };
    store = std::make_unique<Store>(std::move(setting));
    EXPECT_TRUE(store->open());
    open_gateway({});
    clock = now;
  }
  Mover::Log log() {
    return [this](const std::string& line) {
      const std::scoped_lock lock(mutex);
      said += line + '\n';
    };
  }
  std::string heard() {
    const std::scoped_lock lock(mutex);
    return said;
  }
  // As a rule that has come of age leaves it: it belongs to the cold tier and lies in the hot one.
  void put_due(const std::string& key, const std::string& bytes) {
    put("/pail/" + key, bytes);
    ASSERT_TRUE(store->change_version("pail", key, std::nullopt, [](Version& v) -> Answer<void> {
      v.tier = "hot";
      v.storage_class = "GLACIER";
      return {};
    }));
  }
  std::atomic<TimeMs> clock = 1'700'000'000'000;
  std::mutex mutex;
  std::string said;
};

TEST_F(MoverTest, moves_what_belongs_elsewhere_and_counts_each_step) {
  put_due("a", std::string(3000, 'a'));
  put_due("b", std::string(2000, 'b'));
  put("/pail/stays", "x");
  const Mover mover(*store, {.day_ms = 1000}, log());
  ASSERT_TRUE(soon([&] { return mover.counts().removed == 2; })) << heard();
  EXPECT_EQ(mover.counts().copies, 2u);
  EXPECT_EQ(mover.counts().verified, 4u) << "each where it was and where it goes";
  EXPECT_EQ(mover.counts().bytes, 5000u);
  EXPECT_EQ(mover.counts().failed, 0u);
  ASSERT_TRUE(soon([&] { return mover.counts().waiting == 0; }));
  EXPECT_EQ(heard(), "");
  for (const char* key : {"a", "b"}) {
    const auto version = store->find("pail", key, std::nullopt);
    EXPECT_EQ(tier_of(*version), "cold") << key;
    EXPECT_TRUE(version->copies.empty());
  }
  EXPECT_EQ(get("/pail/a").body, std::string(3000, 'a'));
}

TEST_F(MoverTest, a_step_that_fails_is_counted_logged_and_asked_for_again) {
  put_due("a", "bytes of a");
  drives.back()->capacity = 0;  // the cold one
  const Mover mover(*store, {.day_ms = 1000}, log());
  ASSERT_TRUE(soon([&] { return mover.counts().failed >= 1; }));
  EXPECT_THAT(heard(), HasSubstr("copy of pail/a@null at cold failed: "));
  EXPECT_EQ(mover.counts().copies, 0u);
  EXPECT_EQ(get("/pail/a").body, "bytes of a");
  EXPECT_GE(mover.counts().waiting, 1u);
}

TEST_F(MoverTest, one_that_may_not_waits) {
  put_due("a", "bytes");
  std::atomic<bool> may = false;
  std::atomic<int> asked = 0;
  const Mover mover(*store,
                    {.day_ms = 1000,
                     .may =
                         [&] {
                           ++asked;
                           return may.load();
                         }},
                    log());
  ASSERT_TRUE(soon([&] { return asked >= 2; }));
  EXPECT_EQ(mover.counts().rounds, 0u);
  may = true;
  ASSERT_TRUE(soon([&] { return mover.counts().removed == 1; }));
}

// A hundredth of a day apart, a tenth of a second at the least and a minute at the most.
TEST_F(MoverTest, rests_between_rounds) {
  const auto rounds_in = [&](TimeMs day_ms, std::chrono::milliseconds time) {
    const Mover mover(*store, {.day_ms = day_ms}, log());
    std::this_thread::sleep_for(time);
    return mover.counts().rounds.load();
  };
  const auto quick = rounds_in(1, 450ms);
  EXPECT_LE(quick, 4u);
  EXPECT_EQ(rounds_in(kDayMs, 150ms), 0u);
  const Mover patient(*store, {.day_ms = 1}, log());
  ASSERT_TRUE(soon([&] { return patient.counts().rounds >= 2; }));
}

TEST_F(MoverTest, a_rule_of_a_tier_makes_checkpoints_move_as_one) {
  for (const char* key : {"c/0", "c/1"}) {
    put(std::string("/pail/") + key, std::string(100, 'c'),
        {{"x-amz-tagging", "orrery-run=r&orrery-step=1&orrery-parts=2"}});
  }
  put("/pail/d", "d", {{"x-amz-tagging", "orrery-run=r&orrery-step=2"}});
  storage::KeepPlace hot{.name = "hot"};
  hot.keep.newest = 1;
  storage::KeepPlace cold{.name = "cold"};
  cold.keep.everything = true;
  const Mover mover(*store, {.places = {hot, cold}, .day_ms = 1000}, log());
  ASSERT_TRUE(soon([&] {
    return tier_of(*store->find("pail", "c/0", std::nullopt)) == "cold" &&
           tier_of(*store->find("pail", "c/1", std::nullopt)) == "cold";
  })) << heard();
  EXPECT_EQ(tier_of(*store->find("pail", "d", std::nullopt)), "hot") << "the newest stays near";
}

}  // namespace
}  // namespace orrery::s3server::mover_tests
