// Figures of sections whose views are set by hand: value, interval, formula, and what binds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "core/base/units.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::Section;

const Section& section_named(const std::vector<Section>& all, figures::Layer layer,
                             std::string_view name) {
  for (const Section& s : all) {
    if (s.layer == layer && s.name == name) return s;
  }
  ADD_FAILURE() << "no section " << name;
  static const Section none;
  return none;
}

figures::Number figure_of_section(const Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return number_of(f);
  }
  ADD_FAILURE() << "no figure " << id << " in " << s.name;
  return {};
}

bool has_figure(const Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return true;
  }
  return false;
}

void expect_figure(const Section& s, std::string_view id, double value, double low, double high,
                   const std::string& formula) {
  const figures::Number f = figure_of_section(s, id);
  const double slack = 1e-9 * std::fabs(value) + 1e-12;
  EXPECT_NEAR(f.estimate.value, value, slack) << id;
  EXPECT_NEAR(f.estimate.low, low, slack) << id;
  EXPECT_NEAR(f.estimate.high, high, slack) << id;
  EXPECT_EQ(f.formula, formula) << id;
}

// 960 accelerators, a step of 2.5 s and 7.2 M tokens, known to a tenth; goodput 0.9 of 0.8 to 0.96.
review::Review stepping() {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.accelerators = 960;
  t.hosts = 120;
  t.step.step = seconds(2.5);
  t.step.units_per_step = 7.2e6;
  t.step.error = 0.1;
  t.step.parts = {{"kernels", seconds(2)}, {"waiting", seconds(0.5)}, {"none", Seconds()}};
  t.step.flops_utilisation = 0.4;
  t.step.memory = gigabytes(60);
  t.step.memory_error = 0.05;
  t.step.memory_limit = gigabytes(80);
  t.goodput = 0.9;
  t.goodput_low = 0.8;
  t.goodput_high = 0.96;
  t.units = 2e12;
  t.units_per_s = 7.2e6 / 2.5 * 0.9;
  t.run_time = days(9);
  return r;
}

TEST(TrainingSection, RatesAndTimes) {
  const review::Review r = stepping();
  const Section s = section_named(training_sections(r), figures::Layer::training, "pretrain");
  expect_figure(s, "step_time", 2.5, 2.25, 2.75, "sum of the parts below");
  const auto& inputs = figure_of_section(s, "step_time").inputs;
  ASSERT_EQ(inputs.size(), 2U) << "what takes no time is no part";
  EXPECT_EQ(inputs[0].name, "kernels");
  EXPECT_EQ(inputs[0].value, "2 s (80 %)");
  expect_figure(s, "mfu", 0.4, 0.36, 0.44,
                "of the dense bf16 peak, causal attention counted by half");
  expect_figure(s, "memory", 60e9, 57e9, 63e9, "60 GB of 80 GB");
  expect_figure(s, "rate_per_accelerator", 3000, 2700, 3300,
                "7.2M tokens / 2.5 s / 960 accelerators");
  EXPECT_EQ(figure_of_section(s, "rate_per_accelerator").label, "tokens/s per accelerator");
  expect_figure(s, "useful_rate", 2.592e6, 2.592e6 * 0.9, 2.592e6 * 1.1,
                "3000 x 960 x goodput 90 %");
  // Slower by 0.9/0.8 - 1 = 0.125, faster by 1 - 0.9/0.96 = 0.0625, each beside a tenth.
  const double below = std::hypot(0.1, 0.0625);
  const double above = std::hypot(0.1, 0.125);
  expect_figure(
      s, "run_time", 9 * 86400, 9 * 86400 * (1 - below), 9 * 86400 * (1 + above),
      count_to_brief(2e12, 4) + " tokens / " + count_to_brief(2.592e6, 4) + " a second at goodput");
  expect_figure(s, "accelerator_hours", 960 * 216, 960 * 216 * (1 - below), 960 * 216 * (1 + above),
                "960 accelerators x 9 d");
  EXPECT_EQ(s.limit, "kernels, 80 % of the step");
}

TEST(TrainingSection, WithoutKnownEndsOrParts) {
  review::Review r = stepping();
  r.trains[0].goodput_low = 0;
  r.trains[0].goodput_high = 0;
  r.trains[0].step.parts.clear();
  r.trains[0].step.memory = Bytes();
  const Section s = section_named(training_sections(r), figures::Layer::training, "pretrain");
  const Estimate& e = figure_of_section(s, "run_time").estimate;
  EXPECT_NEAR(e.low / e.value, 0.9, 1e-9);
  EXPECT_NEAR(e.high / e.value, 1 + std::hypot(0.1, 1), 1e-9);
  EXPECT_EQ(s.limit, "");
  EXPECT_FALSE(has_figure(s, "memory"));
  r.trains[0].run_time = Seconds();
  EXPECT_FALSE(has_figure(section_named(training_sections(r), figures::Layer::training, "pretrain"),
                          "run_time"));
  r.trains[0].infeasible = "too large";
  const auto all = training_sections(r);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].summary, "no step can be given: too large");
}

TEST(TrainingSection, OfACheckpoint) {
  review::Review r = stepping();
  jobs::SavePlan& k = *r.trains[0].checkpoint;
  r.trains[0].parameters = 7e9;
  k.size = gigabytes(98);
  k.files = 1234567;
  k.async = true;
  k.drain = {.server = seconds(10),
             .network = seconds(4),
             .serialise = seconds(3),
             .uneven = seconds(0.2),
             .metadata = seconds(1),
             .commit = seconds(2),
             .total = seconds(20)};
  k.stall = {};
  k.stall.total = seconds(6);
  k.stall.snapshot = seconds(1);
  k.stall.wait = seconds(2);
  k.stall.interference = seconds(3);
  k.interval = minutes(30);
  k.interval_given = false;
  k.interval_limit = failure::IntervalLimit::optimum;
  k.restore.total = seconds(8);
  k.restore.server = seconds(7);
  k.restore.network = seconds(5);
  k.exposure.loss_per_save = 0.02;
  k.host_memory = gigabytes(32);
  const auto section = [&] {
    return section_named(training_sections(r), figures::Layer::storage, "pretrain checkpoint");
  };
  Section s = section();
  EXPECT_EQ(s.summary, significant(1234567, 6) + " files of 960 ranks, asynchronous");
  expect_figure(s, "checkpoint_size", 98e9, 98e9 * 0.995, 98e9 * 1.005,
                count_to_brief(7e9, 5) + " parameters x 14 B");
  expect_figure(s, "write_time", 20, 15, 25,
                "max(servers 10 s, node network 4 s, serialise 3 s) + nodes with more to write, "
                "alone, 200 ms + metadata 1 s + commit 2 s");
  EXPECT_EQ(figure_of_section(s, "write_time").label, "until a save is safe, on hot");
  expect_figure(s, "stall", 6, 4.5, 7.5, "snapshot 1 s + wait 2 s + interference 3 s");
  expect_figure(s, "interval", 1800, 1350, 2250, "optimum for exponential failures");
  expect_figure(s, "restore_time", 8, 6, 10, "max(servers 7 s, node network 5 s)");
  expect_figure(s, "loss_per_save", 0.02, 0.01, 0.03, "");
  expect_figure(s, "host_memory", 32e9, 32e9, 32e9, "");
  k.drain.uneven = seconds(0.1);  // half a per cent is not told
  k.interval_limit = failure::IntervalLimit::drain;
  k.async = false;
  k.safe = nullptr;
  k.host_memory = Bytes();
  s = section();
  EXPECT_EQ(figure_of_section(s, "write_time").formula,
            "max(servers 10 s, node network 4 s, serialise 3 s) + metadata 1 s + commit 2 s");
  EXPECT_EQ(figure_of_section(s, "write_time").label, "until a save is safe, on " + k.first->label);
  EXPECT_EQ(figure_of_section(s, "stall").formula, "the whole write");
  EXPECT_EQ(figure_of_section(s, "interval").formula,
            "optimum for exponential failures, not before the drain ends");
  EXPECT_FALSE(has_figure(s, "host_memory"));
  k.interval_given = true;
  expect_figure(section(), "interval", 1800, 1800, 1800, "given");
}

TEST(TrainingSection, OfTheDataItReads) {
  review::Review r = stepping();
  jobs::FeedPlan& f = r.trains[0].feed;
  ASSERT_TRUE(f.known);
  f.sample = kilobytes(32);
  f.object = megabytes(64);
  f.wanted = gbytes_per_s(12);
  f.loader.utilisation = 0.8;
  f.loader.storage_samples_per_s = 123.4;
  f.loader.decode_samples_per_s = std::numeric_limits<double>::infinity();
  f.loader.demand_samples_per_s = 456.7;
  f.loader.limit = storage::LoaderLimit::device_copy;
  f.moving_cores = 0.009;
  Section s = section_named(training_sections(r), figures::Layer::storage, "pretrain data");
  EXPECT_EQ(s.summary, "read from hot, 32 kB a sample, 64 MB an object");
  expect_figure(s, "read_rate", 12e9, 12e9 * 0.9, 12e9 * 1.1, "batch 960 x 32 kB / 2.5 s");
  expect_figure(s, "accelerator_utilisation", 0.8, 0.76, 0.8,
                "storage gives " + count_to_brief(123.4, 3) +
                    " samples/s per accelerator, nothing to decode; the step takes " +
                    count_to_brief(456.7, 3));
  EXPECT_EQ(s.limit, "device copy");
  EXPECT_FALSE(has_figure(s, "moving_cores"));
  f.moving_cores = 2;
  f.loader.decode_samples_per_s = 789.1;
  s = section_named(training_sections(r), figures::Layer::storage, "pretrain data");
  EXPECT_NE(figure_of_section(s, "accelerator_utilisation")
                .formula.find("the cores that decode and move them " + count_to_brief(789.1, 3)),
            std::string::npos);
  const bool direct = f.tier->gpu_path == storage::GpuPath::direct;
  expect_figure(s, "moving_cores", 2, 1.8, 2.2,
                "100 MB/s a host x " +
                    significant(storage::path_cost(f.tier->gpu_path).core_s_per_byte * 1e9, 3) +
                    " core seconds a GB, " +
                    (direct ? "past the host's memory" : "copied in the host's memory"));
}

// Nine days at 18 hours between failures: 12 of them, scattered by 1.2816 / sqrt 12.
TEST(TrainingSection, OfItsFailures) {
  review::Review r = stepping();
  review::TrainView& t = r.trains[0];
  jobs::FailurePlan& f = t.failure;
  f.mtbf = hours(18);
  f.rate_low = 0.5;
  f.rate_high = 3;
  f.restart = minutes(10);
  f.restart_factor = 2;
  f.detect = seconds(60);
  f.requeue = seconds(30);
  f.start = seconds(90);
  f.attempts = 1.25;
  f.hands = seconds(40);
  f.node_rate = PerSecond(0.00462 / 86400);
  f.shared_rate = PerSecond(0.2 / 86400);
  f.spares = 3;
  f.shortfall = 0.01;
  f.slow = 1.02;
  t.contention = 0.03;
  t.efficiency = 0.95;
  t.feed.loader.utilisation = 0.98;
  t.shares.saving = 0.005;
  t.shares.lost_work = 0.006;
  t.shares.restarting = 0.007;
  t.checkpoint->restore.total = seconds(20);
  Section s = section_named(training_sections(r), figures::Layer::failure, "pretrain");
  EXPECT_EQ(s.summary, "120 hosts, 3 more that can take over");
  expect_figure(s, "mtbf", 64800, 21600, 129600,
                "1 / (120 hosts x 4.62 failures per 1000 host-days + 200 of switches and power "
                "units per 1000 days)");
  expect_figure(s, "restart", 600, 300, 1200,
                "detect 1 min + (requeue 30 s + start 1.5 min + read 20 s) x 1.25 attempts + hands "
                "40 s");
  const double factor = std::exp(std::hypot(std::log(3), 1.2816 / std::sqrt(12)));
  expect_figure(s, "interruptions", 12, 12 / factor, 12 * factor, "9 d / 18 h");
  EXPECT_FALSE(figure_of_section(s, "interruptions").inputs.empty());
  expect_figure(s, "goodput", 0.9, 0.8, 0.96,
                "fed 98 % x uncontended 97 % x saving and failing 95 % x enough nodes 99 % / slow "
                "nodes 1.02");
  EXPECT_EQ(s.limit, "storage traffic on compute, 3 % of the time");
  f.rate_low = 0;
  f.rate_high = 0.5;
  f.shared_rate = PerSecond();
  t.run_time = f.mtbf * 0.0099;
  t.contention = 0;
  s = section_named(training_sections(r), figures::Layer::failure, "pretrain");
  expect_figure(s, "mtbf", 64800, 64800, 64800,
                "1 / (120 hosts x 4.62 failures per 1000 host-days)");
  EXPECT_FALSE(has_figure(s, "interruptions")) << "fewer than one run in a hundred";
  EXPECT_EQ(s.limit, "waiting for data, 2 % of the time");
  t.run_time = f.mtbf * 0.25;
  s = section_named(training_sections(r), figures::Layer::failure, "pretrain");
  const double alone = std::exp(1.2816);
  EXPECT_NEAR(figure_of_section(s, "interruptions").estimate.high, 0.25 * alone, 1e-9);
}

TEST(ServingSection, SpeedAndSize) {
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.error = 0.2;
  v.ttft = milliseconds(100);
  v.ttft_p99 = milliseconds(400);
  v.tpot = milliseconds(20);
  v.tpot_p99 = milliseconds(30);
  v.latency_p99 = seconds(6);
  v.capacity_per_replica = PerSecond(12.3456);
  v.request.input = 812.34;
  v.request.output = 98.765;
  v.bound = serving::ServingBound::none;
  v.peak = PerSecond(150.12);
  v.replicas_needed = 15.2;
  v.replicas = 16;
  v.devices = 64;
  v.devices_there = 64;
  v.availability = 0.99;
  v.output_tokens_per_s = 5000;
  r.cost.annual = usd(876000);
  r.cost.accelerators = 100;
  Section s = section_named(serving_sections(r), figures::Layer::serving, "chat");
  expect_figure(s, "ttft", 0.1, 0.07, 0.13, "");
  expect_figure(s, "ttft_p99", 0.4, 0.24, 0.56, "");
  expect_figure(s, "tpot", 0.02, 0.016, 0.024, "");
  expect_figure(s, "tpot_p99", 0.03, 0.03 * 0.74, 0.03 * 1.26, "");
  expect_figure(s, "latency_p99", 6, 4.2, 7.8, "");
  expect_figure(s, "replica_capacity", 12.3456, 12.3456 * 0.8, 12.3456 * 1.2,
                "812.3 in, 98.77 out; " + std::string(to_text(v.bound)));
  expect_figure(s, "replicas_needed", 15.2, 13, 19, "150 a second at peak / (12.3 x 0.8)");
  expect_figure(s, "accelerators", 64, 64, 64, "16 replicas x 4, of 64 there");
  expect_figure(s, "availability", 0.99, 0.99 * 0.999, 0.99, "");
  // One dollar an hour for each of 64, 18 million tokens an hour.
  expect_figure(s, "usd_per_mtoken", 64 / 18.0, 64 / 18.0 * 0.65, 64 / 18.0 * 1.45,
                "64 accelerators x 1 USD/h / 5000 tokens/s");
  EXPECT_EQ(s.limit, "the latency objective");
  EXPECT_EQ(s.summary, "llama-3-70b on " + v.fleet->device()->name +
                           ", 4 accelerators a replica, "
                           "vllm");
  v.dark = 0.001;
  v.devices_per_replica = 1;
  v.output_tokens_per_s = 0;
  s = section_named(serving_sections(r), figures::Layer::serving, "chat");
  EXPECT_EQ(figure_of_section(s, "availability").formula,
            "its site is without power for " + brief(years(0.001)) + " a year");
  EXPECT_NE(s.summary.find(", 1 accelerator a replica, "), std::string::npos);
  EXPECT_FALSE(has_figure(s, "usd_per_mtoken"));
  v.error = 0.7;
  s = section_named(serving_sections(r), figures::Layer::serving, "chat");
  EXPECT_NEAR(figure_of_section(s, "ttft").estimate.low, 0.01, 1e-12) << "nine tenths at the most";
  v.infeasible = "too large";
  s = section_named(serving_sections(r), figures::Layer::serving, "chat");
  EXPECT_EQ(s.summary, "cannot be served: too large");
  EXPECT_TRUE(s.figures.empty());
}

TEST(ServingSection, WhereUsersGoWhenASiteIsLost) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  v.error = 0.2;
  v.peak = PerSecond(80);
  v.availability_alone = 0.98;
  review::FailoverTo& to = v.failover->to.at(0);
  v.failover->to.resize(1);
  to.rate = PerSecond(60);
  to.replicas_needed = 9.5;
  to.replicas = 11;
  to.load = 0.9;
  to.line = gbytes_per_s(1);
  to.ttft_p99 = milliseconds(700);
  to.latency_p99 = seconds(9);
  v.failover->refused = PerSecond(20);
  const Section s = section_named(serving_sections(r), figures::Layer::serving, v.label);
  expect_figure(s, "failover_served", 0.75, 0.6, 0.75,
                "us-west: 60 a second, 9.5 replicas needed of 11");
  expect_figure(s, "availability_alone", 0.98, 0.98 * 0.999, 0.98, "");
  expect_figure(s, "failover_load", 0.9, 0.72, 1.08, "");
  const std::string way = "with up to " + brief(to.way.away()) + " on the way";
  expect_figure(s, "failover_ttft_p99", 0.7, 0.42, 0.98, way);
  expect_figure(s, "failover_latency_p99", 9, 6.3, 11.7, way);
  expect_figure(s, "failover_bytes", 1e9, 0.7e9, 1.3e9, "");
  v.failover->to.clear();
  const Section alone = section_named(serving_sections(r), figures::Layer::serving, v.label);
  EXPECT_EQ(figure_of_section(alone, "failover_served").formula,
            "no other zone has a way and room");
  EXPECT_FALSE(has_figure(alone, "failover_load"));
}

TEST(ClusterSection, QueuesBatchesAndBooks) {
  review::Review r = review::lab_review("superpod-h100");
  review::JobsView& j = r.jobs[0];
  j.mean_size = 1.7142;
  j.largest = 8;
  j.queue.load = 0.5;
  j.queue.stable = true;
  j.queue.mean_wait = seconds(60);
  j.clean = review::CleanView{.held = seconds(100), .ratio = 0.8};
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 100, .needed = 90, .given = true},
      {.workload = &r.design().workloads[2], .nodes = 5, .needed = 4, .share = 0.5}};
  Section s = section_named(cluster_sections(r), figures::Layer::cluster, "group");
  EXPECT_EQ(s.summary, "1.71 accelerators a job on average, up to 8");
  expect_figure(s, "load", 0.5, 0.45, 0.55, "");
  expect_figure(s, "mean_wait", 60, 30, 120,
                "M/G/c, service variation 3: coarse, a trace says more");
  expect_figure(s, "clean_hold", 100, 70, 130, "before it comes to the queue");
  expect_figure(s, "clean_ratio", 0.8, 0.72, 0.88, "");
  EXPECT_EQ(s.limit, "");
  const Section book = section_named(cluster_sections(r), figures::Layer::cluster, "train fleet");
  EXPECT_EQ(book.summary, "127 nodes in service, 0 spare");
  expect_figure(book, "booked", 105, 105, 105, "100 all the time + 5 in turn");
  EXPECT_EQ(figure_of_section(book, "booked").inputs[1].value,
            "5 nodes, 4 needed, 50 % of the time");
  expect_figure(book, "idle", 22, 22, 22, "");
  EXPECT_NEAR(figure_of_section(book, "use").estimate.value, 92 / 127.0, 1e-12);
  j.queue.stable = false;
  s = section_named(cluster_sections(r), figures::Layer::cluster, "group");
  EXPECT_EQ(s.limit, "more work arrives than the fleet can do");
  EXPECT_FALSE(has_figure(s, "mean_wait"));
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].nodes = 130;
  const Section over = section_named(cluster_sections(r), figures::Layer::cluster, "train fleet");
  expect_figure(over, "over_booked", 8, 8, 8, "");
}

TEST(ClusterSection, WhatBindsABatch) {
  review::Review r = review::lab_review("fraud-cpu");
  review::BatchView& b = r.batches[0];
  b.at_once = 3072;
  b.compute = hours(2);
  b.read = hours(1);
  b.write = minutes(30);
  b.duration = hours(2);
  const auto section = [&] {
    return section_named(cluster_sections(r), figures::Layer::cluster, "retrain");
  };
  EXPECT_EQ(section().summary, "3,072 cores at once");
  expect_figure(section(), "duration", 7200, 5760, 9360,
                "max(compute 2 h, read 1 h, write 30 min) of 4 h");
  EXPECT_EQ(section().limit, "cores");
  b.on_cores = false;
  EXPECT_EQ(section().limit, "accelerators");
  b.read = b.duration = hours(3);
  EXPECT_EQ(section().limit, "reading the data");
  b.write = b.duration = hours(4);
  EXPECT_EQ(section().limit, "writing the output");
  b.work.infeasible = "too large";
  EXPECT_EQ(section().summary, "cannot run: too large");
  EXPECT_TRUE(section().figures.empty());
}

}  // namespace
}  // namespace orrery::verdict
