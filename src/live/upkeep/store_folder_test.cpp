// A store's folder over the years: what an earlier program wrote is read, what a later one wrote is
// refused.
#include "live/upkeep/store_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "live/drives/file_text.h"
#include "live/rows/rocks_metadata.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/old_store_fixture.h"

namespace orrery::upkeep {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class StoreFolderTest : public testing::Test {
 protected:
  StoreFolderTest() {
    folder = (std::filesystem::temp_directory_path() / "orrery-folder-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~StoreFolderTest() override { std::filesystem::remove_all(folder); }

  void make_old() {
    const format1::Fixture old = format1::store_in(folder);
    auto metadata = rows::open_rocks_metadata(folder + "/metadata");
    ASSERT_TRUE(metadata);
    rows::Commit commit;
    for (const auto& [key, value] : old.rows) commit.changes.push_back({key, value});
    ASSERT_TRUE((*metadata)->commit(commit));
  }
  void open() {
    auto found = open_store_folder(folder, usual_tiers(), "another", false);
    ASSERT_TRUE(found) << found.error().front().what;
    opened = std::move(*found);
    store = std::make_unique<store::Store>(
        store::StoreSetting{.metadata = *opened.metadata,
                            .drives = opened.drive_set(),
                            .tiers = opened.tiers,
                            .now_ms = [] { return rows::TimeMs{10'000}; },
                            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }});
    ASSERT_TRUE(store->open());
  }
  std::string get(const std::string& key, const std::optional<std::string>& version = {}) {
    auto object = store->open_object("pail", key, version,
                                     [](const rows::Version& of) -> store::Answer<void> {
                                       if (of.marker) return store::refused("NoSuchKey");
                                       return {};
                                     });
    if (!object) return object.error().code;
    std::string bytes(object->version.size, ' ');
    const auto got = object->reader->read(0, bytes);
    return got ? bytes : got.error().what;
  }

  std::string folder;
  OpenedFolder opened;
  std::unique_ptr<store::Store> store;
};

TEST_F(StoreFolderTest, a_store_of_the_first_format_is_read_whole_and_goes_on) {
  make_old();
  open();
  EXPECT_THAT(drives::read_file(folder + "/store").value_or(""),
              StartsWith("orrery-store 4\nid 0123"));
  EXPECT_EQ(get("a"), "second bytes");
  EXPECT_EQ(get("a", "v1"), "first bytes!");
  EXPECT_EQ(get("b"), "NoSuchKey");  // a marker
  EXPECT_EQ(get("b", "v3"), "cold bytes");
  const auto version = store->find("pail", "a", std::nullopt);
  ASSERT_TRUE(version);
  EXPECT_EQ(version->etag, "be4e9d4ba32a6a8e62f3ad3a24b5bd2c");
  EXPECT_EQ(net::header_of(version->headers, "Content-Type"), "text/plain");
  EXPECT_EQ(net::header_of(version->tags, "who"), "me");
  EXPECT_EQ(store->bucket("pail")->versioning, rows::Versioning::on);
  const auto check = check_store(*store, true);
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->clean()) << (check->faults.empty() ? "" : check->faults.front());
  EXPECT_EQ(check->blobs, 4u);
  // The upload that was under way is completed, and what is new stands beside what is old.
  const auto upload = store->upload("pail", "c", "upload");
  ASSERT_TRUE(upload);
  const auto parts = store->parts("upload");
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 1u);
  rows::Version whole = upload->draft;
  whole.size = 12;
  whole.extents = {parts->front().extent};
  ASSERT_TRUE(store->complete_upload(*upload, whole, {}));
  EXPECT_EQ(get("c"), "part of one.");
  EXPECT_EQ(store->epoch(), 2u);
}

TEST_F(StoreFolderTest, the_parity_of_the_first_format_still_gives_the_data) {
  make_old();
  std::filesystem::remove_all(folder + "/hot-0");
  open();
  EXPECT_EQ(std::ranges::count(opened.notes, "store.drive", &Diagnostic::code), 1);
  EXPECT_EQ(get("a"), "second bytes");
  EXPECT_EQ(get("a", "v1"), "first bytes!");
}

TEST_F(StoreFolderTest, a_first_run_that_was_refused_may_be_begun_again_with_other_tiers) {
  drives::S3Access access;
  access.keys[""] = {"key", "secret", ""};
  access.retry.attempts_max = 1;
  auto tiers = usual_tiers();
  // Nobody listens there; the tiers before it have made their folders by then.
  tiers[2] = *tier_plan_of("warm=1x:s3+http://127.0.0.1:1/pail");
  const auto refused = open_store_folder(folder, tiers, "first", false, access);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "store.s3");
  const auto made = open_store_folder(folder, usual_tiers(), "second", false, access);
  ASSERT_TRUE(made) << made.error().front().what;
  EXPECT_EQ(made->id, "first");
  EXPECT_EQ(made->folders.at("warm-0"), "warm");
}

TEST_F(StoreFolderTest, a_later_format_is_refused_by_its_number_and_left_alone) {
  make_old();
  const std::string later = "orrery-store 99\nid 0123456789abcdef\nwarp hot 9\n";
  std::ofstream(folder + "/store") << later;
  const auto refused = open_store_folder(folder, usual_tiers(), "another", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "store.format");
  EXPECT_THAT(refused.error().front().what, HasSubstr("format 99"));
  EXPECT_THAT(refused.error().front().what, HasSubstr("knows 4"));
  EXPECT_EQ(drives::read_file(folder + "/store"), later);
}

}  // namespace
}  // namespace orrery::upkeep
