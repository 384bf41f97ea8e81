// Every verb that takes long, ended by Ctrl-C and as services are ended: it stops within seconds,
// its exit code says so, and nothing half made is left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "live/agent/test_folder.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kInterrupted = 130;
// Less than the 20 s after which a verb is ended that has work to put away.
constexpr std::chrono::seconds kEndsWithin{15};

struct LongVerb {
  const char* name;
  std::vector<std::string> words;  // HERE: the test's folder, SOURCE: the project's
  int code = kInterrupted;
};

const LongVerb kVerbs[] = {
    {"simulate",
     {"simulate", "SOURCE/examples/superpod-h100-4su.yaml", "--for", "365d", "--replications",
      "500", "--series", "HERE/series.csv"}},
    {"score", {"score", "training", "SOURCE/data/validation/training.csv", "--leave-out", "all"}},
    {"bench", {"bench"}},
    {"rehearse",
     {"agent", "rehearse", "--nodes", "4000", "--for", "1d", "--faults", "1000", "--interval",
      "100 ms"}},
    {"lifecycle",
     {"agent", "lifecycle", "--place", "hot=HERE/hot,written,all", "--place",
      "cold=HERE/cold,all,pace=1MB/s", "--journal", "HERE/journal", "--quiet", "0.1 s",
      "--interval", "0.1 s"}},
    {"recover", {"agent", "recover", "--journal", "HERE/journal"}},
    {"probe", {"probe", "storage", "HERE/probe"}},
    {"exporter", {"exporter", "SOURCE/examples/talks.yaml", "--port", "0"}, 0},
    {"serve", {"serve", "--port", "0", "--state", ":memory:"}, 0},
    {"store", {"store", "HERE/store", "--port", "0"}, 0},
};

class Signals : public testing::TestWithParam<LongVerb> {
 protected:
  Signals() {
    for (const char* name : {"hot/iter_1/model.bin", "hot/iter_2/model.bin"}) {
      folder.write(name, std::string(8 << 20, 'x'));
    }
    for (const char* name : {"hot/iter_1/.metadata", "hot/iter_2/.metadata"}) {
      folder.write(name, "whole");
    }
    fs::create_directories(folder.at("probe"));
  }
  pid_t start() const {
    std::vector<std::string> words = {ORRERY_BINARY_DIR "/orrery"};
    for (std::string word : GetParam().words) {
      for (const auto& [mark, meant] : {std::pair<std::string, std::string>{"HERE", folder.path()},
                                        {"SOURCE", ORRERY_SOURCE_DIR}}) {
        if (const auto at = word.find(mark); at != word.npos) word.replace(at, mark.size(), meant);
      }
      words.push_back(word);
    }
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int out : {1, 2}) {
      posix_spawn_file_actions_addopen(&files, out, folder.at("said").c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    }
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
  }

  const agent::TestFolder folder{agent::folder_on_disk()};
};

TEST_P(Signals, verb_ends_within_seconds_and_leaves_nothing_half_made) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t pid = start();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, WNOHANG), 0) << "it ended by itself: " << GetParam().name;
    const auto begun = Clock::now();
    ::kill(pid, signal);
    ::waitpid(pid, &status, 0);
    EXPECT_LT(Clock::now() - begun, kEndsWithin);
    ASSERT_TRUE(WIFEXITED(status)) << "killed by " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), GetParam().code);
  }
  EXPECT_TRUE(fs::is_empty(folder.at("probe")));
  for (const auto& at : fs::recursive_directory_iterator(folder.path())) {
    const std::string name = at.path().filename().string();
    EXPECT_FALSE(name.ends_with(".new") || name == ".orrery-part") << at.path();
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, Signals, testing::ValuesIn(kVerbs),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace orrery
