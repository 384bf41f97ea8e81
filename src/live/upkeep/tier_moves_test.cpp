// The tiers as the lifecycle policy meets them: every field of what is seen of an object, and what
// each action does to the copies that are there, or says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/digest.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/s3/hash.h"
#include "live/store/storage_class.h"
#include "live/upkeep/tier_places.h"

namespace orrery::upkeep::tier_moves_tests {
namespace {

using storage::CopyNeed;
using storage::ItemView;
using storage::LifecycleAction;
using storage::LifecycleActionKind;
using storage::LifecycleOutcome;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr rows::TimeMs kStart = 1'700'000'000'000;

class TierMovesTest : public testing::Test {
 protected:
  TierMovesTest() {
    for (const std::string name : {"hot", "warm", "cold"}) {
      drives.push_back(std::make_unique<drives::SimulatedDrive>());
      tiers.push_back({name, {1, 0}, {name}});
      set[name] = drives.back().get();
    }
    begin(tiers);
    EXPECT_TRUE(store->make_bucket({.name = "pail", .owner = "main"}));
  }
  void begin(const std::vector<store::Tier>& with) {
    store = std::make_unique<store::Store>(store::StoreSetting{
        .metadata = metadata,
        .drives = set,
        .tiers = with,
        .now_ms = [this] { return now; },
        .random_bytes =
            [this](std::size_t n) { return std::string(n, static_cast<char>(++drawn)); }});
    EXPECT_TRUE(store->open());
  }
  // In the tier of its class; in `parts` where there are several.
  void put(const std::string& key, const std::vector<std::string>& parts,
           rows::Version fresh = {}) {
    std::vector<rows::Blob> blobs;
    for (const std::string& part : parts) {
      store::BlobWriter writer =
          store->writer(store::tier_of_class(fresh.storage_class).value_or("hot"));
      EXPECT_TRUE(writer.append(part));
      blobs.push_back(writer.finish().value_or(rows::Blob{}));
      fresh.extents.push_back({blobs.back().id, part.size(), to_hex(s3::md5(part)), ""});
      fresh.size += part.size();
    }
    ASSERT_TRUE(store->put("pail", key, fresh, blobs));
  }
  void change(const std::string& key, const std::function<void(rows::Version&)>& how) {
    ASSERT_TRUE(
        store->change_version("pail", key, {}, [&](rows::Version& v) -> store::Answer<void> {
          how(v);
          return {};
        }));
  }
  rows::Version version(const std::string& key) {
    return store->find("pail", key, std::nullopt).value_or(rows::Version{});
  }
  // Where it is read, then its copies; checked ones with a mark.
  std::vector<std::string> lies(const std::string& key) {
    const rows::Version found = version(key);
    std::vector<std::string> all = {store::tier_of(found)};
    for (const rows::TierCopy& copy : found.copies)
      all.push_back(copy.tier + (copy.checked ? "+" : ""));
    return all;
  }
  std::string get(const std::string& key) {
    auto object = store->open_object(
        "pail", key, std::nullopt, [](const rows::Version&) -> store::Answer<void> { return {}; });
    if (!object) return object.error().code;
    std::string bytes(object->version.size, ' ');
    return object->reader->read(0, bytes) ? bytes : "unreadable";
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
  // What an action says that follows a look; the outcome of a good one.
  std::string act(LifecycleAction action, LifecycleOutcome* outcome = nullptr) {
    TierPlaces places(*store, setting);
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

  rows::MemoryMetadata metadata;
  std::vector<std::unique_ptr<drives::SimulatedDrive>> drives;
  std::vector<store::Tier> tiers;
  store::DriveSet set;
  std::unique_ptr<store::Store> store;
  MoveSetting setting;
  rows::TimeMs now = kStart;
  int drawn = 0;
  std::uint64_t moved = 0;
};

TEST_F(TierMovesTest, places_are_the_tiers_that_are_there_the_fastest_first) {
  std::vector<std::string> names;
  const auto places = places_of({{"cold"}, {"hot"}, {"gpu-direct"}});
  for (const storage::KeepPlace& place : places) names.push_back(place.name);
  EXPECT_THAT(names, ElementsAre("gpu-direct", "hot", "cold"));
  const MoveSetting usual;
  EXPECT_EQ(usual.day_ms, 86'400'000);
  EXPECT_EQ(usual.stale_ms, 21'600'000);
  EXPECT_EQ(usual.fast_tier, "hot");
  EXPECT_FALSE(usual.stop());
}

TEST_F(TierMovesTest, an_object_that_should_lie_elsewhere_is_seen_with_all_it_has) {
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
  ASSERT_EQ(look->items.size(), 1u) << "the others lie where they belong";
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
  // A marker is nothing that lies anywhere.
  change("a", [](rows::Version& v) { v.marker = true; });
  EXPECT_THAT(seen(), IsEmpty());
}

TEST_F(TierMovesTest, an_object_is_held_by_the_law_until_its_moment) {
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

TEST_F(TierMovesTest, what_is_restored_or_was_read_is_wanted_near_until_its_moment) {
  put("a", {"bytes"}, {.storage_class = "GLACIER"});
  const auto restored = [&](rows::TimeMs until, const MoveSetting& how = {}) {
    change("a", [&](rows::Version& v) { v.restored_until_ms = until; });
    return wanted(how).value_or(std::vector<std::string>{});
  };
  EXPECT_THAT(restored(kStart + 1), ElementsAre("cold", "hot"));
  EXPECT_THAT(restored(kStart), IsEmpty());
  EXPECT_THAT(restored(kStart + 1, {.fast_tier = "warm"}), ElementsAre("cold", "warm"));
  EXPECT_THAT(restored(kStart + 1, {.fast_tier = "gpu-direct"}), IsEmpty()) << "there is none";
  EXPECT_THAT(restored(kStart + 1, {.fast_tier = "cold"}), IsEmpty()) << "it is near";
  restored(0);
  EXPECT_THAT(seen({.promote_ms = kStart * 2}), IsEmpty()) << "never read";
  store->reads().note("pail", "a", "null", kStart - 4);
  EXPECT_THAT(*wanted({.promote_ms = 5}), ElementsAre("cold", "hot"));
  EXPECT_THAT(seen({.promote_ms = 4}), IsEmpty()) << "its time is over";
  EXPECT_THAT(seen({.promote_ms = 0}), IsEmpty());
}

TEST_F(TierMovesTest, a_class_whose_tier_is_not_there_moves_nothing) {
  put("a", {"bytes"}, {.storage_class = "STANDARD_IA"});
  change("a", [](rows::Version& v) { v.storage_class = "GPU_DIRECT", v.tier = "warm"; });
  EXPECT_THAT(seen(), IsEmpty());
  change("a", [](rows::Version& v) { v.storage_class = "no such", v.tier = "warm"; });
  EXPECT_THAT(*wanted(), ElementsAre("hot"));
  // A copy that nobody has read through is looked at, though it lies where it should.
  change("a", [](rows::Version& v) {
    v.storage_class = "STANDARD_IA";
    v.restored_until_ms = kStart + 1;
    v.copies = {{.tier = "hot", .extents = v.extents, .checked = false}};
  });
  EXPECT_THAT(*wanted(), ElementsAre("warm", "hot"));
  change("a", [](rows::Version& v) { v.copies[0].checked = true; });
  EXPECT_THAT(seen(), IsEmpty());
}

TEST_F(TierMovesTest, the_objects_of_a_save_are_one_item) {
  setting.keeps_checkpoints = true;
  const auto tags = [](const std::string& role, const std::string& parts) {
    return rows::HeaderList{
        {"orrery-parts", parts}, {"orrery-role", role}, {"orrery-run", "r"}, {"orrery-step", "70"}};
  };
  put("k/1", {"first"}, {.tags = tags("milestone", "2")});
  now += 3000;
  put("k/2", {"the second"}, {.tags = tags("checkpoint", "1"), .legal_hold = true});
  put("k/3", {"of no run"}, {.tags = {{"orrery-step", "70"}}});
  const auto items = seen(setting);
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
  // A copy that only one of them has is begun, not whole.
  change("k/2", [](rows::Version& v) { v.copies = {{.tier = "cold", .extents = v.extents}}; });
  const auto begun = seen(setting);
  ASSERT_EQ(begun.at(0).copies.size(), 2u);
  EXPECT_TRUE(begun[0].copies[0].complete);
  EXPECT_EQ(begun[0].copies[1].place, "cold");
  EXPECT_FALSE(begun[0].copies[1].complete);
  EXPECT_DOUBLE_EQ(begun[0].copies[1].size.base(), 10);
  EXPECT_THAT(seen({.keeps_checkpoints = false}).size(), 1u) << "one with a copy too many";
}

// Two thousand single objects a look; what is behind them is seen later.
TEST_F(TierMovesTest, a_look_has_so_many_objects_and_no_more) {
  rows::Commit rows;
  for (int i = 0; i < 2001; ++i) {
    rows.changes.push_back(
        {rows::row::object("pail", 'k' + std::to_string(i)),
         rows::encode(
             rows::Version{.stamp = 1, .id = "null", .storage_class = "GLACIER", .tier = "hot"})});
  }
  ASSERT_TRUE(metadata.commit(rows));
  EXPECT_EQ(seen().size(), 2000u);
}

TEST_F(TierMovesTest, what_an_action_relies_on_is_looked_for_first) {
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

TEST_F(TierMovesTest, a_copy_is_verified_part_by_part) {
  put("a", {"first part", "second"});
  change("a", [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  LifecycleOutcome outcome;
  ASSERT_EQ(act(of_a(LifecycleActionKind::verify, "hot"), &outcome), "good");
  EXPECT_EQ(outcome.sound, true);
  EXPECT_EQ(outcome.digest, to_hex(s3::md5("first part")) + ' ' + to_hex(s3::md5("second")) + ' ');
  const rows::Version a = version("a");
  EXPECT_EQ(outcome.stamp, std::to_string(a.stamp) + '.' + a.extents[0].blob + ' ');
  EXPECT_EQ(act(of_a(LifecycleActionKind::verify, "cold")), kChangedMeanwhile) << "no copy there";
  // A wrong word in the record, and bytes that cannot be had.
  change("a", [](rows::Version& v) { v.extents[1].etag = std::string(32, '0'); });
  ASSERT_EQ(act(of_a(LifecycleActionKind::verify, "hot"), &outcome), "good");
  EXPECT_EQ(outcome.sound, false);
  EXPECT_EQ(outcome.digest, to_hex(s3::md5("first part")) + ' ' + to_hex(s3::md5("second")) + ' ');
  drives[0]->files().clear();
  ASSERT_EQ(act(of_a(LifecycleActionKind::verify, "hot"), &outcome), "good");
  EXPECT_EQ(outcome.sound, false);
  EXPECT_EQ(outcome.digest, "unreadable");
}

TEST_F(TierMovesTest, a_copy_that_was_read_through_is_read_from_then_on_where_it_is_faster) {
  put("a", {"bytes"}, {.storage_class = "STANDARD_IA"});
  const auto after = [&](const std::string& to) {
    change("a", [](rows::Version& v) {
      v.copies.clear();
      v.tier = "warm";
      v.storage_class = "GLACIER";
    });
    EXPECT_EQ(act(of_a(LifecycleActionKind::copy, to, "warm")), "good");
    EXPECT_EQ(moved, 5u);
    EXPECT_THAT(lies("a"), ElementsAre("warm", to));
    EXPECT_EQ(act(of_a(LifecycleActionKind::verify, to)), "good");
    EXPECT_EQ(get("a"), "bytes");
    return lies("a");
  };
  EXPECT_THAT(after("cold"), ElementsAre("warm", "cold+"));
  EXPECT_THAT(after("hot"), ElementsAre("hot", "warm+"));
}

TEST_F(TierMovesTest, a_copy_is_made_anew_where_one_went_bad) {
  put("a", {"bytes"});
  change("a", [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  EXPECT_EQ(act(of_a(LifecycleActionKind::copy, "warm", "cold")), kChangedMeanwhile);
  ASSERT_EQ(act(of_a(LifecycleActionKind::copy, "cold", "hot")), "good");
  EXPECT_THAT(lies("a"), ElementsAre("hot", "cold"));
  const std::string before = version("a").copies[0].extents[0].blob;
  ASSERT_EQ(act(of_a(LifecycleActionKind::copy, "cold", "hot")), "good");
  EXPECT_THAT(lies("a"), ElementsAre("hot", "cold")) << "one, the new one";
  EXPECT_NE(version("a").copies[0].extents[0].blob, before);
  // The one that is read went bad: the other is read while a new one is made and not yet checked.
  change("a", [](rows::Version& v) { v.copies[0].checked = true; });
  const std::string cold = version("a").copies[0].extents[0].blob;
  ASSERT_EQ(act(of_a(LifecycleActionKind::copy, "hot", "cold")), "good");
  EXPECT_THAT(lies("a"), ElementsAre("cold", "hot"));
  EXPECT_EQ(version("a").extents[0].blob, cold);
  EXPECT_EQ(get("a"), "bytes");
  // Onto itself there is no other to be read meanwhile; what was written is forgotten.
  ASSERT_TRUE(store->collect());
  const std::size_t files = drives[2]->files().size();
  EXPECT_EQ(act(of_a(LifecycleActionKind::copy, "cold", "cold")), kChangedMeanwhile);
  EXPECT_EQ(moved, 0u);
  EXPECT_EQ(drives[2]->files().size(), files);
}

TEST_F(TierMovesTest, a_copy_that_goes_leaves_the_fastest_that_was_checked) {
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
  EXPECT_THAT(lies("a"), ElementsAre("warm", "cold+"));
  EXPECT_EQ(version("a").storage_class, "STANDARD_IA") << "it belongs where it lies now";
  lay(false, true);
  EXPECT_EQ(remove("hot", true), "good");
  EXPECT_THAT(lies("a"), ElementsAre("cold", "warm"));
  EXPECT_EQ(version("a").storage_class, "GLACIER");
  lay(false, false);
  EXPECT_EQ(remove("hot", true), kChangedMeanwhile) << "none of the others was read through";
  EXPECT_EQ(remove("hot", false), "good") << "nothing of it is relied upon";
  EXPECT_THAT(lies("a"), ElementsAre("warm", "cold"));
  lay(true, true);
  EXPECT_EQ(remove("warm", true), "good");
  EXPECT_THAT(lies("a"), ElementsAre("hot", "cold+"));
  EXPECT_EQ(version("a").storage_class, "STANDARD") << "that is not where it belongs";
  EXPECT_EQ(remove("warm", true), "good") << "there is none any more";
  EXPECT_EQ(get("a"), "bytes");
}

TEST_F(TierMovesTest, the_last_copy_goes_with_its_object) {
  put("a", {"bytes"});
  change("a", [](rows::Version& v) { v.storage_class = "GLACIER", v.tier = "hot"; });
  EXPECT_EQ(act(of_a(LifecycleActionKind::remove, "hot")), "good");
  EXPECT_EQ(get("a"), "NoSuchKey");
}

TEST_F(TierMovesTest, a_stop_ends_what_is_being_read) {
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
    EXPECT_EQ(done.error().front().what, "InternalError: stopped");
  }
  EXPECT_THAT(drives[2]->files(), IsEmpty());
  EXPECT_EQ(places.bytes_moved(), 0u);
}

}  // namespace
}  // namespace orrery::upkeep::tier_moves_tests
