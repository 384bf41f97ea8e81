// The tiers as the lifecycle policy sees them: what a look reports about an object, and what each
// action does to its copies.
#include "live/upkeep/tier_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "live/rows/records.h"
#include "live/s3/hash.h"
#include "live/upkeep/tier_places_fixture.h"

namespace orrery::upkeep::tier_places_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using storage::CopyNeed;
using storage::ItemView;
using storage::LifecycleAction;
using storage::LifecycleActionKind;
using storage::LifecycleOutcome;

constexpr rows::TimeMs kStart = 1'700'000'000'000;

class TierPlacesTest : public TierBench {
 protected:
  rows::Version version(const std::string& key) {
    return store->find("pail", key, std::nullopt).value_or(rows::Version{});
  }
  std::vector<ItemView> seen(const MoveSetting& by = {}) {
    TierPlaces places(*store, by);
    const auto look = places.look();
    return look ? look->items : std::vector<ItemView>(99);
  }
  std::optional<std::vector<std::string>> wanted(const MoveSetting& by = {}) {
    const auto items = seen(by);
    return items.size() == 1 ? items[0].wanted : std::nullopt;
  }
  // Returns what an action reports after a look, and sets the outcome of a successful one.
  std::string act(LifecycleAction action, LifecycleOutcome* outcome = nullptr) {
    TierPlaces places(*store, moving);
    if (!places.look()) return "no look";
    if (action.stamp == "its") action.stamp = stamp_at(places, action.item, action.place);
    const auto done = places.act(action);
    moved = places.bytes_moved();
    if (!done) {
      EXPECT_EQ(done.error().front().code, "lifecycle.store");
      return done.error().front().what;
    }
    EXPECT_TRUE(done->good);
    if (outcome) *outcome = *done;
    return "good";
  }
  static std::string stamp_at(TierPlaces& places, const std::string& id, const std::string& place) {
    const auto look = places.look();
    for (const ItemView& item : look->items) {
      for (const storage::CopyView& copy : item.copies) {
        if (item.id == id && copy.place == place) return copy.stamp;
      }
    }
    return "none";
  }
  LifecycleAction of_a(LifecycleActionKind kind, const std::string& place,
                       const std::string& from = {}) const {
    return {.kind = kind, .item = "pail/a@null", .place = place, .from = from, .stamp = "its"};
  }

  MoveSetting moving;
  std::uint64_t moved = 0;
};

TEST_F(TierPlacesTest, places_are_the_tiers_with_the_fastest_first) {
  std::vector<std::string> names;
  const auto places = places_of({{"cold"}, {"hot"}, {"gpu-direct"}});
  for (const storage::KeepPlace& place : places) names.push_back(place.name);
  EXPECT_THAT(names, ElementsAre("gpu-direct", "hot", "cold"));
}

TEST_F(TierPlacesTest, a_look_shows_objects_that_belong_elsewhere) {
  put("a", {"seven b"});
  put("stays", {"bytes"});
  put("here", {"cold"}, {.storage_class = "GLACIER"});
  change("a", [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  now += 2500;
  TierPlaces places(*store, {});
  EXPECT_DOUBLE_EQ(places.now().base(), 1'700'000'002.5);
  const auto look = places.look();
  ASSERT_TRUE(look);
  EXPECT_DOUBLE_EQ(look->now.base(), 1'700'000'002.5);
  ASSERT_EQ(look->items.size(), 1u) << "the others are where they belong";
  const ItemView& item = look->items[0];
  EXPECT_EQ(item.id, "pail/a@null");
  EXPECT_EQ(item.run, "");
  EXPECT_EQ(item.step, 0);
  EXPECT_DOUBLE_EQ(item.made.base(), 1'700'000'000);
  EXPECT_FALSE(item.held);
  EXPECT_FALSE(item.milestone);
  EXPECT_THAT(*item.wanted, ElementsAre("cold"));
  ASSERT_EQ(item.copies.size(), 1u);
  const rows::Version a = version("a");
  EXPECT_EQ(item.copies[0].place, "hot");
  EXPECT_DOUBLE_EQ(item.copies[0].size.base(), 7);
  EXPECT_TRUE(item.copies[0].complete);
  EXPECT_DOUBLE_EQ(item.copies[0].written.base(), 1'700'000'000);
  EXPECT_EQ(item.copies[0].stamp, std::to_string(a.stamp) + '.' + a.extents[0].blob + ' ');
  // A delete marker has no copies.
  change("a", [](rows::Version& v) { v.marker = true; });
  EXPECT_THAT(seen(), IsEmpty());
}

TEST_F(TierPlacesTest, an_object_is_held_until_its_retention_ends) {
  put("a", {"bytes"}, {.storage_class = "GLACIER"});
  const auto held = [&](const std::function<void(rows::Version&)>& how) {
    change("a", [&](rows::Version& v) {
      v.legal_hold = false;
      v.retention = {};
      v.storage_class = "STANDARD";
      v.tier = "cold";
      how(v);
    });
    const auto items = seen();
    return items.size() == 1 && items[0].held;
  };
  EXPECT_FALSE(held([](rows::Version&) {}));
  EXPECT_TRUE(held([](rows::Version& v) { v.legal_hold = true; }));
  EXPECT_TRUE(held([](rows::Version& v) { v.retention = {"GOVERNANCE", kStart + 1}; }));
  EXPECT_FALSE(held([](rows::Version& v) { v.retention = {"GOVERNANCE", kStart}; }));
  EXPECT_FALSE(held([](rows::Version& v) { v.retention = {"", kStart + 1}; }));
}

TEST_F(TierPlacesTest, restored_and_read_objects_are_wanted_in_the_fast_tier) {
  put("a", {"bytes"}, {.storage_class = "GLACIER"});
  const auto restored = [&](rows::TimeMs until, const MoveSetting& how = {}) {
    change("a", [&](rows::Version& v) { v.restored_until_ms = until; });
    return wanted(how).value_or(std::vector<std::string>{});
  };
  EXPECT_THAT(restored(kStart + 1), ElementsAre("cold", "hot"));
  EXPECT_THAT(restored(kStart), IsEmpty());
  EXPECT_THAT(restored(kStart + 1, {.fast_tier = "warm"}), ElementsAre("cold", "warm"));
  EXPECT_THAT(restored(kStart + 1, {.fast_tier = "gpu-direct"}), IsEmpty())
      << "there is no such copy";
  EXPECT_THAT(restored(kStart + 1, {.fast_tier = "cold"}), IsEmpty()) << "it is in the fast tier";
  restored(0);
  EXPECT_THAT(seen({.promote_ms = kStart * 2}), IsEmpty()) << "never read";
  store->reads().note("pail", "a", "null", kStart - 4);
  EXPECT_THAT(*wanted({.promote_ms = 5}), ElementsAre("cold", "hot"));
  EXPECT_THAT(seen({.promote_ms = 4}), IsEmpty()) << "its promotion has expired";
  EXPECT_THAT(seen({.promote_ms = 0}), IsEmpty());
}

TEST_F(TierPlacesTest, a_class_without_a_tier_moves_nothing) {
  put("a", {"bytes"}, {.storage_class = "STANDARD_IA"});
  change("a", [](rows::Version& v) { v.storage_class = "GPU_DIRECT", v.tier = "warm"; });
  EXPECT_THAT(seen(), IsEmpty());
  change("a", [](rows::Version& v) { v.storage_class = "no such", v.tier = "warm"; });
  EXPECT_THAT(*wanted(), ElementsAre("hot"));
  // An unverified copy is shown although it is where it belongs.
  change("a", [](rows::Version& v) {
    v.storage_class = "STANDARD_IA";
    v.restored_until_ms = kStart + 1;
    v.copies = {{.tier = "hot", .extents = v.extents, .checked = false}};
  });
  EXPECT_THAT(*wanted(), ElementsAre("warm", "hot"));
  change("a", [](rows::Version& v) { v.copies[0].checked = true; });
  EXPECT_THAT(seen(), IsEmpty());
}

TEST_F(TierPlacesTest, the_objects_of_a_checkpoint_are_one_item) {
  moving.keeps_checkpoints = true;
  const auto tags = [](const std::string& role, const std::string& parts) {
    return rows::HeaderList{
        {"orrery-parts", parts}, {"orrery-role", role}, {"orrery-run", "r"}, {"orrery-step", "70"}};
  };
  put("k/1", {"first"}, {.tags = tags("milestone", "2")});
  now += 3000;
  put("k/2", {"the second"}, {.tags = tags("checkpoint", "1"), .legal_hold = true});
  put("k/3", {"of no run"}, {.tags = {{"orrery-step", "70"}}});
  const auto items = seen(moving);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].id, "pail/r@70");
  EXPECT_EQ(items[0].run, "pail/r");
  EXPECT_EQ(items[0].step, 70);
  EXPECT_DOUBLE_EQ(items[0].made.base(), 1'700'000'003);
  EXPECT_TRUE(items[0].milestone);
  EXPECT_TRUE(items[0].held);
  EXPECT_FALSE(items[0].wanted.has_value()) << "the rules of the tiers say";
  ASSERT_EQ(items[0].copies.size(), 1u);
  EXPECT_DOUBLE_EQ(items[0].copies[0].size.base(), 15);
  EXPECT_DOUBLE_EQ(items[0].copies[0].written.base(), 1'700'000'003);
  const rows::Version one = version("k/1"), two = version("k/2");
  EXPECT_EQ(items[0].copies[0].stamp,
            to_hex(s3::md5(std::to_string(one.stamp) + '.' + one.extents[0].blob + ' ' +
                           std::to_string(two.stamp) + '.' + two.extents[0].blob + ' ')));
  EXPECT_TRUE(items[0].copies[0].complete);
  // A copy that only one of them has counts as begun, not as complete.
  change("k/2", [](rows::Version& v) { v.copies = {{.tier = "cold", .extents = v.extents}}; });
  const auto begun = seen(moving);
  ASSERT_EQ(begun.at(0).copies.size(), 2u);
  EXPECT_TRUE(begun[0].copies[0].complete);
  EXPECT_EQ(begun[0].copies[1].place, "cold");
  EXPECT_FALSE(begun[0].copies[1].complete);
  EXPECT_DOUBLE_EQ(begun[0].copies[1].size.base(), 10);
  EXPECT_THAT(seen({.keeps_checkpoints = false}).size(), 1u) << "one with a copy too many";
}

TEST_F(TierPlacesTest, a_look_shows_at_most_2000_objects) {
  rows::Commit commit;
  for (int i = 0; i < 2001; ++i) {
    commit.changes.push_back(
        {rows::row::object("pail", 'k' + std::to_string(i)),
         rows::encode(
             rows::Version{.stamp = 1, .id = "null", .storage_class = "GLACIER", .tier = "hot"})});
  }
  ASSERT_TRUE(rows.commit(commit));
  EXPECT_EQ(seen().size(), 2000u);
}

TEST_F(TierPlacesTest, an_action_checks_the_copies_that_it_relies_on) {
  put("a", {"bytes"});
  put("b", {"others"});
  for (const char* key : {"a", "b"}) {
    change(key, [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  }
  const rows::Version b = version("b");
  const std::string stamp = std::to_string(b.stamp) + '.' + b.extents[0].blob + ' ';
  const auto with = [&](const CopyNeed& need) {
    LifecycleAction action = of_a(LifecycleActionKind::verify, "hot");
    action.needs = {need};
    return act(action);
  };
  EXPECT_EQ(with({"pail/b@null", "hot", stamp}), "good");
  EXPECT_EQ(with({"pail/b@null", "hot", stamp + "x"}), kChangedMeanwhile);
  EXPECT_EQ(with({"pail/c@null", "hot", stamp}), kChangedMeanwhile);
  LifecycleAction unseen = of_a(LifecycleActionKind::verify, "hot");
  unseen.item = "pail/c@null";
  EXPECT_EQ(act(unseen), kChangedMeanwhile);
}

TEST_F(TierPlacesTest, a_copy_is_verified_part_by_part) {
  put("a", {"first part", "second"});
  change("a", [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  LifecycleOutcome outcome;
  ASSERT_EQ(act(of_a(LifecycleActionKind::verify, "hot"), &outcome), "good");
  EXPECT_EQ(outcome.sound, true);
  EXPECT_EQ(outcome.digest, to_hex(s3::md5("first part")) + ' ' + to_hex(s3::md5("second")) + ' ');
  const rows::Version a = version("a");
  EXPECT_EQ(outcome.stamp, std::to_string(a.stamp) + '.' + a.extents[0].blob + ' ');
  EXPECT_EQ(act(of_a(LifecycleActionKind::verify, "cold")), kChangedMeanwhile)
      << "the tier has no copy";
  // A wrong digest in the record, and bytes that cannot be read.
  change("a", [](rows::Version& v) { v.extents[1].etag = std::string(32, '0'); });
  ASSERT_EQ(act(of_a(LifecycleActionKind::verify, "hot"), &outcome), "good");
  EXPECT_EQ(outcome.sound, false);
  EXPECT_EQ(outcome.digest, to_hex(s3::md5("first part")) + ' ' + to_hex(s3::md5("second")) + ' ');
  drives["hot"].files().clear();
  ASSERT_EQ(act(of_a(LifecycleActionKind::verify, "hot"), &outcome), "good");
  EXPECT_EQ(outcome.sound, false);
  EXPECT_EQ(outcome.digest, "unreadable");
}

TEST_F(TierPlacesTest, a_verified_copy_is_read_from_if_its_tier_is_faster) {
  put("a", {"bytes"}, {.storage_class = "STANDARD_IA"});
  const auto after = [&](const std::string& to) {
    change("a", [](rows::Version& v) {
      v.copies.clear();
      v.tier = "warm";
      v.storage_class = "GLACIER";
    });
    EXPECT_EQ(act(of_a(LifecycleActionKind::copy, to, "warm")), "good");
    EXPECT_EQ(moved, 5u);
    EXPECT_THAT(tiers_of("a"), ElementsAre("warm", to));
    EXPECT_EQ(act(of_a(LifecycleActionKind::verify, to)), "good");
    EXPECT_EQ(get("a"), "bytes");
    return tiers_of("a");
  };
  EXPECT_THAT(after("cold"), ElementsAre("warm", "cold+"));
  EXPECT_THAT(after("hot"), ElementsAre("hot", "warm+"));
}

TEST_F(TierPlacesTest, a_bad_copy_can_be_replaced) {
  put("a", {"bytes"});
  change("a", [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  EXPECT_EQ(act(of_a(LifecycleActionKind::copy, "warm", "cold")), kChangedMeanwhile);
  ASSERT_EQ(act(of_a(LifecycleActionKind::copy, "cold", "hot")), "good");
  EXPECT_THAT(tiers_of("a"), ElementsAre("hot", "cold"));
  const std::string before = version("a").copies[0].extents[0].blob;
  ASSERT_EQ(act(of_a(LifecycleActionKind::copy, "cold", "hot")), "good");
  EXPECT_THAT(tiers_of("a"), ElementsAre("hot", "cold")) << "only the new copy";
  EXPECT_NE(version("a").copies[0].extents[0].blob, before);
  // The copy in use is damaged: the other one is read until a new copy has been made and verified.
  change("a", [](rows::Version& v) { v.copies[0].checked = true; });
  const std::string cold = version("a").copies[0].extents[0].blob;
  ASSERT_EQ(act(of_a(LifecycleActionKind::copy, "hot", "cold")), "good");
  EXPECT_THAT(tiers_of("a"), ElementsAre("cold", "hot"));
  EXPECT_EQ(version("a").extents[0].blob, cold);
  EXPECT_EQ(get("a"), "bytes");
  // A copy onto itself has no other copy to read from; the bytes that were written are removed.
  ASSERT_TRUE(store->collect());
  const std::size_t files = drives["cold"].files().size();
  EXPECT_EQ(act(of_a(LifecycleActionKind::copy, "cold", "cold")), kChangedMeanwhile);
  EXPECT_EQ(moved, 0u);
  EXPECT_EQ(drives["cold"].files().size(), files);
}

TEST_F(TierPlacesTest, removing_the_copy_that_is_read_leaves_the_fastest_verified_one) {
  put("a", {"bytes"});
  const auto lay = [&](bool warm, bool cold) {
    change("a", [&](rows::Version& v) {
      v.tier = "hot";
      v.storage_class = "STANDARD";
      v.copies = {{.tier = "cold", .extents = v.extents, .checked = cold},
                  {.tier = "warm", .extents = v.extents, .checked = warm}};
    });
  };
  const auto remove = [&](const std::string& place, bool relies, const std::string& stamp = "its") {
    LifecycleAction action = of_a(LifecycleActionKind::remove, place);
    action.stamp = stamp;
    const rows::Version a = version("a");
    if (relies) {
      action.needs = {
          {"pail/a@null", "hot", std::to_string(a.stamp) + '.' + a.extents[0].blob + ' '}};
    }
    return act(action);
  };
  lay(true, true);
  EXPECT_EQ(remove("hot", true, "another"), kChangedMeanwhile);
  EXPECT_EQ(remove("hot", true), "good");
  EXPECT_THAT(tiers_of("a"), ElementsAre("warm", "cold+"));
  EXPECT_EQ(version("a").storage_class, "STANDARD_IA")
      << "it belongs to the tier that it is in now";
  lay(false, true);
  EXPECT_EQ(remove("hot", true), "good");
  EXPECT_THAT(tiers_of("a"), ElementsAre("cold", "warm"));
  EXPECT_EQ(version("a").storage_class, "GLACIER");
  lay(false, false);
  EXPECT_EQ(remove("hot", true), kChangedMeanwhile) << "none of the other copies was verified";
  EXPECT_EQ(remove("hot", false), "good") << "no other step relies on it";
  EXPECT_THAT(tiers_of("a"), ElementsAre("warm", "cold"));
  lay(true, true);
  EXPECT_EQ(remove("warm", true), "good");
  EXPECT_THAT(tiers_of("a"), ElementsAre("hot", "cold+"));
  EXPECT_EQ(version("a").storage_class, "STANDARD") << "this is not the tier where it belongs";
  EXPECT_EQ(remove("warm", true), "good") << "the object no longer exists";
  EXPECT_EQ(get("a"), "bytes");
}

TEST_F(TierPlacesTest, removing_the_last_copy_removes_the_object) {
  put("a", {"bytes"});
  change("a", [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  EXPECT_EQ(act(of_a(LifecycleActionKind::remove, "hot")), "good");
  EXPECT_EQ(get("a"), "NoSuchKey");
}

TEST_F(TierPlacesTest, a_stop_interrupts_copies_and_checks) {
  put("a", {"bytes"});
  change("a", [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  TierPlaces places(*store, {.stop = [this] { return now > kStart; }});
  ASSERT_TRUE(places.look());
  now = kStart + 1;
  for (const LifecycleActionKind kind : {LifecycleActionKind::verify, LifecycleActionKind::copy}) {
    const auto done = places.act({.kind = kind,
                                  .item = "pail/a@null",
                                  .place = kind == LifecycleActionKind::copy ? "cold" : "hot",
                                  .from = "hot"});
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().front().what, HasSubstr("stopped"));
  }
  EXPECT_THAT(drives["cold"].files(), IsEmpty());
  EXPECT_EQ(places.bytes_moved(), 0u);
}

}  // namespace
}  // namespace orrery::upkeep::tier_places_tests
