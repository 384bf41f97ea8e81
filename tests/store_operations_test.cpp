// Runs the commands of docs/guide/store-operations.md exactly as printed, each after the event that
// its section describes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "live/agent/test_folder.h"
#include "store_process.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The commands of each section, by its heading.
std::map<std::string, std::vector<std::string>> commands() {
  std::map<std::string, std::vector<std::string>> by_heading;
  std::istringstream page(
      text_of(std::string(ORRERY_SOURCE_DIR) + "/docs/guide/store-operations.md"));
  std::string heading;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (line.starts_with("    ")) by_heading[heading].push_back(line.substr(4));
  }
  return by_heading;
}

class StoreOperations : public testing::Test {
 protected:
  // Runs the commands of a section in the test's folder; each must end as the page says.
  void run_section(const std::string& heading) {
    const auto& lines = all.at(heading);
    ASSERT_FALSE(lines.empty());
    for (const std::string& line : lines) {
      const int wanted = line.find("# exits with 1") != line.npos ? 1 : 0;
      EXPECT_EQ(run(line), wanted) << heading << ": " << line << '\n' << text_of(folder.at("said"));
    }
  }
  int run(const std::string& line) {
    const std::string command = "cd '" + folder.path() +
                                "' && PATH='" ORRERY_BINARY_DIR "':$PATH " +
                                line.substr(0, line.find(" #")) + " > said 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string said() const { return text_of(folder.at("said")); }

  // Runs a store while `act` runs, and then stops it cleanly.
  template <class Act>
  void while_it_runs(Act act, const std::string& name = "my-store") {
    StoreProcess store({folder.at(name), "--port", "0", "--tier", "hot=2+1"});
    ASSERT_NE(store.address(), "") << store.said();
    s3::Client client = client_of(store.address());
    act(client);
    EXPECT_EQ(store.end(SIGTERM), 0) << store.said();
  }
  void put_some(const std::string& names) {
    while_it_runs([&](s3::Client& client) {
      (void)client.create_bucket();
      for (const char name : names)
        ASSERT_TRUE(client.put(std::string(1, name), s3::Body::of(std::string(50'000, name))));
    });
  }
  void expect_there(const std::string& names, const std::string& gone = {},
                    const std::string& store = "my-store") {
    while_it_runs(
        [&](s3::Client& client) {
          for (const char name : names) {
            const auto object = client.get(std::string(1, name));
            ASSERT_TRUE(object) << name;
            EXPECT_EQ(object->bytes, std::string(50'000, name));
          }
          for (const char name : gone) EXPECT_FALSE(client.get(std::string(1, name))) << name;
        },
        store);
  }

  const std::map<std::string, std::vector<std::string>> all = commands();
  const agent::TestFolder folder{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
};

TEST_F(StoreOperations, a_backup_that_is_as_new_as_the_store_loses_nothing) {
  put_some("abc");
  run_section("Back up");
  run_section("Check");
  fs::create_directories(folder.at("backup.before-upgrade"));
  run_section("Upgrade");
  fs::remove(folder.at("my-store/metadata/CURRENT"));
  EXPECT_EQ(run("orrery store fsck my-store"), 1);
  EXPECT_THAT(said(), HasSubstr("metadata/CURRENT is missing"));
  EXPECT_EQ(run("orrery store my-store --port 0"), 2);
  const auto& lines = all.at("A damaged or lost file of the metadata");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(run(lines.at(i)), 0) << lines.at(i) << said();
  expect_there("abc");
  run_section("A lost machine");
  expect_there("abc", "", "my-new-store");
}

TEST_F(StoreOperations, an_older_backup_is_accepted_by_name_and_the_rest_is_set_aside) {
  put_some("abc");
  run_section("Back up");
  put_some("de");
  const auto& lines = all.at("A damaged or lost file of the metadata");
  EXPECT_EQ(run(lines.at(0)), 0);
  EXPECT_EQ(run(lines.at(1)), 0);
  EXPECT_EQ(run(lines.at(2)), 1) << "the metadata is older";
  EXPECT_THAT(said(), HasSubstr("newest part of the metadata is missing"));
  EXPECT_EQ(run("orrery store my-store --port 0"), 2) << "the store does not start";
  EXPECT_EQ(run(lines.at(3)), 1);
  EXPECT_THAT(said(), HasSubstr("would accept metadata that are older"));
  EXPECT_EQ(run(lines.at(4)), 0) << said();
  EXPECT_EQ(run(lines.at(5)), 0) << said();
  EXPECT_THAT(said(), HasSubstr("6 files are set aside"));
  expect_there("abc", "de");
  // Better metadata is found: the files that were set aside come back.
  fs::remove_all(folder.at("my-store/metadata"));
  EXPECT_EQ(run("cp -a my-store/metadata.damaged my-store/metadata"), 0);
  EXPECT_EQ(run("orrery store repair my-store --apply"), 0) << said();
  expect_there("abcde");
}

TEST_F(StoreOperations, a_lost_drive_is_created_again) {
  put_some("abc");
  fs::remove_all(folder.at("my-store/hot-1"));
  run_section("A lost drive");
  EXPECT_FALSE(fs::is_empty(folder.at("my-store/hot-1/data")));
  fs::remove_all(folder.at("my-store/hot-0"));
  expect_there("abc");
}

// A separate file system of 12 MB; empty if this user may not mount one.
class SmallDisk {
 public:
  explicit SmallDisk(std::string where) : where_(std::move(where)) {
    fs::create_directories(where_);
    is_there = ::mount("tmpfs", where_.c_str(), "tmpfs", 0, "size=12m") == 0;
  }
  ~SmallDisk() {
    if (is_there) ::umount2(where_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  // Writes until nothing more fits.
  void fill(const std::string& name) const {
    std::ofstream file(where_ + '/' + name, std::ios::binary);
    const std::string block(4096, 'f');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
  }
  bool is_there = false;

 private:
  std::string where_;
};

// S12: neither a start nor a check ends in an assertion, and objects can still be removed.
TEST_F(StoreOperations, a_full_disk_still_allows_removals_a_check_and_a_clean_stop) {
  const SmallDisk disk(folder.at("disk"));
  if (!disk.is_there) GTEST_SKIP() << "this user cannot mount a file system";
  const std::vector<std::string> words = {folder.at("disk/s"), "--port", "0"};
  {
    StoreProcess store(words);
    ASSERT_NE(store.address(), "") << store.said();
    s3::Client client = client_of(store.address());
    ASSERT_TRUE(client.create_bucket());
    for (const char* key : {"a", "b", "c"})
      ASSERT_TRUE(client.put(key, s3::Body::of(std::string(20'000, 'x'))));
    EXPECT_EQ(store.end(SIGTERM), 0);
  }
  ASSERT_TRUE(fs::exists(folder.at("disk/s/metadata/reserve")));
  disk.fill("filler");
  EXPECT_EQ(run("orrery store fsck disk/s"), 0) << said();
  {
    StoreProcess store(words);
    ASSERT_NE(store.address(), "") << store.said();
    s3::Client client = client_of(store.address());
    EXPECT_TRUE(client.remove("a"));
    const auto refused = client.put("d", s3::Body::of(std::string(100, 'x')));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, 507);
    EXPECT_EQ(client.get("b")->bytes, std::string(20'000, 'x'));
    EXPECT_EQ(store.end(SIGTERM), 0) << store.said();
  }
  fs::remove(folder.at("disk/s/metadata/reserve"));
  disk.fill("more");
  EXPECT_EQ(run("orrery store disk/s --port 0"), 2);
  EXPECT_THAT(said(), HasSubstr("no space is left"));
  EXPECT_EQ(run("orrery store repair disk/s --apply"), 2);
  EXPECT_EQ(run("orrery store fsck disk/s"), 0) << said();
  fs::remove(folder.at("disk/filler"));
  fs::remove(folder.at("disk/more"));
  StoreProcess store(words);
  ASSERT_NE(store.address(), "") << store.said();
  EXPECT_TRUE(client_of(store.address()).get("c"));
}

// S27.
TEST_F(StoreOperations, a_put_with_too_few_drives_is_answered_with_503) {
  const std::vector<std::string> words = {folder.at("s"), "--port", "0", "--tier", "hot=4+2"};
  {
    StoreProcess store(words);
    ASSERT_NE(store.address(), "") << store.said();
    ASSERT_TRUE(client_of(store.address()).create_bucket());
    EXPECT_EQ(store.end(SIGTERM), 0);
  }
  fs::rename(folder.at("s/hot-4"), folder.at("four"));
  fs::rename(folder.at("s/hot-5"), folder.at("five"));
  {
    StoreProcess store(words);
    ASSERT_NE(store.address(), "") << store.said();
    const auto refused =
        client_of(store.address()).put("k", s3::Body::of(std::string(50'000, 'x')));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, 503);
    EXPECT_THAT(store.said(), HasSubstr("hot-4"));
    EXPECT_EQ(store.end(SIGTERM), 0);
  }
  fs::rename(folder.at("four"), folder.at("s/hot-4"));
  fs::rename(folder.at("five"), folder.at("s/hot-5"));
  StoreProcess store(words);
  ASSERT_NE(store.address(), "") << store.said();
  // Drives that disappear while it runs.
  fs::rename(folder.at("s/hot-4"), folder.at("four"));
  fs::rename(folder.at("s/hot-5"), folder.at("five"));
  const auto refused = client_of(store.address()).put("k", s3::Body::of(std::string(50'000, 'x')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 503);
  EXPECT_THAT(refused.error().detail, HasSubstr("drives of the store"));
}

}  // namespace
}  // namespace orrery
