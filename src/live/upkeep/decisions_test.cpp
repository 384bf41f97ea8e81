// One decision, one commit: every row that it rests on is expected, every row that it changes is
// there, and no other. And the bytes of a version once more, blob by blob.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/store/decide.h"
#include "live/upkeep/copy_extents.h"

namespace orrery::upkeep::decisions_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// "key=value", or "-key" where there is none.
std::vector<std::string> words(const std::vector<rows::RowChange>& rows) {
  std::vector<std::string> out;
  for (const rows::RowChange& row : rows) {
    out.push_back(row.value ? row.key + '=' + *row.value : '-' + row.key);
  }
  return out;
}

class DecisionsTest : public testing::Test {
 protected:
  DecisionsTest() {
    view.bucket = "b";
    view.key = "k";
    view.bucket_row = {"bucket", "B"};
    view.head_row = {"head", "H"};
    view.head = rows::Version{.stamp = 7, .id = "v7"};
  }
  static rows::Blob blob_named(const std::string& id, const std::string& held = "") {
    return rows::Blob{.id = id, .plan = {1, 0}, .block_bytes = 1, .shards = {}, .held = held};
  }
  store::KeyView view;
  const rows::Version fresh{.stamp = 9, .id = "null"};
  const std::string written = rows::encode(fresh);
  const std::string old_row = rows::row::version("b", "k", 7);
};

TEST_F(DecisionsTest, a_put_keeps_the_one_before_where_versions_are_kept) {
  const rows::Blob blob = blob_named("x");
  const rows::Commit commit = store::put_commit(view, rows::Versioning::on, fresh, {blob}, {});
  EXPECT_THAT(words(commit.expects), UnorderedElementsAre("bucket=B", "head=H"));
  EXPECT_THAT(words(commit.changes),
              UnorderedElementsAre(old_row + "=H", "head=" + written, "sx=" + rows::encode(blob)));
  EXPECT_TRUE(commit.durable);
  EXPECT_FALSE(store::replaced_by_put(view, rows::Versioning::on));
  view.head->id = "null";
  EXPECT_FALSE(store::replaced_by_put(view, rows::Versioning::on));
  EXPECT_EQ(store::put_commit(view, rows::Versioning::on, fresh, {}, {}).changes.size(), 2u);
}

TEST_F(DecisionsTest, a_put_replaces_the_null_version_wherever_it_stands) {
  view.null_version = store::ReadVersion{{.stamp = 3, .id = "null"}, {"null-row", "N"}};
  for (const rows::Versioning versioning : {rows::Versioning::off, rows::Versioning::suspended}) {
    EXPECT_EQ(store::replaced_by_put(view, versioning)->stamp, 3u);
    const rows::Commit commit = store::put_commit(view, versioning, fresh, {}, {});
    EXPECT_THAT(words(commit.expects), UnorderedElementsAre("bucket=B", "head=H", "null-row=N"));
    EXPECT_THAT(words(commit.changes),
                UnorderedElementsAre(old_row + "=H", "-null-row", "head=" + written));
  }
  EXPECT_EQ(store::put_commit(view, rows::Versioning::on, fresh, {}, {}).expects.size(), 2u)
      << "it stays where versions are kept";
  view.null_version.reset();
  view.head->id = "null";
  EXPECT_EQ(store::replaced_by_put(view, rows::Versioning::off)->stamp, 7u);
  const rows::Commit over = store::put_commit(view, rows::Versioning::off, fresh, {}, {});
  EXPECT_THAT(words(over.changes), ElementsAre("head=" + written)) << "it is not kept";
  view.head.reset();
  view.head_row.value.reset();
  EXPECT_FALSE(store::replaced_by_put(view, rows::Versioning::off));
  const rows::Commit first = store::put_commit(view, rows::Versioning::suspended, fresh, {}, {});
  EXPECT_THAT(words(first.expects), UnorderedElementsAre("bucket=B", "-head"));
  EXPECT_THAT(words(first.changes), ElementsAre("head=" + written));
}

TEST_F(DecisionsTest, what_is_discarded_is_expected_and_becomes_garbage) {
  const rows::Blob files = blob_named("x");
  const rows::Blob held = blob_named("y", "bytes");
  rows::Commit commit;
  store::discard(commit, {files, held});
  EXPECT_THAT(words(commit.expects),
              ElementsAre("sx=" + rows::encode(files), "sy=" + rows::encode(held)));
  EXPECT_THAT(words(commit.changes), ElementsAre("-sx", "gx=" + rows::encode(files), "-sy"))
      << "what stands in its row has no files";
  const rows::Commit put = store::put_commit(view, rows::Versioning::off, fresh, {}, {files});
  EXPECT_EQ(put.expects.size(), 3u);
  EXPECT_EQ(put.changes.size(), 4u) << "the one before, the head, and the blob twice";
}

TEST_F(DecisionsTest, the_newest_goes_and_the_next_takes_its_place) {
  view.next = store::ReadVersion{{.stamp = 5}, {"next-row", "N"}};
  const rows::Blob files = blob_named("x");
  const rows::Commit commit = store::remove_head_commit(view, {files});
  EXPECT_THAT(words(commit.expects), UnorderedElementsAre("bucket=B", "head=H", "next-row=N",
                                                          "sx=" + rows::encode(files)));
  EXPECT_THAT(words(commit.changes),
              UnorderedElementsAre("head=N", "-next-row", "-sx", "gx=" + rows::encode(files)));
  view.next.reset();
  const rows::Commit last = store::remove_head_commit(view, {});
  EXPECT_THAT(words(last.expects), UnorderedElementsAre("bucket=B", "head=H"));
  EXPECT_THAT(words(last.changes), ElementsAre("-head"));
}

TEST_F(DecisionsTest, an_old_one_goes_by_itself) {
  const rows::Blob files = blob_named("x");
  const rows::Commit commit =
      store::remove_old_commit(view, {{.stamp = 5}, {"old-row", "O"}}, {files});
  EXPECT_THAT(words(commit.expects),
              UnorderedElementsAre("bucket=B", "head=H", "old-row=O", "sx=" + rows::encode(files)));
  EXPECT_THAT(words(commit.changes),
              UnorderedElementsAre("-old-row", "-sx", "gx=" + rows::encode(files)));
}

class CopiedExtentsTest : public testing::Test {
 protected:
  CopiedExtentsTest() { EXPECT_TRUE(store.open()); }
  rows::Extent add(const std::string& bytes) {
    if (bytes.empty()) return {"", 0, "none", ""};
    store::BlobWriter writer = store.writer("hot");
    EXPECT_TRUE(writer.append(bytes));
    const rows::Blob blob = *writer.finish();
    EXPECT_TRUE(rows.commit({.changes = {{rows::row::blob(blob.id), rows::encode(blob)}}}));
    return {blob.id, bytes.size(), "etag of " + std::to_string(bytes.size()), "sum"};
  }
  static std::string mixed(std::size_t bytes, int seed) {
    std::string out(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) {
      out[i] = static_cast<char>((i * 37) ^ (i >> 11) ^ static_cast<std::size_t>(seed));
    }
    return out;
  }
  std::string read(const rows::Blob& blob) {
    store::BlobReader reader(set, blob);
    std::string bytes(blob.size, '?');
    EXPECT_EQ(reader.read(0, bytes).value_or(0), blob.size);
    return bytes;
  }

  rows::MemoryMetadata rows;
  drives::SimulatedDrive hot;
  drives::SimulatedDrive cold;
  store::DriveSet set = {{"h", &hot}, {"c", &cold}};
  store::Store store{{.metadata = rows,
                      .drives = set,
                      .tiers = {{"hot", {1, 0}, {"h"}}, {"cold", {1, 0}, {"c"}}},
                      .now_ms = [] { return rows::TimeMs{1}; },
                      .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }}};
};

// A mebibyte is read at a time: one part is a little longer, one a little shorter.
TEST_F(CopiedExtentsTest, each_part_is_copied_to_a_blob_of_its_own) {
  const std::vector<std::string> parts = {mixed((1u << 20) + 5, 1), "", mixed(70'000, 2),
                                          mixed(2u << 20, 3)};
  std::vector<rows::Extent> extents;
  for (const std::string& part : parts) extents.push_back(add(part));
  auto reader = store.open_extents(extents);
  ASSERT_TRUE(reader);
  int looks = 0;
  const auto made = copy_extents(store, **reader, extents, "cold", [&] { return ++looks > 99; });
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(looks, 5) << "2 + 1 + 2 pieces";
  ASSERT_EQ(made->extents.size(), 4u);
  ASSERT_EQ(made->blobs.size(), 3u);
  EXPECT_TRUE(read(made->blobs[0]) == parts[0]);
  EXPECT_TRUE(read(made->blobs[1]) == parts[2]);
  EXPECT_TRUE(read(made->blobs[2]) == parts[3]);
  EXPECT_EQ(made->extents[0].blob, made->blobs[0].id);
  EXPECT_EQ(made->extents[1].blob, "");
  EXPECT_EQ(made->extents[2].blob, made->blobs[1].id);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(made->extents[i].size, extents[i].size);
    EXPECT_EQ(made->extents[i].etag, extents[i].etag);
    EXPECT_EQ(made->extents[i].checksum, extents[i].checksum);
  }
  for (const rows::Blob& blob : made->blobs) EXPECT_EQ(blob.tier, "cold");
  EXPECT_EQ(cold.files().size(), 3u);
}

TEST_F(CopiedExtentsTest, what_was_written_goes_where_it_fails) {
  const std::vector<rows::Extent> extents = {add(mixed(100, 1)), add(mixed(200, 2))};
  auto reader = store.open_extents(extents);
  ASSERT_TRUE(reader);
  int looks = 0;
  EXPECT_FALSE(copy_extents(store, **reader, extents, "cold", [&] { return ++looks > 1; }));
  EXPECT_THAT(cold.files(), IsEmpty()) << "it was stopped in the second";
  hot.files().at(store::shard_name(extents[1].blob, 0, 0))->bytes[70] ^= 1;
  const auto bad = copy_extents(store, **reader, extents, "cold", [] { return false; });
  EXPECT_EQ(bad.error().code, "InternalError");
  EXPECT_THAT(cold.files(), IsEmpty());
  std::vector<rows::Extent> longer = {extents[0]};
  longer[0].size = 101;
  auto first = store.open_extents(longer);
  EXPECT_FALSE(copy_extents(store, **first, longer, "cold", [] { return false; }))
      << "the source is too short";
  EXPECT_THAT(cold.files(), IsEmpty());
}

}  // namespace
}  // namespace orrery::upkeep::decisions_tests
