#include "study/rehearse/replay.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/base/random.h"
#include "core/workload/job_synthesis.h"
#include "study/rehearse/job_fixture.h"
#include "study/rehearse/rehearsal.h"
#include "study/rehearse/simulated_places.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {
namespace {

using cluster::BackfillVariant;
using cluster::NodePool;
using testing::ElementsAre;
using workload::JobRecord;

// Eight GPUs: A takes all for 100 s; B (8) and C (4) arrive at 10 and 20 and wait for it.
TEST(Replay, waits_slowdown_and_shares_by_hand) {
  std::vector<JobRecord> jobs = {a_job(0, 100, 8), a_job(10, 50, 8), a_job(20, 5, 4),
                                 a_job(30, 9, 16)};
  jobs[0].limit = seconds(1);  // a limit below the run time is ignored
  const ReplayResult r =
      replay_jobs(jobs, NodePool({8}), {.queue = {.backfill = BackfillVariant::fifo}});
  EXPECT_EQ(r.jobs, 4);
  EXPECT_EQ(r.rejected, 1);
  EXPECT_EQ(r.finished, 3);
  EXPECT_EQ(r.waits[0], seconds(0));
  EXPECT_EQ(r.waits[1], seconds(90));
  EXPECT_EQ(r.waits[2], seconds(130));
  EXPECT_LT(r.waits[3], seconds(0));
  EXPECT_NEAR(r.wait.mean_s, 220.0 / 3, 1e-9);
  EXPECT_EQ(r.wait.median_s, 90);
  EXPECT_EQ(r.wait.max_s, 130);
  EXPECT_NEAR(r.wait_wide.mean_s, 45, 1e-9);
  // (0+100)/100, (90+50)/50, (130+5)/10: a run below ten seconds counts as ten.
  EXPECT_NEAR(r.slowdown, (1 + 2.8 + 13.5) / 3, 1e-9);
  EXPECT_EQ(r.span, seconds(155));
  EXPECT_EQ(r.productive, 100 * 8 + 50 * 8 + 5 * 4);
  EXPECT_EQ(r.idle, 155 * 8 - r.productive);
  const ReplayWait spread = wait_of(std::vector<double>{5, 1, 4, 2, 3});
  EXPECT_EQ(spread.median_s, 3);
  EXPECT_EQ(spread.max_s, 5);
  EXPECT_GT(spread.p99_s, spread.p90_s);
  EXPECT_GT(spread.p90_s, spread.median_s);
}

// Four GPUs. A holds three for 100 s, though it asked for 10; B wants all four and waits for A. C
// ends at 52, before B can begin at 100, and passes.
TEST(Replay, an_overlong_job_is_expected_to_finish) {
  std::vector<JobRecord> jobs = {a_job(0, 100, 3), a_job(1, 10, 4), a_job(2, 50, 1)};
  jobs[0].limit = seconds(10);
  const ReplayResult r =
      replay_jobs(jobs, NodePool({4}), {.queue = {.backfill = BackfillVariant::easy}});
  EXPECT_EQ(r.waits[1], seconds(99));
  EXPECT_EQ(r.waits[2], seconds(0));
}

// Two nodes of four: a job of eight on two nodes takes half of each, one of six on one nothing.
TEST(Replay, jobs_spread_over_their_nodes) {
  const auto r = replay_jobs(std::vector<JobRecord>{a_job(0, 100, 4, 2), a_job(1, 100, 3)},
                             NodePool({4, 4}), {.queue = {.backfill = BackfillVariant::fifo}});
  EXPECT_EQ(r.waits[1], seconds(99));
}

TEST(Replay, waiting_jobs_are_listed_up_to_the_limit) {
  std::vector<JobRecord> jobs = {a_job(0, 100, 8)};
  for (int i = 0; i < 5; ++i) jobs.push_back(a_job(1, 10, 8));
  const auto r = replay_jobs(jobs, NodePool({8}), {.ask_at = seconds(50), .ask_jobs = 3});
  EXPECT_EQ(r.waiting_when_asked, 5u);
  ASSERT_EQ(r.answers.size(), 3u);
  EXPECT_EQ(r.answers[0].job, 1u);
}

// A job on a node that fails keeps what it saved, and every GPU-second is one of four.
TEST(Replay, failures_cost_unsaved_work_and_repair) {
  const std::vector<JobRecord> jobs = {a_job(0, 50'000, 16, 2)};
  ReplayOptions options{
      .node_mtbf = seconds(20'000), .repair = seconds(500), .checkpoint = seconds(100), .seed = 3};
  const ReplayResult saved = replay_jobs(jobs, NodePool({8, 8}), options);
  ASSERT_GT(saved.stops, 1);
  EXPECT_LE(saved.lost, saved.stops * 100.0 * 16);
  EXPECT_NEAR(saved.productive, 50'000.0 * 16, 1e-6);
  EXPECT_NEAR(saved.span.base() * 16, saved.productive + saved.lost + saved.down + saved.idle,
              1e-3);
  // Only the standby node is idle, while the other is repaired.
  EXPECT_NEAR(saved.idle / saved.down, 1, 0.35);
  EXPECT_NEAR(saved.down / saved.node_failures / 8, 500, 350);
  EXPECT_EQ(saved.waits[0], seconds(0));
  options.checkpoint = {};
  const ReplayResult lost = replay_jobs(jobs, NodePool({8, 8}), options);
  EXPECT_GT(lost.lost, 10 * saved.lost);
  EXPECT_NEAR(lost.span.base() * 16, lost.productive + lost.lost + lost.down + lost.idle, 1e-3);
}

JobRecord job_at(double submit, double run, int gpus, double limit = 0) {
  return {.submit = seconds(submit),
          .run = seconds(run),
          .limit = seconds(limit > 0 ? limit : run),
          .gpus = gpus};
}

// The shortest way to write FIFO and EASY over counts: an oracle that shares no code with
// the product. `blind`: of the jobs that end together, only those that it needs are counted.
double oracle(const std::vector<JobRecord>& jobs, int gpus, bool easy, bool blind = false) {
  std::vector<std::pair<double, int>> running;  // end, GPUs; sorted
  std::vector<JobRecord> queue;
  std::size_t next = 0;
  double wait = 0;
  int free = gpus;
  const auto start = [&](const JobRecord& j, double now) {
    free -= j.gpus;
    const std::pair end(now + j.run.base(), j.gpus);
    running.insert(std::upper_bound(running.begin(), running.end(), end), end);
    wait += now - j.submit.base();
  };
  while (next < jobs.size() || !queue.empty()) {
    double now = running.empty() ? 1e18 : running.front().first;
    if (next < jobs.size()) now = std::min(now, jobs[next].submit.base());
    while (!running.empty() && running.front().first <= now) {
      free += running.front().second;
      running.erase(running.begin());
    }
    while (next < jobs.size() && jobs[next].submit.base() <= now) queue.push_back(jobs[next++]);
    std::size_t head = 0;
    while (head < queue.size() && queue[head].gpus <= free) start(queue[head++], now);
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
    if (!easy || queue.empty() || free == 0) continue;
    int then = free;
    double shadow = 0;
    for (const auto& [end, count] : running) {
      if (then >= queue[0].gpus && (blind || end > shadow)) break;
      then += count;
      shadow = end;
    }
    int surplus = then - queue[0].gpus;
    std::vector<JobRecord> kept{queue[0]};
    for (std::size_t i = 1; i < queue.size(); ++i) {
      const bool in_time = now + queue[i].run.base() <= shadow;
      if (queue[i].gpus <= free && (in_time || queue[i].gpus <= surplus)) {
        if (!in_time) surplus -= queue[i].gpus;
        start(queue[i], now);
      } else {
        kept.push_back(queue[i]);
      }
    }
    queue = kept;
  }
  return wait / static_cast<double>(jobs.size());
}

double mean_wait(const std::vector<JobRecord>& jobs, int gpus, BackfillVariant v) {
  return replay_jobs(jobs, NodePool({gpus}), {.queue = {.backfill = v}}).wait.mean_s;
}

std::vector<JobRecord> random_jobs(std::uint64_t seed, int count, int gpus_max) {
  RandomStream random(seed, "test/replay");
  std::vector<JobRecord> jobs;
  double now = 0;
  for (int i = 0; i < count; ++i) {
    now += std::floor(random.exponential(8));
    jobs.push_back(
        job_at(now, 1 + std::floor(random.exponential(100)),
               1 + static_cast<int>(random.below(static_cast<std::uint64_t>(gpus_max)))));
  }
  std::ranges::stable_sort(jobs, [](const JobRecord& a, const JobRecord& b) {
    return std::tuple(a.submit, a.run, a.gpus) < std::tuple(b.submit, b.run, b.gpus);
  });
  return jobs;
}

TEST(Replay, agrees_with_an_independent_program) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto jobs = random_jobs(seed, 500, 16);
    EXPECT_DOUBLE_EQ(mean_wait(jobs, 64, BackfillVariant::fifo), oracle(jobs, 64, false));
    EXPECT_DOUBLE_EQ(mean_wait(jobs, 64, BackfillVariant::easy), oracle(jobs, 64, true));
  }
}

// M/M/c: 8 GPUs, offered load 6: Erlang C gives 0.3570 waiting and a mean wait of C S / (c - a).
TEST(Replay, agrees_with_erlang) {
  workload::JobMix mix{.jobs = 400'000, .span = seconds(400'000 * 100.0 / 6)};
  mix.classes = {{.widths = {{1, 1}}, .runs = {{0, seconds(1)}, {1, seconds(2)}}}};
  workload::JobTrace trace = workload::synthesize_jobs(mix, 5);
  RandomStream random(5, "test/service");
  for (JobRecord& j : trace.jobs) j.run = j.limit = seconds(random.exponential(100));
  const ReplayResult r =
      replay_jobs(trace.jobs, NodePool({8}), {.queue = {.backfill = BackfillVariant::fifo}});
  EXPECT_NEAR(r.wait.mean_s, 0.35698 * 100 / 2, 0.7);
  EXPECT_NEAR(r.used_share(), 0.75, 0.005);
}

TEST(Replay, accounts_for_every_gpu_second) {
  const auto jobs = random_jobs(3, 400, 24);
  const ReplayOptions options{.queue = {.backfill = BackfillVariant::easy},
                              .node_mtbf = seconds(3000),
                              .repair = seconds(200),
                              .checkpoint = seconds(30)};
  const ReplayResult r = replay_jobs(jobs, NodePool(std::vector<int>(8, 8)), options);
  EXPECT_EQ(r.finished, 400);
  EXPECT_GT(r.node_failures, 5);
  EXPECT_GT(r.stops, 3);
  EXPECT_GT(r.lost, 0);
  EXPECT_GT(r.down, 0);
  EXPECT_GT(r.idle, 0);
  EXPECT_NEAR(r.productive + r.lost + r.idle + r.down, r.span.base() * 64, 1e-3);
  // The same seed gives the same run.
  EXPECT_EQ(replay_jobs(jobs, NodePool(std::vector<int>(8, 8)), options).events, r.events);
}

TEST(Replay, jobs_larger_than_the_fleet_are_rejected) {
  const std::vector<JobRecord> jobs{job_at(0, 10, 4), job_at(1, 10, 9)};
  const ReplayResult r = replay_jobs(jobs, NodePool({8}), {});
  EXPECT_EQ(r.rejected, 1);
  EXPECT_EQ(r.finished, 1);
  EXPECT_LT(r.waits[1], Seconds());
}

// Jobs 40,000 to 49,999 of the Philly trace in the order of (submission, run time, GPUs), on 384
// GPUs: AccaSim (Python, 2020) gives a mean wait of 43,433.14 s under FIFO and 11,145.76 s under
// what it calls EASY; a 40-line program gave 43,433.1 s and 30,305.7 s.
TEST(Replay, philly_on_384_gpus) {
  const char* folder = std::getenv("ORRERY_TRACES");
  std::ifstream file(std::string(folder == nullptr ? "" : folder) + "/philly_jobs.csv");
  if (!file) GTEST_SKIP() << "ORRERY_TRACES names no folder with philly_jobs.csv";
  std::stringstream text;
  text << file.rdbuf();
  const auto trace = workload::read_jobs(text.str(), "philly_jobs.csv");
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->jobs.size(), 82'247u);
  const std::vector<JobRecord> jobs(trace->jobs.begin() + 40'000, trace->jobs.begin() + 50'000);
  EXPECT_NEAR(mean_wait(jobs, 384, BackfillVariant::fifo), 43'433.14, 0.01);
  EXPECT_NEAR(mean_wait(jobs, 384, BackfillVariant::unguarded), 11'145.76, 0.01);
  // The one difference to 30,305.7 s: of jobs that end together, it counted only those that it
  // needed.
  EXPECT_NEAR(oracle(jobs, 384, true, true), 30'305.7, 0.05);
  EXPECT_NEAR(mean_wait(jobs, 384, BackfillVariant::easy), 30'398.0, 0.05);
  EXPECT_DOUBLE_EQ(mean_wait(jobs, 384, BackfillVariant::easy), oracle(jobs, 384, true));
}

// Eight GPUs on three nodes have no number per node: they go wherever they fit, here on two whole
// nodes, so the next job gets the other two at once.
TEST(Replay, uneven_gpu_counts_are_placed) {
  std::vector<JobRecord> jobs = {job_at(0, 100, 8), job_at(1, 100, 8)};
  jobs[0].nodes = 3;
  jobs[1].nodes = 2;
  const ReplayResult r = replay_jobs(jobs, NodePool(std::vector<int>(4, 4)), {});
  EXPECT_EQ(r.wait.mean_s, 0);
}

// 10 GPUs. A (8, 100 s) at 0; B (4, 50 s) at 10 waits 90 s; C (9, 5 s) at 20 until B has ended at
// 150: 130 s; D (11) is too large.
TEST(Replay, a_replay_by_hand) {
  const std::vector<JobRecord> jobs{traced(0, 100, 8), traced(10, 50, 4), traced(20, 5, 9),
                                    traced(30, 5, 11)};
  const ReplayResult r =
      replay_jobs(jobs, NodePool({10}), {.queue = {.backfill = BackfillVariant::fifo}});
  EXPECT_EQ(r.jobs, 4);
  EXPECT_EQ(r.rejected, 1);
  EXPECT_EQ(r.finished, 3);
  EXPECT_EQ(r.node_failures + r.stops, 0);
  EXPECT_THAT(r.waits, ElementsAre(seconds(0), seconds(90), seconds(130), seconds(-1)));
  EXPECT_DOUBLE_EQ(r.span.base(), 155);
  EXPECT_DOUBLE_EQ(r.wait.mean_s, 220.0 / 3);
  EXPECT_DOUBLE_EQ(r.wait.median_s, 90);
  EXPECT_DOUBLE_EQ(r.wait.max_s, 130);
  EXPECT_DOUBLE_EQ(r.wait_wide.mean_s, 65);
  // 1, 140/50 and 135/10: five seconds count as ten.
  EXPECT_DOUBLE_EQ(r.slowdown, (1 + 2.8 + 13.5) / 3);
  EXPECT_DOUBLE_EQ(r.productive, 800 + 200 + 45);
  EXPECT_DOUBLE_EQ(r.idle, 1550 - 1045);
  EXPECT_EQ(r.lost + r.down, 0);
}

}  // namespace
}  // namespace orrery::rehearse
