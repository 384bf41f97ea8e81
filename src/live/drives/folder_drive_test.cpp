#include "live/drives/folder_drive.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "live/drives/erasure.h"
#include "live/drives/file_text.h"

namespace orrery::drives {
namespace {

class FolderDriveTest : public testing::Test {
 protected:
  FolderDriveTest() {
    folder = (std::filesystem::temp_directory_path() / "orrery-drive-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~FolderDriveTest() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

TEST_F(FolderDriveTest, a_file_is_read_as_it_was_written_from_any_offset) {
  const auto drive = open_folder_drive(folder, {"store", "d0"}, Marking::make);
  ASSERT_TRUE(drive);
  std::string all;
  {
    auto file = (*drive)->create("a.00.0");
    ASSERT_TRUE(file);
    std::vector<std::string> made;
    for (int i = 0; i < 200; ++i)
      made.push_back(std::string(static_cast<std::size_t>(i % 7), 'a' + i % 26));
    const std::vector<std::string_view> pieces(made.begin(), made.end());
    for (const std::string& piece : made) all += piece;
    ASSERT_TRUE((*file)->append(pieces));  // more pieces than one call takes
    ASSERT_TRUE((*file)->append(std::vector<std::string_view>{"tail"}));
    all += "tail";
    ASSERT_TRUE((*file)->sync());
  }
  EXPECT_FALSE((*drive)->create("a.00.0")) << "files are written once";
  const auto file = (*drive)->open("a.00.0");
  ASSERT_TRUE(file);
  for (const std::size_t from : {std::size_t{0}, std::size_t{1}, all.size() / 2, all.size() - 1}) {
    std::string bytes(all.size() + 10, '\0');
    const auto got = (*file)->read(from, bytes);
    ASSERT_TRUE(got);
    EXPECT_EQ(bytes.substr(0, *got), all.substr(from));
    std::string front(3, '\0');
    std::string behind(4, '\0');
    const auto both = (*file)->read(from, front, behind);
    ASSERT_TRUE(both);
    EXPECT_EQ((front + behind).substr(0, *both), all.substr(from, 7));
  }
  EXPECT_EQ((*drive)->open("b.00.0").error().kind, PortFault::missing);
  EXPECT_EQ(*(*drive)->list(), std::vector<std::string>{"a.00.0"});
  EXPECT_TRUE((*drive)->remove("a.00.0"));
  EXPECT_TRUE((*drive)->remove("a.00.0")) << "gone already is fine";
  EXPECT_TRUE((*drive)->list()->empty());
  struct statvfs now{};
  ASSERT_EQ(::statvfs(folder.c_str(), &now), 0);
  const auto space = (*drive)->space();
  ASSERT_TRUE(space);
  EXPECT_EQ(space->total_bytes, now.f_blocks * now.f_frsize);
  EXPECT_NEAR(static_cast<double>(space->free_bytes),
              static_cast<double>(now.f_bavail * now.f_frsize), 1e9);
}

// Large files are handed to the disk stretch by stretch, beside the writing.
TEST_F(FolderDriveTest, a_large_file_is_read_as_it_was_written_whatever_its_pieces) {
  const auto drive = open_folder_drive(folder, {"store", "d0"}, Marking::make);
  ASSERT_TRUE(drive);
  for (const std::size_t size : {std::size_t{1} << 20, (std::size_t{1} << 20) + 1,
                                 (std::size_t{2} << 20) - 64, (std::size_t{5} << 20) + 777}) {
    const std::string name = std::to_string(size) + ".00.0";
    std::string all(size, '\0');
    for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<char>(i * 2654435761u >> 13);
    {
      auto file = (*drive)->create(name);
      ASSERT_TRUE(file);
      std::size_t length = 64;  // as a header, a block, its checksum
      for (std::size_t at = 0; at < size; at += length, length = length == 4 ? 65536 : 4) {
        const std::string_view piece = std::string_view(all).substr(at, length);
        ASSERT_TRUE((*file)->append({&piece, 1}));
      }
      ASSERT_TRUE((*file)->sync());
    }
    const auto file = (*drive)->open(name);
    ASSERT_TRUE(file);
    std::string bytes(size + 1, '\0');
    const auto got = (*file)->read(0, bytes);
    ASSERT_TRUE(got);
    bytes.resize(*got);
    EXPECT_TRUE(bytes == all) << size;
  }
}

// Blocks and their checksums end anywhere; the file system is given whole pages of them, and what
// is left over when the file is synced.
TEST_F(FolderDriveTest, a_file_grows_by_whole_pages_until_it_is_synced) {
  const auto drive = open_folder_drive(folder, {"store", "d0"}, Marking::make);
  ASSERT_TRUE(drive);
  auto file = (*drive)->create("x");
  ASSERT_TRUE(file);
  const auto length = [&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().filename() == "x") return entry.file_size();
    }
    return std::uintmax_t{0};
  };
  const auto append = [&](const std::string& bytes) {
    const std::string_view piece = bytes;
    ASSERT_TRUE((*file)->append({&piece, 1}));
  };
  append(std::string(64, 'h'));
  EXPECT_EQ(length(), 64u) << "the first goes at once: it tells whether the drive takes it";
  append(std::string(100, 'a'));
  EXPECT_EQ(length(), 64u);
  append(std::string(9000, 'b'));
  EXPECT_EQ(length(), 8192u);
  append(std::string(3124, 'c'));
  EXPECT_EQ(length(), 12288u) << "a page that ends with the piece";
  append("d");
  ASSERT_TRUE((*file)->sync());
  EXPECT_EQ(length(), 12289u);
}

// Room that a file takes on its disk; its length may be less.
std::uint64_t taken_of(const std::string& folder, const std::string& name) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat found{};
    if (entry.path().filename() != name || ::stat(entry.path().c_str(), &found) != 0) continue;
    return static_cast<std::uint64_t>(found.st_blocks) * 512;
  }
  return 0;
}

TEST_F(FolderDriveTest, what_is_expected_takes_room_as_it_comes_and_none_is_left_over) {
  const auto drive = open_folder_drive(folder, {"store", "d0"}, Marking::make);
  ASSERT_TRUE(drive);
  constexpr std::uint64_t kMib = 1u << 20;
  const std::string mib(kMib, 'm');
  const std::string_view piece = mib;
  for (const std::uint64_t expected : {5 * kMib, std::uint64_t{5} << 30}) {
    const std::string name = std::to_string(expected) + ".00.0";
    auto file = (*drive)->create(name);
    ASSERT_TRUE(file);
    (*file)->expect(expected);
    EXPECT_LE(taken_of(folder, name), 4096u) << "nothing before the first byte";
    for (int i = 1; i <= 5; ++i) {
      ASSERT_TRUE((*file)->append({&piece, 1}));
      EXPECT_LE(taken_of(folder, name), (static_cast<std::uint64_t>(i) + 5) * kMib) << expected;
    }
    (*file)->begin_sync();
    ASSERT_TRUE((*file)->sync());
    EXPECT_LE(taken_of(folder, name), 5 * kMib + 65536) << expected;
    std::string bytes(6 * kMib, '\0');
    const auto got = (*(*drive)->open(name))->read(0, bytes);
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, 5 * kMib) << "its length is of what came";
    EXPECT_EQ(bytes.find_first_not_of('m'), 5 * kMib);
  }
}

TEST_F(FolderDriveTest, a_large_file_that_does_not_fit_is_refused) {
  const auto drive = open_folder_drive(folder, {"store", "d0"}, Marking::make);
  ASSERT_TRUE(drive);
  auto file = (*drive)->create("a.00.0");
  ASSERT_TRUE(file);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{3u << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string mib(1u << 20, 'm');
  const std::string_view piece = mib;
  int written = 0;
  Outcome<void> done;
  while (written < 8 && (done = (*file)->append({&piece, 1}))) ++written;
  if (done) done = (*file)->sync();
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_FALSE(done);
  EXPECT_GE(written, 3);
  EXPECT_LT(written, 8) << "not only at the end";
}

// The place of a file is part of the format: it must be found by every later program.
TEST_F(FolderDriveTest, files_lie_where_the_hash_of_their_name_says) {
  const auto drive = open_folder_drive(folder, {"store", "d0"}, Marking::make);
  ASSERT_TRUE(drive);
  for (const std::string name :
       {"0000000100000000000000aa.00.0", "x", "0000000100000000000000aa.01.0"}) {
    ASSERT_TRUE((*drive)->create(name));
    std::uint32_t hash = 2166136261u;  // FNV-1a of the name, its second byte
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    char place[8];
    std::snprintf(place, sizeof place, "%02x", (hash >> 8) & 0xff);
    EXPECT_TRUE(std::filesystem::exists(folder + "/data/" + place + "/" + name)) << place;
  }
}

TEST_F(FolderDriveTest, a_folder_that_is_no_drive_of_ours_is_refused) {
  const auto code = [&](const DriveMark& mark, bool make) {
    const auto drive = open_folder_drive(folder, mark, make ? Marking::make : Marking::refuse);
    return drive ? std::string("opened") : drive.error().front().code;
  };
  EXPECT_EQ(code({"store", "d0"}, false), "store.drive") << "not there, and not to be made";
  EXPECT_FALSE(std::filesystem::exists(folder + "/data"));
  EXPECT_EQ(code({"store", "d0"}, true), "opened");
  EXPECT_EQ(code({"store", "d0"}, false), "opened");
  EXPECT_EQ(code({"store", "d1"}, false), "store.drive");
  EXPECT_EQ(code({"another", "d0"}, true), "store.drive") << "never made anew over another's";
}

// Any k of k + m give each block again, and nothing fewer does.
TEST(Erasure, every_block_follows_from_any_k_others) {
  for (const ShardPlan plan :
       {ShardPlan{1, 2}, ShardPlan{2, 1}, ShardPlan{3, 2}, ShardPlan{4, 3}}) {
    std::vector<std::string> blocks;
    for (int i = 0; i < plan.data; ++i) {
      std::string block;
      for (int b = 0; b < 37; ++b) block += static_cast<char>(i * 91 + b * 7 + 1);
      blocks.push_back(block);
    }
    const std::vector<std::string_view> views(blocks.begin(), blocks.end());
    for (const std::string& parity : parity_of(plan, views)) blocks.push_back(parity);
    ASSERT_EQ(static_cast<int>(blocks.size()), plan.total());
    for (int mask = 0; mask < 1 << plan.total(); ++mask) {
      std::vector<std::optional<std::string>> left(blocks.size());
      int there = 0;
      for (int i = 0; i < plan.total(); ++i) {
        if ((mask >> i & 1) == 0) continue;
        left[static_cast<std::size_t>(i)] = blocks[static_cast<std::size_t>(i)];
        ++there;
      }
      for (int wanted = 0; wanted < plan.total(); ++wanted) {
        const bool has_it = (mask >> wanted & 1) != 0;
        const auto made = rebuilt_block(plan, left, wanted);
        if (there - (has_it ? 1 : 0) < plan.data) {
          EXPECT_FALSE(made) << mask << ' ' << wanted;
        } else {
          EXPECT_EQ(made, blocks[static_cast<std::size_t>(wanted)]) << mask << ' ' << wanted;
        }
      }
    }
  }
  EXPECT_TRUE(parity_of({3, 0}, std::vector<std::string_view>{"a", "b", "c"}).empty());
  // Blocks of one stripe are of one length: others are not put together.
  const std::vector<std::optional<std::string>> odd = {std::nullopt, "ab", "abc"};
  EXPECT_FALSE(rebuilt_block({2, 1}, odd, 0));
}

}  // namespace
}  // namespace orrery::drives
