// Rules of runs, services, queues and stages at their edges, and the edits of work: what is
// compared with what, and to which whole number it comes.
#include <gtest/gtest.h>

#include <memory>

#include "core/base/units.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// A run of eight accelerators on two nodes: half of them are idle, unless it says so itself.
TEST(IdleBatchRule, OfRunsThatTakeWhatThereIs) {
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

review::Review kept_blocks(const std::string& capacity, const std::string& memory, int replicas) {
  return review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 4, custom: { memory: " +
      memory + " } }]\nworkloads: [{ serve: { name: s, model: llama-3-8b, tp: 2, replicas: " +
      std::to_string(replicas) + ", kv_tier: { tier: host, capacity: " + capacity +
      " }, arrivals: { rate: 1 /s, trace: chat } } }]\n");
}

// Four replicas of two stand on a host; with fewer in all those share it.
TEST(KvRoomRule, ReplicasOfAHostShareItsMemory) {
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
TEST(KvRoomRule, DrivesInTheNodes) {
  const auto said = [](const char* each) {
    const review::Review r = review::hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 4 }]\nstorage: [{ name: "
        "drives, tier: node-nvme, kind: local-nvme, read: 40 GB/s, write: 20 GB/s, capacity: 20 TB "
        "}]\nworkloads: [{ serve: { name: s, model: llama-3-8b, tp: 4, replicas: 8, kv_tier: { "
        "tier: drives, capacity: " +
        std::string(each) + " }, arrivals: { rate: 1 /s, trace: chat } } }]\n");
    std::vector<std::string> all;
    for (const Finding& f : findings_by(r, "serving.kv-room")) all.push_back(f.what + " " + f.why);
    return all;
  };
  EXPECT_TRUE(said("10 TB").empty());
  EXPECT_EQ(said("11 TB"),
            std::vector<std::string>{
                "2 replicas of 's' keep 11 TB of blocks each where there are 20 TB. Replicas of "
                "one host share its memory and its drives."});
}

// A part without the format at all has none of it.
TEST(Int8Rule, OfServicesOnAccelerators) {
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

TEST(StagesRule, AStageThatCanNeverEnd) {
  const std::string out =
      "{ stage: ingest, name: in, to: hot, size: 1 TB, rate: 100 Gb/s }, { stage: archive, name: "
      "out, from: hot, to: far, size: 1 TB }";
  const review::Review r = sent_on(out);
  const Finding f = only_finding(r, "pipeline.stages");
  const auto stages = jobs::pipeline_of(*r.machine);
  ASSERT_FALSE(stages.at(1).infeasible.empty());
  expect_said(r, f,
              {.path = "pipeline.stages[1]",
               .what = "Stage 'out' can never end: " + stages[1].infeasible + ".",
               .why = "Nothing of the pipeline behind it would run.",
               .fix = "Draw a line between the sites in `fabric.wan`, or name a tier that can be "
                      "reached."});
  const review::Review joined = sent_on(
      out, "read: 9 GB/s, write: 2 GB/s",
      "fabric: { wan: [{ between: [here, there], rate: 100 Gb/s, latency: 9 ms, price: 1 kUSD/y }] "
      "}\n");
  EXPECT_TRUE(findings_by(joined, "pipeline.stages").empty());
}

// 18 TB an hour are 5 GB/s; with a twentieth to spare 5.25, written as 5.3: the rate that was
// given, or what the tier takes, or what the other gives.
TEST(PeriodRule, WidensWhatHoldsAStageBack) {
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

TEST(PeriodRule, LeavesOutStagesThatNeverEnd) {
  review::Review r = sent_on("{ stage: ingest, name: in, to: hot, size: 1 TB, rate: 100 Gb/s }");
  r.pipeline.stages[0].time = hours(2);
  EXPECT_EQ(findings_by(r, "pipeline.period").size(), 1U);
  r.pipeline.stages[0].infeasible = "no way";
  EXPECT_TRUE(findings_by(r, "pipeline.period").empty());
  r.pipeline.stages[0].infeasible.clear();
  r.pipeline.every.reset();
  EXPECT_TRUE(findings_by(r, "pipeline.period").empty());
}

// Jobs without a number of nodes: 1.25 of four nodes' work wants 5.6, of which the site carries six
// or the rate falls by 1.389.
review::Review queue_pod(const std::string& site, const std::string& jobs) {
  return review::hand_review(
      "site: { region: usa" + site +
      " }\nfleet: [{ name: f, node: dgx-h100, count: 4 }]\nworkloads: [{ jobs: { "
      "name: j, rate: 10 /h, mean_duration: 1 h, " +
      jobs + " } }]\n");
}

TEST(QueueEdits, GrowTheFleetOrShedLoad) {
  const auto edit = [](const std::string& site, const std::string& jobs, double load) {
    review::Review r = queue_pod(site, jobs);
    r.jobs.at(0).queue.load = load;
    return edit_of(edit_load(r, r.jobs[0]));
  };
  EXPECT_EQ(edit("", "sizes: [1]", 1.25), "fleet[0].count = 6") << "4 x 1.25 / 0.9 = 5.56";
  EXPECT_EQ(edit("", "sizes: [1]", 1.35), "fleet[0].count = 6") << "exactly";
  EXPECT_EQ(edit("", "sizes: [1]", 1.36), "fleet[0].count = 7");
  EXPECT_EQ(edit(", power: 60 kW", "sizes: [1]", 1.25), "workloads[0].jobs.rate = 7.2 /h");
  EXPECT_EQ(edit("", "nodes: 2, sizes: [1]", 1.25), "workloads[0].jobs.nodes = 3");
  EXPECT_EQ(edit("", "nodes: 2, sizes: [1]", 2.25), "workloads[0].jobs.rate = 4 /h")
      << "five of four";
}

TEST(QueueEdits, SizesThatFit) {
  const auto edit = [](const std::string& jobs, int largest) {
    review::Review r = queue_pod("", jobs);
    r.jobs.at(0).largest = largest;
    return edit_of(edit_sizes(r, r.jobs[0]));
  };
  EXPECT_EQ(edit("sizes: [8, 32, 33]", 33), "workloads[0].jobs.sizes = [8, 32]");
  EXPECT_EQ(edit("sizes: [33]", 33), "fleet[0].count = 5") << "nothing would be left";
  EXPECT_EQ(edit("sizes: [8, 33], weights: [1, 1]", 33), "fleet[0].count = 5")
      << "shares stand for the sizes";
  EXPECT_EQ(edit("sizes: [8, 40]", 40), "workloads[0].jobs.sizes = [8]");
  EXPECT_EQ(edit("nodes: 2, sizes: [8, 17]", 17), "workloads[0].jobs.nodes = 3");
  EXPECT_EQ(edit("nodes: 2, sizes: [8, 16, 33]", 33), "workloads[0].jobs.sizes = [8, 16]");
}

// Nodes of 18 hosts: 73 accelerators are 19 hosts of four, two racks.
TEST(QueueEdits, NodesOfManyHosts) {
  review::Review r = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: gb200-nvl72, count: 1 }]\nworkloads: [{ "
      "jobs: { name: j, rate: 1 /h, mean_duration: 1 h, sizes: [73] } }]\n");
  EXPECT_EQ(edit_of(edit_sizes(r, r.jobs.at(0))), "fleet[0].count = 2");
  // 31 hosts for a mean of 20: two racks; 30 are spares already: one.
  review::TrainView t;
  t.fleet = r.jobs[0].fleet;
  t.failure.mean_in_repair = 20;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 2");
  t.failure.spares = 30;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 1");
  t.failure.spares = 12;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 2") << "19 more";
  t.failure.spares = 13;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 1") << "18 more";
}

// Tasks of one hour on 8 of 640: 80 hours for 20 want 32 slots, four nodes; never more than tasks.
TEST(BatchEdits, NodesThatEndItInTime) {
  review::Review r = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 1 }]\nworkloads: [{ batch: "
      "{ name: b, accelerator_hours: 640, tasks: 640, deadline: 21 h } }]\n");
  review::BatchView& b = r.batches.at(0);
  ASSERT_EQ(b.at_once, 8);
  ASSERT_NEAR(b.compute / hours(1), 80, 1e-9);
  const auto edit = [&] { return edit_of(edit_window(r, b)); };
  EXPECT_EQ(edit(), "fleet[0].count = 4") << "3.81";
  b.bound = hours(19);
  EXPECT_EQ(edit(), "fleet[0].count = 5") << "4.21";
  b.bound = hours(1);
  EXPECT_EQ(edit(), "fleet[0].count = 81") << "all at once, and a little";
  b.bound = hours(0.99);
  EXPECT_EQ(edit(), "none") << "shorter than a task";
  b.bound = hours(21);
  b.at_once = 640;
  b.compute = hours(30);
  EXPECT_EQ(edit(), "none") << "each has its own already";
}

}  // namespace
}  // namespace orrery::rules
