// The queue's slurm policy compared with a Slurm on this machine. The cases of
// data/validation/slurm_order.csv are run on both, side by side in separate partitions, and jobs
// start in the same order, including those that overtake or preempt others.
//
// Two starts are compared only if the policy separates them clearly, because a real start is
// delayed by the cleanup of a node and by the scheduler's period. A job that preempts must have
// stopped the same jobs. By default a few cases run, briefly; ORRERY_FULL=1 runs all 44, in three
// minutes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "layers/cluster/slurm_order_fixture.h"
#include "slurm_cluster.h"

namespace orrery {
namespace {

using cluster::OrderCase;
using cluster::OrderJob;
using testing_slurm::Cluster;
using testing_slurm::read_text;

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
void sleep_until(double at_s) {
  std::this_thread::sleep_for(std::chrono::duration<double>(std::max(0.0, at_s - now_s())));
}

// As when the cases were recorded: a backfill pass every 2 s with a resolution of one second, and
// partitions of a higher tier that preempt by requeueing. Prologs would add their own seconds to
// every start.
constexpr const char* kSite =
    "SchedulerParameters=bf_interval=2,bf_resolution=1,bf_continue\n"
    "PreemptType=preempt/partition_prio\n"
    "PreemptMode=REQUEUE\n"
    "KillWait=2\n";

struct Played {
  std::map<int, std::vector<double>> starts;  // start times by number of the job, from the case's
                                              // t=0
};

class OrderLive : public testing::Test {
 protected:
  bool start(const std::map<int, OrderCase>& cases) {
    if (const std::string what = Cluster::missing(); !what.empty()) {
      [&] { GTEST_SKIP() << what; }();
      return false;
    }
    int nodes = 0;
    for (const auto& [name, c] : cases) nodes += c.nodes;
    auto started = Cluster::start({.nodes = nodes, .conf_lines = kSite});
    if (!started) {
      [&] { FAIL() << started.error(); }();
      return false;
    }
    cluster_ = std::move(*started);
    std::ofstream(cluster_->dir() + "/job")
        << fmt::format("#!/bin/bash\necho \"$1 $2 $(date +%s.%N)\" >> {}/starts\nexec sleep $3\n",
                       cluster_->dir());
    ::chmod((cluster_->dir() + "/job").c_str(), 0755);
    return true;
  }

  void make_partitions(const std::map<int, OrderCase>& cases) {
    std::size_t next = 0;
    for (const auto& [name, c] : cases) {
      std::string hosts;
      for (int i = 0; i < c.nodes; ++i) hosts += (i > 0 ? "," : "") + cluster_->nodes()[next++];
      for (const int tier : {0, 1}) {
        const agent::CommandResult made =
            cluster_->run({"scontrol", "create", fmt::format("PartitionName=case{}t{}", name, tier),
                           "Nodes=" + hosts, fmt::format("PriorityTier={}", tier + 1), "State=DOWN",
                           "PreemptMode=REQUEUE", "MaxTime=INFINITE"});
        ASSERT_TRUE(made.good()) << made.err;
      }
    }
  }

  void submit(int name, const OrderJob& job) {
    const cluster::GpuAsk& ask = job.ask.ask;
    const int nodes = ask.gpus / ask.per_node;
    const auto minutes = static_cast<int>(job.ask.limit.seconds().base() / 60 + 0.5);
    const agent::CommandResult r =
        cluster_->run({"sbatch",
                       "--parsable",
                       "--requeue",
                       "-p",
                       fmt::format("case{}t{}", name, job.ask.tier),
                       "-N",
                       fmt::format("{}", nodes),
                       "-n",
                       fmt::format("{}", nodes),
                       "--mem=1",
                       fmt::format("--gres=gpu:{}", ask.per_node),
                       "-t",
                       fmt::format("{}", minutes),
                       fmt::format("--priority={}", static_cast<int>(job.ask.priority)),
                       "-o",
                       "/dev/null",
                       "-e",
                       "/dev/null",
                       "-D",
                       cluster_->dir(),
                       cluster_->dir() + "/job",
                       fmt::format("{}", name),
                       fmt::format("{}", job.number),
                       fmt::format("{}", job.run.base())});
    ASSERT_TRUE(r.good()) << r.err;
  }

  void submit_all(const std::map<int, OrderCase>& cases, bool at_once) {
    for (const auto& [name, c] : cases) {
      for (const OrderJob& job : c.jobs) {
        if ((job.submit.ns() == 0) == at_once) submit(name, job);
      }
    }
  }

  // Sets all partitions up and watches for `seconds`; returns the starts by case.
  std::map<int, Played> play(const std::map<int, OrderCase>& cases, double seconds) {
    make_partitions(cases);
    submit_all(cases, true);
    // Each case has its own t=0: the time at which its partition is up.
    std::map<int, double> began;
    for (const auto& [name, c] : cases) {
      for (const int tier : {1, 0}) {
        cluster_->run(
            {"scontrol", "update", fmt::format("PartitionName=case{}t{}", name, tier), "State=UP"});
      }
      began[name] = now_s();
    }
    sleep_until(began.begin()->second + 6);
    submit_all(cases, false);
    sleep_until(began.rbegin()->second + seconds);
    std::map<int, Played> played;
    std::istringstream lines(read_text(cluster_->dir() + "/starts"));
    for (int name = 0, job = 0; lines >> name >> job;) {
      double at = 0;
      lines >> at;
      played[name].starts[job].push_back(at - began[name]);
    }
    return played;
  }

  std::unique_ptr<Cluster> cluster_;
};

struct Agreement {
  int pairs = 0;
  int turned = 0;
  int passed = 0;     // pairs in which the lower priority starts first, in both
  int preempted = 0;  // jobs that both preempt
  bool is_same = true;
  std::string why;
};

// Compares up to `limit_s`; later starts of the policy are ignored.
Agreement compare(const OrderCase& c, const Played& real, double limit_s) {
  Agreement a;
  const auto first = [&](const OrderJob& job) {
    const auto it = real.starts.find(job.number);
    return it == real.starts.end() ? 1e9 : it->second.front();
  };
  for (const OrderJob& x : c.jobs) {
    const auto runs = real.starts.find(x.number);
    const std::size_t real_runs = runs == real.starts.end() ? 0 : runs->second.size();
    const auto in_time = static_cast<std::size_t>(
        std::ranges::count_if(x.simulated, [&](double t) { return t < limit_s; }));
    if (in_time == x.simulated.size() && real_runs != in_time) {
      a.is_same = false;
      a.why += fmt::format(" job {} ran {} times, not {}", x.number, real_runs, in_time);
    }
    if (in_time > 1 && real_runs > 1) ++a.preempted;
    for (const OrderJob& y : c.jobs) {
      const double gap = y.simulated.front() - x.simulated.front();
      if (gap < cluster::kClearlyApart || x.simulated.front() > limit_s) continue;
      ++a.pairs;
      if (first(x) < first(y)) {
        a.passed += x.ask.tier == y.ask.tier && x.ask.priority < y.ask.priority;
        continue;
      }
      ++a.turned;
      a.is_same = false;
      a.why += fmt::format(" job {} ({:.1f} s) not before {} ({:.1f} s)", x.number, first(x),
                           y.number, first(y));
    }
  }
  return a;
}

struct Totals {
  int cases = 0, same = 0, pairs = 0, turned = 0, passed = 0, preempted = 0;
};

Totals compare_all(const std::map<int, OrderCase>& cases, std::map<int, Played>& played,
                   double limit_s) {
  Totals t;
  for (const auto& [name, c] : cases) {
    const Agreement a = compare(c, played[name], limit_s);
    ++t.cases;
    t.same += a.is_same;
    t.pairs += a.pairs;
    t.turned += a.turned;
    t.passed += a.passed;
    t.preempted += a.preempted;
    if (!a.is_same) fmt::print("case {} differs:{}\n", name, a.why);
  }
  fmt::print(
      "{} of {} cases start in the same order; {} pairs, {} turned; {} passed, {} preempted\n",
      t.same, t.cases, t.pairs, t.turned, t.passed, t.preempted);
  return t;
}

std::map<int, OrderCase> cases_of(const std::set<int>& wanted) {
  std::map<int, OrderCase> cases = cluster::measured_cases();
  std::erase_if(cases, [&](const auto& c) { return !wanted.empty() && !wanted.contains(c.first); });
  for (auto& [name, c] : cases) c.play();
  return cases;
}

TEST_F(OrderLive, a_few_cases_start_as_the_policy_says) {
  // One case with backfill, one with parts of a node, one that preempts two jobs.
  std::map<int, OrderCase> cases = cases_of({19, 24, 27});
  if (!start(cases)) return;
  constexpr double kWatched = 18;
  std::map<int, Played> played = play(cases, kWatched);
  // Starts near the end of the watch may be slightly late.
  const Totals t = compare_all(cases, played, kWatched - cluster::kClearlyApart);
  EXPECT_GT(t.pairs, 15);
  // A busy machine may start two jobs of the same instant in the opposite order.
  EXPECT_LE(t.turned, 1) << cluster_->ask({"squeue", "-t", "all"});
}

TEST_F(OrderLive, all_cases_start_as_the_policy_says) {
  if (std::getenv("ORRERY_FULL") == nullptr) {
    GTEST_SKIP() << "set ORRERY_FULL=1 to run this; it takes minutes";
  }
  std::map<int, OrderCase> cases = cases_of({});
  ASSERT_EQ(cases.size(), 44U);
  if (!start(cases)) return;
  std::map<int, Played> played = play(cases, 160);
  const Totals t = compare_all(cases, played, 150);
  EXPECT_GE(t.same, 30);
  EXPECT_GT(t.pairs, 500);
  EXPECT_LT(t.turned, t.pairs / 20);
  EXPECT_GT(t.passed, 30);
  EXPECT_GT(t.preempted, 10);
}

}  // namespace
}  // namespace orrery
