#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

review::Review changed_pod(const char* name, void (*change)(design::Design&)) {
  design::Design d = review::lab_design(name);
  change(d);
  return review::run_stages(std::move(d), machine::known());
}

TEST(RulesWorkload, infeasible_run) {
  review::Review r = review::lab_review("superpod-h100");
  r.trains[0].infeasible = "too wide";
  expect_finding(r, only_finding(r, "training.feasible"), "workloads[0].train.batch");
  review::Review laid = changed_pod("superpod-h100", [](design::Design& d) {
    std::get<design::Train>(d.workloads[0].task).layout.emplace();
  });
  laid.trains[0].infeasible = "too wide";
  const Finding f = only_finding(laid, "training.feasible");
  EXPECT_EQ(f.edit->path + " = " + f.edit->value, "workloads[0].train.layout = auto");
}

// 512 accelerators, of which one in twenty may be left over.
TEST(RulesWorkload, batch_that_leaves_machines_idle) {
  review::Review r = review::lab_review("av-vision");
  review::TrainView& t = r.trains.at(0);
  const int all = t.fleet->accelerators;
  ASSERT_EQ(all, 512);
  r.ledger.fleets[t.fleet->index].bookings.clear();
  t.accelerators = 487;  // 0.0488 idle
  EXPECT_TRUE(findings_by(r, "training.idle-nodes").empty());
  t.accelerators = 486;  // 0.0508
  const Finding f = only_finding(r, "training.idle-nodes");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("486", "512"));
  // Two nodes of eight that another holds are not idle: 486 of 496.
  review::Review beside = r;
  const design::Workload other;
  beside.ledger.fleets[t.fleet->index].bookings = {
      {.workload = &other, .nodes = 2, .needed = 2, .given = true}};
  EXPECT_TRUE(findings_by(beside, "training.idle-nodes").empty());
  t.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "training.idle-nodes").empty());
  // For a batch that 512 accelerators cannot share, the finding offers one that they can.
  review::Review odd = changed_pod("av-vision", [](design::Design& d) {
    std::get<design::Train>(d.workloads[0].task).batch = 3200;
  });
  const Finding batch = only_finding(odd, "training.idle-nodes");
  EXPECT_EQ(batch.edit->value, "3072");
}

// A run of eight accelerators on two nodes: half of them are idle, unless the design sets that
// size.
TEST(RulesWorkload, idle_accelerators_of_runs_without_a_size) {
  const auto count = [](const std::string& rest, int batch) {
    review::Review r = review::hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2 }]\nworkloads: [{ "
        "train: { name: t, network: { params: 30M, forward: 4 GFLOP }, samples: 1M, batch: " +
        std::to_string(batch) + rest + " } }]\n");
    r.trains.at(0).accelerators = 8;
    return findings_by(r, "training.idle-nodes").size();
  };
  EXPECT_EQ(count("", 64), 1U);
  EXPECT_EQ(count(", nodes: 1", 64), 0U) << "as many as it asks for";
  EXPECT_EQ(count(", layout: { tp: 1, pp: 1, dp: 8 }", 64), 0U) << "as many as it was given";
  EXPECT_EQ(count(", layout: { tp: 1, pp: 1 }", 64), 1U);
}

TEST(RulesWorkload, infeasible_service) {
  review::Review r = review::lab_review("inference-pod");
  r.serves[0].infeasible = "it does not fit";
  expect_finding(r, only_finding(r, "serving.capacity"), "workloads[0].serve");
}

TEST(RulesWorkload, too_few_replicas) {
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.replicas = 12.123456;
  v.replicas_needed = 14.987654;
  v.capacity_per_replica = PerSecond(9.87654);
  v.peak = PerSecond(140.1234);
  v.devices = 48;
  v.devices_there = 64;
  const Finding f = only_finding(r, "serving.capacity");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("12.12", "14.99"));
  v.replicas = v.replicas_needed = 15;
  EXPECT_TRUE(findings_by(r, "serving.capacity").empty());
  v.devices = 64;
  EXPECT_TRUE(findings_by(r, "serving.capacity").empty()) << "all of them";
  v.devices = 64.123456789;
  EXPECT_THAT(numbers_in(only_finding(r, "serving.capacity").what),
              testing::ElementsAre("64.1235", "64"));
}

TEST(RulesWorkload, kv_tier_without_room) {
  const auto with_kv = [](const char* tier, Bytes each) {
    design::Design d = review::lab_design("inference-pod");
    auto& serve = std::get<design::Serve>(d.workloads[0].task);
    serve.kv_tier = design::KvTier{.tier = tier, .capacity = each};
    return review::run_stages(std::move(d), machine::known());
  };
  // 16 replicas share the 250 TB of the tier: 15.625 each, 15.6 to three digits.
  const review::Review r = with_kv("hot", terabytes(16));
  ASSERT_EQ(r.serves[0].replicas, 16);
  expect_finding(r, only_finding(r, "serving.kv-room"), "workloads[0].serve.kv_tier.capacity",
                 "workloads[0].serve.kv_tier.capacity = 15.6 TB");
  EXPECT_TRUE(findings_by(with_kv("hot", terabytes(15.625)), "serving.kv-room").empty());
  // Host memory is unknown, so nothing is reported.
  EXPECT_TRUE(findings_by(with_kv("host", terabytes(900)), "serving.kv-room").empty());
}

// Two replicas of four accelerators share a host of eight: each has half of its memory.
TEST(RulesWorkload, kv_blocks_of_one_host) {
  const review::Review r = review::edited_review(
      "inference-pod", {{"fleet[0].custom", "{ memory: 1 TB }"},
                        {"workloads[0].serve.kv_tier", "{ tier: host, capacity: 600 GB }"}});
  const Finding f = only_finding(r, "serving.kv-room");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("2", "600", "1"));
  EXPECT_EQ(edit_of(f), "workloads[0].serve.kv_tier.capacity = 500 GB");
}

review::Review kept_blocks(const std::string& capacity, const std::string& memory, int replicas) {
  return review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 4, custom: { memory: " +
      memory + " } }]\nworkloads: [{ serve: { name: s, model: llama-3-8b, tp: 2, replicas: " +
      std::to_string(replicas) + ", kv_tier: { tier: host, capacity: " + capacity +
      " }, arrivals: { rate: 1 /s, trace: chat } } }]\n");
}

// Four replicas of two accelerators fit on a host; fewer replicas share it among themselves.
TEST(RulesWorkload, replicas_of_a_host_share_its_memory) {
  const auto edits = [](const review::Review& r) { return edits_by(r, "serving.kv-room"); };
  const std::string path = "workloads[0].serve.kv_tier.capacity = ";
  const auto one = [&](const std::string& value) { return std::vector<std::string>{path + value}; };
  EXPECT_TRUE(edits(kept_blocks("250 GB", "1 TB", 8)).empty());
  EXPECT_EQ(edits(kept_blocks("251 GB", "1 TB", 8)), one("250 GB"));
  EXPECT_TRUE(edits(kept_blocks("500 GB", "1 TB", 2)).empty());
  EXPECT_EQ(edits(kept_blocks("501 GB", "1 TB", 2)), one("500 GB"));
  // To three digits below: 333.33, 1333.3 and 0.3 GB.
  EXPECT_EQ(edits(kept_blocks("600 GB", "1 TB", 3)), one("333 GB"));
  EXPECT_EQ(edits(kept_blocks("6 TB", "4 TB", 3)), one("1.33 TB"));
  EXPECT_EQ(edits(kept_blocks("2 GB", "1 GB", 3)), one("333 MB"));
  EXPECT_EQ(edits(kept_blocks("2 GB", "2 MB", 3)), one("1 MB")) << "of megabytes at the least";
  review::Review r = kept_blocks("251 GB", "1 TB", 8);
  r.serves[0].infeasible = "no";
  EXPECT_TRUE(edits(r).empty());
}

// Drives in the nodes are shared by the replicas of a host as memory is.
TEST(RulesWorkload, replicas_of_a_host_share_its_drives) {
  const auto said = [](const char* each) {
    const review::Review r = review::hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 4 }]\nstorage: [{ name: "
        "drives, tier: node-nvme, kind: local-nvme, read: 40 GB/s, write: 20 GB/s, capacity: 20 TB "
        "}]\nworkloads: [{ serve: { name: s, model: llama-3-8b, tp: 4, replicas: 8, kv_tier: { "
        "tier: drives, capacity: " +
        std::string(each) + " }, arrivals: { rate: 1 /s, trace: chat } } }]\n");
    std::vector<std::string> all;
    for (const Finding& f : findings_by(r, "serving.kv-room")) all.push_back(edit_of(f));
    return all;
  };
  EXPECT_TRUE(said("10 TB").empty());
  EXPECT_EQ(said("11 TB"), std::vector<std::string>{"workloads[0].serve.kv_tier.capacity = 10 TB"});
}

TEST(RulesWorkload, service_below_its_availability) {
  // 0.999 is asked for: 8.76 hours per year
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.availability = 0.998;
  Finding f = only_finding(r, "serving.availability");
  EXPECT_TRUE(f.edit);
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.availability").line);
  v.dark = 0.0015;
  v.dark_missed = 0.0011;
  f = only_finding(r, "serving.availability");
  EXPECT_EQ(f.edit->path, "site.generator");
  v.dark_missed = 0.0009;
  EXPECT_FALSE(is_dark_too_long(v));
  v.availability = 0.999;
  EXPECT_TRUE(findings_by(r, "serving.availability").empty());
  v.availability = 0;
  EXPECT_TRUE(findings_by(r, "serving.availability").empty()) << "too few replicas for the peak";
  v.availability = 0.5;
  v.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "serving.availability").empty());
}

TEST(RulesWorkload, runs_that_end_too_late) {
  review::Review r = changed_pod("superpod-h100", [](design::Design& d) {
    auto& train = std::get<design::Train>(d.workloads[0].task);
    train.deadline = days(10);
    train.repeat.emplace();
    train.repeat->every = days(30);
    train.repeat->window = days(12);
  });
  r.trains[0].run_time = days(15);
  const auto all = findings_by(r, "workload.deadline");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_THAT(numbers_in(all[0].what), testing::ElementsAre("15", "10"));
  EXPECT_THAT(numbers_in(all[1].what), testing::ElementsAre("15", "12"));
  r.trains[0].run_time = days(12);
  EXPECT_EQ(findings_by(r, "workload.deadline").size(), 1U);
  r.trains[0].run_time = days(10);
  EXPECT_TRUE(findings_by(r, "workload.deadline").empty());
  r.trains[0].run_time = days(15);
  r.trains[0].infeasible = "no";
  EXPECT_TRUE(findings_by(r, "workload.deadline").empty());

  review::Review batch = review::lab_review("fraud-cpu");
  batch.batches[0].duration = hours(6);
  const Finding f = only_finding(batch, "workload.deadline");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("6", "4"));
  EXPECT_EQ(f.place.line, place_of(batch.design(), "workloads[0].batch").line);
  batch.batches[0].duration = hours(4);
  EXPECT_TRUE(findings_by(batch, "workload.deadline").empty());
  batch.batches[0].duration = hours(6);
  batch.batches[0].bound.reset();
  EXPECT_TRUE(findings_by(batch, "workload.deadline").empty());
}

TEST(RulesWorkload, overloaded_queues_and_gangs_that_never_start) {
  review::Review r = review::lab_review("superpod-h100");
  review::JobsView& j = r.jobs.at(0);
  EXPECT_TRUE(findings_by(r, "cluster.gangs").empty());
  j.queue.load = 1;
  const Finding full = only_finding(r, "cluster.gangs");
  EXPECT_THAT(numbers_in(full.what), testing::ElementsAre("100"));
  EXPECT_EQ(full.place.line, place_of(r.design(), "workloads[2].jobs.rate").line);
  ASSERT_TRUE(full.edit);
  j.from_trace = true;
  EXPECT_TRUE(findings_by(r, "cluster.gangs").empty());
  j.queue.load = 0.5;
  j.largest = 64;
  j.largest_fits = cluster::GangVerdict::never;
  const Finding wide = only_finding(r, "cluster.gangs");
  EXPECT_THAT(numbers_in(wide.what), testing::ElementsAre("64", "1,016"));
  EXPECT_TRUE(wide.edit);
  j.fleet = nullptr;
  EXPECT_TRUE(findings_by(r, "cluster.gangs").empty());
  const review::Review alone =
      changed_pod("superpod-h100", [](design::Design& d) { d.scheduler.gang = false; });
  expect_finding(alone, only_finding(alone, "cluster.gangs"), "scheduler.gang",
                 "scheduler.gang = true");
  review::Review idle = alone;
  idle.trains.clear();
  EXPECT_TRUE(findings_by(idle, "cluster.gangs").empty());
}

TEST(RulesWorkload, slices_that_do_not_fit) {
  review::Review r = review::lab_review("small-lab");
  ASSERT_FALSE(r.mig.empty());
  review::MigView& v = r.mig[0];
  EXPECT_TRUE(findings_by(r, "cluster.mig-slices").empty());
  v.fits = false;
  Finding f = only_finding(r, "cluster.mig-slices");
  EXPECT_EQ(f.edit->path, v.fleet->path + ".mig");
  v.packing.unplaced = {"9g.900gb"};
  f = only_finding(r, "cluster.mig-slices");
  EXPECT_TRUE(f.what.contains("9g.900gb")) << f.what;
}

TEST(RulesWorkload, too_few_spares) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.failure.shortfall = 0.01;
  EXPECT_TRUE(findings_by(r, "failure.spares").empty());
  t.failure.shortfall = 0.034;
  t.failure.spares = 2;
  t.failure.mean_in_repair = 2.567;
  const Finding f = only_finding(r, "failure.spares");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("2", "3.4"));
  // A Poisson mean of 2.567 is above 6 for 0.0155 of the time and above 7 for 0.0051: five more.
  EXPECT_EQ(f.edit->path + " = " + f.edit->value, "fleet[0].spares = 5");
  t.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "failure.spares").empty());
}

TEST(RulesWorkload, int8_on_parts_without_it) {
  const auto with = [](const char* node, catalog::Precision precision) {
    design::Design d = review::lab_design("inference-pod");
    d.fleet[0].node = node;
    std::get<design::Serve>(d.workloads[0].task).precision = precision;
    return review::run_stages(std::move(d), machine::known());
  };
  const review::Review r = with("dgx-b300", catalog::Precision::int8);
  expect_finding(r, only_finding(r, "serving.int8-lost"), "workloads[0].serve.precision",
                 "workloads[0].serve.precision = fp8");
  EXPECT_TRUE(findings_by(with("dgx-b300", catalog::Precision::fp8), "serving.int8-lost").empty());
  EXPECT_TRUE(findings_by(with("dgx-h200", catalog::Precision::int8), "serving.int8-lost").empty());
}

// A part without the format at all has none of it.
TEST(RulesWorkload, int8_by_accelerator) {
  const auto findings = [](const char* node, const char* precision) {
    return findings_by(
        review::hand_review(
            "site: { region: usa }\nfleet: [{ name: f, node: " + std::string(node) +
            ", count: 2 }]\nworkloads: [{ serve: { name: s, model: llama-3-8b, tp: 1, "
            "precision: " +
            precision + ", arrivals: { rate: 1 /s, trace: chat } } }]\n"),
        "serving.int8-lost");
  };
  EXPECT_EQ(findings("dgx-b300", "int8").size(), 1U);
  EXPECT_EQ(findings("gb300-nvl72", "int8").size(), 1U);
  EXPECT_TRUE(findings("dgx-b200", "int8").empty());
  EXPECT_TRUE(findings("dgx-a100", "int8").empty());
  EXPECT_TRUE(findings("dgx-b300", "bf16").empty());
  EXPECT_TRUE(findings("cpu-2s-server", "int8").empty()) << "cores have no such part";
}

TEST(RulesWorkload, failover_without_room) {
  review::Review r = review::lab_review("chatbot-zones");
  EXPECT_TRUE(findings_by(r, "serving.failover").empty());
  review::ServeView& v = r.serves[0];
  ASSERT_TRUE(v.failover && v.failover->first);
  v.peak = PerSecond(72.3456);
  v.failover->refused = PerSecond(10.456);
  const Finding f = only_finding(r, "serving.failover");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("10.5", "72.3"));
  ASSERT_TRUE(f.edit);
  EXPECT_EQ(f.edit->path, "workloads[0].serve.zones[1].replicas");
  v.failover->refused = v.peak * 1e-6;
  EXPECT_TRUE(findings_by(r, "serving.failover").empty());
  v.failover->refused = v.peak * 1.03e-6;
  EXPECT_EQ(findings_by(r, "serving.failover").size(), 1U);
  v.failover->first.reset();
  EXPECT_TRUE(findings_by(r, "serving.failover").empty());
}

TEST(RulesWorkload, failover_over_a_line_that_is_too_slow) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  review::FailoverTo& to = v.failover->to.at(0);
  to.line = to.way.path.rate;
  EXPECT_TRUE(findings_by(r, "serving.failover").empty());
  to.line = gbits_per_s(12.5);
  expect_finding(r, only_finding(r, "serving.failover"), "fabric.wan[0].rate",
                 "fabric.wan[0].rate = " + at_least(gbits_per_s(12.5)));
  // If two sites share one line, the one that sends more is named.
  review::ServeView& other = r.serves[1];
  other.failover->to.at(0).line = gbits_per_s(20);
  EXPECT_TRUE(only_finding(r, "serving.failover").what.contains(other.label));
}

TEST(RulesWorkload, failover_without_a_line) {
  const review::Review r = changed_pod("chatbot-zones", [](design::Design& d) {
    d.fabric.wan.erase(d.fabric.wan.begin());
    auto& zones = std::get<design::Serve>(d.workloads[0].task).zones;
    zones[1].failover.clear();
  });
  bool said = false;
  for (const Finding& f : findings_by(r, "serving.failover")) {
    if (!f.what.contains(r.serves[0].label)) continue;
    said = true;
    EXPECT_FALSE(f.edit);
  }
  EXPECT_TRUE(said);
}

review::Review sent_on(const std::string& stages,
                       const std::string& rates = "read: 9 GB/s, write: 2 GB/s",
                       const std::string& wan = "") {
  return review::hand_review(
      "sites: [{ name: here, region: usa }, { name: there, region: usa }]\nfleet: [{ name: f, "
      "node: dgx-h100, count: 2, site: here }]\n" +
      wan + "storage:\n  - { name: hot, tier: hot, kind: parallel-fs, site: here, " + rates +
      ", capacity: 9 PB }\n  - { name: far, tier: cold, kind: object, site: there, read: 3 GB/s, "
      "write: 1 GB/s, capacity: 9 PB }\npipeline: { every: 1 h, stages: [" +
      stages + "] }\n");
}

TEST(RulesWorkload, stage_that_never_ends) {
  const std::string out =
      "{ stage: ingest, name: in, to: hot, size: 1 TB, rate: 100 Gb/s }, { stage: archive, name: "
      "out, from: hot, to: far, size: 1 TB }";
  const review::Review r = sent_on(out);
  const Finding f = only_finding(r, "pipeline.stages");
  const auto stages = jobs::pipeline_of(*r.machine);
  ASSERT_FALSE(stages.at(1).infeasible.empty());
  expect_finding(r, f, "pipeline.stages[1]");
  const review::Review joined = sent_on(
      out, "read: 9 GB/s, write: 2 GB/s",
      "fabric: { wan: [{ between: [here, there], rate: 100 Gb/s, latency: 9 ms, price: 1 kUSD/y }] "
      "}\n");
  EXPECT_TRUE(findings_by(joined, "pipeline.stages").empty());
}

// 18 TB per hour are 5 GB/s; with a twentieth to spare 5.25, written as 5.3: raises the given rate,
// or what the tier accepts, or what the other delivers.
TEST(RulesWorkload, slow_stage_widens_its_bottleneck) {
  const auto edit = [](const std::string& stages, std::size_t index, const std::string& rates) {
    review::Review r =
        sent_on(stages, rates,
                "fabric: { wan: [{ between: [here, there], rate: 100 Gb/s, latency: 9 ms, "
                "price: 1 kUSD/y }] }\n");
    r.pipeline.stages.at(0).time = r.pipeline.stages.at(index).time = Seconds();
    r.pipeline.stages[index].time = hours(2);
    r.pipeline.stages[index].out = terabytes(18);
    return edit_of(only_finding(r, "pipeline.period"));
  };
  const auto ingest = [](const char* rate) {
    return "{ stage: ingest, name: in, to: hot, size: 18 TB, rate: " + std::string(rate) + " }";
  };
  const std::string writes = "read: 9 GB/s, write: 2 GB/s";
  EXPECT_EQ(edit(ingest("40 Gb/s"), 0, writes),
            "pipeline.stages[0].rate = " + at_least(gbytes_per_s(5.25)));
  EXPECT_EQ(edit(ingest("80 Gb/s"), 0, writes),
            "storage[0].write = " + at_least(gbytes_per_s(5.25)));
  EXPECT_EQ(edit(ingest("80 Gb/s"), 0, "read: 9 GB/s, write: 5.2 GB/s"),
            "storage[0].write = " + at_least(gbytes_per_s(5.25)));
  EXPECT_EQ(edit(ingest("80 Gb/s"), 0, "read: 9 GB/s, write: 5.3 GB/s"), "none");
  const std::string archive =
      ingest("80 Gb/s") + ", { stage: archive, from: far, to: hot, size: 18 TB }";
  EXPECT_EQ(edit(archive, 1, "read: 9 GB/s, write: 9 GB/s"),
            "storage[1].read = " + at_least(gbytes_per_s(5.25)));
  EXPECT_EQ(edit(archive, 1, writes), "storage[0].write = " + at_least(gbytes_per_s(5.25)));
}

TEST(RulesWorkload, infeasible_stages_have_no_period) {
  review::Review r = sent_on("{ stage: ingest, name: in, to: hot, size: 1 TB, rate: 100 Gb/s }");
  r.pipeline.stages[0].time = hours(2);
  EXPECT_EQ(findings_by(r, "pipeline.period").size(), 1U);
  r.pipeline.stages[0].infeasible = "no way";
  EXPECT_TRUE(findings_by(r, "pipeline.period").empty());
  r.pipeline.stages[0].infeasible.clear();
  r.pipeline.every.reset();
  EXPECT_TRUE(findings_by(r, "pipeline.period").empty());
}

// A workload that takes longer than a cycle needs more machines; no edit of the file cures it.
TEST(RulesWorkload, slow_workload_stage_offers_no_edit) {
  review::Review r = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2, custom: { cores: 96 } "
      "}]\nstorage: [{ name: hot, tier: hot, kind: parallel-fs, read: 9 GB/s, write: 1 GB/s, "
      "capacity: 9 PB }]\nworkloads: [{ batch: { name: b, core_hours: 96, tasks: 96 } }]\n"
      "pipeline: { every: 1 d, stages: [{ stage: ingest, name: in, to: hot, size: 1 TB, rate: 100 "
      "Gb/s }, { stage: "
      "prepare, name: prep, workload: b }] }\n");
  ASSERT_EQ(r.pipeline.stages.size(), 2U);
  EXPECT_TRUE(findings_by(r, "pipeline.period").empty());
  r.pipeline.stages[1].time = days(1);
  EXPECT_TRUE(findings_by(r, "pipeline.period").empty()) << "just in time";
  r.pipeline.stages[1].time = days(1.5);
  expect_finding(r, only_finding(r, "pipeline.period"), "pipeline.stages[1]");
  r.pipeline.stages[1].time = days(1);
  r.pipeline.stages[0].time = days(2);
}

}  // namespace
}  // namespace orrery::rules
