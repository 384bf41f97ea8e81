// `orrery agent lifecycle` as a process, on a real folder and an object store that fails, killed
// again and again while a trainer writes: no last good copy is lost, nothing unfinished is touched,
// and in the end everything is where the rules want it. ORRERY_FULL=1 does 500 kills instead of 15.
// Other tests cover obstacles: links, a second agent, signals, full disks, a limited pace.
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
#include <iterator>
#include <optional>
#include <sstream>
#include <stop_token>
#include <thread>

#include "core/base/random.h"
#include "live/agent/test_folder.h"
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

  bool is_good_hot(int step) const { return is_good_at("hot", step); }
  bool is_good_at(const std::string& place, int step) const {
    const fs::path item = folder_.at(place + '/' + name_of(step));
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

  std::string hot(const std::string& words) const { return "hot=" + folder_.at("hot") + words; }

  // Starts the agent on these places, with this journal.
  pid_t start(const std::vector<std::string>& places, const std::string& journal,
              const std::vector<std::string>& more) const {
    std::vector<std::string> words = {std::string(ORRERY_BINARY_DIR) + "/orrery",
                                      "agent",
                                      "lifecycle",
                                      "--journal",
                                      folder_.at(journal),
                                      "--endpoint",
                                      cold_.endpoint(),
                                      "--quiet",
                                      "0.05 s",
                                      "--interval",
                                      "0.05 s"};
    for (const std::string& place : places) words.insert(words.end(), {"--place", place});
    words.insert(words.end(), more.begin(), more.end());
    return spawn(words);
  }
  pid_t start(bool once) const {
    std::vector<std::string> more = {"--grace", "0 s"};
    if (once) more.emplace_back("--once");
    return start({hot(",written,newest=2"), "cold=s3://bucket/run,newest=1,every=5"}, "journal",
                 more);
  }

  pid_t spawn(std::vector<std::string> words) const {
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
    EXPECT_EQ(::posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
  }

  static int code_of(pid_t pid) {
    const int status = wait_for(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  bool waits_for(const std::string& text) const {
    for (int i = 0; i < 400; ++i) {
      if (log().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return false;
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

TEST_F(LifecycleLive, no_good_copy_is_lost_whatever_is_killed_at_any_time) {
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
  // Failed actions are retried within seconds; if a run ends early, there is still work left.
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

TEST_F(LifecycleLive, a_checkpoint_with_wrong_lengths_replaces_no_other) {
  write(1, true);
  write(2, true);
  // A header that announces 64 bytes of data, followed by only 10.
  const std::string header = R"({"w":{"dtype":"F32","shape":[16],"data_offsets":[0,64]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  folder_.write("hot/step-3/model.safetensors", file + header + std::string(10, 'x'));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(code_of(start(true)), 1) << log();
  EXPECT_TRUE(is_good_hot(1) && is_good_hot(2));
  EXPECT_TRUE(is_good_cold(2));
  EXPECT_NE(log().find("alert step-3"), std::string::npos);
  EXPECT_NE(log().find("model.safetensors"), std::string::npos) << log();
  // The alert was given once and the item is still bad, so the next run reports it as well.
  EXPECT_EQ(code_of(start(true)), 1) << log();
}

TEST_F(LifecycleLive, a_file_that_is_not_a_journal_stays_unchanged) {
  write(1, true);
  for (const std::string text : {"{\"a\":1}", "{\"a\":1}\n", "notes\nof mine"}) {
    folder_.write("journal", text);
    EXPECT_NE(wait_for(start(true)), 0);
    EXPECT_EQ(text_in(folder_.at("journal")), text);
  }
}

TEST_F(LifecycleLive, a_link_in_a_checkpoint_leads_to_no_other_file) {
  write(1, true);
  write(2, true);
  folder_.write("models/base.bin", "somebody's");
  fs::create_symlink("../step-2/__0_0.distcp", folder_.at("hot/step-1/shared"));
  fs::create_symlink("../../../models/base.bin", folder_.at("hot/step-1/optim/base"));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::vector<std::string> places = {hot(",written,newest=1"),
                                           "deep=" + folder_.at("deep") + ",every=1000"};
  EXPECT_EQ(code_of(start(places, "journal", {"--once", "--grace", "0 s"})), 1) << log();
  EXPECT_TRUE(is_good_hot(2));
  EXPECT_EQ(text_in(folder_.at("models/base.bin")), "somebody's");
  EXPECT_TRUE(fs::is_symlink(folder_.at("hot/step-1/shared")));
  EXPECT_NE(log().find("optim/base: it is a symbolic link"), std::string::npos) << log();
}

// Somebody who may write to the place swaps folders for links while the agent looks, copies and
// removes: every part of a path is opened by itself, so none leads out.
TEST_F(LifecycleLive, a_folder_swapped_for_a_link_at_any_moment_leads_to_no_other_file) {
  const int rounds = std::getenv("ORRERY_FULL") ? 60 : 6;
  folder_.write("models/__0_1.distcp", "somebody's");
  folder_.write("models/optim/__0_1.distcp", "somebody's too");
  write(2, true);
  const auto swap = [&](const std::string& path, const std::string& to) {
    const std::string away = folder_.at("away");
    if (::rename(path.c_str(), away.c_str()) != 0) return;
    if (::symlink(to.c_str(), path.c_str()) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      ::unlink(path.c_str());
    }
    ::rename(away.c_str(), path.c_str());
  };
  for (int round = 0; round < rounds; ++round) {
    write(1, true);
    std::jthread racer([&](const std::stop_token& stop) {
      for (int i = 0; !stop.stop_requested(); ++i) {
        i % 2 == 0 ? swap(folder_.at("hot/step-1/optim"), folder_.at("models"))
                   : swap(folder_.at("hot/step-1"), folder_.at("models"));
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    const std::vector<std::string> places = {hot(",written,newest=1"),
                                             "deep=" + folder_.at("deep") + ",all"};
    const int code = code_of(start(places, "journal", {"--once", "--grace", "0 s"}));
    EXPECT_TRUE(code == 0 || code == 1) << log();
    racer = {};
    EXPECT_EQ(text_in(folder_.at("models/__0_1.distcp")), "somebody's");
    EXPECT_EQ(text_in(folder_.at("models/optim/__0_1.distcp")), "somebody's too");
    EXPECT_EQ(std::distance(fs::recursive_directory_iterator(folder_.at("models")), {}), 3);
    // Written again, step 1 is the newest if it is read before it is swapped; step 2 may go then.
    EXPECT_TRUE(is_good_hot(2) || is_good_at("deep", 2)) << log();
    // What was read through a link would be in a copy.
    const auto copied = text_in(folder_.at("deep/step-1/optim/__0_1.distcp"));
    EXPECT_TRUE(!copied || *copied == content_of(1, "optim/__0_1.distcp"));
  }
}

// Rules that want the opposite, journals of their own, the same places: one of the two works.
TEST_F(LifecycleLive, two_agents_with_opposite_rules_lose_nothing) {
  for (int round = 0; round < 6; ++round) {
    for (const char* left : {"hot", "deep", "a.jsonl", "b.jsonl", "a.jsonl.lock", "b.jsonl.lock"}) {
      fs::remove_all(folder_.at(left));
    }
    for (int step = 1; step <= 5; ++step) write(step, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const std::string deep = "deep=" + folder_.at("deep");
    ASSERT_EQ(code_of(start({hot(",written,all"), deep + ",all"}, "a.jsonl", {"--once"})), 0)
        << log();
    fs::copy_file(folder_.at("a.jsonl"), folder_.at("b.jsonl"));
    const std::vector<std::string> more = {"--once", "--grace", "0 s"};
    const pid_t a = start({hot(",written,newest=1"), deep + ",all"}, "a.jsonl", more);
    const pid_t b = start({hot(",written,all"), deep + ",newest=1"}, "b.jsonl", more);
    for (const int code : {code_of(a), code_of(b)}) EXPECT_TRUE(code == 0 || code == 2) << log();
    for (int step = 1; step <= 5; ++step) {
      const bool is_deep = text_in(folder_.at("deep/" + name_of(step) + "/.metadata")) == "whole";
      EXPECT_TRUE(is_good_hot(step) || is_deep) << name_of(step) << ", round " << round;
    }
  }
}

TEST_F(LifecycleLive, a_second_agent_on_a_place_learns_who_owns_it) {
  write(1, true);
  const pid_t first = start(false);
  ASSERT_TRUE(waits_for("verify step-1  cold")) << log();
  EXPECT_EQ(code_of(start({hot(",written,newest=2")}, "other", {"--once"})), 2);
  EXPECT_NE(log().find("process " + std::to_string(first)), std::string::npos) << log();
  EXPECT_NE(log().find("journal " + folder_.at("journal")), std::string::npos) << log();
  // A bucket has no lock that ends with a process, so the second agent watches the lease and sees
  // that the first one is alive.
  const pid_t second = start({"cold=s3://bucket/run,all"}, "third", {"--once"});
  EXPECT_EQ(code_of(second), 2) << log();
  ::kill(first, SIGTERM);
  EXPECT_EQ(code_of(first), 130);
  EXPECT_FALSE(cold_.object("run/.orrery-lease/0000000001")) << "a clean end releases the place";
  EXPECT_EQ(code_of(start({"cold=s3://bucket/run,all"}, "third", {"--once"})), 0) << log();
}

TEST_F(LifecycleLive, a_run_waits_for_the_pace_of_a_place_before_it_ends) {
  write(1, true);
  write(2, true);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::vector<std::string> places = {hot(",written,all"),
                                           "deep=" + folder_.at("deep") + ",all,pace=100kB/s"};
  EXPECT_EQ(code_of(start(places, "journal", {"--once"})), 0) << log();
  for (int step : {1, 2}) {
    EXPECT_EQ(text_in(folder_.at("deep/" + name_of(step) + "/.metadata")), "whole") << log();
  }
}

TEST_F(LifecycleLive, signals_end_a_copy_cleanly_and_it_begins_again) {
  write(1, true);
  folder_.write("hot/step-1/large.bin", std::string(64 << 20, 'l'));
  const std::vector<std::string> places = {hot(",written,all"),
                                           "deep=" + folder_.at("deep") + ",all"};
  RandomStream random(1, "signals");
  for (const int signal : {SIGINT, SIGTERM, SIGINT, SIGTERM}) {
    // On a busy machine a copy may be finished before its signal, and the next start says nothing.
    if (fs::exists(folder_.at("deep/step-1"))) break;
    const std::size_t said = log().size();
    const pid_t pid = start(places, "journal", {});
    while (log().size() == said) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(400)));
    ::kill(pid, signal);
    EXPECT_EQ(code_of(pid), 130) << log();
    EXPECT_TRUE(is_good_hot(1));
    const bool is_whole = fs::exists(folder_.at("deep/step-1/.orrery-copy.json"));
    EXPECT_EQ(fs::exists(folder_.at("deep/step-1")), is_whole)
        << "an unfinished copy is not listed";
  }
  EXPECT_NE(log().find("start it again with the same journal"), std::string::npos);
  EXPECT_EQ(code_of(start(places, "journal", {"--once"})), 0) << log();
  EXPECT_EQ(fs::file_size(folder_.at("deep/step-1/large.bin")), std::size_t{64} << 20);
  EXPECT_TRUE(fs::is_empty(folder_.at("deep/.orrery-incoming")));
}

// First the disk of the journal is full, then that of the place: nothing is lost, and the message
// says what to do.
TEST_F(LifecycleLive, full_disks_stop_it_before_anything_is_lost) {
  for (int step = 1; step <= 8; ++step) write(step, true);
  fs::create_directories(folder_.at("small"));
  const std::string binary = std::string(ORRERY_BINARY_DIR) + "/orrery";
  const auto on_small_disk = [&](const std::string& size, const std::string& journal,
                                 const std::string& deep) {
    const std::string script =
        "mount -t tmpfs -o size=" + size + " none " + folder_.at("small") + " && " + binary +
        " agent lifecycle --once --grace 0s --quiet 0.05s --interval 0.05s --journal " + journal +
        " --place " + hot(",written,newest=1") + " --place deep=" + deep + ",all";
    return code_of(spawn({"unshare", "-m", "sh", "-c", script}));
  };
  if (code_of(spawn({"unshare", "-m", "sh", "-c", "mount -t tmpfs none " + folder_.at("small")})) !=
      0) {
    GTEST_SKIP() << "this user cannot mount a file system";
  }
  EXPECT_EQ(on_small_disk("4k", folder_.at("small/journal"), folder_.at("deep")), 2) << log();
  EXPECT_NE(log().find("No space left on device"), std::string::npos) << log();
  EXPECT_NE(log().find("free space on the disk of the journal"), std::string::npos) << log();
  for (int step = 1; step <= 8; ++step) {
    const bool is_deep = text_in(folder_.at("deep/" + name_of(step) + "/.metadata")) == "whole";
    EXPECT_TRUE(is_good_hot(step) || is_deep) << step;
  }
  EXPECT_TRUE(is_good_hot(8));
  fs::remove_all(folder_.at("deep"));
  EXPECT_EQ(on_small_disk("100k", folder_.at("journal"), folder_.at("small/deep")), 1) << log();
  EXPECT_NE(log().find("fails again and again"), std::string::npos) << log();
  EXPECT_TRUE(is_good_hot(8));
}

TEST_F(LifecycleLive, files_without_permission_are_reported_and_left_alone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can drop permissions";
  for (int step = 1; step <= 3; ++step) write(step, true);
  fs::create_directories(folder_.at("deep"));
  ASSERT_EQ(::system(("chmod 755 " + folder_.path() + " && chown -R nobody " + folder_.path() +
                      " && chown root " + folder_.at("hot/step-1/__0_0.distcp") + " && chmod 600 " +
                      folder_.at("hot/step-1/__0_0.distcp"))
                         .c_str()),
            0);
  const std::string words = std::string(ORRERY_BINARY_DIR) +
                            "/orrery agent lifecycle --once --quiet 0.05s --interval 0.05s" +
                            " --journal " + folder_.at("journal") + " --place " +
                            hot(",written,newest=1") + " --place deep=" + folder_.at("deep") +
                            ",all";
  EXPECT_EQ(code_of(spawn({"su", "nobody", "-s", "/bin/sh", "-c", words})), 1) << log();
  EXPECT_NE(log().find("Permission denied"), std::string::npos) << log();
  EXPECT_TRUE(is_good_hot(1) && is_good_hot(3));
  EXPECT_EQ(text_in(folder_.at("deep/step-2/.metadata")), "whole") << log();
  // A place without write permission cannot be locked, and counts as away.
  ASSERT_EQ(
      ::system(("chown root " + folder_.at("deep") + " && rm -f " + folder_.at("deep/.orrery-lock"))
                   .c_str()),
      0);
  EXPECT_EQ(code_of(spawn({"su", "nobody", "-s", "/bin/sh", "-c", words})), 1) << log();
  EXPECT_NE(log().find("away: deep"), std::string::npos) << log();
}

}  // namespace
}  // namespace orrery
