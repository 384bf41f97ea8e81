// Power cuts: the store runs with powercut.cpp in front of its system calls and is killed under
// load; then unsynced data is lost in part or completely. What it acknowledged must be there
// afterwards.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "live/agent/test_folder.h"
#include "store_process.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

// Per tier.
int cuts() { return std::getenv("ORRERY_FULL") != nullptr ? 150 : 3; }

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ino_t inode_of(const fs::path& path) {
  struct stat now{};
  return ::lstat(path.c_str(), &now) == 0 ? now.st_ino : 0;
}

struct Name {
  std::string inode;
  bool is_folder = false;
  std::string name;
};

std::vector<Name> names_in(const fs::path& folder) {
  std::vector<Name> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back({std::to_string(inode_of(entry.path())), entry.is_directory(),
                     entry.path().filename().string()});
  }
  return names;
}

// Everything that exists at the start counts as durable.
void note_all(const fs::path& folder, const fs::path& shadow) {
  std::string text;
  for (const Name& name : names_in(folder)) {
    text += name.inode + (name.is_folder ? " d " : " f ") + name.name + '\n';
    if (name.is_folder) {
      note_all(folder / name.name, shadow);
    } else {
      fs::copy_file(folder / name.name, shadow / "data" / name.inode);
      fs::create_hard_link(folder / name.name, shadow / "keep" / name.inode);
    }
  }
  std::ofstream(shadow / "names" / std::to_string(inode_of(folder))) << text;
}

class PowerCut {
 public:
  PowerCut(const fs::path& live, const fs::path& shadow, unsigned seed)
      : live_(live), shadow_(shadow), random_(seed) {}

  void rebuild(const fs::path& to) { rebuild(live_, std::to_string(inode_of(live_)), to); }

 private:
  std::vector<Name> durable_names(const std::string& inode) {
    std::vector<Name> names;
    std::istringstream lines(text_of(shadow_ / "names" / inode));
    for (std::string line; std::getline(lines, line);) {
      const auto first = line.find(' ');
      names.push_back({line.substr(0, first), line[first + 1] == 'd', line.substr(first + 3)});
    }
    return names;
  }

  void rebuild(const fs::path& from, const std::string& inode, const fs::path& to) {
    fs::create_directories(to);
    // Changes to a folder since its last sync are kept or lost.
    const bool newest = random_() % 2 == 0 && fs::exists(from);
    for (const Name& name : newest ? names_in(from) : durable_names(inode)) {
      if (name.is_folder) {
        rebuild(from / name.name, name.inode, to / name.name);
      } else {
        rebuild_file(from / name.name, name.inode, to / name.name);
      }
    }
  }

  void rebuild_file(const fs::path& from, const std::string& inode, const fs::path& to) {
    std::string bytes;
    if (fs::exists(shadow_ / "data" / inode)) bytes = text_of(shadow_ / "data" / inode);
    const fs::path live = fs::exists(shadow_ / "keep" / inode) ? shadow_ / "keep" / inode : from;
    const std::string more =
        std::to_string(inode_of(live)) == inode ? text_of(live) : std::string();
    // None, all or the beginning of the bytes written after that are kept.
    if (more.size() > bytes.size()) {
      const std::size_t rest = more.size() - bytes.size();
      const std::size_t some = random_() % 3 == 0   ? rest
                               : random_() % 2 == 0 ? 0
                                                    : random_() % rest;
      bytes += more.substr(bytes.size(), some);
    }
    std::ofstream(to, std::ios::binary) << bytes;
  }

  fs::path live_;
  fs::path shadow_;
  std::mt19937 random_;
};

// One copy, and an erasure code whose files are synced concurrently.
class StorePower : public testing::TestWithParam<const char*> {};

TEST_P(StorePower, keeps_acknowledged_objects_through_power_cuts) {
  const agent::TestFolder folder(agent::folder_on_disk());
  const std::string where = folder.at("store");
  const std::string shadow = folder.at("shadow");
  const std::vector<std::string> words = {where,      "--port",          "0", "--tier",
                                          GetParam(), "--lifecycle-day", "1s"};
  constexpr int kWriters = 3;
  std::vector<KnownKeys> known(kWriters);
  std::mt19937 random(3);
  {
    StoreProcess store(words);
    ASSERT_NE(store.address(), "");
    ASSERT_TRUE(client_of(store.address()).create_bucket());
    ASSERT_TRUE(set_move_rule(store.address()));
    EXPECT_EQ(store.end(SIGTERM), 0);
  }
  for (int round = 0; round < cuts(); ++round) {
    fs::remove_all(shadow);
    for (const char* part : {"/data", "/names", "/keep"}) fs::create_directories(shadow + part);
    note_all(where, shadow);
    {
      StoreProcess store(words, {{"LD_PRELOAD", POWERCUT_LIBRARY},
                                 {"POWERCUT_ROOT", where},
                                 {"POWERCUT_SHADOW", shadow},
                                 {"ASAN_OPTIONS", "verify_asan_link_order=0"}});
      ASSERT_NE(store.address(), "") << "round " << round << ": " << store.state() << ", said\n"
                                     << store.said();
      for (auto& mine : known) check_all(store.address(), mine, round);
      if (HasFatalFailure()) {
        const std::string state = store.state();
        std::cerr << "the store " << state << ", said\n" << store.said();
        return;
      }
      std::vector<std::jthread> writers;
      for (int who = 0; who < kWriters; ++who) {
        writers.emplace_back([&, who] {
          write_until_dead(store.address(), who, round, known[static_cast<std::size_t>(who)]);
        });
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(30 + random() % 400));
      store.end(SIGKILL);
    }
    PowerCut(where, shadow, static_cast<unsigned>(random())).rebuild(folder.at("next"));
    fs::rename(where, folder.at("before"));
    fs::rename(folder.at("next"), where);
    fs::remove_all(folder.at("before"));
  }
  {
    StoreProcess store(words);
    ASSERT_NE(store.address(), "");
    for (auto& mine : known) check_all(store.address(), mine, -1);
    EXPECT_EQ(store.end(SIGTERM), 0);
  }
  EXPECT_EQ(StoreProcess({"repair", where, "--apply"}).wait(), 0);
  EXPECT_EQ(StoreProcess({"fsck", where}).wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(tiers, StorePower, testing::Values("hot=1x", "hot=2+1"));

}  // namespace
}  // namespace orrery
