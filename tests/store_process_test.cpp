// `orrery store` as a process: killed at random points under load, again and again, while objects
// move between tiers. What it acknowledged must be there, complete, and its own check must find
// nothing wrong.
//
// ORRERY_FULL=1 tests what the project promises: 1,000 kills.
#include "store_process.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "live/agent/test_folder.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

int kills() { return std::getenv("ORRERY_FULL") != nullptr ? 1000 : 12; }

TEST(StoreProcess, keeps_acknowledged_objects_through_kills) {
  const agent::TestFolder folder(agent::folder_on_disk());
  const std::string where = folder.at("store");
  folder.write_secret("keys", "k1 " + std::string(64, 'a') + "\n");
  const std::vector<std::string> words = {where,    "--port",     "0",
                                          "--tier", "hot=2+1",    "--lifecycle-day",
                                          "1s",     "--key-file", folder.at("keys")};
  constexpr int kWriters = 3;
  std::vector<KnownKeys> known(kWriters);
  std::mt19937 random(1);
  for (int round = 0; round < kills(); ++round) {
    StoreProcess store(words);
    ASSERT_NE(store.address(), "") << "round " << round << ": " << store.state() << ", said\n"
                                   << store.said();
    if (round == 0) {
      ASSERT_TRUE(client_of(store.address()).create_bucket());
      ASSERT_TRUE(set_move_rule(store.address()));
    }
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
  {
    StoreProcess store(words);
    for (auto& mine : known) check_all(store.address(), mine, -1);
    EXPECT_EQ(store.end(SIGTERM), 0);  // ends cleanly
  }
  // The sweep of the last run may not have finished: repair completes it, and then nothing is
  // wrong.
  EXPECT_EQ(StoreProcess({"repair", where, "--apply"}).wait(), 0);
  EXPECT_EQ(StoreProcess({"fsck", where}).wait(), 0);
}

TEST(StoreProcess, term_lets_an_upload_finish) {
  const agent::TestFolder folder(agent::folder_on_disk());
  const std::vector<std::string> words = {folder.at("store"), "--port", "0"};
  const std::string bytes(4 << 20, 'd');
  {
    StoreProcess store(words);
    ASSERT_TRUE(client_of(store.address()).create_bucket());
    s3::Client client = client_of(store.address());
    // The source waits in the middle, while the store is asked to end.
    bool told = false;
    const auto body = s3::Body::of(bytes.size(), [&](std::uint64_t at, std::span<char> into) {
      const auto some = std::min<std::size_t>(into.size(), bytes.size() - at);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), some, into.begin());
      return std::optional(some);
    });
    ASSERT_TRUE(body);
    s3::Body slow = *body;
    slow.read = [&](std::uint64_t at, std::span<char> into) -> std::optional<std::size_t> {
      if (at > bytes.size() / 2 && !told) {
        told = true;
        ::kill(store.pid(), SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(700));
      }
      return body->read(at, into);
    };
    EXPECT_TRUE(client.put("slow", slow));
    EXPECT_TRUE(told);
    EXPECT_EQ(store.wait(), 0);
  }
  StoreProcess store(words);
  const auto object = client_of(store.address()).get("slow");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->bytes, bytes);
}

TEST(StoreProcess, a_closed_output_pipe_does_not_end_it) {
  const agent::TestFolder folder(agent::folder_on_disk());
  StoreProcess store({folder.at("store"), "--port", "0"});
  ASSERT_NE(store.address(), "") << store.said();
  ::kill(store.pid(), SIGPIPE);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_TRUE(client_of(store.address()).create_bucket());
  EXPECT_EQ(store.end(SIGTERM), 0) << store.said();
}

// Two stores, with the cold tier of one in a bucket of the other. Objects that moved there are read
// through it, are reported as away while that store is down, and are there again once it is back.
TEST(StoreProcess, a_cold_tier_in_another_store_survives_both) {
  const agent::TestFolder folder(agent::folder_on_disk());
  auto other =
      std::make_unique<StoreProcess>(std::vector<std::string>{folder.at("other"), "--port", "0"});
  const std::string address = other->address();
  ASSERT_NE(address, "") << other->said();
  ASSERT_TRUE(client_of(address).create_bucket());
  const std::map<std::string, std::string> keys = {{"AWS_ACCESS_KEY_ID", "test"},
                                                   {"AWS_SECRET_ACCESS_KEY", "secret"}};
  const std::vector<std::string> words = {folder.at("store"),
                                          "--port",
                                          "0",
                                          "--lifecycle-day",
                                          "1s",
                                          "--tier",
                                          "cold=1x:s3+" + address + "/bucket/far"};
  EXPECT_NE(StoreProcess(words).wait(), 0);  // without keys it does not start
  auto store = std::make_unique<StoreProcess>(words, keys);
  ASSERT_NE(store->address(), "") << store->said();
  ASSERT_TRUE(client_of(store->address()).create_bucket());
  ASSERT_TRUE(set_move_rule(store->address()));
  const std::string bytes(300'000, 'c');
  ASSERT_TRUE(client_of(store->address()).put("w1/a", s3::Body::of(bytes)));
  const auto far = [&] {
    const auto page = client_of(address).list("far/0");
    return page ? page->entries.size() : 0;
  };
  const auto shards_here = [&] {
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder.at("store") + "/hot/data")) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    return files;
  };
  for (int i = 0; i < 600 && (far() == 0 || shards_here() > 0); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(far(), 1u);
  EXPECT_EQ(shards_here(), 0u);
  const auto get = [&] { return client_of(store->address()).get("w1/a"); };
  ASSERT_TRUE(get());
  EXPECT_EQ(get()->bytes, bytes);
  other->end(SIGKILL);
  const auto away = get();
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().status, 503);
  EXPECT_EQ(away.error().code, "SlowDown");
  // If it is killed and restarted while the other store is down, it behaves the same.
  store->end(SIGKILL);
  store = std::make_unique<StoreProcess>(words, keys);
  ASSERT_NE(store->address(), "") << store->said();
  EXPECT_EQ(get().error().status, 503);
  const std::string port = address.substr(address.rfind(':') + 1);
  other =
      std::make_unique<StoreProcess>(std::vector<std::string>{folder.at("other"), "--port", port});
  ASSERT_EQ(other->address(), address) << other->said();
  auto back = get();
  for (int i = 0; i < 100 && !back; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    back = get();
  }
  ASSERT_TRUE(back) << store->said();
  EXPECT_EQ(back->bytes, bytes);
  EXPECT_EQ(store->end(SIGTERM), 0);
  EXPECT_EQ(StoreProcess({"fsck", folder.at("store")}, keys).wait(), 0);
}

TEST(StoreProcess, the_design_places_a_tier_unless_the_command_line_overrides_it) {
  const agent::TestFolder folder(agent::folder_on_disk());
  const StoreProcess other({folder.at("other"), "--port", "0"});
  ASSERT_NE(other.address(), "") << other.said();
  ASSERT_TRUE(client_of(other.address()).create_bucket());
  const std::string place = "s3+" + other.address() + "/bucket/far";
  std::ofstream(folder.at("lab.yaml")) << "orrery: 1\nname: lab\nsite: { region: usa }\n"
                                          "fleet: [{ name: f, node: dgx-h100, count: 1 }]\n"
                                          "storage: [{ tier: cold, kind: object, place: '"
                                       << place << "' }]\n";
  const fs::path before = fs::current_path();
  fs::current_path(folder.at("."));  // a design's store is created in the current folder
  const std::map<std::string, std::string> keys = {{"AWS_ACCESS_KEY_ID", "test"},
                                                   {"AWS_SECRET_ACCESS_KEY", "secret"}};
  const auto cold_of_made = [&](const std::vector<std::string>& more) {
    fs::remove_all("lab.store");
    std::vector<std::string> words = {"lab.yaml", "--port", "0"};
    words.insert(words.end(), more.begin(), more.end());
    StoreProcess store(words, keys);
    EXPECT_NE(store.address(), "") << store.said();
    EXPECT_EQ(store.end(SIGTERM), 0) << store.said();
    std::ifstream in("lab.store/store");
    std::string cold;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("drive cold-0 ")) cold = line.substr(13);
    }
    return cold;
  };
  const auto far = [&] { return client_of(other.address()).list("far/")->entries.size(); };
  EXPECT_EQ(cold_of_made({"--tier", "cold=1x"}), "cold");
  EXPECT_EQ(far(), 0u);
  EXPECT_EQ(cold_of_made({}), place);
  EXPECT_EQ(far(), 2u) << "the marker of the drive and its note";
  fs::current_path(before);
}

// The shards of the hot tier's drive `number`.
std::vector<fs::path> shards_of(const std::string& store, int number) {
  std::vector<fs::path> found;
  for (const auto& entry :
       fs::recursive_directory_iterator(store + "/hot-" + std::to_string(number) + "/data")) {
    if (entry.is_regular_file()) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

TEST(StoreProcess, reads_stay_right_while_drives_fail_and_a_repair_restores_them) {
  const agent::TestFolder folder(agent::folder_on_disk());
  const std::string where = folder.at("store");
  const std::vector<std::string> words = {where, "--port", "0", "--tier", "hot=4+2"};
  KnownKeys keys;
  {
    StoreProcess store(words);
    s3::Client client = client_of(store.address());
    ASSERT_TRUE(client.create_bucket());
    for (int i = 0; i < 12; ++i) {
      const std::string key = "k" + std::to_string(i);
      const std::string bytes(static_cast<std::size_t>(1 + i * 60'000), static_cast<char>('a' + i));
      ASSERT_TRUE(client.put(key, s3::Body::of(bytes)));
      keys[key] = {bytes, {}};
    }
    EXPECT_EQ(store.end(SIGTERM), 0);
  }
  // Flips one bit of every shard of a drive, and removes another drive.
  std::mt19937 random(7);
  for (const fs::path& shard : shards_of(where, 1)) {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(random() % fs::file_size(shard));
    file.seekg(at);
    const char was = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(was ^ (1 << (random() % 8))));
  }
  fs::remove_all(where + "/hot-4");
  {
    StoreProcess store(words);
    check_all(store.address(), keys, 1);
    EXPECT_EQ(store.end(SIGTERM), 0);
  }
  EXPECT_EQ(StoreProcess({"fsck", where}).wait(), 1);
  EXPECT_EQ(StoreProcess({"repair", where, "--apply"}).wait(), 0);
  EXPECT_EQ(StoreProcess({"fsck", where}).wait(), 0);
  // Full redundancy again: two other drives may be lost.
  fs::remove_all(where + "/hot-0");
  fs::remove_all(where + "/hot-2");
  StoreProcess store(words);
  check_all(store.address(), keys, 2);
}

}  // namespace
}  // namespace orrery
