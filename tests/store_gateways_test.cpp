// Gateways that share their metadata in PostgreSQL: the port's promises on a real server, and two
// `orrery store` processes on one namespace, killed alternately under load while the other
// continues.
//
// ORRERY_FULL=1 tests what the project promises: 1,000 kills. At every 25th the database crashes
// too.
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "live/agent/test_folder.h"
#include "live/rows/codec.h"
#include "live/rows/postgres_metadata.h"
#include "postgres_server.h"
#include "store_process.h"

namespace orrery {
namespace {

using rows::Commit;
using rows::Metadata;
using testing::HasSubstr;

bool is_full() { return std::getenv("ORRERY_FULL") != nullptr; }

class GatewaysLive : public testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::is_installed()) GTEST_SKIP() << "PostgreSQL is not installed";
    server = std::make_unique<PostgresServer>(folder.at("postgres"));
    ASSERT_TRUE(server->runs());
  }
  std::unique_ptr<Metadata> opened(const std::string& store = "one") {
    auto made = rows::open_postgres_metadata({server->address(), store, false});
    EXPECT_TRUE(made) << made.error().front().what;
    return made ? std::move(*made) : nullptr;
  }
  static std::vector<std::string> keys_from(rows::Cursor& cursor, const std::string& from) {
    std::vector<std::string> keys;
    for (cursor.seek(from); cursor.valid(); cursor.next()) keys.emplace_back(cursor.key());
    EXPECT_TRUE(cursor.state());
    return keys;
  }

  const agent::TestFolder folder{agent::folder_on_disk()};
  std::unique_ptr<PostgresServer> server;
};

TEST_F(GatewaysLive, a_commit_is_atomic_and_fails_if_its_expectations_changed) {
  const auto one = opened();
  const auto two = opened();
  const std::string odd("a\0\xff'\"\\", 6);
  EXPECT_TRUE(*one->commit({.expects = {{odd, std::nullopt}}, .changes = {{odd, odd}, {"b", ""}}}));
  EXPECT_EQ(*two->get(odd), odd);
  EXPECT_EQ(*two->get("b"), "");
  EXPECT_EQ(*two->get("c"), std::nullopt);
  EXPECT_FALSE(*two->commit({.expects = {{"b", "other"}}, .changes = {{"b", "x"}, {"c", "x"}}}));
  EXPECT_FALSE(*two->commit({.expects = {{odd, std::nullopt}}, .changes = {{"c", "x"}}}));
  EXPECT_EQ(*one->get("c"), std::nullopt);
  // If a row is changed twice, the last change counts.
  EXPECT_TRUE(*two->commit({.expects = {{"b", ""}}, .changes = {{"b", "x"}, {"b", std::nullopt}}}));
  EXPECT_EQ(*one->get("b"), std::nullopt);
  Commit many{.durable = false};
  for (int i = 0; i < 3000; ++i) many.changes.push_back({"m" + std::to_string(10'000 + i), odd});
  EXPECT_TRUE(*one->commit(many));
  EXPECT_TRUE(one->flush());
  EXPECT_EQ(keys_from(*two->cursor(), "m").size(), 3001u);  // and the store's own row
}

TEST_F(GatewaysLive, a_cursor_sees_the_moment_when_it_was_made) {
  const auto rows = opened();
  const std::string zero("k\0", 2);
  EXPECT_TRUE(
      *rows->commit({.changes = {{"k", "1"}, {zero, "2"}, {"k\x7f", "3"}, {"k\xff", "4"}}}));
  const auto cursor = rows->cursor();
  EXPECT_TRUE(*rows->commit({.changes = {{"k", std::nullopt}, {"kk", "5"}}}));
  // Rows are sorted by their bytes.
  EXPECT_THAT(keys_from(*cursor, "k"), testing::ElementsAre("k", zero, "k\x7f", "k\xff", "nstore"));
  cursor->seek("k\x7e");
  EXPECT_EQ(cursor->key(), "k\x7f");
  cursor->seek("");
  EXPECT_EQ(cursor->key(), "k");
  cursor->seek("z");
  EXPECT_FALSE(cursor->valid());
  EXPECT_THAT(keys_from(*rows->cursor(), "k"),
              testing::ElementsAre(zero, "kk", "k\x7f", "k\xff", "nstore"));
}

TEST_F(GatewaysLive, commits_of_two_gateways_lose_nothing_of_each_other) {
  const auto one = opened();
  const auto two = opened();
  constexpr int kTimes = 40;
  {
    std::vector<std::jthread> threads;
    for (int who = 0; who < 6; ++who) {
      threads.emplace_back([&, who] {
        Metadata& rows = who % 2 == 0 ? *one : *two;
        for (int done = 0; done < kTimes;) {
          const auto now = rows.get("count");
          const std::uint64_t next = (*now ? rows::from_big_endian(**now) : 0) + 1;
          const auto taken = rows.commit(
              {.expects = {{"count", *now}}, .changes = {{"count", rows::big_endian(next)}}});
          if (taken && *taken) ++done;
        }
      });
    }
  }
  EXPECT_EQ(rows::from_big_endian(**one->get("count")), 6u * kTimes);
}

TEST_F(GatewaysLive, one_leads_and_a_run_is_held_while_its_gateway_lives) {
  auto one = opened();
  const auto two = opened();
  EXPECT_TRUE(*one->hold_run(1));
  EXPECT_FALSE(*two->hold_run(1));
  EXPECT_TRUE(*two->hold_run(2));
  EXPECT_TRUE(*two->is_held(1));
  EXPECT_TRUE(*one->leads());
  EXPECT_FALSE(*two->leads());
  const auto alone = rows::open_postgres_metadata({server->address(), "one", true});
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().front().what, HasSubstr("a gateway is running"));
  one.reset();
  for (int i = 0; i < 100 && *two->is_held(1); ++i) ::usleep(20'000);
  EXPECT_FALSE(*two->is_held(1));
  EXPECT_TRUE(*two->leads());
  // After a crash of the database the connection is reopened and the locks are taken again.
  ASSERT_TRUE(server->crash_and_restart());
  EXPECT_FALSE(*two->is_held(2));
  EXPECT_TRUE(*two->hold_run(2));
  EXPECT_TRUE(*two->is_held(2));
}

TEST_F(GatewaysLive, invalid_addresses_are_refused_with_a_reason) {
  EXPECT_FALSE(rows::check_postgres_place("mysql://a/b"));
  EXPECT_FALSE(rows::check_postgres_place("postgresql://a:secret@b/c"));
  EXPECT_FALSE(rows::check_postgres_place("postgresql:///c?password=x"));
  EXPECT_TRUE(rows::check_postgres_place(server->address()));
  EXPECT_FALSE(rows::open_postgres_metadata({"postgresql:///x?host=/nowhere", "one", false}));
  const auto one = opened();
  const auto other = rows::open_postgres_metadata({server->address(), "two", false});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().front().what, HasSubstr("another store"));
}

// A store whose rows are in a database that is emptied, older or another's: it refuses, removes
// nothing, and goes on with the right one (docs/guide/store-operations.md).
class DatabaseLoss : public GatewaysLive {
 protected:
  std::vector<std::string> words(const std::string& name) const {
    return {folder.at(name), "--port", "0", "--tier", "hot=2+1", "--metadata", server->address()};
  }
  // Puts `count` objects, or with 0 expects all that were put.
  void run(int count) {
    StoreProcess store(words("store"));
    ASSERT_NE(store.address(), "") << store.said();
    s3::Client client = client_of(store.address());
    (void)client.create_bucket();
    for (int i = 0; i < count; ++i) {
      const std::string key = "k" + std::to_string(kept.size());
      const std::string bytes(i % 3 == 0 ? 300 : 30'000, static_cast<char>('a' + i));
      ASSERT_TRUE(client.put(key, s3::Body::of(bytes)));
      kept[key] = bytes;
    }
    for (const auto& [key, bytes] : kept) {
      const auto object = client.get(key);
      ASSERT_TRUE(object) << key;
      EXPECT_EQ(object->bytes, bytes) << key;
    }
    EXPECT_EQ(store.end(SIGTERM), 0) << store.said();
  }
  // Runs a repair. PostgreSQL may need a moment until it notices that the process before has ended
  // and gives its lock back.
  int repair(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"repair", folder.at("store")};
    all.insert(all.end(), more.begin(), more.end());
    for (int i = 0;; ++i) {
      StoreProcess process(all);
      const int code = process.wait();
      const bool is_held = process.said().find("[store.running]") != std::string::npos;
      if (!is_held && code == 2) ADD_FAILURE() << process.said();
      if (!is_held || i == 40) return code;
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
  }
  // Two starts, because services restart by themselves; the files stay as they are.
  void expect_refused(const std::string& why) {
    const auto before = files();
    for (int i = 0; i < 2; ++i) {
      StoreProcess store(words("store"));
      EXPECT_EQ(store.address(), "");
      EXPECT_EQ(store.wait(), 2) << store.said();
      EXPECT_THAT(store.said(), HasSubstr(why));
      EXPECT_EQ(files(), before);
    }
  }
  std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& at : std::filesystem::recursive_directory_iterator(folder.at("store"))) {
      all.insert(at.path().string());
    }
    return all;
  }

  std::map<std::string, std::string> kept;
};

TEST_F(DatabaseLoss, an_empty_an_older_or_another_stores_database_is_refused_and_nothing_removed) {
  run(9);
  ASSERT_TRUE(server->dump("older"));
  run(9);
  ASSERT_TRUE(server->dump("now"));
  ASSERT_TRUE(server->restore());
  expect_refused("holds no store");
  EXPECT_EQ(StoreProcess({"fsck", folder.at("store")}).wait(), 1);
  EXPECT_EQ(StoreProcess({"repair", folder.at("store"), "--apply"}).wait(), 2);
  {
    StoreProcess other(words("other"));
    ASSERT_NE(other.address(), "") << "an empty database is for a new store: " << other.said();
    other.end(SIGTERM);
  }
  expect_refused("another store");
  ASSERT_TRUE(server->restore("older"));
  expect_refused("the metadata ends at");
  ASSERT_TRUE(server->restore("now"));
  run(0);
}

TEST_F(DatabaseLoss, an_older_database_is_accepted_by_name_and_the_rest_is_set_aside) {
  run(9);
  ASSERT_TRUE(server->dump("older"));
  const auto first = kept;
  run(9);
  const auto all = kept;
  ASSERT_TRUE(server->dump("now"));
  ASSERT_TRUE(server->restore("older"));
  EXPECT_EQ(repair(), 1) << "it only says what it would";
  expect_refused("the metadata ends at");
  EXPECT_EQ(repair({"--apply"}), 0);
  kept = first;
  run(0);
  // The newer one turns up, and what was set aside comes back.
  ASSERT_TRUE(server->restore("now"));
  EXPECT_EQ(repair({"--apply"}), 0);
  kept = all;
  run(0);
}

// Two gateways, of which at most one is away.
class Pair {
 public:
  explicit Pair(std::vector<std::string> words) : words_(std::move(words)) {
    for (int side = 0; side < 2; ++side) start(side);
  }
  void start(int side) {
    auto made = std::make_unique<StoreProcess>(words_);
    const std::scoped_lock lock(mutex_);
    at(side) = std::move(made);
  }
  void kill(int side) {
    ++kills_[static_cast<std::size_t>(side)];
    at(side)->end(SIGKILL);
  }
  int kills(int side) const { return kills_[static_cast<std::size_t>(side)]; }
  std::string address(int side) {
    const std::scoped_lock lock(mutex_);
    return at(side)->address();
  }
  StoreProcess& process(int side) { return *at(side); }

 private:
  std::unique_ptr<StoreProcess>& at(int side) { return sides_[static_cast<std::size_t>(side)]; }
  std::vector<std::string> words_;
  std::mutex mutex_;
  std::array<std::unique_ptr<StoreProcess>, 2> sides_;
  std::array<std::atomic<int>, 2> kills_ = {};
};

// Writes, removes and reads one client's keys through both gateways until it is stopped.
struct Writer {
  int who = 0;
  KnownKeys known = {};
  int acknowledged = 0;
  std::vector<std::string> faults = {};

  void run(Pair& pair, const std::atomic<bool>& stop) {
    std::mt19937 random(static_cast<unsigned>(who));
    for (int i = 0; !stop; ++i) {
      const std::string key = "w" + std::to_string(who) + "/k" + std::to_string(random() % 6);
      const int side = static_cast<int>(random() % 2);
      const int kills = pair.kills(side);
      s3::Client client = client_of(pair.address(side));
      const auto what = static_cast<unsigned>(random() % 8);
      if (what < 2) {
        look(client, key, [&] { return pair.kills(side) != kills; });
      } else if (what == 2) {
        keep(known[key], std::nullopt, client.remove(key).has_value());
      } else {
        const std::size_t sizes[] = {10, 1000, 20'000, 150'000};
        std::string bytes = key + ' ' + std::to_string(i) + ' ';
        bytes.resize(std::max(bytes.size(), sizes[what % 4]), static_cast<char>('a' + i % 26));
        const bool good = client.put(key, s3::Body::of(bytes)).has_value();
        keep(known[key], bytes, good);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  // What one gateway acknowledged is visible through the other at once.
  void look(s3::Client& client, const std::string& key, const auto& was_killed) {
    const auto object = client.get(key);
    if (!object && object.error().fault != s3::Fault::absent) {
      // A gateway or the database is down; this is not a fault of the store. A gateway that is
      // killed while sending has already answered 200.
      if (object.error().status == 0 || object.error().status == 503 || was_killed()) return;
      faults.push_back(key + ": " + object.error().detail);
      return;
    }
    const std::optional<std::string> now = object ? std::optional(object->bytes) : std::nullopt;
    const KnownKey& of = known[key];
    if (now == of.kept || std::ranges::find(of.may, now) != of.may.end()) return;
    faults.push_back(key + " has " + (now ? now->substr(0, 40) : "nothing") + ", kept " +
                     (of.kept ? of.kept->substr(0, 40) : "nothing"));
  }

 private:
  void keep(KnownKey& of, const std::optional<std::string>& bytes, bool good) {
    if (good) {
      of = {bytes, {}};
      ++acknowledged;
    } else {
      of.may.push_back(bytes);
    }
  }
};

TEST_F(GatewaysLive, two_gateways_keep_acknowledged_objects_while_killed_in_turn) {
  const int kills = is_full() ? 1000 : 8;
  const std::string where = folder.at("store");
  const std::vector<std::string> words = {where,    "--port",     "0",
                                          "--tier", "hot=2+1",    "--lifecycle-day",
                                          "1s",     "--metadata", server->address()};
  Pair pair(words);
  ASSERT_NE(pair.address(0), "") << pair.process(0).said();
  ASSERT_NE(pair.address(1), "") << pair.process(1).said();
  ASSERT_TRUE(client_of(pair.address(0)).create_bucket());
  ASSERT_TRUE(set_move_rule(pair.address(1)));
  std::array<Writer, 3> writers;
  std::atomic<bool> stop = false;
  std::mt19937 random(5);
  {
    std::vector<std::jthread> threads;
    for (std::size_t who = 0; who < writers.size(); ++who) {
      writers[who].who = static_cast<int>(who);
      threads.emplace_back([&, who] { writers[who].run(pair, stop); });
    }
    for (int round = 0; round < kills && !HasFailure(); ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30 + random() % 300));
      const int side = round % 2;
      pair.kill(side);
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 100));
      if (round % 25 == 5) {
        EXPECT_TRUE(server->crash_and_restart());
      }
      pair.start(side);
      EXPECT_NE(pair.address(side), "")
          << "round " << round << ": " << pair.process(side).state() << ", said\n"
          << pair.process(side).said();
    }
    stop = true;
  }
  for (Writer& writer : writers) {
    EXPECT_THAT(writer.faults, testing::IsEmpty());
    EXPECT_GT(writer.acknowledged, kills);
    for (int side = 0; side < 2; ++side) {
      KnownKeys all = writer.known;
      check_all(pair.address(side), all, side);
    }
    std::cout << writer.acknowledged << " acknowledged, ";
  }
  std::cout << kills << " kills\n";
  EXPECT_EQ(StoreProcess({"fsck", where}).wait(), 2);  // refused while gateways run
  EXPECT_EQ(pair.process(0).end(SIGTERM), 0) << pair.process(0).said();
  EXPECT_EQ(pair.process(1).end(SIGTERM), 0) << pair.process(1).said();
  EXPECT_EQ(StoreProcess({"repair", where, "--apply"}).wait(), 0);
  EXPECT_EQ(StoreProcess({"fsck", where}).wait(), 0);
}

}  // namespace
}  // namespace orrery
