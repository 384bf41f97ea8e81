// Every call of the store while a port below it fails once, at each of its calls in turn, and while
// other gateways change the rows first. A fault is returned unchanged and changes nothing; a call
// that loses a race tries again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "layers/storage/lifecycle_driver.h"
#include "live/rows/failing_metadata_fixture.h"
#include "live/s3/hash.h"
#include "live/store/listing.h"
#include "live/store/storage_class.h"
#include "live/store/store_fixture.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"
#include "live/upkeep/tier_places.h"

namespace orrery::upkeep::store_faults_tests {
namespace {

template <class T>
std::string code_of(const store::Answer<T>& answer) {
  return answer ? "good" : answer.error().code;
}

class StoreFaults : public store::StoreBench {
 protected:
  StoreFaults() : StoreBench({{"hot", {1, 1}, {"d0", "d1"}}, {"cold", {1, 0}, {"d2"}}}) {
    through = &failing;
    begin(rows::Versioning::on);
  }
  store::Answer<rows::Version> put(const std::string& key, const std::string& bytes) {
    now += 1000;
    const rows::Blob blob = written(bytes);
    rows::Version fresh{.size = bytes.size(), .etag = to_hex(s3::md5(bytes))};
    fresh.extents = {extent_of(blob, bytes)};
    auto done = store->put("pail", key, fresh, {blob});
    if (!done) store->forget(blob);
    return done;
  }
  // Fails at each call in turn until there are no more calls; returns how many there were.
  int struck(const std::string& what, const std::function<std::string()>& call) {
    for (int at = 0; at < 80; ++at) {
      const bool busy = at % 2 == 1;
      failing.fail_at(at, busy ? drives::PortFault::busy : drives::PortFault::failed);
      const std::string said = call();
      if (!failing.has_failed()) {
        failing.fail_at(-1);
        EXPECT_EQ(said, "good") << what << " after " << at;
        return at;
      }
      EXPECT_EQ(said, busy ? "SlowDown" : "InternalError") << what << " at call " << at;
    }
    ADD_FAILURE() << what << " never ran out of calls";
    return 0;
  }
  void expect_clean() {
    expect_sound();
    const auto check = check_store(*store, true);
    ASSERT_TRUE(check);
    EXPECT_TRUE(check->clean()) << (check->faults.empty() ? "" : check->faults.front());
  }
  store::Answer<rows::Part> part(const rows::Upload& upload, std::uint64_t number,
                                 const std::string& bytes) {
    const rows::Blob blob = written(bytes);
    const rows::Part made{number, now, {blob.id, bytes.size(), "e", ""}};
    if (auto done = store->put_part(upload, made, blob); !done) {
      store->forget(blob);
      return std::unexpected(done.error());
    }
    return made;
  }

  rows::FailingMetadata failing{rows};
};

TEST_F(StoreFaults, calls_about_buckets_return_the_fault) {
  EXPECT_EQ(struck("open", [&] { return code_of(made()->open()); }), 2);
  EXPECT_EQ(struck("renew", [&] { return code_of(store->renew()); }), 1);
  EXPECT_EQ(struck("bucket", [&] { return code_of(store->bucket("pail")); }), 1);
  EXPECT_EQ(struck("buckets", [&] { return code_of(store->buckets("main")); }), 1);
  EXPECT_EQ(struck("make_bucket", [&] { return code_of(store->make_bucket({.name = "tub"})); }), 1);
  EXPECT_EQ(struck("change_bucket",
                   [&] {
                     return code_of(store->change_bucket(
                         "tub", [](rows::Bucket&) -> store::Answer<void> { return {}; }));
                   }),
            2);
  EXPECT_EQ(struck("measure", [&] { return code_of(store->measure()); }), 4);
  EXPECT_EQ(struck("remove_bucket", [&] { return code_of(store->remove_bucket("tub")); }), 6);
  EXPECT_EQ(code_of(store->bucket("tub")), "NoSuchBucket");
}

TEST_F(StoreFaults, calls_about_versions_return_the_fault) {
  for (const rows::Versioning way :
       {rows::Versioning::off, rows::Versioning::on, rows::Versioning::suspended}) {
    set_versioning(way);
    ASSERT_TRUE(put("k", "before"));
    struck("put", [&] { return code_of(put("k", "after")); });
    EXPECT_EQ(get("k"), "after");
    struck("find", [&] { return code_of(store->find("pail", "k", std::nullopt)); });
    struck("find an old one", [&] {
      const auto found = store->find("pail", "k", "no such");
      return found ? "found" : found.error().code == "NoSuchVersion" ? "good" : found.error().code;
    });
    struck("open_object", [&] {
      const std::string got = get("k");
      return got == "after" ? "good" : got;
    });
    struck("change_version", [&] {
      return code_of(store->change_version("pail", "k", std::nullopt,
                                           [](rows::Version& v) -> store::Answer<void> {
                                             v.acl = "private";
                                             return {};
                                           }));
    });
    const std::string newest = store->find("pail", "k", std::nullopt)->id;
    struck("remove a version",
           [&] { return code_of(store->remove("pail", "k", {.version_id = newest})); });
    ASSERT_TRUE(put("k", "again"));
    struck("remove", [&] { return code_of(store->remove("pail", "k", {})); });
    expect_clean();
  }
}

TEST_F(StoreFaults, calls_about_uploads_return_the_fault) {
  struck("begin_upload",
         [&] { return code_of(store->begin_upload({.id = {}, .bucket = "pail", .key = "x"})); });
  const rows::Upload upload = begun("k");
  ASSERT_TRUE(part(upload, 1, "first"));
  struck("put_part, sent again", [&] { return code_of(part(upload, 1, "again")); });
  ASSERT_TRUE(part(upload, 2, "not chosen"));
  struck("parts", [&] { return code_of(store->parts(upload.id)); });
  struck("upload", [&] { return code_of(store->upload("pail", "k", upload.id)); });
  rows::Version whole{.size = 5, .etag = "e"};
  whole.extents = {store->parts(upload.id)->front().extent};
  struck("complete_upload", [&] { return code_of(store->complete_upload(upload, whole, {})); });
  EXPECT_EQ(get("k"), "again");
  const rows::Upload left = begun("left");
  ASSERT_TRUE(part(left, 1, "x"));
  struck("abort_upload", [&] { return code_of(store->abort_upload("pail", "left", left.id)); });
  expect_clean();
  // Removing a bucket removes its uploads.
  ASSERT_TRUE(store->make_bucket({.name = "tub"}));
  const auto id = store->begin_upload({.id = {}, .bucket = "tub", .key = "k"});
  ASSERT_TRUE(id);
  struck("remove_bucket", [&] { return code_of(store->remove_bucket("tub")); });
  EXPECT_EQ(code_of(store->upload("tub", "k", *id)), "NoSuchUpload");
}

TEST_F(StoreFaults, upkeep_returns_the_fault) {
  ASSERT_TRUE(put("k", "old"));
  ASSERT_TRUE(put("k", "new"));
  ASSERT_TRUE(store->remove("pail", "k", {.version_id = store->find("pail", "k", {})->id}));
  struck("collect", [&] { return code_of(store->collect()); });
  struck("check_store", [&] { return code_of(check_store(*store, true)); });
  ASSERT_TRUE(put("l", "damaged"));
  const rows::Blob blob = store->blobs_of(store->find("pail", "l", {})->extents)->front();
  drives["d0"].files().erase(store::shard_name(blob.id, blob.shards[0].drive == "d0" ? 0 : 1, 0));
  Scrubber scrubber(*store);
  struck("scrub", [&] { return code_of(scrubber.step(1 << 20)); });
  for (Scrubber again(*store); *again.step(1 << 20);) {
  }
  EXPECT_TRUE(check_store(*store, true)->clean());
  ASSERT_TRUE(store->change_bucket("pail", [](rows::Bucket& bucket) -> store::Answer<void> {
    bucket.documents = {{"lifecycle",
                         "<LifecycleConfiguration><Rule><Prefix/><Status>Enabled</Status>"
                         "<Expiration><Days>1</Days></Expiration></Rule>"
                         "</LifecycleConfiguration>"}};
    return {};
  }));
  now += 10'000;
  struck("run_lifecycle",
         [&] { return code_of(run_lifecycle(*store, 1000, [] { return false; })); });
  EXPECT_TRUE(store->find("pail", "l", {})->marker);
  // A run that died, and files of it that no row refers to.
  (void)written("orphan");
  store = made();
  ASSERT_TRUE(store->open() && store->measure());
  struck("has_died", [&] { return code_of(has_died(*store)); });
  // If the cursor fails, each file is looked up separately, and none is lost.
  for (int at = 0; at < 20; ++at) {
    failing.fail_at(at);
    const std::string said = code_of(sweep_orphans(*store));
    EXPECT_TRUE(said == "good" || (failing.has_failed() && said == "InternalError")) << said;
  }
  failing.fail_at(-1);
  struck("end_run", [&] { return code_of(end_run(*store)); });
  struck("page_of_objects",
         [&] { return code_of(store::page_of_objects(failing, {.bucket = "pail"})); });
  struck("page_of_versions",
         [&] { return code_of(store::page_of_versions(failing, {.bucket = "pail"})); });
  expect_clean();
}

// A failed step reports the reason, and the next round repeats it.
TEST_F(StoreFaults, a_move_survives_a_fault_at_every_call) {
  set_versioning(rows::Versioning::off);
  for (int at = 0; at < 40; ++at) {
    ASSERT_TRUE(put("k", "moves"));
    ASSERT_TRUE(store->change_version("pail", "k", {}, [](rows::Version& v) -> store::Answer<void> {
      v.tier = "hot";
      v.storage_class = "GLACIER";
      return {};
    }));
    TierPlaces places(*store, {});
    storage::LifecycleDriver driver(places, [](const auto&) -> Result<void> { return {}; },
                                    {.places = places_of(store->setting().tiers)}, {});
    failing.fail_at(at);
    const auto is_moved = [&] {
      const auto version = store->find("pail", "k", {});
      return version && store::tier_of(*version) == "cold" && version->copies.empty();
    };
    for (int round = 0; round < 60 && !is_moved(); ++round) {
      now += 3'600'000;
      const auto tick = driver.tick();
      if (!tick) continue;
      for (const auto& done : tick->done) EXPECT_TRUE(done.good || !done.said.empty());
    }
    const bool failed = failing.has_failed();
    failing.fail_at(-1);
    EXPECT_TRUE(is_moved()) << at;
    EXPECT_EQ(get("k"), "moves") << at;
    // The bytes of a commit without an answer stay until the next run sweeps them.
    store = made();
    ASSERT_TRUE(store->open() && store->measure() && sweep_orphans(*store));
    expect_clean();
    if (!failed) break;
  }
}

// Another commit comes first: once, three times, and more often than a call retries.
TEST_F(StoreFaults, a_call_that_loses_a_race_tries_again) {
  for (const int times : {1, 3, 25}) {
    const auto late = [&](const char* what, const std::function<std::string()>& call) {
      failing.come_late(times);
      EXPECT_EQ(call(), "good") << what << ' ' << times;
      EXPECT_EQ(failing.still_late(), 0) << what;
    };
    late("put", [&] { return code_of(put("k", "bytes")); });
    late("put over it", [&] { return code_of(put("k", "others")); });
    EXPECT_EQ(get("k"), "others");
    late("change_version", [&] {
      return code_of(store->change_version(
          "pail", "k", {}, [](rows::Version&) -> store::Answer<void> { return {}; }));
    });
    late("change_bucket", [&] {
      return code_of(
          store->change_bucket("pail", [](rows::Bucket&) -> store::Answer<void> { return {}; }));
    });
    const std::string id = store->find("pail", "k", {})->id;
    late("remove a version",
         [&] { return code_of(store->remove("pail", "k", {.version_id = id})); });
    late("remove", [&] { return code_of(store->remove("pail", "k", {})); });
    std::string upload;
    late("begin_upload", [&] {
      const auto made = store->begin_upload({.id = {}, .bucket = "pail", .key = "u"});
      upload = made.value_or("");
      return code_of(made);
    });
    const rows::Upload open = *store->upload("pail", "u", upload);
    late("put_part", [&] { return code_of(part(open, 1, "x")); });
    late("put_part again", [&] { return code_of(part(open, 1, "y")); });
    rows::Version whole{.size = 1, .etag = "e"};
    whole.extents = {store->parts(open.id)->front().extent};
    late("complete_upload", [&] { return code_of(store->complete_upload(open, whole, {})); });
    EXPECT_EQ(get("u"), "y");
    const rows::Upload left = begun("left");
    ASSERT_TRUE(part(left, 1, "x"));
    late("abort_upload", [&] { return code_of(store->abort_upload("pail", "left", left.id)); });
    expect_clean();
  }
  // Only one of two gateways creates the bucket; a run tries many numbers.
  failing.come_late(1);
  EXPECT_EQ(code_of(store->make_bucket({.name = "tub"})), "ServiceUnavailable");
  failing.come_late(2);
  EXPECT_EQ(code_of(made()->open()), "good");
  failing.come_late(1'000'000);
  EXPECT_EQ(code_of(made()->open()), "ServiceUnavailable");
}

// The drive loses its power at each call in turn.
TEST_F(StoreFaults, a_write_avoids_a_drive_that_fails_or_returns_the_fault) {
  for (int limit = 0; limit < 40; ++limit) {
    drives::Power power{.calls = 0, .limit = limit};
    drives::SimulatedDrive dying(&power);
    drives::SimulatedDrive other;
    store::DriveSet both = {{"a", &dying}, {"b", &other}};
    const store::Tier tier{"hot", {1, 0}, {"a", "b"}};
    store::BlobWriter writer(both, tier, "000000010000000000000001", 0, {});
    const std::string bytes(300'000, 'x');
    const auto appended = writer.append(bytes);
    const auto blob =
        appended ? writer.finish() : drives::Outcome<rows::Blob>(std::unexpected(appended.error()));
    if (!blob) {
      EXPECT_EQ(blob.error().kind, drives::PortFault::failed) << limit;
      continue;
    }
    power.limit = -1;
    store::BlobReader reader(both, *blob);
    std::string got(bytes.size(), ' ');
    ASSERT_TRUE(reader.read(0, got)) << limit;
    EXPECT_EQ(got, bytes) << limit;
  }
}

}  // namespace
}  // namespace orrery::upkeep::store_faults_tests
