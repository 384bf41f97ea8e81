#include "output/emit/prometheus_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

PlannedValue planned_one(const review::Review& r, std::string_view metric) {
  const auto all = planned_of(planned_values(r), metric);
  EXPECT_EQ(all.size(), 1U) << metric;
  return all.empty() ? PlannedValue{} : all[0];
}

constexpr std::string_view kPlannedDesign = R"(
orrery: 1
name: planned
sites:
  - { name: north, region: deu }
  - { name: empty, region: fra }
fleet:
  - { name: gpus, site: north, node: dgx-h100, count: 4, spares: 1 }
  - { name: red, site: north, node: mi300x-platform, count: 2 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
storage:
  - { name: files, tier: hot, kind: nfs, capacity: 97 TB, read: 16 GB/s, write: 8 GB/s,
      first_byte: 4 ms }
scheduler: { kind: slurm }
workloads:
  - train: { name: words, fleet: gpus, nodes: 4, model: llama-3-8b, tokens: 20B, batch: 256,
             dataset: { kind: text, size: 100 GB, tier: files },
             checkpoint: { every: 1 h, to: [files] } }
)";

std::string series_of(const PlannedValue& v) {
  std::string labels;
  for (const auto& [name, value] : v.labels) {
    labels += (labels.empty() ? "" : ",") + name + "=" + value;
  }
  EXPECT_FALSE(v.help.empty()) << v.metric;
  return v.metric + "{" + labels + "}";
}

TEST(PrometheusPlan, metrics_and_labels_of_a_small_design) {
  const auto r = reviewed(read_text(kPlannedDesign));
  r->review->trains[0].failure.mean_in_repair = 0.5;  // so that there are spares
  std::string all;
  for (const PlannedValue& v : planned_values(*r->review)) {
    if (v.labels.empty() || v.labels[0].second != "node-nvme") all += series_of(v) + "\n";
  }
  EXPECT_EQ(all,
            "checkpoint_interval_seconds{workload=words}\n"
            "failures_per_day{workload=words}\n"
            "fleet_gpu_limit_watts{fleet=gpus}\n"
            "goodput_ratio{workload=words}\n"
            "gpu_power_limit_watts{fleet=gpus}\n"
            "gpu_power_watts{workload=words}\n"
            "gpus{fleet=gpus}\n"
            "gpus{fleet=red}\n"
            "matrix_share_ratio{workload=words}\n"
            "mfu_ratio{workload=words}\n"
            "node_failures_per_month{}\n"
            "nodes{fleet=gpus}\n"
            "nodes{fleet=red}\n"
            "nodes_in_repair{}\n"
            "restart_seconds{workload=words}\n"
            "site_it_watts{site=north}\n"
            "site_pue_factor{site=north}\n"
            "spare_nodes{}\n"
            "step_time_seconds{workload=words}\n"
            "tier_capacity_bytes{tier=files}\n"
            "tier_latency_seconds{tier=files}\n"
            "tier_read_bytes_per_second{tier=files}\n"
            "tier_write_bytes_per_second{tier=files}\n"
            "time_share_ratio{kind=productive,workload=words}\n"
            "time_share_ratio{kind=checkpoint,workload=words}\n"
            "time_share_ratio{kind=lost,workload=words}\n"
            "time_share_ratio{kind=restart,workload=words}\n"
            "useful_units_per_second{workload=words}\n");
}

Estimate planned_at(const review::Review& r, std::string_view metric, std::string_view label) {
  for (const PlannedValue& v : planned_of(planned_values(r), metric)) {
    if (v.labels.empty() || v.labels[0].second == label) return v.estimate;
  }
  ADD_FAILURE() << metric;
  return {};
}

// 700 W each for 32 GPUs; half of 4 ms above and below; shares 30 % below and 40 % above.
TEST(PrometheusPlan, values_follow_from_the_review) {
  const auto r = reviewed(read_text(kPlannedDesign));
  review::TrainView& t = r->review->trains[0];
  t.shares = {.productive = 0.9, .saving = 0.05, .lost_work = 0.03, .restarting = 0.02};
  t.step.matrix_share = 0.6;
  t.step.error = 0.25;
  t.step.basis = Basis::vendor;
  t.step.reference = "ref";
  EXPECT_EQ(planned_at(*r->review, "nodes", "gpus").value, 4);
  EXPECT_EQ(planned_at(*r->review, "gpus", "red").value, 16);
  EXPECT_EQ(planned_at(*r->review, "gpus", "gpus").reference, "the design");
  EXPECT_DOUBLE_EQ(planned_at(*r->review, "fleet_gpu_limit_watts", "gpus").value, 32 * 700);
  const Estimate latency = planned_at(*r->review, "tier_latency_seconds", "files");
  EXPECT_NEAR(latency.value, 0.004, 1e-12);
  EXPECT_NEAR(latency.low, 0.002, 1e-12);
  EXPECT_NEAR(latency.high, 0.006, 1e-12);
  EXPECT_EQ(latency.basis, Basis::derived);
  EXPECT_EQ(latency.reference, "the design");
  const Estimate local = planned_at(*r->review, "tier_latency_seconds", "node-nvme");
  EXPECT_EQ(local.basis, Basis::assumed);
  EXPECT_EQ(local.reference, "docs/models/storage.md");
  const std::pair<const char*, double> shares[] = {
      {"productive", 0.9}, {"checkpoint", 0.05}, {"lost", 0.03}, {"restart", 0.02}};
  for (const auto& [kind, share] : shares) {
    const Estimate e = planned_at(*r->review, "time_share_ratio", kind);
    EXPECT_NEAR(e.value, share, 1e-12) << kind;
    EXPECT_NEAR(e.low, 0.7 * share, 1e-12) << kind;
    EXPECT_NEAR(e.high, 1.4 * share, 1e-12) << kind;
  }
  const Estimate matrix = planned_at(*r->review, "matrix_share_ratio", "words");
  EXPECT_NEAR(matrix.low, 0.45, 1e-12);
  EXPECT_NEAR(matrix.high, 0.75, 1e-12);
  EXPECT_EQ(matrix.basis, Basis::vendor);
  EXPECT_EQ(matrix.reference, "ref");
}

// The fleet with the highest rate counts, and only owned fleets.
TEST(PrometheusPlan, two_runs_share_failures_and_spares) {
  const auto r = reviewed(read_text(kPlannedDesign));
  review::TrainView& first = r->review->trains[0];
  first.failure.node_rate = 1.0 / days(60);
  first.failure.rate_low = 0.5;
  first.failure.rate_high = 3;
  first.failure.rate_reference = "paper";
  first.failure.mean_in_repair = 0.25;
  review::TrainView second = first;
  second.failure.node_rate = 1.0 / days(20);
  second.failure.mean_in_repair = 0.5;
  r->review->trains.push_back(second);
  const Estimate monthly = planned_at(*r->review, "node_failures_per_month", "");
  EXPECT_NEAR(monthly.value, 1.5, 1e-9);
  EXPECT_NEAR(monthly.low, 0.75, 1e-9);
  EXPECT_NEAR(monthly.high, 4.5, 1e-9);
  EXPECT_EQ(monthly.basis, Basis::paper);
  EXPECT_EQ(monthly.reference, "paper");
  EXPECT_NEAR(planned_at(*r->review, "nodes_in_repair", "").value, 0.75, 1e-12);
  // A Poisson mean of 0.25 exceeds 1 for 0.0265 of the time and 2 for 0.0022; a mean of 0.5 exceeds
  // 2 for 0.0144 and 3 for 0.0018.
  EXPECT_EQ(planned_at(*r->review, "spare_nodes", "").value, 2 + 3);
}

std::vector<PlannedValue> values_of(const ReviewedExample& r, std::string_view metric) {
  return planned_of(planned_values(*r.review), metric);
}

double only(const ReviewedExample& r, std::string_view metric) {
  const auto found = values_of(r, metric);
  EXPECT_EQ(found.size(), 1U) << metric;
  return found.empty() ? 0 : found.front().estimate.value;
}

TEST(PrometheusPlan, fleet_values_are_sums) {
  const auto r = reviewed(read_template("superpod-h100"));
  EXPECT_EQ(only(*r, "nodes"), 127);
  EXPECT_EQ(only(*r, "gpus"), 1016);
  EXPECT_DOUBLE_EQ(only(*r, "gpu_power_limit_watts"), 700);
  EXPECT_DOUBLE_EQ(only(*r, "fleet_gpu_limit_watts"), 700.0 * 1016);
}

// A cache in front of the tier that a run reads counts; one in front of another tier does not.
TEST(PrometheusPlan, cache_hits_are_those_of_the_runs_it_feeds) {
  design::Design design = read_template("av-vision");
  std::get<design::Train>(design.workloads.front().task).dataset.tier = "lake";
  const auto fed = reviewed(design);
  const auto hits = values_of(*fed, "cache_hit_ratio");
  ASSERT_EQ(hits.size(), 1U);
  double least = 2;
  for (const review::TrainView& t : fed->review->trains) {
    if (t.feed.tier && t.feed.tier->label == "lake") least = std::min(least, t.feed.hit_rate);
  }
  EXPECT_DOUBLE_EQ(hits[0].estimate.value, least);
  design.storage.push_back(design.storage[1]);
  design.storage.back().name = "archive";
  design.storage.push_back(design.storage[0]);
  design.storage.back().name = "before-archive";
  design.storage.back().caches = "archive";
  EXPECT_EQ(values_of(*reviewed(design), "cache_hit_ratio").size(), 1U);
}

// Two queues: the wait is that of the longer one, and the jobs are those of both.
TEST(PrometheusPlan, queues_report_the_longest_wait_and_all_jobs) {
  design::Design design = read_template("small-lab");
  design.workloads.push_back(design.workloads[1]);
  design.workloads.back().terms.name = "others";
  const auto r = reviewed(design);
  ASSERT_EQ(r->review->jobs.size(), 2U);
  double queued = 0;
  double tail = 0;
  for (const review::JobsView& j : r->review->jobs) {
    ASSERT_TRUE(j.queue.stable);
    queued += j.queue.mean_queue;
    const double wait = j.queue.mean_wait_of_waiting / seconds(1);
    const double p90 = j.queue.wait_chance > 0.1 ? wait * std::log(10 * j.queue.wait_chance) : 0;
    tail = std::max({tail, p90, j.queue.mean_wait / seconds(1)});
  }
  ASSERT_GT(queued, 0);
  EXPECT_NEAR(only(*r, "queue_jobs"), queued, 1e-9 * queued);
  EXPECT_NEAR(only(*r, "queue_wait_p90_seconds"), tail, 1e-9 * tail);
}

TEST(PrometheusPlan, failures_and_time_shares_of_a_run) {
  auto r = reviewed(read_template("superpod-h100"));
  review::TrainView& t = r->review->trains[0];
  t.failure.mtbf = hours(8);
  t.failure.rate_low = 0;
  t.failure.rate_high = 0.5;
  t.shares.saving = 0.04;
  t.step.matrix_share = 0.6;
  t.step.error = 0.1;
  PlannedValue daily = planned_one(*r->review, "failures_per_day");
  EXPECT_NEAR(daily.estimate.value, 3, 1e-9);
  EXPECT_NEAR(daily.estimate.low, 3, 1e-9);
  EXPECT_NEAR(daily.estimate.high, 3, 1e-9);
  t.failure.rate_low = 0.5;
  t.failure.rate_high = 4;
  daily = planned_one(*r->review, "failures_per_day");
  EXPECT_NEAR(daily.estimate.low, 1.5, 1e-9);
  EXPECT_NEAR(daily.estimate.high, 12, 1e-9);
  t.failure.rate_low = 2;
  EXPECT_NEAR(planned_one(*r->review, "failures_per_day").estimate.low, 3, 1e-9);
  for (const PlannedValue& v : planned_of(planned_values(*r->review), "time_share_ratio")) {
    if (v.labels != MetricLabels{{"kind", "checkpoint"}, {"workload", "pretrain"}}) continue;
    EXPECT_NEAR(v.estimate.value, 0.04, 1e-12);
    EXPECT_NEAR(v.estimate.low, 0.028, 1e-12);
    EXPECT_NEAR(v.estimate.high, 0.056, 1e-12);
  }
  EXPECT_NEAR(planned_one(*r->review, "matrix_share_ratio").estimate.high, 0.66, 1e-9);
  t.failure.mtbf = Seconds(0);
  EXPECT_TRUE(planned_of(planned_values(*r->review), "failures_per_day").empty());
}

// C = 0.4 and waits of 100 s: one job in ten waits longer than 100 ln 4.
TEST(PrometheusPlan, queue_waits_of_a_stable_queue) {
  auto r = reviewed(read_template("superpod-h100"));
  cluster::QueueWait& q = r->review->jobs[0].queue;
  q = {};
  q.stable = true;
  q.wait_chance = 0.4;
  q.mean_wait_of_waiting = seconds(100);
  q.mean_wait = seconds(40);
  q.mean_queue = 3;
  q.load = 0.7;
  const Estimate wait = planned_one(*r->review, "queue_wait_p90_seconds").estimate;
  EXPECT_NEAR(wait.value, 100 * std::log(4), 1e-9);
  EXPECT_NEAR(wait.low, 50 * std::log(4), 1e-9);
  EXPECT_NEAR(wait.high, 200 * std::log(4), 1e-9);
  EXPECT_NEAR(planned_one(*r->review, "queue_jobs").estimate.high, 6, 1e-9);
  EXPECT_NEAR(planned_one(*r->review, "queue_load_ratio").estimate.low, 0.63, 1e-9);
  q.wait_chance = 0.1;
  q.mean_wait = seconds(7);
  EXPECT_NEAR(planned_one(*r->review, "queue_wait_p90_seconds").estimate.value, 7, 1e-9);
  q.stable = false;
  EXPECT_TRUE(planned_of(planned_values(*r->review), "queue_jobs").empty());
  q.stable = true;
  r->review->jobs[0].from_trace = true;
  EXPECT_TRUE(planned_of(planned_values(*r->review), "queue_jobs").empty());
}

// A Poisson mean of 2 exceeds 5 for 0.0166 of the time and 6 for 0.0045.
TEST(PrometheusPlan, spares_cover_nodes_in_repair) {
  auto r = reviewed(read_template("superpod-h100"));
  review::TrainView& t = r->review->trains[0];
  t.failure.mean_in_repair = 2;
  t.failure.node_rate = 1.0 / days(100);
  EXPECT_EQ(planned_one(*r->review, "spare_nodes").estimate.value, 6);
  const Estimate repair = planned_one(*r->review, "nodes_in_repair").estimate;
  EXPECT_NEAR(repair.value, 2, 1e-12);
  EXPECT_NEAR(repair.low, 1, 1e-12);
  EXPECT_NEAR(repair.high, 4, 1e-12);
  EXPECT_NEAR(planned_one(*r->review, "node_failures_per_month").estimate.value, 0.3, 1e-9);
  t.infeasible = "no";
  EXPECT_TRUE(planned_of(planned_values(*r->review), "spare_nodes").empty());
}

// Two runs behind one cache: the lower hit rate counts, five per cent either way.
TEST(PrometheusPlan, cache_hits_are_the_lowest_of_its_readers) {
  design::Design d = read_template("av-vision");
  std::get<design::Train>(d.workloads[0].task).dataset.tier = "lake";
  auto r = reviewed(d);
  review::TrainView& first = r->review->trains[0];
  first.feed.hit_rate = 0.8;
  r->review->trains.push_back(first);
  r->review->trains[1].feed.hit_rate = 0.5;
  const Estimate hits = planned_one(*r->review, "cache_hit_ratio").estimate;
  EXPECT_NEAR(hits.value, 0.5, 1e-12);
  EXPECT_NEAR(hits.low, 0.475, 1e-12);
  EXPECT_NEAR(hits.high, 0.525, 1e-12);
  r->review->trains[1].feed.hit_rate = 0;
  EXPECT_NEAR(planned_one(*r->review, "cache_hit_ratio").estimate.value, 0.8, 1e-12);
  r->review->trains[0].feed.hit_rate = 0.99;
  EXPECT_EQ(planned_one(*r->review, "cache_hit_ratio").estimate.high, 1);
}

}  // namespace
}  // namespace orrery::emit
