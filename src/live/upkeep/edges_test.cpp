// Files and rows at their edges: windows on a far file, disks that take no more, folders that
// cannot be made, rows on RocksDB, and a gateway that is alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "live/drives/file_text.h"
#include "live/drives/folder_drive.h"
#include "live/drives/hedger.h"
#include "live/drives/windowed_file.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/rows/rocks_metadata.h"
#include "live/upkeep/store_folder.h"

namespace orrery::upkeep::edges_tests {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class EdgesTest : public testing::Test {
 protected:
  EdgesTest() {
    folder = (std::filesystem::temp_directory_path() / "orrery-edges-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~EdgesTest() override { std::filesystem::remove_all(folder); }
  // A drive with its mark and the one folder in which "name.00.0" lies (FNV-1a of 32 bits, its
  // second byte): all 256, synced, would take most of the time.
  static void mark(const std::string& place, const drives::DriveMark& as) {
    std::filesystem::create_directories(place + "/data/fe");
    std::ofstream(place + "/drive") << drives::mark_text(as);
  }
  std::string folder;
};

// No file grows beyond this while it lives; a write that would is told, not killed.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &was_);
    const rlimit now{.rlim_cur = bytes, .rlim_max = was_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &was_);
    std::signal(SIGXFSZ, before_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit was_{};
  void (*before_)(int) = nullptr;
};

TEST_F(EdgesTest, a_text_that_the_disk_does_not_take_leaves_the_one_before) {
  ASSERT_TRUE(drives::write_durably(folder + "/text", "before"));
  {
    const FileLimit limit(100);
    EXPECT_FALSE(drives::write_durably(folder + "/text", std::string(101, 'x')));
    EXPECT_TRUE(drives::write_durably(folder + "/full", std::string(100, 'x')));
  }
  EXPECT_EQ(drives::read_file(folder + "/text"), "before");
  EXPECT_FALSE(drives::read_file(folder + "/text.new"));
  EXPECT_EQ(drives::read_file(folder + "/full"), std::string(100, 'x'));
  EXPECT_FALSE(drives::sync_folder(folder + "/text")) << "that is a file";
  EXPECT_TRUE(drives::sync_folder(folder));
}

TEST_F(EdgesTest, a_drive_says_what_it_does_not_take) {
  mark(folder, {"s", "d"});
  auto drive = drives::open_folder_drive(folder, {"s", "d"}, drives::Marking::refuse);
  ASSERT_TRUE(drive);
  auto file = (*drive)->create("name.00.0");
  ASSERT_TRUE(file);
  const FileLimit limit(5000);
  const std::string bytes(10'000, 'x');
  const std::string_view pieces[] = {bytes};
  const auto done = (*file)->append(pieces);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, drives::PortFault::failed);
  EXPECT_THAT(done.error().what, StartsWith("cannot write " + folder + "/data/"));
  EXPECT_THAT(done.error().what, EndsWith(": File too large"));
}

TEST_F(EdgesTest, a_drive_whose_folders_are_gone_says_so) {
  mark(folder, {"s", "d"});
  auto drive = drives::open_folder_drive(folder, {"s", "d"}, drives::Marking::refuse);
  ASSERT_TRUE(drive && (*drive)->create("name.00.0"));
  const auto listed = (*drive)->list();
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().kind, drives::PortFault::missing);
  EXPECT_THAT(listed.error().what, StartsWith("cannot list " + folder));
  std::filesystem::remove_all(folder);
  EXPECT_FALSE((*drive)->space());
  const auto made = (*drive)->create("other.00.0");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, drives::PortFault::busy) << "the drive is away";
  EXPECT_TRUE((*drive)->remove("name.00.0")) << "there is none";
  ASSERT_TRUE(drives::write_durably(folder, "a file"));
  const auto none = drives::open_folder_drive(folder, {"s", "d"}, drives::Marking::make);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().front().what, StartsWith("no drive can be made here: "));
}

// What cannot be written where the store's file will be is said with the system's word.
TEST_F(EdgesTest, a_store_that_cannot_be_made_or_upgraded_says_why) {
  const std::vector<TierPlan> tiers = {{.name = "hot"}};
  std::filesystem::create_directories(folder + "/a/store.begun.new");
  const auto begun = open_store_folder(folder + "/a", tiers, "id");
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().front().what, "no store can be made here: Is a directory");
  EXPECT_EQ(begun.error().front().place.line, 0);
  EXPECT_EQ(begun.error().front().place.file, folder + "/a");
  EXPECT_EQ(begun.error().front().code, "store.format");
  // A first run that died with its drives made.
  std::filesystem::create_directories(folder + "/b/store.new");
  mark(folder + "/b/hot", {"id-0", "hot-0"});
  ASSERT_TRUE(drives::write_durably(folder + "/b/store.begun", store_text("id-0", tiers, "")));
  const auto last = open_store_folder(folder + "/b", tiers, "id");
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().front().what, "no store can be made here: Is a directory");
  EXPECT_EQ(last.error().front().place.line, 0);
  mark(folder + "/c/hot", {"id", "hot-0"});
  ASSERT_TRUE(drives::write_durably(folder + "/c/store",
                                    "orrery-store 3\nid id\ntier hot 1+0\n"
                                    "drive hot-0 hot\n"));
  std::filesystem::create_directories(folder + "/c/store.new");
  ASSERT_TRUE(rows::open_rocks_metadata(folder + "/c/metadata"));
  const auto old = open_store_folder(folder + "/c", tiers, "id");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().front().what, "the store cannot be upgraded: Is a directory");
  EXPECT_EQ(old.error().front().place.file, folder + "/c/store");
  std::filesystem::remove_all(folder + "/c/store.new");
  ASSERT_TRUE(open_store_folder(folder + "/c", tiers, "id"));
  EXPECT_THAT(*drives::read_file(folder + "/c/store"), StartsWith("orrery-store 4\nid id\n"));
}

TEST_F(EdgesTest, lines_of_a_stores_file_are_read_or_named) {
  const auto said = [&](const std::string& text) {
    std::filesystem::create_directories(folder + "/s");
    EXPECT_TRUE(drives::write_durably(folder + "/s/store", text));
    const auto opened = open_store_folder(folder + "/s", {}, "id");
    if (opened) return std::string("opened");
    const Diagnostic& first = opened.error().front();
    return std::to_string(first.place.line) + ": " + first.what;
  };
  EXPECT_EQ(said("orrery-depot 4\n"), "1: this is not the file of a store");
  EXPECT_EQ(said("orrery-store x\n"), "1: this is not the file of a store");
  EXPECT_EQ(said("orrery-store 5\n"), "1: the store has format 5, this program knows 4");
  EXPECT_EQ(said("orrery-store 4\nid a\n"), "0: the store has no tier");
  EXPECT_EQ(said("orrery-store 4\nid a\ntier hot 1+x\n"), "3: no such redundancy: 1+x");
  EXPECT_EQ(said("orrery-store 4\nid a\ntier hot 1+1\ndrive hot-0 a\n"),
            "0: tier hot has 1 drives and needs 2");
  EXPECT_EQ(said("orrery-store 4\ndrive hot-0 a\n"),
            "2: this line is not understood: drive hot-0 a");
  EXPECT_EQ(said("orrery-store 4\n\nid a b\n"), "3: this line is not understood: id a b");
  EXPECT_EQ(said("orrery-store 4\nid a\ntier hot 1+0\ndrive hot-0 none\n"),
            "0: none of the store's drives is there");
}

// 256 KiB at first and after a leap, then twice as much each time up to 2 MiB.
TEST(Windows, grow_while_reads_follow_one_another) {
  std::vector<std::string> asked;
  const std::uint64_t size = 9u << 20;
  drives::WindowedFile file(
      [&](std::uint64_t from, std::size_t count) -> drives::Outcome<std::string> {
        asked.push_back(std::to_string(from >> 10) + '+' + std::to_string(count >> 10));
        if (from >= size) return std::string();
        return std::string(std::min<std::uint64_t>(count, size - from),
                           static_cast<char>(from >> 18));
      },
      "front");
  const auto read = [&](std::uint64_t from, std::size_t count) {
    asked.clear();
    std::string bytes(count, '?');
    const auto got = file.read(from, bytes);
    EXPECT_TRUE(got);
    return got ? bytes.substr(0, *got) : "";
  };
  EXPECT_EQ(read(0, 5), "front");
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(read(4, 2).substr(0, 1), "t");
  EXPECT_THAT(asked, ElementsAre("0+256")) << "from the sixth byte on";
  std::uint64_t at = 5 + (256u << 10);
  for (const char* next : {"256+512", "768+1024", "1792+2048", "3840+2048"}) {
    read(at, 1);
    EXPECT_THAT(asked, ElementsAre(next));
    at += std::stoull(std::string(next).substr(std::string(next).find('+') + 1)) << 10;
  }
  read(at - 1, 1);
  EXPECT_THAT(asked, IsEmpty()) << "the last byte that came";
  read(1u << 20, 1);
  EXPECT_THAT(asked, ElementsAre("1024+256")) << "before the window";
  read((1u << 20) + (256u << 10), 700u << 10);
  EXPECT_THAT(asked, ElementsAre("1280+700")) << "as much as is wanted";
  read(8u << 20, 1);
  EXPECT_THAT(asked, ElementsAre("8192+256")) << "behind the window";
  EXPECT_EQ(read(size - 2, 10).size(), 2u);
  EXPECT_EQ(read(size + 5, 10).size(), 0u);
  const std::string_view pieces[] = {"x"};
  EXPECT_EQ(file.append(pieces).error().kind, drives::PortFault::failed);
  EXPECT_TRUE(file.sync());
}

TEST(Windows, a_fault_of_the_other_side_is_said) {
  drives::WindowedFile file([](std::uint64_t, std::size_t) -> drives::Outcome<std::string> {
    return drives::fault(drives::PortFault::busy, "not now");
  });
  std::string bytes(4, '?');
  const auto got = file.read(0, bytes);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, drives::PortFault::busy);
}

TEST_F(EdgesTest, rows_on_a_disk_are_kept_in_order_and_changed_as_a_whole) {
  const std::string place = folder + "/rows";
  {
    auto rows = rows::open_rocks_metadata(place);
    ASSERT_TRUE(rows);
    rows::Metadata& metadata = **rows;
    EXPECT_FALSE(metadata.is_shared());
    EXPECT_TRUE(metadata.leads().value());
    EXPECT_TRUE(metadata.hold_run(3).value());
    EXPECT_FALSE(metadata.is_held(3).value());
    EXPECT_TRUE(metadata.commit({.changes = {{"b", "2"}, {"a", "1"}, {"c", "3"}}}).value());
    EXPECT_FALSE(metadata.commit({.expects = {{"a", "0"}}, .changes = {{"a", "9"}}}).value());
    EXPECT_FALSE(metadata.commit({.expects = {{"a", {}}}, .changes = {{"a", "9"}}}).value());
    EXPECT_TRUE(metadata
                    .commit({.expects = {{"a", "1"}, {"none", {}}},
                             .changes = {{"c", {}}, {"d", "4"}},
                             .durable = false})
                    .value());
    EXPECT_TRUE(metadata.flush());
    const auto cursor = metadata.cursor();
    EXPECT_TRUE(metadata.commit({.changes = {{"aa", "later"}}}).value());
    std::string all;
    for (cursor->seek("a"); cursor->valid(); cursor->next()) {
      all += std::string(cursor->key()) + '=' + std::string(cursor->value()) + ' ';
      ASSERT_LT(all.size(), 100u);
    }
    EXPECT_EQ(all, "a=1 b=2 d=4 ") << "of one moment";
    EXPECT_TRUE(cursor->state());
    const auto taken = rows::open_rocks_metadata(place);
    ASSERT_FALSE(taken);
    EXPECT_THAT(taken.error().front().what, StartsWith("the metadata cannot be opened: "));
    EXPECT_EQ(taken.error().front().code, "store.metadata");
  }
  auto again = rows::open_rocks_metadata(place);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->get("d").value(), "4");
  EXPECT_EQ((*again)->get("aa").value(), "later");
  EXPECT_EQ((*again)->get("c").value(), std::nullopt);
}

TEST(Alone, a_gateway_leads_and_begins_with_nothing_counted) {
  rows::MemoryMetadata metadata;
  EXPECT_TRUE(metadata.leads().value());
  const drives::Hedger hedger;
  EXPECT_EQ(hedger.counts().asked, 0u);
  EXPECT_EQ(hedger.counts().won, 0u);
  EXPECT_EQ(hedger.counts().suspects, 0);
  EXPECT_EQ(drives::HedgeCounts{}.suspects, 0);
}

}  // namespace
}  // namespace orrery::upkeep::edges_tests
