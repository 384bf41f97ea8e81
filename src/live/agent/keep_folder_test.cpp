// A folder as a place: what it lists, how copies and removals become visible, and its faults.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>

#include "live/agent/keep_store_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::agent::keep_folder_tests {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(KeepFolder, items_are_listed_sorted_and_stamps_change_with_the_bytes) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  EXPECT_THAT(names_in(*store), ElementsAre()) << "a missing folder is empty";
  ASSERT_TRUE(put_item(*store, "step-2", {{"b/deep/x", "deep"}, {"a", ""}}));
  ASSERT_TRUE(put_item(*store, "step-10", {{"a", std::string(3 << 20, 'l')}}));
  folder.write("run/latest.txt", "10");
  EXPECT_THAT(names_in(*store),
              ElementsAre("step-10:a", "step-2:a", "step-2:b/deep/x", "latest.txt"));
  EXPECT_EQ(read_back(*store, "step-2", "b/deep/x"), "deep");
  EXPECT_EQ(read_back(*store, "step-10", "a"), std::string(3 << 20, 'l'));
  // The stamp changes although the number of bytes does not.
  const auto stamp = [&] { return store->list()->items.back().file("b/deep/x")->stamp; };
  const std::string before = stamp();
  EXPECT_EQ(stamp(), before);
  folder.write("run/step-2/b/deep/x", "DEEP");
  EXPECT_NE(stamp(), before);
  // Written twice within one second.
  const auto at_nanosecond = [&](long nanosecond) {
    const timespec times[2] = {{1'700'000'000, nanosecond}, {1'700'000'000, nanosecond}};
    EXPECT_EQ(::utimensat(AT_FDCWD, folder.at("run/step-2/b/deep/x").c_str(), times, 0), 0);
    return stamp();
  };
  const std::string early = at_nanosecond(1000);
  EXPECT_NE(at_nanosecond(2000), early);
  // Written again, with its time put back.
  const timespec tick{0, 20'000'000};  // longer than the clock of a file system
  EXPECT_EQ(::nanosleep(&tick, nullptr), 0);
  EXPECT_NE(at_nanosecond(1000), early);
  folder.write("run/step-2/b/deep/x", "DEEP");
  const Seconds written = store->list()->items.back().file("b/deep/x")->written;
  EXPECT_NEAR(written.base(), static_cast<double>(std::time(nullptr)), 60);
  EXPECT_EQ(store->read("step-2", {.path = "gone"}).error().front().code, "lifecycle.folder");
}

TEST(KeepFolder, items_are_sorted_whatever_order_the_file_system_has) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  std::vector<std::string> wanted;
  for (int i = 0; i < 24; ++i) wanted.push_back("step-" + std::to_string(100 + i));
  for (int i = 0; i < 24; ++i) {
    folder.write("run/" + wanted[static_cast<std::size_t>(i * 7 % 24)] + "/a", "x");
  }
  const auto listing = store->list();
  ASSERT_TRUE(listing);
  std::vector<std::string> shown;
  for (const KeptItem& item : listing->items) shown.push_back(item.id);
  EXPECT_EQ(shown, wanted);
}

TEST(KeepFolder, linked_folder_is_no_item_and_a_linked_file_makes_an_item_odd) {
  const TestFolder folder;
  folder.write("store/real/a.bin", "abc");
  folder.write("elsewhere/b.bin", "secret");
  fs::create_directory_symlink(folder.at("elsewhere"), folder.at("store/link"));
  fs::create_symlink(folder.at("elsewhere/b.bin"), folder.at("store/real/b.bin"));
  const auto listing = folder_store(folder.at("store"))->list();
  ASSERT_TRUE(listing);
  ASSERT_EQ(listing->items.size(), 1U);
  EXPECT_EQ(listing->items[0].id, "real");
  ASSERT_NE(listing->items[0].file("a.bin"), nullptr);
  EXPECT_EQ(listing->items[0].file("a.bin")->bytes, 3U);
  EXPECT_EQ(listing->items[0].file("b.bin"), nullptr);
  EXPECT_THAT(listing->items[0].odd, testing::StartsWith("b.bin: "));
}

// A place inside an item would go with it, and an agent's own names would be taken for data.
TEST(KeepFolder, item_that_holds_a_place_or_a_name_of_the_agent_is_odd) {
  const TestFolder folder;
  const char* const names[] = {"x/cold/.orrery-lock",      ".orrery-lock",
                               "x/.orrery-trash/i.T1/a",   "x/y/.orrery-incoming/i/a",
                               "x/.orrery-lease/00000001", "x/.orrery-part",
                               ".orrery-copying"};
  for (const char* name : names) {
    fs::remove_all(folder.at("run"));
    folder.write("run/step-1/model.safetensors.index.json", "{}");
    folder.write(std::string("run/step-1/") + name, "x");
    const auto listing = folder_store(folder.at("run"))->list();
    ASSERT_TRUE(listing);
    EXPECT_NE(listing->items.at(0).odd, "") << name;
  }
  fs::remove_all(folder.at("run"));
  fs::create_directories(folder.at("run/step-1/x/.orrery-trash"));
  folder.write("run/step-1/a", "x");
  EXPECT_THAT(folder_store(folder.at("run"))->list()->items.at(0).odd, HasSubstr("place"));
}

TEST(KeepFolder, copy_of_a_private_item_is_private) {
  const TestFolder folder;
  const auto mode_of = [&](const std::string& path) {
    struct stat s{};
    EXPECT_EQ(::stat(folder.at(path).c_str(), &s), 0) << path;
    return s.st_mode & 0777;
  };
  folder.write("hot/step-1/a", "secret");
  folder.write("hot/step-1/b", "open");
  const auto hot = folder_store(folder.at("hot"));
  const auto cold = folder_store(folder.at("cold"));
  const auto copied = [&] {
    fs::remove_all(folder.at("cold"));
    EXPECT_TRUE(cold->begin("step-1", hot->list()->items.at(0).mode));
    EXPECT_TRUE(put_file(*cold, "step-1", "a", "secret"));
    EXPECT_TRUE(cold->finish("step-1"));
    return mode_of("cold/step-1");
  };
  const mode_t before = ::umask(022);
  ::chmod(folder.at("hot/step-1").c_str(), 0755);
  ::chmod(folder.at("hot/step-1/a").c_str(), 0644);
  EXPECT_EQ(copied(), 0755U);
  ::chmod(folder.at("hot/step-1/a").c_str(), 0640);
  EXPECT_EQ(copied(), 0750U);
  ::chmod(folder.at("hot/step-1/a").c_str(), 0600);
  EXPECT_EQ(copied(), 0700U);
  ::chmod(folder.at("hot/step-1/a").c_str(), 0666);
  ::chmod(folder.at("hot/step-1").c_str(), 0700);
  EXPECT_EQ(copied(), 0700U);
  ::umask(077);
  ::chmod(folder.at("hot/step-1").c_str(), 0777);
  EXPECT_EQ(copied(), 0700U) << "never wider than the umask";
  ::umask(before);
}

// A missing parent may be a file system that is not mounted.
TEST(KeepFolder, folder_is_created_only_below_an_existing_one) {
  const TestFolder folder;
  EXPECT_FALSE(put_item(*folder_store(folder.at("not/yet")), "item", {{"a", "x"}}));
  EXPECT_FALSE(fs::exists(folder.at("not")));
  const auto store = folder_store(folder.at("yet"));
  ASSERT_TRUE(put_item(*store, "item", {{"deep/er/f.bin", "0123456789"}}));
  EXPECT_THAT(names_in(*store), ElementsAre("item:deep/er/f.bin"));
}

TEST(KeepFolder, copy_appears_whole_and_never_replaces_an_item) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  ASSERT_TRUE(store->begin("step-1", 0755));
  ASSERT_TRUE(put_file(*store, "step-1", "sub/a", "old"));
  EXPECT_THAT(names_in(*store), ElementsAre());
  // Killed here, it starts over.
  ASSERT_TRUE(store->begin("step-1", 0755));
  ASSERT_TRUE(put_file(*store, "step-1", "b", "new"));
  EXPECT_FALSE(store->write("step-1", "c", 10, net::source_of("short")));
  ASSERT_TRUE(store->finish("step-1"));
  EXPECT_THAT(names_in(*store), ElementsAre("step-1:b"));
  EXPECT_FALSE(put_item(*store, "step-1", {{"b", "other"}}));
  EXPECT_EQ(read_back(*store, "step-1", "b"), "new");
  store->give_up("step-1");
  EXPECT_FALSE(std::filesystem::exists(folder.at("run/.orrery-incoming/step-1")));
}

TEST(KeepFolder, item_set_aside_can_be_moved_back_by_hand_or_purged) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  ASSERT_TRUE(put_item(*store, "step-1", {{"a", "x"}, {"sub/b", "y"}}));
  const KeptItem item = store->list()->items.front();
  ASSERT_TRUE(store->set_aside(item, "step-1.T1"));
  auto listing = store->list();
  EXPECT_TRUE(listing->items.empty());
  ASSERT_EQ(listing->aside.size(), 1U);
  EXPECT_EQ(listing->aside[0].item, item);
  std::filesystem::rename(folder.at("run/.orrery-trash/step-1.T1"), folder.at("run/step-1"));
  EXPECT_EQ(store->list()->items.front(), item);
  // An item that has changed stays in place.
  folder.write("run/step-1/a", "changed");
  EXPECT_FALSE(store->set_aside(item, "step-1.T2"));
  ASSERT_EQ(store->list()->items.size(), 1U);
  ASSERT_TRUE(store->set_aside(store->list()->items.front(), "step-1.T3"));
  // An item that changed in the trash also stays.
  KeptAside aside = store->list()->aside.front();
  folder.write("run/.orrery-trash/step-1.T3/more", "z");
  EXPECT_FALSE(store->purge(aside));
  EXPECT_TRUE(std::filesystem::exists(folder.at("run/.orrery-trash/step-1.T3/sub/b")));
  ASSERT_TRUE(store->purge(store->list()->aside.front()));
  EXPECT_TRUE(store->list()->aside.empty());
  EXPECT_FALSE(std::filesystem::exists(folder.at("run/.orrery-trash/step-1.T3")));
}

TEST(KeepFolder, folder_that_cannot_be_listed_is_a_fault) {
  const TestFolder folder;
  folder.write("file", "x");
  for (const std::string& path : {folder.at("file"), folder.at(std::string(300, 'x'))}) {
    const auto listing = folder_store(path)->list();
    ASSERT_FALSE(listing);
    EXPECT_EQ(listing.error().front().code, "lifecycle.folder");
    EXPECT_THAT(listing.error().front().what, testing::StartsWith(path + ": "));
  }
}

TEST(KeepFolder, file_that_cannot_be_read_or_written_is_a_fault_with_its_path) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  ASSERT_TRUE(store->begin("s-1", 0755));
  ASSERT_TRUE(put_file(*store, "s-1", "file", "x"));
  ASSERT_TRUE(put_file(*store, "s-1", "folder/below", "x"));
  folder.write("run/s-1/folder/x", "x");
  const auto fault = [](const auto& done, const std::string& path) {
    EXPECT_EQ(code_of(done), "lifecycle.folder") << path;
    if (!done) EXPECT_THAT(done.error().front().what, HasSubstr(path));
  };
  const std::string incoming = folder.at("run/.orrery-incoming/s-1/");
  fault(put_file(*store, "s-1", "file/a", "y"), incoming + "file");
  fault(put_file(*store, "s-1", "folder", "y"), incoming + "folder");
  fault(store->write("s-1", "a", 9, net::source_of("short")), incoming + "a");
  fault(store->read("s-1", {.path = "gone"}), folder.at("run/s-1/gone"));
  fault(store->read("s-1", {.path = "folder"}), folder.at("run/s-1/folder"));
}

// No file may grow beyond ten bytes, as if the disk were full.
TEST(KeepFolder, full_disk_is_a_fault_and_leaves_no_part_of_the_file) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  ASSERT_TRUE(store->begin("s-1", 0755));
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit ten = before;
  ten.rlim_cur = 10;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &ten);
  const std::string fits = code_of(put_file(*store, "s-1", "ten", "0123456789"));
  const std::string full = code_of(put_file(*store, "s-1", "more", "0123456789a"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(fits, "good");
  EXPECT_EQ(full, "lifecycle.folder");
  EXPECT_TRUE(store->finish("s-1"));
  EXPECT_THAT(names_in(*store), ElementsAre("s-1:ten"));
}

}  // namespace
}  // namespace orrery::agent::keep_folder_tests
