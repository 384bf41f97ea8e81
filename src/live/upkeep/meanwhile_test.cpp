// What must hold while others change things: runs that were given up, files that are swept or left,
// commits that may be lost, and objects on their way between tiers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/s3/hash.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"
#include "live/upkeep/tier_places.h"

namespace orrery::upkeep::meanwhile_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MeanwhileTest : public testing::Test {
 protected:
  store::StoreSetting setting() {
    return {.metadata = metadata,
            .drives = {{"d0", &drives[0]}, {"d1", &drives[1]}, {"c", &cold}},
            .tiers = {{"hot", {1, 1}, {"d0", "d1"}}, {"cold", {1, 0}, {"c"}}},
            .now_ms = [this] { return now; },
            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }};
  }
  static rows::Blob written(store::Store& by, const std::string& bytes,
                            const std::string& tier = "hot") {
    store::BlobWriter writer = by.writer(tier);
    EXPECT_TRUE(writer.append(bytes));
    return *writer.finish();
  }
  static rows::Extent extent(const rows::Blob& blob, const std::string& bytes) {
    return {blob.id, blob.size, to_hex(s3::md5(bytes)), ""};
  }
  static void put(
      store::Store& by, const std::string& key, const std::string& bytes,
      const std::function<void(rows::Version&)>& change = [](rows::Version&) {}) {
    const rows::Blob blob = written(by, bytes);
    rows::Version fresh{.size = blob.size, .etag = to_hex(s3::md5(bytes))};
    fresh.extents = {extent(blob, bytes)};
    change(fresh);
    EXPECT_TRUE(by.put("pail", key, fresh, {blob}));
  }
  std::size_t files() { return drives[0].files().size() + drives[1].files().size(); }

  rows::MemoryMetadata metadata;
  drives::SimulatedDrive drives[2];
  drives::SimulatedDrive cold;
  rows::TimeMs now = 1'700'000'000'000;
};

class SharedMeanwhile : public MeanwhileTest {
 protected:
  SharedMeanwhile() {
    metadata.share();
    EXPECT_TRUE(first.open());
    EXPECT_TRUE(second.open());
    EXPECT_TRUE(first.make_bucket({.name = "pail", .owner = "main"}));
  }
  void give_up_second() {
    metadata.lose_sight_of(second.epoch());
    ASSERT_TRUE(sweep_orphans(first));
  }
  store::Store first{setting()};
  store::Store second{setting()};
};

TEST_F(SharedMeanwhile, no_two_gateways_write_the_same_revision) {
  EXPECT_EQ(first.epoch(), 1u);
  EXPECT_EQ(second.epoch(), 2u);
  EXPECT_EQ(first.fresh_revision(0), 65'536u);
  EXPECT_EQ(second.fresh_revision(0), 131'072u);
  EXPECT_EQ(second.fresh_revision(131'072), 131'073u);
  rows::MemoryMetadata own;
  store::StoreSetting alone = setting();
  store::StoreSetting other{.metadata = own,
                            .drives = {},
                            .tiers = {},
                            .now_ms = alone.now_ms,
                            .random_bytes = alone.random_bytes};
  store::Store single(std::move(other));
  ASSERT_TRUE(single.open());
  EXPECT_EQ(single.fresh_revision(0), 1u);
}

TEST_F(SharedMeanwhile, who_was_given_up_changes_nothing_any_more) {
  put(first, "k", "bytes");
  const rows::Blob kept = *rows::decode_blob(
      *metadata.get(rows::row::blob(first.find("pail", "k", std::nullopt)->extents.at(0).blob))
           .value());
  const rows::Blob fresh = written(second, "fresh");
  give_up_second();
  const auto changed = second.change_version("pail", "k", std::nullopt,
                                             [&](rows::Version& v) -> store::Answer<void> {
                                               v.extents = {extent(fresh, "fresh")};
                                               return {};
                                             },
                                             {fresh});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, "ServiceUnavailable");
  EXPECT_EQ(changed.error().message, "The gateway lost its place; please try again.");
  drives[0].files().clear();
  const std::size_t before = files();
  const auto mended = mend_blob(second, kept.id, {0});
  ASSERT_TRUE(mended);
  EXPECT_EQ(mended->shards, 0);
  EXPECT_EQ(mended->fault->what, "the blob was changed meanwhile");
  EXPECT_EQ(files(), before) << "what it wrote is gone";
  EXPECT_EQ(mend_blob(first, kept.id, {0})->shards, 1);
}

TEST_F(SharedMeanwhile, a_sweep_takes_what_lies_elsewhere_than_its_row_says) {
  put(second, "k", "bytes");
  const std::string blob = second.find("pail", "k", std::nullopt)->extents.at(0).blob;
  metadata.lose_sight_of(second.epoch());
  const auto content = drives[0].files().begin()->second;
  const std::string name = drives[0].files().begin()->first;
  drives[1].files()[name] = content;                           // the same revision on another drive
  drives[0].files()[store::shard_name(blob, 5, 0)] = content;  // no such shard
  drives[0].files()[store::shard_name(blob, 0, 9)] =
      content;                           // later than the row: it may be on its way
  drives[0].files()["notes"] = content;  // not ours
  const auto swept = sweep_orphans(first);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->set_aside, 2u);
  EXPECT_EQ(swept->files, 5u) << "all shards that are there";
  EXPECT_FALSE(drives[1].files().contains(name));
  EXPECT_FALSE(drives[0].files().contains(store::shard_name(blob, 5, 0)));
  EXPECT_TRUE(drives[0].files().contains(store::shard_name(blob, 0, 9)));
  EXPECT_TRUE(drives[0].files().contains("notes"));
}

class AloneMeanwhile : public MeanwhileTest {
 protected:
  AloneMeanwhile() {
    EXPECT_TRUE(store.open());
    EXPECT_TRUE(store.make_bucket({.name = "pail", .owner = "main"}));
  }
  void version_it() {
    EXPECT_TRUE(store.change_bucket("pail", [](rows::Bucket& bucket) -> store::Answer<void> {
      bucket.versioning = rows::Versioning::on;
      return {};
    }));
  }
  storage::LifecycleLook look(TierPlaces& places) {
    auto seen = places.look();
    EXPECT_TRUE(seen);
    return seen ? *seen : storage::LifecycleLook{};
  }
  store::Store store{setting()};
};

TEST_F(AloneMeanwhile, a_removal_is_as_durable_as_was_asked) {
  version_it();
  put(store, "k", "x");
  EXPECT_EQ(metadata.pending(), 0u);
  const auto marked = store.remove("pail", "k", {.durable = false});
  ASSERT_TRUE(marked && marked->marker);
  EXPECT_EQ(metadata.pending(), 1u) << "the marker is not synced";
  EXPECT_EQ(marked->version_id.size(), 32u) << "sixteen digits of stamp, eight bytes of chance";
  ASSERT_TRUE(store.remove("pail", "k", {}));
  EXPECT_EQ(metadata.pending(), 0u);
  ASSERT_TRUE(store.remove("pail", "k", {.version_id = marked->version_id, .durable = false}));
  EXPECT_EQ(metadata.pending(), 1u);
}

TEST_F(AloneMeanwhile, what_is_near_until_a_moment_is_not_near_at_it) {
  put(store, "k", "bytes", [](rows::Version& v) {
    v.storage_class = "GLACIER";
    v.tier = "cold";
  });
  TierPlaces places(store, {.promote_ms = 1000});
  EXPECT_THAT(look(places).items, IsEmpty()) << "nobody reads it";
  store.reads().note("pail", "k", "null", now);
  now += 999;
  ASSERT_EQ(look(places).items.size(), 1u);
  EXPECT_THAT(*look(places).items[0].wanted, ElementsAre("cold", "hot"));
  now += 1;
  EXPECT_THAT(look(places).items, IsEmpty());
  ASSERT_TRUE(
      store.change_version("pail", "k", std::nullopt, [&](rows::Version& v) -> store::Answer<void> {
        v.restored_until_ms = now + 1;
        return {};
      }));
  EXPECT_EQ(look(places).items.size(), 1u);
  now += 1;
  EXPECT_THAT(look(places).items, IsEmpty());
}

TEST_F(AloneMeanwhile, what_lies_in_all_its_tiers_needs_nothing_whichever_is_read) {
  const auto lies = [&](const std::string& first, const std::string& other, bool checked) {
    return [=](rows::Version& v) {
      v.storage_class = "GLACIER";
      v.tier = first;
      v.restored_until_ms = 1'700'000'100'000;
      v.copies = {{other, v.extents, checked}};
    };
  };
  TierPlaces places(store, {});
  put(store, "a", "bytes", lies("hot", "cold", true));
  put(store, "b", "bytes", lies("cold", "hot", true));
  EXPECT_THAT(look(places).items, IsEmpty());
  put(store, "c", "bytes", lies("hot", "cold", false));
  const auto seen = look(places);
  ASSERT_EQ(seen.items.size(), 1u) << "one that was not read through";
  EXPECT_EQ(seen.items[0].id, "pail/c@null");
  ASSERT_EQ(seen.items[0].copies.size(), 2u);
  EXPECT_EQ(seen.items[0].copies[0].place, "hot");
  EXPECT_TRUE(seen.items[0].copies[0].complete);
  EXPECT_EQ(seen.items[0].copies[0].size, bytes(5.0));
  EXPECT_EQ(seen.now, seconds(1'700'000'000.0));
}

TEST_F(AloneMeanwhile, what_is_held_is_told_to_whoever_moves_it) {
  const auto away = [](rows::Version& v) {
    v.storage_class = "GLACIER";
    v.tier = "hot";
  };
  const auto held = [&](const std::function<void(rows::Version&)>& how) {
    put(store, "k", "bytes", [&](rows::Version& v) {
      away(v);
      how(v);
    });
    TierPlaces places(store, {});
    const auto seen = look(places);
    EXPECT_EQ(seen.items.size(), 1u);
    // So that it may be put again.
    EXPECT_TRUE(store.change_version("pail", "k", std::nullopt,
                                     [](rows::Version& v) -> store::Answer<void> {
                                       v.legal_hold = false;
                                       v.retention = {};
                                       return {};
                                     }));
    return !seen.items.empty() && seen.items[0].held;
  };
  EXPECT_FALSE(held([](rows::Version&) {}));
  EXPECT_TRUE(held([](rows::Version& v) { v.legal_hold = true; }));
  EXPECT_TRUE(held([&](rows::Version& v) { v.retention = {"GOVERNANCE", now + 1}; }));
  EXPECT_FALSE(held([&](rows::Version& v) { v.retention = {"GOVERNANCE", now}; }));
  EXPECT_FALSE(held([&](rows::Version& v) { v.retention = {"", now + 1}; }));
}

TEST_F(AloneMeanwhile, a_marker_is_nothing_to_move_and_what_changed_is_said_to_have) {
  version_it();
  put(store, "k", "bytes", [](rows::Version& v) {
    v.storage_class = "GLACIER";
    v.tier = "hot";
  });
  TierPlaces places(store, {});
  const auto seen = look(places);
  ASSERT_EQ(seen.items.size(), 1u);
  ASSERT_TRUE(store.remove("pail", "k", {}));
  EXPECT_EQ(look(places).items.size(), 1u) << "the version, not its marker";
  ASSERT_TRUE(places.look());
  storage::LifecycleAction action{.kind = storage::LifecycleActionKind::copy,
                                  .item = seen.items[0].id,
                                  .place = "cold",
                                  .from = "warm"};
  const auto none = places.act(action);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().what, kChangedMeanwhile) << "there is no copy there";
  action.from = "hot";
  action.needs = {{.item = seen.items[0].id, .place = "cold", .stamp = "s"}};
  EXPECT_EQ(places.act(action).error().front().what, kChangedMeanwhile);
  action.needs = {};
  EXPECT_TRUE(places.act(action));
  EXPECT_EQ(places.bytes_moved(), 5u);
  action.item = "pail/other@null";
  EXPECT_EQ(places.act(action).error().front().what, kChangedMeanwhile);
}

}  // namespace
}  // namespace orrery::upkeep::meanwhile_tests
