// Two gateways on the same rows and drives: what one has on its way the other leaves alone, and one
// that is taken for dead cannot bring to a commit what was swept after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"

namespace orrery::upkeep {
namespace {

class GatewaysTest : public testing::Test {
 protected:
  GatewaysTest() {
    metadata.share();
    EXPECT_TRUE(first.open());
    EXPECT_TRUE(second.open());
    EXPECT_TRUE(first.make_bucket({.name = "bucket", .owner = "main"}));
  }
  store::StoreSetting setting() {
    return {.metadata = metadata,
            .drives = {{"d0", &drives[0]}, {"d1", &drives[1]}},
            .tiers = {{"hot", {1, 1}, {"d0", "d1"}}},
            .now_ms = [this] { return now; },
            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }};
  }
  static rows::Blob written(store::Store& by, const std::string& bytes) {
    store::BlobWriter writer = by.writer("hot");
    EXPECT_TRUE(writer.append(bytes));
    auto blob = writer.finish();
    EXPECT_TRUE(blob);
    return std::move(*blob);
  }
  static store::Answer<rows::Version> put(store::Store& by, const std::string& key,
                                          const rows::Blob& blob) {
    rows::Version fresh{.size = blob.size, .etag = "e"};
    fresh.extents = {{blob.id, blob.size, "e", ""}};
    return by.put("bucket", key, fresh, {blob});
  }
  static std::string get(store::Store& by, const std::string& key) {
    auto object = by.open_object("bucket", key, std::nullopt,
                                 [](const rows::Version&) -> store::Answer<void> { return {}; });
    if (!object) return object.error().code;
    std::string bytes(object->version.size, ' ');
    const auto got = object->reader->read(0, bytes);
    return got ? bytes : "unreadable";
  }
  std::size_t files() { return drives[0].files().size() + drives[1].files().size(); }

  rows::MemoryMetadata metadata;
  std::array<drives::SimulatedDrive, 2> drives;
  rows::TimeMs now = 1'700'000'000'000;
  store::Store first{setting()};
  store::Store second{setting()};
};

TEST_F(GatewaysTest, what_one_has_on_its_way_the_other_leaves) {
  const rows::Blob early = written(first, "of the first");
  const rows::Blob late = written(second, "of the second");
  // Whichever is the older run.
  EXPECT_EQ(sweep_orphans(second)->set_aside, 0u);
  EXPECT_EQ(sweep_orphans(first)->set_aside, 0u);
  EXPECT_TRUE(put(first, "a", early));
  EXPECT_TRUE(put(second, "b", late));
  EXPECT_EQ(get(second, "a"), "of the first");
  EXPECT_EQ(get(first, "b"), "of the second");
}

TEST_F(GatewaysTest, the_older_sweeps_after_the_newer) {
  written(second, "lost");
  EXPECT_FALSE(*has_died(first));
  metadata.lose_sight_of(second.epoch());
  EXPECT_TRUE(*has_died(first));
  EXPECT_EQ(sweep_orphans(first)->set_aside, 2u);
  EXPECT_EQ(files(), 0u);
  EXPECT_FALSE(*has_died(first));
}

TEST_F(GatewaysTest, one_that_is_taken_for_dead_is_refused_and_goes_on_under_another_number) {
  ASSERT_TRUE(put(second, "kept", written(second, "kept")));
  const rows::Blob swept = written(second, "swept");
  const std::uint64_t before = second.epoch();
  metadata.lose_sight_of(before);
  EXPECT_EQ(sweep_orphans(first)->set_aside, 2u);
  const auto refusal = put(second, "a", swept);
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().code, "ServiceUnavailable");
  EXPECT_EQ(get(first, "a"), "NoSuchKey");
  rows::Upload upload{.bucket = "bucket", .key = "parts"};
  upload.id = *second.begin_upload(upload);
  upload = *second.upload("bucket", "parts", upload.id);
  EXPECT_FALSE(second.put_part(upload, {.number = 1, .extent = {swept.id, 5, "e", ""}}, swept));
  ASSERT_TRUE(second.renew());
  EXPECT_GT(second.epoch(), before);
  EXPECT_TRUE(put(second, "a", written(second, "again")));
  EXPECT_EQ(get(first, "a"), "again");
  EXPECT_EQ(get(first, "kept"), "kept");
}

TEST_F(GatewaysTest, one_that_still_lives_keeps_its_number) {
  const std::uint64_t before = second.epoch();
  ASSERT_TRUE(second.renew());
  EXPECT_EQ(second.epoch(), before);
}

// A shard that another gateway writes anew has a name already, and no row yet.
TEST_F(GatewaysTest, the_sweep_leaves_what_another_mends) {
  const rows::Blob blob = written(first, "bytes");
  ASSERT_TRUE(put(first, "a", blob));
  ASSERT_TRUE(end_run(first));
  metadata.lose_sight_of(first.epoch());
  store::BlobReader from(second.setting().drives, blob);
  ASSERT_TRUE(store::write_shard(from, 1, drives[1], 7));
  EXPECT_EQ(sweep_orphans(second)->set_aside, 0u);
  EXPECT_EQ(mend_blob(second, blob.id, {0})->shards, 1);
  EXPECT_EQ(get(second, "a"), "bytes");
}

TEST_F(GatewaysTest, what_is_removed_stays_for_those_who_may_read_it) {
  const rows::Blob blob = written(first, "bytes");
  ASSERT_TRUE(put(first, "a", blob));
  store::BlobReader reader(second.setting().drives,
                           blob);  // in the other gateway: nobody here knows
  ASSERT_TRUE(first.remove("bucket", "a", {}));
  EXPECT_EQ(*first.collect(), 0u);
  now += 599'000;
  EXPECT_EQ(*first.collect(), 0u);
  std::string bytes(5, ' ');
  EXPECT_TRUE(reader.read(0, bytes));
  EXPECT_EQ(bytes, "bytes");
  now += 2'000;
  EXPECT_EQ(*first.collect(), 1u);
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace orrery::upkeep
