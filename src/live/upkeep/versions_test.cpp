// A store's rows: listings, versions, conditions, locks, uploads and what the buckets hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/store/listing.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"
#include "live/upkeep/walk.h"

namespace orrery::upkeep {
namespace {

using testing::ElementsAre;

class VersionsTest : public testing::Test {
 protected:
  VersionsTest() {
    for (int i = 0; i < 4; ++i) {
      drives.push_back(std::make_unique<drives::SimulatedDrive>());
      set["d" + std::to_string(i)] = drives.back().get();
    }
    store = reopened();
    EXPECT_TRUE(store->open());
    EXPECT_TRUE(store->make_bucket({.name = "pail", .owner = "main"}));
  }
  std::unique_ptr<store::Store> reopened() {
    return std::make_unique<store::Store>(store::StoreSetting{
        .metadata = metadata,
        .drives = set,
        .tiers = {{"hot", {1, 1}, {"d0", "d1", "d2"}}, {"cold", {1, 0}, {"d3"}}},
        .now_ms = [this] { return now; },
        .random_bytes =
            [this](std::size_t n) { return std::string(n, static_cast<char>(++drawn)); }});
  }
  void version_it(rows::Versioning versioning) {
    EXPECT_TRUE(store->change_bucket("pail", [&](rows::Bucket& bucket) -> store::Answer<void> {
      bucket.versioning = versioning;
      return {};
    }));
  }
  rows::Blob written(const std::string& bytes, const std::string& tier = "hot") {
    store::BlobWriter writer = store->writer(tier);
    EXPECT_TRUE(writer.append(bytes));
    auto blob = writer.finish();
    EXPECT_TRUE(blob);
    return blob.value_or(rows::Blob{});
  }
  store::Answer<rows::Version> put(const std::string& key, const std::string& bytes,
                                   const store::WriteCondition& condition = {},
                                   rows::Version fresh = {}) {
    now += 1000;
    const rows::Blob blob = written(bytes);
    fresh.size = bytes.size();
    if (fresh.etag.empty()) fresh.etag = "e-" + bytes;
    fresh.extents = {{blob.id, bytes.size(), fresh.etag, ""}};
    return store->put("pail", key, fresh, {blob}, condition);
  }
  std::string get(const std::string& key, const std::optional<std::string>& version = {}) {
    auto object = store->open_object("pail", key, version,
                                     [](const rows::Version& of) -> store::Answer<void> {
                                       if (of.marker) return store::refused("marker");
                                       return {};
                                     });
    if (!object) return object.error().code;
    std::string bytes(object->version.size, ' ');
    return object->reader->read(0, bytes) ? bytes : "unreadable";
  }
  std::string removed(const std::string& key, const store::Removal& removal = {}) {
    const auto gone = store->remove("pail", key, removal);
    return gone ? (gone->marker ? "marker " : "") + gone->version_id : gone.error().code;
  }
  std::vector<std::string> listed(store::PageRequest request, bool* truncated = nullptr) {
    request.bucket = "pail";
    const auto page = store::page_of_objects(metadata, request);
    EXPECT_TRUE(page);
    std::vector<std::string> keys;
    for (const store::PageEntry& entry : page->entries) keys.push_back(entry.key);
    if (truncated) *truncated = page->truncated;
    return keys;
  }
  std::pair<std::uint64_t, std::uint64_t> used(store::Store& by) {
    const store::BucketUse use = by.usage().of("pail");
    return {use.bytes, use.objects};
  }
  // What is counted as it changes is what a count of the rows finds; and no blob is left over.
  void expect_sound() {
    const auto again = reopened();
    ASSERT_TRUE(again->measure());
    EXPECT_EQ(used(*store), used(*again));
    ASSERT_TRUE(store->collect());
    const auto check = check_store(*store, true);
    ASSERT_TRUE(check);
    EXPECT_TRUE(check->clean()) << (check->faults.empty() ? "" : check->faults.front());
  }

  rows::MemoryMetadata metadata;
  std::vector<std::unique_ptr<drives::SimulatedDrive>> drives;
  store::DriveSet set;
  rows::TimeMs now = 1'700'000'000'000;
  int drawn = 0;
  std::unique_ptr<store::Store> store;
};

TEST_F(VersionsTest, a_listing_is_the_same_whatever_its_pages_hold) {
  for (const char* key : {"a", "a/1", "a/2", "a/b/3", "b", "b-", "c/", "c/x", "d//e"})
    put(key, "x");
  version_it(rows::Versioning::on);
  put("gone", "x");
  EXPECT_EQ(removed("gone").substr(0, 7), "marker ");
  ASSERT_TRUE(store->make_bucket({.name = "pail2", .owner = "main"}));
  EXPECT_THAT(listed({}), ElementsAre("a", "a/1", "a/2", "a/b/3", "b", "b-", "c/", "c/x", "d//e"));
  EXPECT_THAT(listed({.delimiter = "/"}), ElementsAre("a", "a/", "b", "b-", "c/", "d/"));
  EXPECT_THAT(listed({.prefix = "a/", .delimiter = "/"}), ElementsAre("a/1", "a/2", "a/b/"));
  EXPECT_THAT(listed({.prefix = "d/", .delimiter = "/"}), ElementsAre("d//"));
  EXPECT_THAT(listed({.prefix = "b"}), ElementsAre("b", "b-"));
  EXPECT_THAT(listed({.delimiter = "/b"}),
              ElementsAre("a", "a/1", "a/2", "a/b", "b", "b-", "c/", "c/x", "d//e"));
  EXPECT_THAT(listed({.prefix = "z"}), ElementsAre());
  EXPECT_THAT(listed({.most = 0}), ElementsAre());
  for (const store::PageRequest& whole :
       {store::PageRequest{}, store::PageRequest{.bucket = {}, .delimiter = "/"},
        store::PageRequest{.bucket = {}, .prefix = "a/", .delimiter = "/"},
        store::PageRequest{.bucket = {}, .prefix = "b"}}) {
    const std::vector<std::string> all = listed(whole);
    for (std::size_t most = 1; most <= all.size() + 1; ++most) {
      std::vector<std::string> pages;
      store::PageRequest request = whole;
      request.most = most;
      bool more = true;
      while (more) {
        const auto page = listed(request, &more);
        pages.insert(pages.end(), page.begin(), page.end());
        EXPECT_TRUE(!more || page.size() == most);
        if (more) request.after = page.back();
      }
      EXPECT_EQ(pages, all) << most;
    }
  }
  // From anywhere, a key of the bucket or not, and from before the prefix.
  EXPECT_THAT(listed({.after = "b"}), ElementsAre("b-", "c/", "c/x", "d//e"));
  EXPECT_THAT(listed({.after = "b!"}), ElementsAre("b-", "c/", "c/x", "d//e"));
  EXPECT_THAT(listed({.prefix = "b", .after = "a"}), ElementsAre("b", "b-"));
  EXPECT_THAT(listed({.delimiter = "/", .after = "a/"}), ElementsAre("b", "b-", "c/", "d/"));
}

// A walk that leaps over a common prefix lands on the very next key, not behind it.
TEST_F(VersionsTest, a_key_right_behind_a_common_prefix_is_listed) {
  for (const char* key : {"a/1", "a/2", "a0", "a00", "a1", "b/x", "b0/y"}) put(key, "x");
  EXPECT_THAT(listed({.delimiter = "/"}), ElementsAre("a/", "a0", "a00", "a1", "b/", "b0/"));
  EXPECT_THAT(listed({.delimiter = "/", .after = "a/"}),
              ElementsAre("a0", "a00", "a1", "b/", "b0/"));
}

TEST_F(VersionsTest, versions_are_listed_newest_first_and_paged_by_their_ids) {
  version_it(rows::Versioning::on);
  put("a", "1");
  put("a", "2");
  put("a", "3");
  removed("b");
  put("c/x", "4");
  const auto page = [&](store::PageRequest request) {
    request.bucket = "pail";
    return store::page_of_versions(metadata, request).value_or(store::Page{});
  };
  const store::Page all = page({});
  ASSERT_EQ(all.entries.size(), 5u);
  EXPECT_EQ(all.entries[0].version.etag, "e-3");
  EXPECT_EQ(all.entries[2].version.etag, "e-1");
  EXPECT_TRUE(all.entries[0].newest);
  EXPECT_FALSE(all.entries[1].newest);
  EXPECT_TRUE(all.entries[3].version.marker);
  EXPECT_FALSE(all.truncated);
  for (std::size_t most = 1; most < 6; ++most) {
    std::vector<std::string> ids;
    store::PageRequest request{.bucket = "pail", .most = most};
    store::Page part = page(request);
    while (true) {
      for (const store::PageEntry& entry : part.entries) ids.push_back(entry.version.id);
      if (!part.truncated) break;
      EXPECT_EQ(part.entries.size(), most);
      request.after = part.entries.back().key;
      request.after_version = part.entries.back().version.id;
      part = page(request);
    }
    ASSERT_EQ(ids.size(), 5u) << most;
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(ids[i], all.entries[i].version.id);
  }
  // A marker without a version is behind all of its key's.
  EXPECT_EQ(page({.bucket = {}, .after = "a"}).entries.size(), 2u);
  EXPECT_TRUE(page({.bucket = {}, .delimiter = "/"}).entries.back().common);
  // What a walk says of each: since when it is not the newest, how many are newer, and alone or
  // not.
  struct Seen {
    std::string etag;
    rows::TimeMs since;
    std::size_t newer;
    bool alone;
  };
  std::vector<Seen> seen;
  ASSERT_TRUE(walk_versions(
      *store, "pail", [] { return false; },
      [&](const store::PageEntry& entry, const VersionPlace& place) -> store::Answer<void> {
        seen.push_back({entry.version.etag, place.since_ms, place.newer, place.alone});
        return {};
      }));
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[1].since, all.entries[0].version.modified_ms) << "when the next one came";
  EXPECT_EQ(seen[2].since, all.entries[1].version.modified_ms);
  EXPECT_EQ(seen[1].newer, 0u);
  EXPECT_EQ(seen[2].newer, 1u);
  EXPECT_FALSE(seen[0].alone || seen[1].alone || seen[2].alone);
  EXPECT_TRUE(seen[3].alone && seen[4].alone);
}

// "Using versioning in S3 buckets": what a put and a delete do, on, suspended and off.
TEST_F(VersionsTest, come_and_go_as_the_bucket_says) {
  put("k", "off");
  EXPECT_EQ(get("k", "null"), "off");
  put("k", "replaced");
  EXPECT_EQ(get("k"), "replaced");
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{8}, std::uint64_t{1}));
  version_it(rows::Versioning::on);
  const std::string one = put("k", "one")->id;
  const std::string two = put("k", "two")->id;
  EXPECT_EQ(get("k", "null"), "replaced") << "what was there before stays";
  EXPECT_EQ(get("k", one), "one");
  EXPECT_EQ(get("k"), "two");
  version_it(rows::Versioning::suspended);
  EXPECT_EQ(put("k", "null again")->id, "null");
  EXPECT_EQ(get("k"), "null again");
  EXPECT_EQ(get("k", "null"), "null again") << "the null version is replaced wherever it stands";
  EXPECT_EQ(get("k", two), "two");
  EXPECT_EQ(used(*store).second, 3u);
  put("k", "null once more");
  EXPECT_EQ(used(*store).second, 3u);
  // A delete while suspended replaces the null version by a marker of that name.
  EXPECT_EQ(removed("k"), "marker null");
  EXPECT_EQ(get("k"), "marker");
  EXPECT_EQ(used(*store).second, 2u);
  // The marker removed, the next newest is back.
  EXPECT_EQ(removed("k", {.version_id = "null"}), "marker null");
  EXPECT_EQ(get("k"), "two");
  EXPECT_EQ(removed("k", {.version_id = two}), two);
  EXPECT_EQ(get("k"), "one");
  EXPECT_EQ(removed("k", {.version_id = one}), one);
  EXPECT_EQ(get("k"), "NoSuchKey");
  EXPECT_EQ(get("k", one), "NoSuchVersion");
  EXPECT_EQ(removed("k", {.version_id = one}), one) << "gone already is fine";
  version_it(rows::Versioning::off);
  put("k", "x");
  EXPECT_EQ(removed("k"), "") << "no version, no id";
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{0}, std::uint64_t{0}));
  expect_sound();
}

TEST_F(VersionsTest, conditions_hold_against_the_newest_version) {
  const store::WriteCondition none{.if_none_match = "*"};
  EXPECT_EQ(put("k", "a", {.if_match = "e-a"}).error().code, "NoSuchKey");
  EXPECT_TRUE(put("k", "a", none));
  EXPECT_EQ(put("k", "b", none).error().code, "PreconditionFailed");
  EXPECT_TRUE(put("k", "b", {.if_match = "e-a"}));
  EXPECT_EQ(put("k", "c", {.if_match = "e-a"}).error().code, "PreconditionFailed");
  EXPECT_TRUE(put("k", "c", {.if_match = "\"e-b\""})) << "with its quotes too";
  EXPECT_TRUE(put("k", "d", {.if_match = "*"}));
  EXPECT_EQ(put("k", "e", {.if_none_match = "e-d"}).error().code, "PreconditionFailed");
  EXPECT_TRUE(put("k", "e", {.if_none_match = "e-c"}));
  EXPECT_EQ(removed("k", {.condition = {.if_match = "e-a"}}), "PreconditionFailed");
  EXPECT_EQ(get("k"), "e");
  version_it(rows::Versioning::on);
  removed("k");
  EXPECT_TRUE(put("k", "f", none)) << "a marker is no object";
}

TEST_F(VersionsTest, that_are_held_or_retained_stay) {
  version_it(rows::Versioning::on);
  const auto kept = [&](rows::Retention retention, bool hold) {
    rows::Version fresh;
    fresh.retention = std::move(retention);
    fresh.legal_hold = hold;
    return put("k", "x", {}, fresh)->id;
  };
  const rows::TimeMs later = now + 1'000'000;
  const std::string held = kept({}, true);
  const std::string governed = kept({"GOVERNANCE", later}, false);
  const std::string complied = kept({"COMPLIANCE", later}, false);
  EXPECT_EQ(removed("k", {.version_id = held, .bypass_governance = true}), "AccessDenied");
  EXPECT_EQ(removed("k", {.version_id = governed}), "AccessDenied");
  EXPECT_EQ(removed("k", {.version_id = complied, .bypass_governance = true}), "AccessDenied");
  EXPECT_EQ(removed("k", {.version_id = governed, .bypass_governance = true}), governed);
  EXPECT_EQ(removed("k").substr(0, 7), "marker ") << "a marker removes nothing";
  now = later - 1;
  EXPECT_EQ(removed("k", {.version_id = complied}), "AccessDenied");
  now = later;
  EXPECT_EQ(removed("k", {.version_id = complied}), complied);
  // A rule that has come of age leaves what is held, and goes on with the others.
  ASSERT_TRUE(store->change_bucket("pail", [](rows::Bucket& bucket) -> store::Answer<void> {
    bucket.documents = {{"lifecycle",
                         "<LifecycleConfiguration><Rule><Prefix/><Status>Enabled</Status>"
                         "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays>"
                         "</NoncurrentVersionExpiration></Rule></LifecycleConfiguration>"}};
    return {};
  }));
  put("z", "1");
  put("z", "2");
  now += 10'000;
  const auto run = run_lifecycle(*store, 1000, [] { return false; });
  ASSERT_TRUE(run);
  EXPECT_EQ(run->removed, 1u);
  EXPECT_EQ(metadata.pending(), 0u) << "what was removed is durable in the end";
  EXPECT_EQ(get("k", held), "x");
  EXPECT_EQ(get("z"), "2");
}

TEST_F(VersionsTest, a_rule_ends_only_what_it_saw) {
  version_it(rows::Versioning::on);
  const rows::Version old = *put("k", "old");
  put("k", "new");
  const auto only = [&](const rows::Version& there) { return there.stamp == old.stamp; };
  const auto gone = store->remove("pail", "k", {.only = only});
  ASSERT_TRUE(gone);
  EXPECT_FALSE(gone->marker) << "another is the newest by now";
  EXPECT_EQ(get("k"), "new");
  const auto other = store->remove(
      "pail", "k", {.version_id = old.id, .only = [](const rows::Version&) { return false; }});
  EXPECT_TRUE(other);
  EXPECT_EQ(get("k", old.id), "old");
}

TEST_F(VersionsTest, a_change_discards_what_is_named_no_more_and_refuses_markers) {
  put("k", "first");
  const rows::Blob other = written("other");
  ASSERT_TRUE(store->change_version("pail", "k", std::nullopt,
                                    [&](rows::Version& v) -> store::Answer<void> {
                                      v.extents = {{other.id, 5, v.etag, ""}};
                                      return {};
                                    },
                                    {other}));
  EXPECT_EQ(get("k"), "other");
  expect_sound();
  const auto nothing = [](rows::Version&) -> store::Answer<void> { return {}; };
  EXPECT_EQ(store->change_version("pail", "no", std::nullopt, nothing).error().code, "NoSuchKey");
  EXPECT_EQ(store->change_version("pail", "k", "v", nothing).error().code, "NoSuchVersion");
  version_it(rows::Versioning::on);
  const std::string marker = store->remove("pail", "k", {})->version_id;
  EXPECT_EQ(store->change_version("pail", "k", std::nullopt, nothing).error().code, "NoSuchKey");
  EXPECT_EQ(store->change_version("pail", "k", marker, nothing).error().code, "MethodNotAllowed");
}

TEST_F(VersionsTest, uploads_count_what_their_parts_hold_and_leave_nothing) {
  const auto begin = [&](const std::string& key) {
    const auto id = store->begin_upload({.id = {}, .bucket = "pail", .key = key});
    return *store->upload("pail", key, *id);
  };
  const auto part = [&](const rows::Upload& upload, std::uint64_t number,
                        const std::string& bytes) {
    const rows::Blob blob = written(bytes);
    const rows::Part made{number, now, {blob.id, bytes.size(), "e-" + bytes, ""}};
    EXPECT_TRUE(store->put_part(upload, made, blob));
    return made;
  };
  const rows::Upload upload = begin("k");
  part(upload, 1, "sent once");
  const rows::Part first = part(upload, 1, "again");  // sent again: the later counts
  part(upload, 2, "not chosen");
  const rows::Part third = part(upload, 3, "!");
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{5 + 10 + 1}, std::uint64_t{0}));
  {
    const auto again = reopened();
    ASSERT_TRUE(again->measure());
    EXPECT_EQ(used(*again), used(*store));
  }
  rows::Version whole{.size = 6, .etag = "e-2"};
  whole.extents = {first.extent, {"no such blob", 1, "x", ""}};
  EXPECT_EQ(store->complete_upload(upload, whole, {}).error().code, "InvalidPart");
  whole.extents = {first.extent, third.extent};
  ASSERT_TRUE(store->complete_upload(upload, whole, {}));
  EXPECT_EQ(get("k"), "again!");
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{6}, std::uint64_t{1}));
  EXPECT_EQ(store->upload("pail", "k", upload.id).error().code, "NoSuchUpload");
  expect_sound();
  const rows::Upload left = begin("l");
  part(left, 1, "left open");
  ASSERT_TRUE(store->abort_upload("pail", "l", left.id));
  EXPECT_EQ(used(*store), std::pair(std::uint64_t{6}, std::uint64_t{1}));
  expect_sound();
  // A bucket with an object is not removed; one with an open upload is, and the upload with it.
  EXPECT_EQ(store->remove_bucket("pail").error().code, "BucketNotEmpty");
  removed("k");
  part(begin("m"), 1, "open");
  EXPECT_TRUE(store->remove_bucket("pail"));
  ASSERT_TRUE(store->collect());
  for (const auto& drive : drives) EXPECT_TRUE(drive->files().empty());
}

TEST_F(VersionsTest, buckets_belong_to_somebody) {
  EXPECT_EQ(store->make_bucket({.name = "pail", .owner = "main"}).error().code,
            "BucketAlreadyOwnedByYou");
  EXPECT_EQ(store->make_bucket({.name = "pail", .owner = "other"}).error().code,
            "BucketAlreadyExists");
  ASSERT_TRUE(store->make_bucket({.name = "shed", .owner = "other"}));
  EXPECT_EQ(store->buckets("main")->size(), 1u);
  EXPECT_EQ(store->buckets("other")->front().name, "shed");
  EXPECT_EQ(store->buckets("")->size(), 2u);
}

TEST_F(VersionsTest, a_blob_that_is_read_by_two_stays_until_both_have_gone) {
  store::BlobPins pins;
  pins.pin("b");
  pins.pin("b");
  pins.unpin("b");
  EXPECT_TRUE(pins.pinned("b"));
  pins.unpin("b");
  EXPECT_FALSE(pins.pinned("b"));
  put("k", "bytes");
  auto reader = store->open_object("pail", "k", std::nullopt,
                                   [](const rows::Version&) -> store::Answer<void> { return {}; });
  ASSERT_TRUE(reader);
  removed("k");
  EXPECT_EQ(*store->collect(), 0u);
  std::string bytes(5, ' ');
  ASSERT_TRUE(reader->reader->read(0, bytes));
  EXPECT_EQ(bytes, "bytes");
  reader->reader.reset();
  EXPECT_EQ(*store->collect(), 1u);
}

// An object of several parts is one row of bytes from any offset, however much is wanted.
TEST_F(VersionsTest, parts_are_read_across_their_borders) {
  const std::string all = "abcdefghijklmnopqrstuvwxyz";
  std::vector<rows::Blob> blobs;
  rows::Version whole{.size = all.size(), .etag = "e"};
  std::size_t at = 0;
  for (const std::size_t bytes : {5u, 1u, 0u, 12u, 8u}) {
    if (bytes > 0) blobs.push_back(written(all.substr(at, bytes)));
    whole.extents.push_back({bytes > 0 ? blobs.back().id : "", bytes, "e", ""});
    at += bytes;
  }
  ASSERT_TRUE(store->put("pail", "k", whole, blobs));
  auto object = store->open_object("pail", "k", std::nullopt,
                                   [](const rows::Version&) -> store::Answer<void> { return {}; });
  ASSERT_TRUE(object);
  for (std::size_t from = 0; from <= all.size(); ++from) {
    for (std::size_t count = 1; count <= 30; ++count) {
      std::string bytes(count, '\0');
      const auto got = object->reader->read(from, bytes);
      ASSERT_TRUE(got);
      EXPECT_EQ(bytes.substr(0, *got), all.substr(from, count)) << from << ' ' << count;
    }
  }
}

// A drive is lost: its shards go to a drive of the tier that holds nothing of their blobs.
TEST_F(VersionsTest, lost_shards_are_written_anew_elsewhere) {
  for (int i = 0; i < 6; ++i) put("k" + std::to_string(i), std::string(100'000, 'a'));
  set["d0"] = nullptr;
  store = reopened();
  ASSERT_TRUE(store->open());
  const auto check = check_store(*store, false);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->blobs, 6u);
  EXPECT_EQ(check->versions, 6u);
  EXPECT_EQ(check->buckets, 1u);
  EXPECT_EQ(check->bytes, 600'000u);
  EXPECT_GT(check->damaged_shards, 0u);
  EXPECT_EQ(check->lost_blobs, 0u) << "each has another copy";
  Scrubber scrubber(*store);
  while (*scrubber.step(1 << 24)) {
  }
  EXPECT_EQ(scrubber.counts().mended, check->damaged_shards);
  EXPECT_EQ(scrubber.counts().damaged, check->damaged_shards);
  EXPECT_EQ(scrubber.counts().lost, 0u);
  EXPECT_EQ(scrubber.counts().blobs, 6u);
  EXPECT_EQ(scrubber.counts().rounds, 1u);
  EXPECT_TRUE(check_store(*store, true)->clean());
  const auto cursor = metadata.cursor();
  for (cursor->seek("s"); cursor->valid() && cursor->key().starts_with("s"); cursor->next()) {
    const auto blob = rows::decode_blob(cursor->value());
    ASSERT_TRUE(blob);
    EXPECT_NE(blob->shards[0].drive, blob->shards[1].drive) << "two copies, two drives";
    for (const rows::ShardPlace& shard : blob->shards) EXPECT_NE(shard.drive, "d0");
  }
}

TEST_F(VersionsTest, a_check_names_what_is_wrong) {
  put("k", std::string(70'000, 'a'));
  const auto fault = [&](bool deep) {
    const auto check = check_store(*store, deep);
    return check->faults.empty() ? std::string(check->clean() ? "clean" : "unclean")
                                 : check->faults.front();
  };
  EXPECT_EQ(fault(true), "clean");
  // A byte that turned is found by reading, not by looking.
  auto& content = *drives[1]->files().begin()->second;
  content.bytes[5000] ^= 1;
  EXPECT_EQ(fault(false), "clean");
  EXPECT_EQ(fault(true), "unclean");
  content.bytes[5000] ^= 1;
  // A file that no row names; another's is not ours to count.
  drives[0]->files()["0000000900000000000000ff.00.0"] =
      std::make_shared<drives::SimulatedDrive::Content>();
  drives[0]->files()["readme.txt"] = std::make_shared<drives::SimulatedDrive::Content>();
  const auto orphans = check_store(*store, false);
  EXPECT_EQ(orphans->orphans, 1u);
  EXPECT_FALSE(orphans->clean());
  EXPECT_FALSE(sweep_orphans(*store)) << "of a run that has not been yet: rows are missing";
  drives[0]->files().erase("0000000900000000000000ff.00.0");
  // A blob that nothing names, and a version of a bucket that is not there.
  const rows::Blob loose = written("loose");
  ASSERT_TRUE(metadata.commit({.changes = {{rows::row::blob(loose.id), rows::encode(loose)}}}));
  EXPECT_EQ(check_store(*store, false)->unreferenced, 1u);
  ASSERT_TRUE(metadata.commit({.changes = {{rows::row::blob(loose.id), std::nullopt}}}));
  store->forget(loose);
  EXPECT_EQ(fault(true), "clean");
  ASSERT_TRUE(metadata.commit(
      {.changes = {{rows::row::object("none", "k"), rows::encode(rows::Version{})}}}));
  EXPECT_NE(fault(false), "clean");
}

TEST_F(VersionsTest, what_stands_in_rows_leaves_no_garbage_and_is_checked) {
  store::StoreSetting setting = store->setting();
  setting.tiers.front().held_bytes_max = 10;
  store = std::make_unique<store::Store>(setting);
  ASSERT_TRUE(store->open());
  ASSERT_TRUE(put("k", "first"));
  const auto object = store->open_object(
      "pail", "k", {}, [](const rows::Version&) -> store::Answer<void> { return {}; });
  ASSERT_TRUE(object);
  ASSERT_TRUE(put("k", "second"));
  for (const auto& drive : drives) EXPECT_TRUE(drive->files().empty());
  const auto cursor = metadata.cursor();
  cursor->seek(rows::row::garbage(""));
  EXPECT_FALSE(cursor->valid() && cursor->key().starts_with(rows::row::garbage("")));
  std::string bytes(5, ' ');
  EXPECT_TRUE(object->reader->read(0, bytes));
  EXPECT_EQ(bytes, "first") << "who has it open reads on";
  EXPECT_EQ(get("k"), "second");
  expect_sound();
  // A wrong byte in the row cannot be mended, is never given, and is said.
  rows::Blob blob = store->blobs_of(store->find("pail", "k", {})->extents)->front();
  blob.held[0] ^= 1;
  ASSERT_TRUE(metadata.commit({.changes = {{rows::row::blob(blob.id), rows::encode(blob)}}}));
  EXPECT_EQ(get("k"), "unreadable");
  for (const bool deep : {false, true}) {
    EXPECT_EQ(check_store(*store, deep)->lost_blobs, 1u);
  }
  Scrubber scrubber(*store);
  ASSERT_TRUE(scrubber.step(1 << 20));
  EXPECT_EQ(scrubber.counts().lost, 1u);
  EXPECT_EQ(scrubber.counts().blobs, 1u);
  ASSERT_TRUE(store->remove("pail", "k", {}));
  EXPECT_TRUE(check_store(*store, true)->clean());
}

// What a run that died left on the drives goes; what rows name, what lives and what is newer stays.
TEST_F(VersionsTest, a_sweep_takes_what_a_dead_run_left) {
  put("k", "kept");
  const rows::Blob orphan = written("never named");
  const std::size_t before =
      drives[0]->files().size() + drives[1]->files().size() + drives[2]->files().size();
  EXPECT_FALSE(*has_died(*store));
  EXPECT_EQ(sweep_orphans(*store)->set_aside, 0u) << "this run's own may be on their way";
  store = reopened();
  ASSERT_TRUE(store->open());
  EXPECT_TRUE(*has_died(*store));
  // A mend that died left an older revision beside the one that the row names.
  const std::string extra = store::shard_name(orphan.id, 0, 7);
  drives[0]->files()[extra] = std::make_shared<drives::SimulatedDrive::Content>();
  store->pins().pin(orphan.id);
  EXPECT_EQ(sweep_orphans(*store)->set_aside, 0u) << "somebody writes them";
  store->pins().unpin(orphan.id);
  store = reopened();
  ASSERT_TRUE(store->open());
  const auto swept = sweep_orphans(*store);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->set_aside, 3u);
  EXPECT_EQ(drives[0]->files().size() + drives[1]->files().size() + drives[2]->files().size(),
            before - 2);
  EXPECT_EQ(get("k"), "kept");
  EXPECT_FALSE(*has_died(*store));
  ASSERT_TRUE(end_run(*store));
  const auto next = reopened();
  ASSERT_TRUE(next->open());
  EXPECT_FALSE(*has_died(*next)) << "it ended in order";
  EXPECT_GT(next->epoch(), store->epoch());
}

}  // namespace
}  // namespace orrery::upkeep
