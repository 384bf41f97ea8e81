// Recovery on a real Slurm on this machine: the agent as a process, nodes that die with everything
// that runs on them, jobs that can detect whether they run twice.
//
// The tests measure recovery, not detection, unless a test says otherwise: a node dies (its daemon
// and every process of its jobs, by SIGKILL) and is marked down at the same moment, as by a health
// check. Time is measured from there to the first line of the job's next run. Each rank of a job
// holds its own lock while it lives; a rank that finds its lock taken reports it. ORRERY_FULL=1
// adds 20 kills of the controller, 20 trials and 200 random kills on 64 nodes, and a measurement of
// Slurm without the agent.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/random.h"
#include "core/base/text.h"
#include "live/agent/journal_lines.h"
#include "live/agent/slurm_parse.h"
#include "slurm_cluster.h"

extern char** environ;

namespace orrery {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing_slurm::Cluster;
using testing_slurm::read_text;
using Clock = std::chrono::system_clock;
namespace fs = std::filesystem;

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }
void sleep_s(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

bool wait_until(double limit_s, const std::function<bool()>& what) {
  for (const double end = now_s() + limit_s; now_s() < end; sleep_s(0.05)) {
    if (what()) return true;
  }
  return what();
}

bool is_full() { return std::getenv("ORRERY_FULL") != nullptr; }

std::string binary() { return std::string(ORRERY_BINARY_DIR) + "/orrery"; }

// Runs `orrery agent recover` as a separate process.
class Agent {
 public:
  explicit Agent(const Cluster& cluster) : cluster_(cluster) {}
  ~Agent() { kill(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  std::string journal() const { return cluster_.dir() + "/journal.jsonl"; }
  std::string said() const { return read_text(cluster_.dir() + "/agent.log"); }
  bool runs() const { return pid_ > 0; }

  void start() {
    std::vector<std::string> words = {
        binary(),    "agent",        "recover",    "--conf",       cluster_.conf(),
        "--journal", journal(),      "--interval", "300 ms",       "--out-max",
        "0.5",       "--crash-loop", "0",          "--losses-max", "100000"};
    if (!fence.empty()) words.insert(words.end(), {"--fence", fence});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    const std::string log = cluster_.dir() + "/agent.log";
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    ASSERT_EQ(::posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
  }

  void kill(int signal = SIGKILL) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, &status_, 0);
    pid_ = 0;
  }
  int status() const { return status_; }

  std::string fence = {};  // fence program; set before start()

 private:
  const Cluster& cluster_;
  pid_t pid_ = 0;
  int status_ = 0;
};

// Jobs that record what they do in files of the cluster's folder, and nodes that die with them.
class Yard {
 public:
  explicit Yard(Cluster& cluster) : cluster_(cluster), dir_(cluster.dir()) {
    write(dir_ + "/worker", fmt::format(R"sh(#!/bin/bash
exec 9>{0}/lock-$SLURM_JOB_ID-$SLURM_PROCID
if ! flock -n 9; then
  echo "double $SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}} $(date +%s.%N) $SLURMD_NODENAME" >> {0}/marks
  for p in /proc/[0-9]*; do
    [ "$(readlink $p/fd/9)" = {0}/lock-$SLURM_JOB_ID-$SLURM_PROCID ] || continue
    echo "holder $SLURM_JOB_ID $p" $(tr '\0' '\n' < $p/environ | grep -E 'NODENAME|RESTART') >> {0}/marks
  done
fi
if [ $SLURM_PROCID = 0 ]; then
  echo "start $SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}} $(date +%s.%N)" >> {0}/marks
fi
while [ ! -e {0}/stop ]; do sleep 0.5 9>&-; done
)sh",
                                        dir_));
    write(dir_ + "/job", fmt::format(R"sh(#!/bin/bash
srun --ntasks-per-node=1 {0}/worker || exit 1
[ -e {0}/stop ] && echo "done $SLURM_JOB_ID" >> {0}/marks
)sh",
                                     dir_));
  }

  std::string submit(int nodes) {
    const agent::CommandResult r = cluster_.run(
        {"sbatch", "--parsable", "--requeue", "-N", std::to_string(nodes), "--exclusive", "-o",
         "/dev/null", "-e", "/dev/null", "-D", dir_, dir_ + "/job"});
    EXPECT_TRUE(r.good()) << r.err;
    return std::string(trimmed(r.out));
  }

  struct Mark {
    std::string word;
    int restarts = 0;
    double at = 0;
  };
  std::vector<Mark> marks(const std::string& job) const {
    std::vector<Mark> out;
    std::istringstream lines(read_text(dir_ + "/marks"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      Mark mark;
      std::string id;
      words >> mark.word >> id >> mark.restarts >> mark.at;
      if (id == job) out.push_back(mark);
    }
    return out;
  }
  int count(const std::string& job, const std::string& word) const {
    const auto all = marks(job);
    return static_cast<int>(std::ranges::count(all, word, &Mark::word));
  }

  // Returns the time at which a run after `restarts` began; 0: not yet.
  double started_after(const std::string& job, double at) const {
    for (const Mark& m : marks(job)) {
      if (m.word == "start" && m.at > at) return m.at;
    }
    return 0;
  }

  std::vector<std::string> nodes_of(const std::string& job) const {
    const auto hosts =
        agent::expand_hosts(cluster_.ask({"squeue", "-h", "-j", job, "-t", "R", "-o", "%N"}));
    return hosts ? *hosts : std::vector<std::string>();
  }

  // Kills the node's daemon and every process of its jobs, as a power failure does, and then marks
  // the node down. Returns the moment at which everything was dead and the mark followed.
  double fail_node(const std::string& node) {
    const double dead = kill_node(node);
    cluster_.run({"scontrol", "update", "NodeName=" + node, "State=DOWN", "Reason=trial"});
    return dead;
  }

  // Does the same without informing Slurm.
  double kill_node(const std::string& node) {
    cluster_.kill_node(node);
    // Processes that were just being started are found in the next round.
    for (int round = 0; round < 20; ++round) {
      const std::vector<pid_t> alive = processes_on(node);
      if (alive.empty()) break;
      for (const pid_t pid : alive) ::kill(pid, SIGKILL);
      sleep_s(0.01);
    }
    return now_s();
  }

  void heal_node(const std::string& node) {
    if (!cluster_.node_runs(node)) cluster_.start_node(node);
    cluster_.run({"scontrol", "update", "NodeName=" + node, "State=RESUME"});
  }

  // Returns whether every rank of the job is alive: its lock is taken.
  bool holds_locks(const std::string& job, const std::vector<std::string>& nodes) const {
    const std::string locks = read_text("/proc/locks");
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      const std::string path = fmt::format("{}/lock-{}-{}", dir_, job, rank);
      struct stat status = {};
      if (::stat(path.c_str(), &status) != 0) return false;
      // Trying to take the lock could collide with a rank that is about to take it.
      if (locks.find(fmt::format(":{} ", status.st_ino)) == std::string::npos) return false;
    }
    return true;
  }

  void end_all() const { std::ofstream(dir_ + "/stop") << "now"; }
  std::string all_marks() const { return read_text(dir_ + "/marks"); }

 private:
  // Steps have the log of their node's daemon open; their children have the node's name in the
  // environment.
  std::vector<pid_t> processes_on(const std::string& node) const {
    const std::string log = fmt::format("{}/slurmd-{}.log", dir_, node);
    const std::string name = "SLURMD_NODENAME=" + node + '\0';
    std::vector<pid_t> out;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const auto pid = parse_integer(entry.path().filename().string());
      if (!pid || *pid == ::getpid() || is_zombie(entry.path())) continue;
      const std::string environment = read_text(entry.path() / "environ");
      bool here =
          environment.find(name) != environment.npos && environment.find(dir_) != environment.npos;
      std::error_code ignored;
      fs::directory_iterator files(entry.path() / "fd", ignored);
      for (; !here && !ignored && files != fs::directory_iterator(); files.increment(ignored)) {
        here = fs::read_symlink(files->path(), ignored) == log;
      }
      if (here) out.push_back(static_cast<pid_t>(*pid));
    }
    return out;
  }

  static bool is_zombie(const fs::path& process) {
    const std::string text = read_text(process / "stat");
    const std::size_t end = text.rfind(')');
    return end == text.npos || text.substr(end, 3) == ") Z";
  }

  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0755);
  }

  Cluster& cluster_;
  std::string dir_;
};

struct Trial {
  double seconds = 0;
  bool moved = false;  // whether the job left the failed node
};

class RecoveryLive : public testing::Test {
 protected:
  // Returns false if the test must end; the reason has been printed.
  bool start(int nodes) {
    if (const std::string what = Cluster::missing(); !what.empty()) {
      [&] { GTEST_SKIP() << what; }();
      return false;
    }
    auto started = Cluster::start({.nodes = nodes, .site_lines = "KillWait=5\n"});
    if (!started) {
      [&] { FAIL() << started.error(); }();
      return false;
    }
    cluster_ = std::move(*started);
    yard_ = std::make_unique<Yard>(*cluster_);
    return true;
  }

  Trial recover_once(const std::string& job, std::size_t which) {
    const auto nodes = yard_->nodes_of(job);
    if (nodes.empty()) return {};
    const std::string& node = nodes[which % nodes.size()];
    const double struck = yard_->fail_node(node);
    double back = 0;
    wait_until(60, [&] { return (back = yard_->started_after(job, struck)) > 0; });
    const auto after = yard_->nodes_of(job);
    yard_->heal_node(node);
    if (back == 0) return {};
    return {.seconds = back - struck,
            .moved = !after.empty() && std::ranges::find(after, node) == after.end()};
  }

  bool all_run(const std::vector<std::string>& jobs, double limit_s) {
    return wait_until(limit_s, [&] {
      return std::ranges::all_of(jobs, [&](const auto& job) {
        return yard_->count(job, "start") > 0 && !yard_->nodes_of(job).empty();
      });
    });
  }

  // No job was lost: each ended well exactly once. None ran twice at the same time: no rank found
  // its lock taken.
  void check_the_books(const std::vector<std::string>& jobs) {
    yard_->end_all();
    EXPECT_TRUE(wait_until(60, [&] {
      return std::ranges::all_of(jobs, [&](const auto& job) {
        return cluster_->ask({"squeue", "-h", "-t", "all", "-j", job, "-o", "%T"}) == "COMPLETED";
      });
    })) << cluster_->ask({"squeue", "-t", "all"});
    for (const std::string& job : jobs) {
      EXPECT_EQ(yard_->count(job, "done"), 1) << job;
      EXPECT_EQ(yard_->count(job, "double"), 0) << job << '\n' << yard_->all_marks();
    }
  }

  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Yard> yard_;
};

TEST_F(RecoveryLive, two_nodes_die_and_their_jobs_run_again_in_seconds) {
  if (!start(8)) return;
  Agent agent(*cluster_);
  agent.start();
  const std::vector<std::string> jobs = {yard_->submit(2), yard_->submit(2)};
  ASSERT_TRUE(all_run(jobs, 20)) << cluster_->log();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Trial trial = recover_once(jobs[i], i);
    EXPECT_GT(trial.seconds, 0) << agent.said() << cluster_->log();
    EXPECT_LT(trial.seconds, 15) << agent.said();
    EXPECT_TRUE(trial.moved);
    fmt::print("job back after {:.2f} s\n", trial.seconds);
    // The agent is killed and restarted between two failures, and nothing may be lost.
    agent.kill();
    agent.start();
  }
  check_the_books(jobs);
  agent.kill(SIGINT);
  EXPECT_TRUE(WIFEXITED(agent.status()) && WEXITSTATUS(agent.status()) == 130) << agent.said();
  EXPECT_TRUE(agent::recall(read_text(agent.journal()), agent.journal(), {}));
}

TEST_F(RecoveryLive, a_second_agent_with_the_same_journal_is_refused) {
  if (!start(1)) return;
  Agent agent(*cluster_);
  agent.start();
  ASSERT_TRUE(wait_until(10, [&] { return !read_text(agent.journal()).empty(); })) << agent.said();
  const agent::CommandResult second =
      cluster_->run({binary(), "agent", "recover", "--conf", cluster_->conf(), "--journal",
                     agent.journal(), "--once"});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, testing::HasSubstr("another agent is using this journal"));
}

// slurmctld is killed at a random moment after a node failed and comes back with the state that it
// last saved. Time is measured from its return to the first line of the job's next run.
TEST_F(RecoveryLive, a_killed_controller_forgets_orders_and_every_job_runs_again) {
  if (!is_full()) GTEST_SKIP() << "set ORRERY_FULL=1 to run this; it takes minutes";
  // A node that fails three times within minutes is a lemon and stays out: twenty kills use up a
  // few nodes.
  if (!start(24)) return;
  const int rounds = 20;
  RandomStream random(static_cast<std::uint64_t>(::getpid()), "recovery/controller-kills");
  fmt::print("seed {}\n", ::getpid());
  Agent agent(*cluster_);
  agent.start();
  const std::vector<std::string> jobs = {yard_->submit(2), yard_->submit(1)};
  ASSERT_TRUE(all_run(jobs, 20)) << cluster_->log();
  double worst = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto nodes = yard_->nodes_of(jobs[0]);
    ASSERT_FALSE(nodes.empty()) << cluster_->ask({"squeue"}) << agent.said();
    const std::string node = nodes[random.below(nodes.size())];
    const double struck = yard_->fail_node(node);
    const double killed_after = 0.4 + 3 * random.uniform();
    sleep_s(killed_after);
    cluster_->kill_controller();
    sleep_s(random.uniform());
    ASSERT_TRUE(cluster_->start_controller()) << cluster_->log();
    const double back = now_s();
    // The job runs on other nodes, and its processes exist.
    const bool runs = wait_until(60, [&] {
      const auto after = yard_->nodes_of(jobs[0]);
      return yard_->started_after(jobs[0], struck) > 0 && !after.empty() &&
             std::ranges::find(after, node) == after.end() && yard_->holds_locks(jobs[0], after);
    });
    const double took = now_s() - back;
    worst = std::max(worst, took);
    fmt::print("killed after {:.2f} s; runs {:.2f} s after its return\n", killed_after, took);
    EXPECT_TRUE(runs) << cluster_->ask({"squeue"}) << agent.said() << cluster_->log();
    EXPECT_LT(took, 10) << agent.said() << cluster_->log();
    EXPECT_FALSE(yard_->nodes_of(jobs[1]).empty());
    const std::string state = cluster_->ask({"sinfo", "-h", "-n", node, "-o", "%T"});
    EXPECT_THAT(state, testing::AnyOf(testing::HasSubstr("drain"), testing::HasSubstr("down")));
    // A person who repairs a node does so after the agent has seen the new state of the controller.
    sleep_s(2);
    yard_->heal_node(node);
    sleep_s(2 + 2 * random.uniform());
  }
  fmt::print("{} kills of the controller: at most {:.2f} s\n", rounds, worst);
  check_the_books(jobs);
}

TEST_F(RecoveryLive, fences_that_hang_delay_no_other_recovery_and_no_interrupt) {
  if (!start(12)) return;
  const std::string fence = cluster_->dir() + "/fence";
  std::ofstream(fence) << fmt::format("#!/bin/sh\n[ -e {0}/hang-$1 ] && exec sleep 1000\nexit 0\n",
                                      cluster_->dir());
  ::chmod(fence.c_str(), 0755);
  Agent agent(*cluster_);
  agent.fence = fence;
  agent.start();
  std::vector<std::string> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(yard_->submit(1));
  ASSERT_TRUE(all_run(jobs, 20)) << cluster_->log();
  sleep_s(2);  // the agent has seen where they run
  std::vector<std::string> dead;
  for (const std::string& job : jobs) dead.push_back(yard_->nodes_of(job).front());
  for (int i = 0; i < 3; ++i)
    std::ofstream(cluster_->dir() + "/hang-" + dead[static_cast<std::size_t>(i)]);
  std::vector<double> struck;
  for (const std::string& node : dead) struck.push_back(yard_->fail_node(node));
  for (std::size_t i = 3; i < 5; ++i) {
    double back = 0;
    wait_until(30, [&] { return (back = yard_->started_after(jobs[i], struck[i])) > 0; });
    fmt::print("beside hanging fences: back after {:.2f} s\n", back - struck[i]);
    EXPECT_GT(back, 0) << agent.said();
    EXPECT_LT(back - struck[i], 10) << agent.said();
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(yard_->started_after(jobs[i], struck[i]), 0);
  const double asked = now_s();
  agent.kill(SIGINT);
  EXPECT_LT(now_s() - asked, 3);
}

// The node is not marked: Slurm notices it by the SlurmdTimeout that `emit slurm` writes.
TEST_F(RecoveryLive, a_dead_slurmd_is_found_and_its_job_runs_again) {
  if (!is_full()) GTEST_SKIP() << "set ORRERY_FULL=1 to run this; it takes minutes";
  if (!start(4)) return;
  Agent agent(*cluster_);
  agent.start();
  const std::string job = yard_->submit(2);
  ASSERT_TRUE(all_run({job}, 20)) << cluster_->log();
  const int rounds = 5;
  for (int round = 0; round < rounds; ++round) {
    sleep_s(2);
    const std::string node = yard_->nodes_of(job).back();
    const double struck = yard_->kill_node(node);
    double back = 0;
    wait_until(90, [&] { return (back = yard_->started_after(job, struck)) > 0; });
    fmt::print("dead slurmd: back after {:.2f} s\n", back - struck);
    EXPECT_GT(back, 0) << agent.said();
    EXPECT_LT(back - struck, 15) << agent.said();
    yard_->heal_node(node);
  }
  check_the_books({job});
}

double median(std::vector<double> all) {
  std::ranges::sort(all);
  const std::size_t n = all.size();
  return n == 0 ? 0 : (all[(n - 1) / 2] + all[n / 2]) / 2;
}

TEST_F(RecoveryLive, twenty_trials_on_64_nodes_compared_with_plain_slurm) {
  if (!is_full()) GTEST_SKIP() << "set ORRERY_FULL=1 to run this; it takes minutes";
  if (!start(64)) return;
  std::vector<std::string> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(yard_->submit(2));
  ASSERT_TRUE(all_run(jobs, 60));
  // Slurm without the agent, all twenty at once: they only wait, so they do not compete.
  std::vector<double> alone;
  std::map<std::string, std::pair<double, std::string>> struck;
  for (const std::string& job : jobs) {
    const std::string node = yard_->nodes_of(job).front();
    struck[job] = {yard_->fail_node(node), node};
  }
  EXPECT_TRUE(wait_until(400, [&] {
    return std::ranges::all_of(
        struck, [&](const auto& s) { return yard_->started_after(s.first, s.second.first) > 0; });
  }));
  for (const auto& [job, at] : struck) {
    const double back = yard_->started_after(job, at.first);
    if (back > 0) alone.push_back(back - at.first);
    yard_->heal_node(at.second);
  }
  Agent agent(*cluster_);
  agent.start();
  sleep_s(3);
  std::vector<double> with_agent;
  int moved = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Trial trial = recover_once(jobs[i], i);
    EXPECT_GT(trial.seconds, 0) << agent.said();
    with_agent.push_back(trial.seconds);
    moved += trial.moved;
    sleep_s(1);
  }
  std::ranges::sort(with_agent);
  fmt::print(
      "recovery of 20 jobs on 64 nodes: median {:.2f} s, {:.2f} to {:.2f} s, {} on healthy "
      "nodes; Slurm alone: median {:.1f} s, {:.1f} to {:.1f} s\n",
      median(with_agent), with_agent.front(), with_agent.back(), moved, median(alone),
      std::ranges::min(alone), std::ranges::max(alone));
  EXPECT_LT(median(with_agent), 5);
  EXPECT_EQ(moved, 20);
  EXPECT_GT(median(alone), 60);
  check_the_books(jobs);
}

TEST_F(RecoveryLive, two_hundred_kills_of_agent_and_nodes_lose_and_double_nothing) {
  if (!is_full()) GTEST_SKIP() << "set ORRERY_FULL=1 to run this; it takes minutes";
  if (!start(64)) return;
  RandomStream random(static_cast<std::uint64_t>(::getpid()), "recovery/live-kills");
  fmt::print("seed {}\n", ::getpid());
  std::vector<std::string> jobs;
  for (int i = 0; i < 12; ++i) jobs.push_back(yard_->submit(1 + i % 3));
  ASSERT_TRUE(all_run(jobs, 60));
  Agent agent(*cluster_);
  agent.start();
  std::vector<std::string> dead;
  int agent_kills = 0, node_kills = 0;
  for (int round = 0; agent_kills + node_kills < 200 && round < 2000; ++round) {
    if (random.below(2) == 0) {
      agent.kill();
      ++agent_kills;
      sleep_s(random.uniform() * 0.5);
      agent.start();
    } else if (const auto nodes = yard_->nodes_of(jobs[random.below(jobs.size())]);
               !nodes.empty()) {
      dead.push_back(nodes[random.below(nodes.size())]);
      yard_->fail_node(dead.back());
      ++node_kills;
    }
    sleep_s(random.uniform() * 0.8);
    if (dead.size() > 8) {
      yard_->heal_node(dead.front());
      dead.erase(dead.begin());
    }
  }
  for (const std::string& node : dead) yard_->heal_node(node);
  EXPECT_TRUE(all_run(jobs, 200)) << cluster_->ask({"squeue"}) << agent.said();
  fmt::print("{} kills of the agent, {} of nodes\n", agent_kills, node_kills);
  check_the_books(jobs);
  EXPECT_TRUE(agent::recall(read_text(agent.journal()), agent.journal(), {}));
}

}  // namespace
}  // namespace orrery
