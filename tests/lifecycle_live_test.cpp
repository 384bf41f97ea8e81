// `orrery agent lifecycle` as a process, on a real folder and an object store that fails, killed
// again and again while a trainer writes: no last good copy is lost, nothing unfinished is touched,
// and in the end everything is where the rules say. ORRERY_FULL=1: 500 kills instead of 15.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "live/agent/test_folder.h"
#include "core/base/random.h"
#include "s3_fault_server.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr int kHotNewest = 2;
constexpr int kColdEvery = 5;
constexpr const char* kFiles[] = {"__0_0.distcp", "__1_0.distcp", "optim/__0_1.distcp"};

std::string name_of(int step) { return "step-" + std::to_string(step); }

std::string content_of(int step, const std::string& file) {
  RandomStream random(static_cast<std::uint64_t>(step), file);
  std::string bytes(20'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

std::optional<std::string> text_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class LifecycleLive : public testing::Test {
 protected:
  LifecycleLive() {
    setenv("AWS_ACCESS_KEY_ID", S3FaultServer::credentials().access_key.c_str(), 1);
    setenv("AWS_SECRET_ACCESS_KEY", S3FaultServer::credentials().secret_key.c_str(), 1);
  }

  void write(int step, bool finished) {
    for (const char* file : kFiles) {
      folder_.write("hot/" + name_of(step) + "/" + file, content_of(step, file));
    }
    if (finished) folder_.write("hot/" + name_of(step) + "/.metadata", "whole");
  }

  bool is_good_hot(int step) const {
    const fs::path item = folder_.at("hot/" + name_of(step));
    if (text_in(item / ".metadata") != "whole") return false;
    return std::ranges::all_of(
        kFiles, [&](const char* file) { return text_in(item / file) == content_of(step, file); });
  }

  bool is_good_cold(int step) const {
    const std::string item = "run/" + name_of(step) + "/";
    if (!cold_.object(item + ".orrery-copy.json")) return false;
    return std::ranges::all_of(kFiles, [&](const char* file) {
      return cold_.object(item + file) == content_of(step, file);
    });
  }

  pid_t start(bool once) const {
    std::vector<std::string> words = {std::string(ORRERY_BINARY_DIR) + "/orrery",
                                      "agent",
                                      "lifecycle",
                                      "--place",
                                      "hot=" + folder_.at("hot") + ",written,newest=2",
                                      "--place",
                                      "cold=s3://bucket/run,newest=1,every=5",
                                      "--journal",
                                      folder_.at("journal"),
                                      "--endpoint",
                                      cold_.endpoint(),
                                      "--quiet",
                                      "0.05 s",
                                      "--interval",
                                      "0.05 s"};
    if (once) words.emplace_back("--once");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    const std::string log = folder_.at("log");
    for (const int out : {1, 2}) {
      posix_spawn_file_actions_addopen(&files, out, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                       0600);
    }
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
  }

  static int wait_for(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }

  std::string log() const { return text_in(folder_.at("log")).value_or(""); }

  agent::TestFolder folder_;
  mutable S3FaultServer cold_;
};

TEST_F(LifecycleLive, loses_no_good_copy_whatever_is_killed_when) {
  const int kills = std::getenv("ORRERY_FULL") ? 500 : 15;
  RandomStream random(1, "lifecycle-live");
  std::vector<int> finished;
  int step = 0, half_written = 0;
  for (int kill = 0; kill < kills; ++kill) {
    if (random.below(2) == 0) {
      const bool ends = random.below(6) != 0;
      write(++step, ends);
      if (ends) finished.push_back(step);
      if (!ends) half_written = step;
    }
    if (random.below(3) == 0) {
      static constexpr StoreFault kFaults[] = {StoreFault::drop_before,    StoreFault::drop_after,
                                               StoreFault::internal_error, StoreFault::error_after,
                                               StoreFault::slow_down,      StoreFault::truncated,
                                               StoreFault::slow,           StoreFault::wrong_etag};
      cold_.inject(kFaults[random.below(std::size(kFaults))], 2);
    }
    const pid_t pid = start(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + random.below(500)));
    ::kill(pid, SIGKILL);
    wait_for(pid);
    for (const int done : finished) {
      const bool is_newest = done == finished.back();
      const bool is_milestone = done % kColdEvery == 0;
      if (is_newest) {
        ASSERT_TRUE(is_good_hot(done)) << name_of(done) << " after kill " << kill;
      }
      if (is_milestone) {
        ASSERT_TRUE(is_good_hot(done) || is_good_cold(done)) << name_of(done);
      }
    }
    if (half_written > 0) {
      ASSERT_EQ(text_in(folder_.at("hot/" + name_of(half_written) + "/" + kFiles[0])),
                content_of(half_written, kFiles[0]));
    }
  }
  cold_.inject(StoreFault::slow, 0);
  write(++step, true);
  finished.push_back(step);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // What had failed is tried again within seconds; a run that ends early has more to do.
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(wait_for(start(true)), 0) << log();
    if (is_good_cold(finished.back())) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  for (std::size_t i = 0; i < finished.size(); ++i) {
    const int done = finished[i];
    const bool is_hot = i + kHotNewest >= finished.size();
    EXPECT_EQ(is_good_hot(done), is_hot) << name_of(done);
    const bool is_cold = done == finished.back() || done % kColdEvery == 0;
    EXPECT_EQ(is_good_cold(done), is_cold) << name_of(done);
  }
}

TEST_F(LifecycleLive, a_checkpoint_with_wrong_lengths_pushes_nothing_out) {
  write(1, true);
  write(2, true);
  // A header that announces 64 bytes of data, and 10 of them.
  const std::string header = R"({"w":{"dtype":"F32","shape":[16],"data_offsets":[0,64]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  folder_.write("hot/step-3/model.safetensors", file + header + std::string(10, 'x'));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(wait_for(start(true)), 0) << log();
  EXPECT_TRUE(is_good_hot(1) && is_good_hot(2));
  EXPECT_TRUE(is_good_cold(2));
  EXPECT_NE(log().find("step-3"), std::string::npos);
  EXPECT_NE(log().find("there is no good one"), std::string::npos) << log();
}

TEST_F(LifecycleLive, a_file_that_is_no_journal_stays_as_it_is) {
  write(1, true);
  for (const std::string text : {"{\"a\":1}", "{\"a\":1}\n", "notes\nof mine"}) {
    folder_.write("journal", text);
    EXPECT_NE(wait_for(start(true)), 0);
    EXPECT_EQ(text_in(folder_.at("journal")), text);
  }
}

}  // namespace
}  // namespace orrery
