// The thread that moves objects between tiers: what it counts and logs, and when it rests.
#include "live/s3server/mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::mover_tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

template <class Condition>
bool soon(Condition holds) {
  for (int i = 0; i < 10'000 && !holds(); ++i) std::this_thread::sleep_for(1ms);
  return holds();
}

TEST(MovePolicy, tiers_without_rules_keep_nothing) {
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

class MoverTest : public GatewayTest {
 protected:
  // The fixture's clock advances whenever it is read, so this thread and the mover's would race for
  // it.
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
  std::string logged() {
    const std::scoped_lock lock(mutex);
    return said;
  }
  // Puts an object that belongs to the cold tier but is in the hot one, as a due rule leaves it.
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

TEST_F(MoverTest, objects_that_belong_elsewhere_move_and_each_step_is_counted) {
  put_due("a", std::string(3000, 'a'));
  put_due("b", std::string(2000, 'b'));
  put("/pail/stays", "x");
  const Mover mover(*store, {.day_ms = 1000}, log());
  ASSERT_TRUE(soon([&] { return mover.counts().removed == 2; })) << logged();
  EXPECT_EQ(mover.counts().copies, 2u);
  EXPECT_EQ(mover.counts().verified, 4u) << "each object before and after its copy";
  EXPECT_EQ(mover.counts().bytes, 5000u);
  EXPECT_EQ(mover.counts().failed, 0u);
  ASSERT_TRUE(soon([&] { return mover.counts().waiting == 0; }));
  EXPECT_EQ(logged(), "");
  for (const char* key : {"a", "b"}) {
    const auto version = store->find("pail", key, std::nullopt);
    EXPECT_EQ(tier_of(*version), "cold") << key;
    EXPECT_TRUE(version->copies.empty());
  }
  EXPECT_EQ(get("/pail/a").body, std::string(3000, 'a'));
}

TEST_F(MoverTest, a_failed_step_is_counted_logged_and_retried) {
  put_due("a", "bytes of a");
  drives.back()->capacity = 0;  // the drive of the cold tier
  const Mover mover(*store, {.day_ms = 1000}, log());
  ASSERT_TRUE(soon([&] { return mover.counts().failed >= 1; }));
  EXPECT_THAT(logged(), AllOf(HasSubstr("pail/a@null"), HasSubstr("InsufficientStorage")));
  EXPECT_EQ(mover.counts().copies, 0u);
  EXPECT_EQ(get("/pail/a").body, "bytes of a");
  EXPECT_GE(mover.counts().waiting, 1u);
}

TEST_F(MoverTest, a_mover_that_may_not_work_waits) {
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

// A hundredth of a day apart, but at least a tenth of a second and at most a minute.
TEST_F(MoverTest, a_mover_rests_between_rounds) {
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

TEST_F(MoverTest, a_checkpoint_moves_as_a_whole) {
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
  })) << logged();
  EXPECT_EQ(tier_of(*store->find("pail", "d", std::nullopt)), "hot") << "the newest stays in the "
                                                                        "hot tier";
}

}  // namespace
}  // namespace orrery::s3server::mover_tests
