// A drive in a folder of a file system: files, their paths, space reserved ahead, files set aside,
// and the note.
#include "live/drives/folder_drive.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/drives/file_text.h"

namespace orrery::drives::folder_drive_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// In memory if the machine allows it: a drive has 256 subfolders.
std::filesystem::path fast_folder() {
  return std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

class FolderDriveTest : public testing::Test {
 protected:
  explicit FolderDriveTest(const std::filesystem::path& in = fast_folder()) {
    folder = (in / "orrery-drive-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~FolderDriveTest() override { std::filesystem::remove_all(folder); }

  std::unique_ptr<Drive> opened(Marking marking) const {
    auto drive = open_folder_drive(folder, {"store", "d0"}, marking);
    EXPECT_TRUE(drive);
    return drive ? std::move(*drive) : nullptr;
  }
  std::unique_ptr<Drive> made() const { return opened(Marking::make); }
  // Has only the subfolder of "name.00.0".
  std::unique_ptr<Drive> made_small() const {
    std::filesystem::create_directories(folder + "/data/fe");
    std::ofstream(folder + "/drive") << mark_text({"store", "d0"});
    return opened(Marking::refuse);
  }
  static Outcome<void> append(DriveFile& file, std::string_view bytes) {
    return file.append({&bytes, 1});
  }

  std::string folder;
};

TEST_F(FolderDriveTest, a_file_is_read_as_it_was_written_from_any_offset) {
  const auto drive = made();
  std::string all;
  {
    auto file = drive->create("a.00.0");
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
  EXPECT_FALSE(drive->create("a.00.0")) << "files are written once";
  const auto file = drive->open("a.00.0");
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
  EXPECT_EQ(drive->open("b.00.0").error().kind, PortFault::missing);
  EXPECT_EQ(*drive->list(), std::vector<std::string>{"a.00.0"});
  EXPECT_TRUE(drive->remove("a.00.0"));
  EXPECT_TRUE(drive->remove("a.00.0")) << "removing a missing file succeeds";
  EXPECT_TRUE(drive->list()->empty());
  struct statvfs now{};
  ASSERT_EQ(::statvfs(folder.c_str(), &now), 0);
  const auto space = drive->space();
  ASSERT_TRUE(space);
  EXPECT_EQ(space->total_bytes, now.f_blocks * now.f_frsize);
  EXPECT_NEAR(static_cast<double>(space->free_bytes),
              static_cast<double>(now.f_bavail * now.f_frsize), 1e9);
}

TEST_F(FolderDriveTest, a_large_file_is_read_as_it_was_written) {
  const auto drive = made();
  for (const std::size_t size : {std::size_t{1} << 20, (std::size_t{1} << 20) + 1,
                                 (std::size_t{2} << 20) - 64, (std::size_t{5} << 20) + 777}) {
    const std::string name = std::to_string(size) + ".00.0";
    std::string all(size, '\0');
    for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<char>(i * 2654435761u >> 13);
    {
      auto file = drive->create(name);
      ASSERT_TRUE(file);
      std::size_t length = 64;  // the length of a header, a block, then its checksum
      for (std::size_t at = 0; at < size; at += length, length = length == 4 ? 65536 : 4) {
        const std::string_view piece = std::string_view(all).substr(at, length);
        ASSERT_TRUE((*file)->append({&piece, 1}));
      }
      ASSERT_TRUE((*file)->sync());
    }
    const auto file = drive->open(name);
    ASSERT_TRUE(file);
    std::string bytes(size + 1, '\0');
    const auto got = (*file)->read(0, bytes);
    ASSERT_TRUE(got);
    bytes.resize(*got);
    EXPECT_TRUE(bytes == all) << size;
  }
}

// Blocks and their checksums end anywhere. The file system gets whole pages; the remaining bytes
// are written when the file is synced.
TEST_F(FolderDriveTest, a_file_grows_by_whole_pages_until_it_is_synced) {
  const auto drive = made();
  auto file = drive->create("x");
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
  EXPECT_EQ(length(), 64u) << "the first bytes are written at once, to see whether the drive "
                              "accepts writes";
  append(std::string(100, 'a'));
  EXPECT_EQ(length(), 64u);
  append(std::string(9000, 'b'));
  EXPECT_EQ(length(), 8192u);
  append(std::string(3124, 'c'));
  EXPECT_EQ(length(), 12288u) << "the piece ends at a page boundary";
  append("d");
  ASSERT_TRUE((*file)->sync());
  EXPECT_EQ(length(), 12289u);
}

TEST_F(FolderDriveTest, a_large_file_that_does_not_fit_is_refused) {
  const auto drive = made();
  auto file = drive->create("a.00.0");
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
  EXPECT_LT(written, 8) << "the fault is reported before the end";
}

// The path of a file is part of the format: every later version of the program must find it.
TEST_F(FolderDriveTest, a_file_is_stored_in_the_folder_that_the_hash_of_its_name_gives) {
  const auto drive = made();
  for (const std::string name :
       {"0000000100000000000000aa.00.0", "x", "0000000100000000000000aa.01.0"}) {
    ASSERT_TRUE(drive->create(name));
    std::uint32_t hash = 2166136261u;  // FNV-1a of the name, its second byte
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    char place[8];
    std::snprintf(place, sizeof place, "%02x", (hash >> 8) & 0xff);
    EXPECT_TRUE(std::filesystem::exists(folder + "/data/" + place + "/" + name)) << place;
  }
}

TEST_F(FolderDriveTest, a_folder_with_another_mark_is_refused) {
  const auto code = [&](const DriveMark& mark, bool make) {
    const auto drive = open_folder_drive(folder, mark, make ? Marking::make : Marking::refuse);
    return drive ? std::string("opened") : drive.error().front().code;
  };
  EXPECT_EQ(code({"store", "d0"}, false), "store.drive") << "the drive is missing and must not be "
                                                            "created";
  EXPECT_FALSE(std::filesystem::exists(folder + "/data"));
  EXPECT_EQ(code({"store", "d0"}, true), "opened");
  EXPECT_EQ(code({"store", "d0"}, false), "opened");
  EXPECT_EQ(code({"store", "d1"}, false), "store.drive");
  EXPECT_EQ(code({"another", "d0"}, true), "store.drive")
      << "another drive's files are never overwritten";
}

TEST_F(FolderDriveTest, a_drive_whose_folders_are_gone_is_busy) {
  const auto drive = made();
  ASSERT_TRUE(drive && drive->create("name.00.0"));
  std::filesystem::remove_all(folder + "/data/00");
  const auto listed = drive->list();
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().kind, PortFault::missing);
  EXPECT_THAT(listed.error().what, StartsWith("cannot list " + folder));
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(drive->space());
  const auto made = drive->create("other.00.0");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, PortFault::busy) << "the whole drive is missing";
  EXPECT_TRUE(drive->remove("name.00.0")) << "the file does not exist";
  ASSERT_TRUE(write_durably(folder, "a file"));
  const auto none = open_folder_drive(folder, {"s", "d"}, Marking::make);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().front().what, StartsWith("cannot create a drive here: "));
}

// Disk space is reserved ahead of a large file, and the unused part is released.
class RoomAhead : public FolderDriveTest {
 protected:
  RoomAhead() : FolderDriveTest(std::filesystem::temp_directory_path()), drive(made_small()) {}

  bool reserves_space() const {
    const int file = ::open((folder + "/probe").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    const bool reserved = ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 1 << 20) == 0;
    ::close(file);
    return reserved && taken("/probe") >= kMib;
  }
  std::uint64_t taken(const std::string& name = "/data/fe/name.00.0") const {
    struct stat found{};
    if (::stat((folder + name).c_str(), &found) != 0) return 0;
    return static_cast<std::uint64_t>(found.st_blocks) * 512;
  }
  // Returns the bytes on disk after writing the first few bytes of a file that will have `expected`
  // bytes.
  std::uint64_t ahead_of(std::uint64_t expected) {
    EXPECT_TRUE(drive->remove("name.00.0"));
    auto file = drive->create("name.00.0");
    EXPECT_TRUE(file);
    (*file)->expect(expected);
    EXPECT_LE(taken(), 4096u) << "nothing before the first byte";
    EXPECT_TRUE(append(**file, "the first bytes"));
    return taken();
  }

  static constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  std::unique_ptr<Drive> drive;
};

TEST_F(RoomAhead, is_reserved_for_files_of_half_a_mebibyte_and_more) {
  if (!reserves_space()) GTEST_SKIP() << "the file system cannot reserve space";
  EXPECT_LT(ahead_of(512 * 1024 - 1), 65'536u);
  EXPECT_GE(ahead_of(512 * 1024), 512u * 1024);
  EXPECT_GE(ahead_of(3 * kMib), 3 * kMib);
  const std::uint64_t most = ahead_of(1000 * kMib);
  EXPECT_GE(most, 4 * kMib) << "a few megabytes beyond the bytes written";
  EXPECT_LT(most, 4 * kMib + 65'536);
}

TEST_F(RoomAhead, is_extended_when_used_up_and_released_at_the_end) {
  if (!reserves_space()) GTEST_SKIP() << "the file system cannot reserve space";
  auto file = drive->create("name.00.0");
  ASSERT_TRUE(file);
  (*file)->expect(100 * kMib);
  const auto appended = [&](std::uint64_t bytes) {
    EXPECT_TRUE(append(**file, std::string(bytes, 'x')));
    return taken();
  };
  appended(64);
  EXPECT_LT(appended(4 * kMib), 4 * kMib + 65'536) << "exactly up to the end";
  EXPECT_GE(appended(1), 8 * kMib) << "one more byte reserves as much again";
  ASSERT_TRUE((*file)->sync());
  EXPECT_LT(taken(), 4 * kMib + 131'072);
  std::string bytes(6 * kMib, '\0');
  EXPECT_EQ((*drive->open("name.00.0"))->read(0, bytes).value(), 4 * kMib + 65)
      << "the length counts only written bytes";
}

class AsideFolder : public FolderDriveTest {
 protected:
  AsideFolder() : drive(made()) {
    const auto file = drive->create(kFile);
    EXPECT_TRUE(append(**file, "bytes") && (*file)->sync());
  }
  std::string bytes() const {
    std::string text(5, ' ');
    const auto file = drive->open(kFile);
    return file && (*file)->read(0, text) ? text : "none";
  }
  const std::string kFile = "0000000100000000000000aa.00.0";
  std::unique_ptr<Drive> drive;
};

TEST_F(AsideFolder, a_file_keeps_its_time_and_origin_and_can_be_brought_back) {
  ASSERT_TRUE(drive->set_aside({kFile, 77}, "by run 3"));
  EXPECT_THAT(drive->list().value(), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(folder + "/aside/77/" + kFile));
  EXPECT_EQ(read_file(folder + "/aside/77/origin"), "by run 3\n");
  const auto aside = drive->aside();
  ASSERT_EQ(aside->size(), 1u);
  EXPECT_EQ(aside->front().since_ms, 77u);
  EXPECT_EQ(bytes(), "bytes") << "it can still be read";
  ASSERT_TRUE(drive->set_aside({kFile, 77}, "again")) << "the file exists";
  ASSERT_TRUE(drive->bring_back({kFile, 77}));
  EXPECT_THAT(drive->list().value(), ElementsAre(kFile));
  EXPECT_EQ(bytes(), "bytes");
}

TEST_F(AsideFolder, two_files_of_one_name_are_kept_apart) {
  ASSERT_TRUE(drive->set_aside({kFile, 5}, "x"));
  ASSERT_TRUE(drive->create(kFile));
  ASSERT_TRUE(drive->set_aside({kFile, 5}, "x"));
  EXPECT_EQ(drive->aside()->size(), 2u);
  EXPECT_THAT(drive->list().value(), IsEmpty());
}

TEST_F(AsideFolder, nothing_is_overwritten_and_an_empty_folder_is_removed) {
  ASSERT_TRUE(drive->set_aside({kFile, 5}, "x"));
  ASSERT_TRUE(drive->create(kFile));
  EXPECT_FALSE(drive->bring_back({kFile, 5})) << "another file has this path";
  EXPECT_EQ(drive->aside()->size(), 1u);
  ASSERT_TRUE(drive->remove_aside({kFile, 5}));
  EXPECT_FALSE(std::filesystem::exists(folder + "/aside/5"));
  EXPECT_THAT(drive->list().value(), ElementsAre(kFile));
}

class DriveNote : public FolderDriveTest {
 protected:
  DriveNote() { made_small(); }
  void damage(std::size_t at) const {
    std::fstream file(folder + "/seen", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << "damage";
  }
};

TEST_F(DriveNote, is_read_again_by_the_next_run) {
  {
    const auto drive = opened(Marking::refuse);
    EXPECT_EQ(drive->note().error().kind, PortFault::missing);
    ASSERT_TRUE(drive->set_note("one", true));
    ASSERT_TRUE(drive->set_note("two", false));
    EXPECT_EQ(drive->note().value(), "two");
  }
  const auto drive = opened(Marking::refuse);
  EXPECT_EQ(drive->note().value(), "two");
  ASSERT_TRUE(drive->set_note("three", true));
  EXPECT_EQ(drive->note().value(), "three");
}

TEST_F(DriveNote, falls_back_to_the_synced_one_when_torn) {
  const auto drive = opened(Marking::refuse);
  ASSERT_TRUE(drive->set_note("synced", true));
  ASSERT_TRUE(drive->set_note("not synced", false));
  damage(4096 + 33);
  EXPECT_EQ(drive->note().value(), "synced");
  damage(33);
  EXPECT_EQ(drive->note().error().kind, PortFault::corrupt);
  ASSERT_TRUE(drive->set_note("again", true));
  EXPECT_EQ(drive->note().value(), "again");
}

}  // namespace
}  // namespace orrery::drives::folder_drive_tests
