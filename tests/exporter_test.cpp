// `orrery exporter` with the real programs: a Prometheus that scrapes it and evaluates the emitted
// rules, and a Slurm that it queries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "app/cli/verb.h"
#include "live/agent/command.h"
#include "live/agent/exporter_slurm.h"
#include "live/agent/test_folder.h"
#include "live/net/test_socket.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/emit/prometheus.h"
#include "plan/verdict/verdict.h"
#include "slurm_cluster.h"

extern char** environ;

namespace orrery {
namespace {

using net::free_port;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(40);  // one second is enough on a quiet machine
constexpr auto kPause = std::chrono::milliseconds(200);

// A program that runs during the test and is ended with it, by its process id.
class Process {
 public:
  explicit Process(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& w : words) pointers.push_back(w.data());
    pointers.push_back(nullptr);
    if (posix_spawnp(&pid_, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0) {
      pid_ = 0;
    }
  }
  ~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  bool started() const { return pid_ > 0; }

 private:
  pid_t pid_ = 0;
};

// Runs the command in a thread of this process, for the lifetime of this object.
class ExporterThread {
 public:
  explicit ExporterThread(std::vector<std::string> words)
      : terminal_{.out = out_, .err = err_, .read_file = cli::read_text_file} {
    terminal_.interrupted = [this] { return stop_.load(); };
    thread_ = std::thread([this, words = std::move(words)] {
      code_ = run_command_line(cli::all_verbs(), words, terminal_);
    });
  }
  ~ExporterThread() {
    stop_ = true;
    thread_.join();
    EXPECT_EQ(code_, cli::ExitCode::good) << err_.str();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::ostringstream out_;
  std::ostringstream err_;
  cli::Terminal terminal_;
  cli::ExitCode code_ = cli::ExitCode::internal;
  std::thread thread_;
};

bool has_program(const std::string& name) {
  const auto found = agent::run_command({.words = {name, "--version"}, .timeout = seconds(20)});
  return found && found->good();
}

// Returns the answer of Prometheus once it has data.
std::string queried(const std::string& server, const std::string& expr) {
  std::string said;
  for (const auto end = Clock::now() + kPatience; Clock::now() < end;) {
    const auto result = agent::run_command(
        {.words = {"promtool", "query", "instant", server, expr}, .timeout = seconds(10)});
    said = result ? result->out + result->err : "not started";
    if (result && result->good() && result->out.find("=>") != std::string::npos) return said;
    std::this_thread::sleep_for(kPause);
  }
  return "nothing in time; last: " + said;
}

std::string design_text() {
  return std::string(design_text::find_template("superpod-h100").value().text);
}

// Writes the emitted files, changed so that everything is evaluated every second and only the
// exporter is scraped.
void write_configuration(const agent::TestFolder& folder, int exporter_port) {
  const auto design = design_text::read_design(design_text(), machine::known().catalog()).value();
  const review::Review review = review::run_stages(design, machine::known());
  std::string rules;
  const emit::EmittedFiles files = emit::emit_prometheus(review, {.design = design.name}).value();
  for (const emit::EmittedFile& f : files) {
    if (!f.path.starts_with("rules/")) continue;
    folder.write(f.path, f.text);
    rules += "  - " + f.path + "\n";
  }
  folder.write("prometheus.yml",
               "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files:\n" + rules +
                   "scrape_configs:\n  - job_name: orrery-exporter\n    static_configs:\n"
                   "      - targets: [\"127.0.0.1:" +
                   std::to_string(exporter_port) + "\"]\n");
}

TEST(Exporter, a_real_prometheus_scrapes_it_and_the_rules_see_the_values) {
  if (!has_program("prometheus") || !has_program("promtool")) {
    GTEST_SKIP() << "prometheus is not installed";
  }
  const agent::TestFolder folder;
  const int exporter_port = free_port();
  const int server_port = free_port();
  write_configuration(folder, exporter_port);
  folder.write("design.yaml", design_text());
  folder.write("hot.csv", "id,unit,value\nsequential_read,bytes_per_s,1.5e11\n");
  folder.write("files/run.prom",
               "orrery_measured_checkpoint_timestamp_seconds{workload=\"pretrain\"} 1000\n"
               "orrery_measured_step_time_seconds{workload=\"a\\\"b\\\\c\\nd\",rank=\"0\"} 7.5\n"
               "this is not a metric\n");
  const ExporterThread exporter({"exporter", folder.at("design.yaml"), "--port",
                                 std::to_string(exporter_port), "--node-files", folder.at("files"),
                                 "--probe", folder.at("hot.csv")});
  const std::string address = "127.0.0.1:" + std::to_string(server_port);
  const Process prometheus({"prometheus", "--config.file=" + folder.at("prometheus.yml"),
                            "--storage.tsdb.path=" + folder.at("tsdb"),
                            "--web.listen-address=" + address, "--log.level=error"});
  ASSERT_TRUE(prometheus.started());
  const std::string server = "http://" + address;
  EXPECT_THAT(queried(server, "orrery_plan_gpu_power_limit_watts{fleet='train',bound='value'}"),
              HasSubstr("=> 700 "));
  EXPECT_THAT(queried(server, "orrery_measured_tier_bytes_per_second{tier='hot',op='read'}"),
              HasSubstr("=> 150000000000 "));
  // A label with a quote, a backslash and a line break arrives unchanged.
  EXPECT_THAT(queried(server, "orrery_measured_step_time_seconds{workload='a\"b\\\\c\\nd'}"),
              HasSubstr("=> 7.5 "));
  EXPECT_THAT(queried(server, "orrery_exporter_source_faults{source='node-files'}"),
              HasSubstr("=> 1 "));
  EXPECT_THAT(queried(server, "ALERTS{alertname='CheckpointTooOld',workload='pretrain'}"),
              HasSubstr("alertstate=\"pending\""));
}

TEST(Exporter, metrics_of_a_real_slurm_are_correct) {
  using testing_slurm::Cluster;
  const std::string lacks = Cluster::missing();
  if (!lacks.empty()) GTEST_SKIP() << lacks;
  const auto started = Cluster::start({.nodes = 4, .spares = 1});
  ASSERT_TRUE(started.has_value()) << started.error();
  const Cluster& cluster = **started;
  cluster.ask({"sbatch", "-N2", "--gres=gpu:5", "-o", "/dev/null", "--wrap", "sleep 600"});
  cluster.ask({"sbatch", "-N4", "--gres=gpu:8", "-o", "/dev/null", "--wrap", "sleep 600"});
  EXPECT_TRUE(cluster.wait_for({"squeue", "-h", "-t", "R", "-o", "%D"}, "2", 30));
  const auto look = look_at_slurm({.conf = cluster.conf()}, agent::run_command);
  ASSERT_TRUE(look.has_value()) << to_text(look.error());
  EXPECT_TRUE(look->faults.empty()) << to_text(look->faults);
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string page = exposition(slurm_metrics(*look, Seconds(now)).value());
  for (const char* line :
       {"orrery_measured_nodes{state=\"idle\"} 2\n", "orrery_measured_nodes{state=\"mixed\"} 2\n",
        "orrery_measured_nodes{state=\"spare\"} 1\n",
        "orrery_measured_cluster_gpus{use=\"allocated\"} 10\n",
        "orrery_measured_cluster_gpus{use=\"free\"} 22\n"}) {
    EXPECT_THAT(page, HasSubstr(line));
  }
  EXPECT_THAT(page, HasSubstr("orrery_measured_queue_head_nodes{partition=\"n\"} 4\n"));
  EXPECT_THAT(page, HasSubstr("orrery_measured_queue_head_gpus{partition=\"n\"} 32\n"));
  EXPECT_THAT(page, HasSubstr("orrery_measured_queue_head_fitting_nodes{partition=\"n\"} 2\n"));
}

}  // namespace
}  // namespace orrery
