// `orrery store` as a process: killed at random points under load, again and again; what it
// acknowledged must be there, whole, and its own check must find nothing wrong.
//
// ORRERY_FULL=1 asks for what the project promises: 1,000 kills.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "agent/test_folder.h"
#include "s3/client.h"

namespace orrery {
namespace {

using namespace std::chrono_literals;

int kills() { return std::getenv("ORRERY_FULL") != nullptr ? 1000 : 12; }

std::string binary() { return std::string(ORRERY_BINARY_DIR) + "/orrery"; }

class StoreProcess {
 public:
  explicit StoreProcess(const std::vector<std::string>& words) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::setenv("ORRERY_ACCESS_KEY", "test", 1);
      ::setenv("ORRERY_SECRET_KEY", "secret", 1);
      std::vector<char*> arguments = {const_cast<char*>("orrery"), const_cast<char*>("store")};
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execv(binary().c_str(), arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    char byte = 0;
    while (::read(ends[0], &byte, 1) == 1 && byte != '\n') address_ += byte;
    ::close(ends[0]);
  }
  ~StoreProcess() { end(SIGKILL); }
  StoreProcess(const StoreProcess&) = delete;
  StoreProcess& operator=(const StoreProcess&) = delete;

  int end(int with) {
    if (pid_ <= 0) return -1;
    ::kill(pid_, with);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  // Of one that ends by itself.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& address() const { return address_; }

 private:
  pid_t pid_ = -1;
  std::string address_;
};

s3::Client client_of(const std::string& address) {
  s3::Config config{.endpoint = address, .bucket = "bucket", .credentials = {"test", "secret", ""}};
  config.retry.attempts_max = 1;
  return s3::Client(config);
}

// What is known of a key: the last write that was acknowledged, and those that may have happened.
struct Known {
  std::optional<std::string> kept;
  std::vector<std::optional<std::string>> may;
};

std::string content(const std::string& key, int number, std::size_t bytes) {
  std::string text = key + ' ' + std::to_string(number) + ' ';
  while (text.size() < bytes) text += text.substr(0, bytes - text.size());
  return text.substr(0, bytes);
}

// One client's keys, written and removed until the store dies.
void write_until_dead(const std::string& address, int who, int round,
                      std::map<std::string, Known>& mine) {
  std::mt19937 random(static_cast<unsigned>(who * 7919 + round));
  s3::Client client = client_of(address);
  for (int i = 0;; ++i) {
    const std::string key = "w" + std::to_string(who) + "/k" + std::to_string(random() % 6);
    Known& known = mine[key];
    const auto what = static_cast<unsigned>(random() % 10);
    if (what == 0) {
      known.may.push_back(std::nullopt);
      if (!client.remove(key)) return;
      known = {std::nullopt, {}};
      continue;
    }
    const std::size_t sizes[] = {10, 1000, 70'000, 300'000};
    const std::string bytes = content(key, round * 100'000 + i, sizes[what % 4]);
    known.may.push_back(bytes);
    if (!client.put(key, s3::Body::of(bytes))) return;
    known = {bytes, {}};
  }
}

void check_all(const std::string& address, std::map<std::string, Known>& all, int round) {
  s3::Client client = client_of(address);
  for (auto& [key, known] : all) {
    const auto object = client.get(key);
    ASSERT_TRUE(object || object.error().fault == s3::Fault::absent)
        << key << " round " << round << ": " << object.error().detail;
    const std::optional<std::string> now = object ? std::optional(object->bytes) : std::nullopt;
    const bool right = now == known.kept || std::ranges::find(known.may, now) != known.may.end();
    ASSERT_TRUE(right) << key << " round " << round << " has "
                       << (now ? now->substr(0, 40) : "nothing") << ", kept "
                       << (known.kept ? known.kept->substr(0, 40) : "nothing");
    known = {now, {}};
  }
}

TEST(StoreProcess, keeps_what_it_acknowledged_through_kills) {
  const agent::TestFolder folder(agent::folder_on_disk());
  const std::string where = folder.at("store");
  const std::vector<std::string> words = {where, "--port", "0", "--tier", "hot=2+1"};
  constexpr int kWriters = 3;
  std::vector<std::map<std::string, Known>> known(kWriters);
  std::mt19937 random(1);
  for (int round = 0; round < kills(); ++round) {
    StoreProcess store(words);
    ASSERT_NE(store.address(), "") << "round " << round;
    if (round == 0) {
      ASSERT_TRUE(client_of(store.address()).create_bucket());
    }
    for (auto& mine : known) check_all(store.address(), mine, round);
    if (HasFatalFailure()) return;
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
    EXPECT_EQ(store.end(SIGTERM), 0);  // ends in order
  }
  // The sweep of the last run may not have come to its end: repair finishes it, and then all is
  // well.
  EXPECT_EQ(StoreProcess({"repair", where}).wait(), 0);
  EXPECT_EQ(StoreProcess({"fsck", where}).wait(), 0);
}

}  // namespace
}  // namespace orrery
