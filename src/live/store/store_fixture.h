// A store in memory, over rows and drives that outlive it: opens it, puts and reads objects, and
// checks that its counts and files agree with its rows.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/s3/hash.h"
#include "live/store/store.h"

namespace orrery::store {

// A hot tier with two copies on three drives, and a cold tier with one copy.
inline std::vector<Tier> two_tiers() {
  return {{"hot", {1, 1}, {"d0", "d1", "d2"}}, {"cold", {1, 0}, {"d3"}}};
}
// Hot and cold on one drive, so the number of files is the number of blobs.
inline std::vector<Tier> one_drive() { return {{"hot", {1, 0}, {"d"}}, {"cold", {1, 0}, {"d"}}}; }

// Opens nothing by itself: a fixture calls begin() once its rows and drives are prepared.
class StoreBench : public testing::Test {
 protected:
  explicit StoreBench(std::vector<Tier> of = two_tiers()) : tiers(std::move(of)) {
    for (const Tier& tier : tiers) {
      for (const std::string& name : tier.drives) set[name] = &drives[name];
    }
  }
  virtual StoreSetting setting() {
    return {.metadata = *through,
            .drives = set,
            .tiers = tiers,
            .now_ms = [this] { return now; },
            .random_bytes =
                [this](std::size_t n) { return std::string(n, static_cast<char>(++drawn)); }};
  }
  // Returns another gateway on the same rows and drives, not yet open.
  std::unique_ptr<Store> made() { return std::make_unique<Store>(setting()); }
  // Starts another run; the previous one dies.
  void open() {
    store = made();
    ASSERT_TRUE(store->open());
  }
  void begin(rows::Versioning versioning = rows::Versioning::off) {
    open();
    ASSERT_TRUE(store->make_bucket({.name = "pail", .owner = "main", .versioning = versioning}));
  }
  void set_versioning(rows::Versioning versioning) {
    ASSERT_TRUE(store->change_bucket("pail", [&](rows::Bucket& bucket) -> Answer<void> {
      bucket.versioning = versioning;
      return {};
    }));
  }
  void set_row(const std::string& key, std::optional<std::string> value) {
    ASSERT_TRUE(rows.commit({.changes = {{key, std::move(value)}}}));
  }
  bool has_row(const std::string& key) { return rows.get(key).value().has_value(); }

  rows::Blob written(Store& by, const std::string& bytes, const std::string& tier = "hot") const {
    BlobWriter writer = by.writer(tier);
    EXPECT_TRUE(writer.append(bytes));
    return writer.finish().value_or(rows::Blob{});
  }
  rows::Blob written(const std::string& bytes, const std::string& tier = "hot") const {
    return written(*store, bytes, tier);
  }
  static rows::Extent extent_of(const rows::Blob& blob, const std::string& bytes) {
    return {blob.id, bytes.size(), to_hex(s3::md5(bytes)), ""};
  }
  // The ETag of the version is "e-" followed by its bytes, unless `fresh` has one.
  Answer<rows::Version> put(const std::string& key, const std::string& bytes,
                            const WriteCondition& condition = {}, rows::Version fresh = {}) {
    now += step_ms;
    const rows::Blob blob = written(bytes);
    fresh.size = bytes.size();
    if (fresh.etag.empty()) fresh.etag = "e-" + bytes;
    fresh.extents = {extent_of(blob, bytes)};
    last_blob = blob.id;
    return store->put("pail", key, fresh, {blob}, condition);
  }
  Answer<OpenedObject> opened(const std::string& key,
                              const std::optional<std::string>& version = {}) const {
    return store->open_object("pail", key, version, [](const rows::Version& of) -> Answer<void> {
      if (of.marker) return refused("marker");
      return {};
    });
  }
  // Returns the bytes, or the code of the refusal.
  std::string get(const std::string& key, const std::optional<std::string>& version = {}) const {
    auto object = opened(key, version);
    if (!object) return object.error().code;
    std::string bytes(object->version.size, ' ');
    return object->reader->read(0, bytes) ? bytes : "unreadable";
  }
  void change(const std::string& key, const std::function<void(rows::Version&)>& how) {
    ASSERT_TRUE(store->change_version("pail", key, {}, [&](rows::Version& v) -> Answer<void> {
      how(v);
      return {};
    }));
  }
  // Returns the id of the removed version, with "marker " before it if it was a delete marker or
  // one was added.
  std::string removed(const std::string& key, const Removal& removal = {}) const {
    const auto gone = store->remove("pail", key, removal);
    return gone ? (gone->marker ? "marker " : "") + gone->version_id : gone.error().code;
  }
  rows::Upload begun(const std::string& key) const {
    const auto id = store->begin_upload({.id = {}, .bucket = "pail", .key = key});
    EXPECT_TRUE(id);
    return store->upload("pail", key, id.value_or("")).value_or(rows::Upload{});
  }
  rows::Part put_part(const rows::Upload& upload, std::uint64_t number, const std::string& bytes) {
    const rows::Blob blob = written(bytes);
    const rows::Part part{number, now, extent_of(blob, bytes)};
    EXPECT_TRUE(store->put_part(upload, part, blob));
    last_blob = blob.id;
    return part;
  }
  void lose_last_blob() { set_row(rows::row::blob(last_blob), std::nullopt); }

  std::size_t files() {
    std::size_t count = 0;
    for (auto& [name, drive] : drives) count += drive.files().size();
    return count;
  }
  static std::pair<std::uint64_t, std::uint64_t> used(Store& by) {
    const BucketUse use = by.usage().of("pail");
    return {use.bytes, use.objects};
  }
  // Checks that the running counts match a recount of the rows, that a version or a part uses each
  // blob, and that a blob uses each file.
  void expect_sound() {
    const auto again = made();
    ASSERT_TRUE(again->measure());
    EXPECT_EQ(used(*store), used(*again));
    ASSERT_TRUE(store->collect());
    std::set<std::string> wanted, blobs;
    std::size_t shards = 0;
    const auto cursor = rows.cursor();
    for (cursor->seek(""); cursor->valid(); cursor->next()) {
      const char kind = cursor->key().front();
      if (kind == 'o' || kind == 'v') {
        for (const rows::Extent& e : all_extents(*rows::decode_version(cursor->value()))) {
          if (!e.blob.empty()) wanted.insert(e.blob);
        }
      } else if (kind == 'p') {
        wanted.insert(rows::decode_part(cursor->value())->extent.blob);
      } else if (kind == 's') {
        const auto blob = rows::decode_blob(cursor->value());
        blobs.insert(blob->id);
        shards += blob->shards.size();
      }
    }
    EXPECT_EQ(blobs, wanted);
    EXPECT_EQ(files(), shards);
  }

  rows::MemoryMetadata rows;
  rows::Metadata* through = &rows;  // the rows that the store is opened on
  std::map<std::string, drives::SimulatedDrive> drives;
  DriveSet set;
  std::vector<Tier> tiers;
  rows::TimeMs now = 1'700'000'000'000;
  rows::TimeMs step_ms = 1000;  // by how much a put advances the clock
  int drawn = 0;
  std::string last_blob;
  std::unique_ptr<Store> store;
};

class StoreTest : public StoreBench {
 protected:
  StoreTest() { begin(); }
};

}  // namespace orrery::store
