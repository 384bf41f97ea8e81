// `orrery probe storage` from outside: what it prints, what it leaves behind, and what it refuses.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/verb.h"
#include "core/base/csv.h"
#include "live/agent/test_folder.h"
#include "s3_fault_server.h"

extern char** environ;

namespace orrery {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// On the disk of the build folder, not in a tmpfs.
class DiskFolder : public agent::TestFolder {
 public:
  DiskFolder() : agent::TestFolder(ORRERY_BINARY_DIR) {}

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(path())) {
      all.push_back(entry.path().filename().string());
    }
    return all;
  }
};

struct Answer {
  cli::ExitCode code;
  std::string out;
  std::string err;
};

Answer run(const std::vector<std::string>& words, const std::function<bool()>& interrupted = {}) {
  std::ostringstream out;
  std::ostringstream err;
  cli::Terminal terminal{.out = out, .err = err, .read_file = cli::read_text_file};
  if (interrupted) terminal.interrupted = interrupted;
  const cli::ExitCode code = run_command_line(cli::all_verbs(), words, terminal);
  return {code, out.str(), err.str()};
}

// Short measurements, unless `more` says otherwise.
std::vector<std::string> probe(const std::string& place, std::vector<std::string> more) {
  std::vector<std::string> words = {"probe", "storage", place, "--quick"};
  for (const auto& [option, value] :
       {std::pair{"--seconds", "0.05"}, std::pair{"--repeats", "2"}}) {
    if (std::ranges::find(more, option) == more.end()) {
      words.insert(words.end(), {option, value});
    }
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class Keys {
 public:
  Keys() {
    const s3::Credentials c = S3FaultServer::credentials();
    setenv("AWS_ACCESS_KEY_ID", c.access_key.c_str(), 1);
    setenv("AWS_SECRET_ACCESS_KEY", c.secret_key.c_str(), 1);
    unsetenv("AWS_SESSION_TOKEN");
    unsetenv("AWS_REGION");
    unsetenv("AWS_DEFAULT_REGION");
  }
  ~Keys() {
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
  }
};

TEST(ProbeStorage, a_folder_gives_every_figure_and_is_left_as_it_was) {
  const DiskFolder folder;
  const Answer a = run(probe(folder.path(), {"--size", "8 MiB", "--format", "json"}));
  ASSERT_EQ(a.code, cli::ExitCode::good) << a.err;
  const auto json = nlohmann::json::parse(a.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["kind"], "storage-probe");
  std::map<std::string, nlohmann::json> figures;
  for (const auto& f : json["figures"]) figures[f["id"].get<std::string>()] = f;
  for (const char* id : {"sequential_read", "sequential_write", "small_file_read", "shard_read",
                         "checkpoint_rate"}) {
    ASSERT_TRUE(figures.contains(id)) << id;
    const auto& f = figures[id];
    EXPECT_GT(f["value_bytes_per_s"].get<double>(), 1e4) << id;
    EXPECT_LE(f["low_bytes_per_s"], f["value_bytes_per_s"]) << id;
    EXPECT_GE(f["high_bytes_per_s"], f["value_bytes_per_s"]) << id;
    EXPECT_EQ(f["repeats"], 2) << id;
  }
  for (const char* id : {"random_read", "random_write", "creates", "stats", "unlinks", "commits",
                         "decode_core", "decode_all"}) {
    EXPECT_GT(figures[id]["value_per_s"].get<double>(), 0) << id;
  }
  EXPECT_LE(figures["checkpoint_stall_end"]["value_s"], figures["checkpoint_safe"]["value_s"]);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(ProbeStorage, text_and_csv_say_the_same) {
  const DiskFolder folder;
  const Answer text = run(probe(folder.path(), {"--size", "2 MiB", "--only", "sequential"}));
  EXPECT_THAT(text.out, AllOf(HasSubstr("sequential read, 1 MiB blocks, 8 in flight"),
                              HasSubstr("file_system"), Not(HasSubstr("random"))));
  const Answer csv =
      run(probe(folder.path(), {"--size", "2 MiB", "--only", "sequential", "--format", "csv"}));
  const auto table = CsvTable::parse(csv.out, "out");
  ASSERT_TRUE(table);
  EXPECT_THAT(table->columns(),
              ElementsAre("id", "unit", "value", "low", "high", "repeats", "label"));
  EXPECT_EQ(table->rows().size(), 3u);
}

TEST(ProbeStorage, threads_and_the_page_cache_also_work_and_are_reported) {
  const DiskFolder folder;
  const Answer a = run(probe(folder.path(), {"--size", "4 MiB", "--only", "sequential", "--only",
                                             "random", "--engine", "threads", "--buffered"}));
  ASSERT_EQ(a.code, cli::ExitCode::good) << a.err;
  EXPECT_THAT(a.out, AllOf(HasSubstr("engine: threads"), HasSubstr("page cache"),
                           HasSubstr("without O_DIRECT")));
}

TEST(ProbeStorage, a_file_is_only_read) {
  const DiskFolder folder;
  const std::string path = folder.at("data");
  std::ofstream(path) << std::string(4 << 20, 'x');
  const auto before = fs::last_write_time(path);
  const Answer a = run(probe(path, {"--format", "csv"}));
  ASSERT_EQ(a.code, cli::ExitCode::good) << a.err;
  EXPECT_THAT(a.out, AllOf(HasSubstr("sequential_read"), HasSubstr("random_read"),
                           Not(HasSubstr("write"))));
  EXPECT_EQ(fs::last_write_time(path), before);
  EXPECT_EQ(fs::file_size(path), 4u << 20);
  EXPECT_THAT(folder.names(), ElementsAre("data"));
}

TEST(ProbeStorage, impossible_probes_are_refused_before_anything_is_written) {
  const DiskFolder folder;
  EXPECT_THAT(run(probe(folder.at("absent"), {})).err, HasSubstr("probe.place"));
  EXPECT_THAT(run(probe(folder.path(), {"--size", "900 TiB"})).err, HasSubstr("probe.space"));
  EXPECT_THAT(run(probe(folder.path(), {"--size", "100"})).err, HasSubstr("--size"));
  EXPECT_THAT(run(probe(folder.path(), {"--block", "1000 B"})).err, HasSubstr("--block"));
  EXPECT_THAT(run(probe(folder.path(), {"--only", "poetry"})).err, HasSubstr("checkpoint"));
  const Answer many = run(probe(folder.path(), {"--depth", "0", "--streams", "9999999"}));
  EXPECT_THAT(many.err, AllOf(HasSubstr("--depth"), HasSubstr("--streams")));
  EXPECT_EQ(many.code, cli::ExitCode::bad_input);
  folder.write("tiny", "x");
  EXPECT_THAT(run(probe(folder.at("tiny"), {})).err, HasSubstr("probe.short"));
  EXPECT_THAT(folder.names(), ElementsAre("tiny"));
}

TEST(ProbeStorage, ctrl_c_gives_the_figures_so_far_and_leaves_nothing) {
  const DiskFolder folder;
  int asked = 0;
  const Answer a = run(probe(folder.path(), {"--size", "8 MiB", "--seconds", "1"}),
                       [&asked] { return ++asked > 200; });
  EXPECT_EQ(a.code, cli::ExitCode::interrupted);
  EXPECT_THAT(a.out, HasSubstr("interrupted"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

// As `timeout`, Slurm, systemd, a closed terminal and a closed pipe end it.
TEST(ProbeStorage, a_probe_ended_by_any_signal_leaves_nothing) {
  for (const int signal : {SIGTERM, SIGHUP, SIGPIPE}) {
    const DiskFolder folder;
    const std::string place = folder.path();
    std::vector<std::string> words = {std::string(ORRERY_BINARY_DIR) + "/orrery",
                                      "probe",
                                      "storage",
                                      place,
                                      "--size",
                                      "64 MiB",
                                      "--only",
                                      "metadata",
                                      "--only",
                                      "samples",
                                      "--seconds",
                                      "20"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = 0;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    ASSERT_EQ(::posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    for (int i = 0; i < 1000 && fs::is_empty(place); ++i) ::usleep(10'000);
    ASSERT_FALSE(fs::is_empty(place)) << "the probe never started";
    ::usleep(300'000);
    ::kill(pid, signal);
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << signal << ' ' << status;
    EXPECT_THAT(folder.names(), IsEmpty()) << signal;
  }
}

TEST(ProbeStorage, a_probe_below_plan_names_the_limit_and_fails) {
  const DiskFolder folder;
  const std::string design = std::string(ORRERY_SOURCE_DIR) + "/data/templates/single-node.yaml";
  const Answer a = run(probe(folder.path(), {"--size", "2 MiB", "--only", "sequential", "--design",
                                             design, "--format", "json"}));
  ASSERT_EQ(a.code, cli::ExitCode::fails_rule) << a.err;  // no test machine reads 40 GB/s
  const auto plan = nlohmann::json::parse(a.out)["plan"];
  EXPECT_EQ(plan["tier"], "node-nvme");
  EXPECT_EQ(plan["as_planned"], false);
  EXPECT_EQ(plan["figures"][0]["planned_bytes_per_s"], 40e9);
  EXPECT_FALSE(plan["figures"][0]["wall"].get<std::string>().empty());
  const Answer wrong = run(probe(folder.path(), {"--design", design, "--tier", "lukewarm"}));
  EXPECT_THAT(wrong.err, HasSubstr("probe.tier"));
}

TEST(ProbeStorage, a_bucket_gives_its_figures_and_is_left_empty) {
  const Keys keys;
  S3FaultServer server;
  const Answer a = run(probe("s3://bucket/below/here", {"--endpoint", server.endpoint(), "--size",
                                                        "256 KiB", "--format", "json"}));
  ASSERT_EQ(a.code, cli::ExitCode::good) << a.err;
  const auto json = nlohmann::json::parse(a.out);
  EXPECT_EQ(json["conditions"]["conditional_put"], "honoured");
  EXPECT_EQ(json["conditions"]["retries"], "0");
  std::vector<std::string> ids;
  for (const auto& f : json["figures"]) ids.push_back(f["id"]);
  EXPECT_THAT(ids,
              testing::IsSupersetOf({"creates", "sequential_read", "sequential_write", "first_byte",
                                     "stream_read", "range_read", "list", "checkpoint_rate"}));
  EXPECT_THAT(a.out + a.err, Not(HasSubstr(S3FaultServer::credentials().secret_key)));
  EXPECT_EQ(server.objects(), 0u);
  EXPECT_EQ(server.open_uploads(), 0u);
}

TEST(ProbeStorage, faults_of_a_bucket_are_reported) {
  const Keys keys;
  S3FaultServer server;
  server.ignore_conditions();
  server.inject(StoreFault::slow_down, 3, "GET");
  const Answer a = run(probe(
      "s3://bucket", {"--endpoint", server.endpoint(), "--size", "64 KiB", "--repeats", "1"}));
  ASSERT_EQ(a.code, cli::ExitCode::good) << a.err;
  EXPECT_THAT(a.out, AllOf(HasSubstr("retries: 3"), HasSubstr("3 requests were retried"),
                           HasSubstr("If-None-Match")));
}

TEST(ProbeStorage, a_bucket_that_fails_for_good_is_an_error_and_is_cleaned) {
  const Keys keys;
  S3FaultServer server;
  server.inject(StoreFault::wrong_bytes, 1000, "GET");
  const Answer a = run(probe(
      "s3://bucket", {"--endpoint", server.endpoint(), "--size", "64 KiB", "--streams", "1"}));
  EXPECT_EQ(a.code, cli::ExitCode::bad_input);
  EXPECT_THAT(a.err, HasSubstr("s3.corrupt"));
  EXPECT_EQ(server.objects(), 0u);
}

TEST(ProbeStorage, an_interrupted_bucket_is_left_empty) {
  const Keys keys;
  S3FaultServer server;
  std::atomic<int> asked = 0;
  const Answer a = run(probe("s3://bucket", {"--endpoint", server.endpoint(), "--size", "64 KiB"}),
                       [&asked] { return ++asked > 300; });
  EXPECT_EQ(a.code, cli::ExitCode::interrupted);
  EXPECT_EQ(server.objects(), 0u);
  EXPECT_EQ(server.open_uploads(), 0u);
}

TEST(ProbeStorage, buckets_without_keys_or_with_odd_names_are_refused) {
  EXPECT_THAT(run(probe("s3://bucket", {"--endpoint", "http://127.0.0.1:1"})).err,
              HasSubstr("AWS_ACCESS_KEY_ID"));
  const Keys keys;
  EXPECT_THAT(run(probe("s3://Bucket_X", {})).err, HasSubstr("s3.place"));
  EXPECT_THAT(run(probe("s3://bucket", {"--endpoint", "nowhere"})).err, HasSubstr("s3.endpoint"));
}

TEST(ProbeStorage, a_plan_can_use_a_calibrated_probe) {
  const DiskFolder folder;
  const Answer a = run(probe(folder.path(), {"--size", "4 MiB", "--only", "sequential", "--only",
                                             "metadata", "--format", "json"}));
  ASSERT_EQ(a.code, cli::ExitCode::good) << a.err;
  const std::string report = folder.at("probe.json");
  const std::string mine = folder.at("mine.csv");
  std::ofstream(report) << a.out;
  EXPECT_THAT(run({"calibrate", report}).err, HasSubstr("--tier"));
  const Answer calibrated = run({"calibrate", report, "--tier", "node-nvme"});
  ASSERT_EQ(calibrated.code, cli::ExitCode::good) << calibrated.err;
  std::ofstream(mine) << calibrated.out;
  const std::string design = std::string(ORRERY_SOURCE_DIR) + "/data/templates/single-node.yaml";
  const Answer plan = run({"plan", design, "--calibration", mine, "--format", "json"});
  EXPECT_THAT(plan.out, HasSubstr("orrery calibrate: probe of"));
  std::ofstream(mine) << "tier,parameter,value,error,fit\nelsewhere,first_byte_s,1,0.1,x\n";
  EXPECT_THAT(run({"plan", design, "--calibration", mine}).err, HasSubstr("calibration.tier"));
}

}  // namespace
}  // namespace orrery
