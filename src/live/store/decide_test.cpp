// Decisions as commits: each expects every row that it depends on, and changes exactly the rows
// that it should.
#include "live/store/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/rows/records.h"

namespace orrery::store::decide_tests {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// "key=value", or "-key" without a value.
std::vector<std::string> words(const std::vector<rows::RowChange>& rows) {
  std::vector<std::string> out;
  for (const rows::RowChange& row : rows) {
    out.push_back(row.value ? row.key + '=' + *row.value : '-' + row.key);
  }
  return out;
}

class Decide : public testing::Test {
 protected:
  Decide() {
    view.bucket = "b";
    view.key = "k";
    view.bucket_row = {"bucket", "B"};
    view.head_row = {"head", "H"};
    view.head = rows::Version{.stamp = 7, .id = "v7"};
  }
  static rows::Blob blob_named(const std::string& id, const std::string& held = "") {
    return rows::Blob{.id = id, .plan = {1, 0}, .block_bytes = 1, .shards = {}, .held = held};
  }
  KeyView view;
  const rows::Version fresh{.stamp = 9, .id = "null"};
  const std::string written = rows::encode(fresh);
  const std::string old_row = rows::row::version("b", "k", 7);
};

TEST_F(Decide, a_put_keeps_the_previous_version_if_versioning_is_on) {
  const rows::Blob blob = blob_named("x");
  const rows::Commit commit = put_commit(view, rows::Versioning::on, fresh, {blob}, {});
  EXPECT_THAT(words(commit.expects), UnorderedElementsAre("bucket=B", "head=H"));
  EXPECT_THAT(words(commit.changes),
              UnorderedElementsAre(old_row + "=H", "head=" + written, "sx=" + rows::encode(blob)));
  EXPECT_TRUE(commit.durable);
  EXPECT_FALSE(replaced_by_put(view, rows::Versioning::on));
  view.head->id = "null";
  EXPECT_FALSE(replaced_by_put(view, rows::Versioning::on));
  EXPECT_EQ(put_commit(view, rows::Versioning::on, fresh, {}, {}).changes.size(), 2u);
}

TEST_F(Decide, a_put_replaces_the_null_version_if_versioning_is_off_or_suspended) {
  view.null_version = ReadVersion{{.stamp = 3, .id = "null"}, {"null-row", "N"}};
  for (const rows::Versioning versioning : {rows::Versioning::off, rows::Versioning::suspended}) {
    EXPECT_EQ(replaced_by_put(view, versioning)->stamp, 3u);
    const rows::Commit commit = put_commit(view, versioning, fresh, {}, {});
    EXPECT_THAT(words(commit.expects), UnorderedElementsAre("bucket=B", "head=H", "null-row=N"));
    EXPECT_THAT(words(commit.changes),
                UnorderedElementsAre(old_row + "=H", "-null-row", "head=" + written));
  }
  EXPECT_EQ(put_commit(view, rows::Versioning::on, fresh, {}, {}).expects.size(), 2u)
      << "it stays if versioning is on";
  view.null_version.reset();
  view.head->id = "null";
  EXPECT_EQ(replaced_by_put(view, rows::Versioning::off)->stamp, 7u);
  const rows::Commit over = put_commit(view, rows::Versioning::off, fresh, {}, {});
  EXPECT_THAT(words(over.changes), ElementsAre("head=" + written)) << "it is not kept as a version";
  view.head.reset();
  view.head_row.value.reset();
  EXPECT_FALSE(replaced_by_put(view, rows::Versioning::off));
  const rows::Commit first = put_commit(view, rows::Versioning::suspended, fresh, {}, {});
  EXPECT_THAT(words(first.expects), UnorderedElementsAre("bucket=B", "-head"));
  EXPECT_THAT(words(first.changes), ElementsAre("head=" + written));
}

TEST_F(Decide, discarded_blobs_become_garbage) {
  const rows::Blob files = blob_named("x");
  const rows::Blob held = blob_named("y", "bytes");
  rows::Commit commit;
  discard(commit, {files, held});
  EXPECT_THAT(words(commit.expects),
              ElementsAre("sx=" + rows::encode(files), "sy=" + rows::encode(held)));
  EXPECT_THAT(words(commit.changes), ElementsAre("-sx", "gx=" + rows::encode(files), "-sy"))
      << "a blob in its row has no files";
  const rows::Commit put = put_commit(view, rows::Versioning::off, fresh, {}, {files});
  EXPECT_EQ(put.expects.size(), 3u);
  EXPECT_EQ(put.changes.size(), 4u) << "the previous version, the newest one, and the blob twice";
}

TEST_F(Decide, removing_the_newest_version_promotes_the_next) {
  view.next = ReadVersion{{.stamp = 5}, {"next-row", "N"}};
  const rows::Blob files = blob_named("x");
  const rows::Commit commit = remove_head_commit(view, {files});
  EXPECT_THAT(words(commit.expects), UnorderedElementsAre("bucket=B", "head=H", "next-row=N",
                                                          "sx=" + rows::encode(files)));
  EXPECT_THAT(words(commit.changes),
              UnorderedElementsAre("head=N", "-next-row", "-sx", "gx=" + rows::encode(files)));
  view.next.reset();
  const rows::Commit last = remove_head_commit(view, {});
  EXPECT_THAT(words(last.expects), UnorderedElementsAre("bucket=B", "head=H"));
  EXPECT_THAT(words(last.changes), ElementsAre("-head"));
}

TEST_F(Decide, removing_an_old_version_leaves_the_newest) {
  const rows::Blob files = blob_named("x");
  const rows::Commit commit = remove_old_commit(view, {{.stamp = 5}, {"old-row", "O"}}, {files});
  EXPECT_THAT(words(commit.expects),
              UnorderedElementsAre("bucket=B", "head=H", "old-row=O", "sx=" + rows::encode(files)));
  EXPECT_THAT(words(commit.changes),
              UnorderedElementsAre("-old-row", "-sx", "gx=" + rows::encode(files)));
}

}  // namespace
}  // namespace orrery::store::decide_tests
