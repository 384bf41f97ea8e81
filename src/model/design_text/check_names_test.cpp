// What one part of a design says of another: names that must exist, counts that must fit, and what
// is refused where nothing would follow from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Lines = std::vector<std::string>;

// Two sites with a fleet each; `more` are further sections.
std::string two_sites(const std::string& more, const std::string& fleet = "") {
  return "orrery: 1\nname: t\nsites:\n  - { name: one, region: usa }\n"
         "  - { name: two, region: deu }\nfleet:\n"
         "  - { name: big, node: dgx-h100, count: 8, site: one" +
         fleet + " }\n  - { name: small, node: dgx-h100, count: 4, site: two }\n" + more;
}

TEST(CheckNames, two_entries_do_not_share_a_name) {
  EXPECT_THAT(
      said_of(two_sites("storage:\n  - { tier: hot, kind: object, name: a, capacity: 1 PB }\n"
                        "  - { tier: warm, kind: object, name: a, capacity: 1 PB }\n")),
      ElementsAre("design.duplicate-name at a: two entries are the storage tier `a`"));
  EXPECT_THAT(said_of(two_sites("scheduler:\n  partitions:\n    - { name: p, fleet: big }\n"
                                "    - { name: p, fleet: small }\n")),
              ElementsAre("design.duplicate-name at p: two entries are the partition `p`"));
  EXPECT_THAT(said_of(two_sites("scheduler:\n  qos:\n    - { name: q }\n    - { name: q }\n")),
              ElementsAre("design.duplicate-name at q: two entries are the QOS `q`"));
}

TEST(CheckNames, a_fleet_names_its_site_and_its_provider) {
  EXPECT_THAT(said_of(two_sites("", ", rent: { provider: awz }")),
              ElementsAre("design.unknown-part at awz: the catalog has no prices of provider "
                          "`awz`"));
  EXPECT_THAT(said_of(two_sites("", ", rent: { provider: awz, price: 2 USD/h }")), IsEmpty());
  EXPECT_THAT(said_of(two_sites("", ", rent: { provider: aws }")), IsEmpty());
  EXPECT_THAT(said_of("orrery: 1\nname: t\nsites:\n  - { name: one, region: usa }\nfleet:\n"
                      "  - { name: a, node: dgx-h100, count: 1, site: onne }\n"),
              ElementsAre("design.unknown-name at onne: this file has no site `onne`"));
}

TEST(CheckNames, a_node_is_named_or_described) {
  const auto fleet = [](const std::string& fields) {
    return said_of("orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, count: 2" +
                   fields + " }\n");
  };
  const std::string lacks = "design.missing at {: this entry of `fleet` lacks `node`";
  EXPECT_THAT(fleet(""), ElementsAre(lacks));
  EXPECT_THAT(fleet(", custom: { cores: 64 }"), ElementsAre(lacks));
  EXPECT_THAT(fleet(", custom: { accelerators: 4, cores: 64 }"), ElementsAre(lacks));
  EXPECT_THAT(fleet(", custom: { accelerators: 0, cores: 64 }"), IsEmpty());
  EXPECT_THAT(fleet(", custom: { accelerators: 4, accelerator: h100-sxm, cores: 64 }"), IsEmpty());
  EXPECT_THAT(fleet(", node: dgx-h10O"),
              ElementsAre("design.unknown-part at dgx-h10O: the catalog has no node `dgx-h10O`"));
}

TEST(CheckNames, other_links_join_accelerators) {
  const std::string of_none = ", custom: { accelerators: 0, cores: 9, scale_up: ualink-200 }";
  EXPECT_THAT(
      said_of("orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, count: 2" +
              of_none + " }\n"),
      ElementsAre("design.range at ualink-200: `scale_up` joins accelerators, and this node has "
                  "none"));
  EXPECT_THAT(said_of(two_sites("", ", custom: { scale_up_links: 4 }")),
              ElementsAre("design.missing at 4: `scale_up_links` counts links that `scale_up` does "
                          "not name"));
  EXPECT_THAT(said_of(two_sites("", ", custom: { scale_up: ualink-200, scale_up_links: 4 }")),
              IsEmpty());
}

TEST(CheckNames, a_node_draws_no_more_than_its_nameplate) {
  EXPECT_THAT(said_of(two_sites("", ", custom: { typical_power: 10.3 kW }")),
              ElementsAre("design.range at 10.3: `typical_power` of 10.3 kW is above the nameplate "
                          "of 10.2 kW"));
  EXPECT_THAT(said_of(two_sites("", ", custom: { typical_power: 10.2 kW }")), IsEmpty());
  const Lines low = said_of(two_sites("", ", custom: { max_power: 1.5 kW, idle_power: 1 kW }"));
  ASSERT_EQ(low.size(), 1U) << "what the catalog says it draws";
  EXPECT_TRUE(low[0].starts_with("design.range at 1.5: `typical_power` of ")) << low[0];
}

TEST(CheckNames, slices_are_of_the_accelerator) {
  EXPECT_THAT(said_of(two_sites("", ", mig: { 1g.10gb: 7 }")), IsEmpty());
  EXPECT_THAT(
      said_of(two_sites("", ", mig: { 1g.11gb: 7 }")),
      ElementsAre("design.unknown-part at 1g.11gb:: `h100-sxm` has no MIG profile `1g.11gb`"));
}

TEST(CheckNames, a_shape_of_lives_has_bounds) {
  const auto with = [](const char* shape) {
    return said_of(two_sites("", ", failures: { shape: " + std::string(shape) + " }"));
  };
  EXPECT_THAT(with("0.3"), IsEmpty());
  EXPECT_THAT(with("0.29"), ElementsAre("design.range at 0.29: a shape of 0.29 is no node's"));
  EXPECT_THAT(with("5"), IsEmpty());
  EXPECT_THAT(with("5.1"), ElementsAre("design.range at 5.1: a shape of 5.1 is no node's"));
}

Lines tier_said(const std::string& fields) {
  return said_of(two_sites("storage:\n  - { tier: warm, kind: object, capacity: 1 PB, site: one" +
                           fields + " }\n"));
}

TEST(CheckNames, a_tier_names_what_there_is) {
  EXPECT_THAT(tier_said(", provider: acme"),
              ElementsAre("design.unknown-part at acme: the catalog has no prices of provider "
                          "`acme`"));
  EXPECT_THAT(tier_said(", caches: hott"),
              ElementsAre("design.unknown-name at hott: this file has no storage tier `hott`"));
  EXPECT_THAT(tier_said(", caches: node-nvme"), IsEmpty()) << "every node has drives";
}

// 223 + 32 shards are the 255 of a code over bytes; 8 + 2 leaves 0.8 of what is there.
TEST(CheckNames, a_code_is_of_servers_with_drives) {
  const std::string drive = ", device: tlc-gen5";
  EXPECT_THAT(tier_said(drive + ", protection: { data: 8, parity: 2 }, server_cores: 32"),
              IsEmpty());
  EXPECT_THAT(tier_said(drive + ", protection: { data: 223, parity: 32 }"), IsEmpty());
  EXPECT_THAT(tier_said(drive + ", protection: { data: 224, parity: 32 }"),
              ElementsAre("design.range at {: a code of 256 shards"));
  EXPECT_THAT(tier_said(drive + ", protection: { data: 8, parity: 2 }, usable: 0.8"), IsEmpty());
  EXPECT_THAT(tier_said(drive + ", protection: { data: 8, parity: 2 }, usable: 0.81"),
              ElementsAre("design.range at 0.81: `usable` is 0.81, and 8 + 2 leaves 0.8"));
  EXPECT_THAT(
      tier_said(", protection: { data: 8, parity: 2 }"),
      ElementsAre("design.protection at {: `protection` is of servers with drives of their own"));
  EXPECT_THAT(tier_said(", server_cores: 32"),
              ElementsAre("design.protection at 32: `server_cores` is of servers with drives of "
                          "their own"));
  EXPECT_EQ(tier_said(", provider: aws, protection: { data: 8, parity: 2 }").size(), 1U);
  EXPECT_EQ(tier_said(", device: ddn-ai400x3, protection: { data: 8, parity: 2 }").size(), 1U);
}

Lines scheduler_said(const std::string& fields, const std::string& fleet = "") {
  return said_of(two_sites("scheduler: { " + fields + " }\n", fleet));
}

TEST(CheckNames, partitions_lie_apart_in_their_fleet) {
  EXPECT_THAT(scheduler_said("partitions: [{ name: p, nodes: 5 }, { name: q, nodes: 3 }]"),
              IsEmpty());
  EXPECT_THAT(
      scheduler_said("partitions: [{ name: p, nodes: 5 }, { name: q, nodes: 4 }]"),
      ElementsAre("design.partition at 4: partition `q` wants 4 nodes of fleet `big`, 3 are left"));
  EXPECT_THAT(
      scheduler_said(
          "partitions: [{ name: p, nodes: 8 }, { name: q, fleet: small, nodes: 4 }, { name: r }]"),
      IsEmpty());
  EXPECT_THAT(
      scheduler_said("partitions: [{ name: p, fleet: small, nodes: 5 }]"),
      ElementsAre(
          "design.partition at 5: partition `p` wants 5 nodes of fleet `small`, 4 are left"));
  EXPECT_THAT(scheduler_said("partitions: [{ name: p, fleet: smal }]"),
              ElementsAre("design.unknown-name at smal: this file has no fleet `smal`"));
  EXPECT_THAT(scheduler_said("partitions: [{ name: small }]"),
              ElementsAre("design.partition at small: `small` is the name of another fleet"));
  EXPECT_THAT(scheduler_said("partitions: [{ name: big }]"), IsEmpty());
}

TEST(CheckNames, a_partition_is_slurms) {
  const std::string kubernetes =
      "design.partition at {: a partition is Slurm's, and its fleet is "
      "run by Kubernetes";
  EXPECT_THAT(scheduler_said("kind: kubernetes, partitions: [{ name: p }]"),
              ElementsAre(kubernetes));
  EXPECT_THAT(scheduler_said("kind: both, partitions: [{ name: p, fleet: big }]",
                             ", partition: kubernetes"),
              ElementsAre(kubernetes));
  EXPECT_THAT(
      scheduler_said("kind: both, partitions: [{ name: p, fleet: big }]", ", partition: slurm"),
      IsEmpty());
}

TEST(CheckNames, qualities_of_service_act_on_something) {
  EXPECT_THAT(scheduler_said("preemption: requeue, qos: [{ name: a, preempts: [b] }, { name: b }]"),
              IsEmpty());
  EXPECT_THAT(scheduler_said("qos: [{ name: a, preempts: [b] }, { name: b }]"),
              ElementsAre("design.qos at [b: `preempts` while `preemption` is none"));
  EXPECT_THAT(scheduler_said("preemption: requeue, qos: [{ name: aa, preempts: [bb] }]"),
              ElementsAre("design.unknown-name at [bb: this file has no QOS `bb`"));
  EXPECT_THAT(scheduler_said("kind: kubernetes, qos: [{ name: a }]"),
              ElementsAre("design.qos at {: a QOS is Slurm's, and the scheduler is Kubernetes"));
  EXPECT_THAT(scheduler_said("fair_share_by: classic"),
              ElementsAre("design.fair-share at classic: `fair_share` is off"));
  EXPECT_THAT(scheduler_said("fair_share: true, fair_share_by: classic"), IsEmpty());
}

Lines work_said(const std::string& workload, const std::string& more = "") {
  return said_of(two_sites(more + "workloads:\n  - " + workload + "\n"));
}

TEST(CheckNames, a_workload_names_its_partition_and_quality) {
  const std::string scheduler =
      "scheduler:\n  partitions: [{ name: part, fleet: small }]\n"
      "  qos: [{ name: slow, time_limit: 1 d }, { name: free }]\n";
  const auto jobs = [&](const std::string& fields) {
    return work_said("jobs: { rate: 1 /h, mean_duration: 1 h" + fields + " }", scheduler);
  };
  EXPECT_THAT(jobs(", partition: part, fleet: small, qos: slow"), IsEmpty());
  EXPECT_THAT(jobs(", partition: parts"),
              ElementsAre("design.unknown-name at parts: the scheduler has no partition `parts`"));
  EXPECT_THAT(jobs(", partition: part"),
              ElementsAre("design.partition at part: partition `part` has nodes of fleet `small`, "
                          "the workload runs on `big`"));
  EXPECT_THAT(jobs(", qos: slov"),
              ElementsAre("design.unknown-name at slov: the scheduler has no QOS `slov`"));
  const auto serve = [&](const char* qos) {
    return work_said("serve: { model: llama-3-8b, arrivals: { rate: 1 /s, trace: chat }, qos: " +
                         std::string(qos) + " }",
                     scheduler);
  };
  EXPECT_THAT(serve("slow"),
              ElementsAre("design.qos at slow: the QOS `slow` ends jobs at its time limit"));
  EXPECT_THAT(serve("free"), IsEmpty());
}

TEST(CheckNames, jobs_say_how_much_comes) {
  const std::string missing =
      "design.missing at {: jobs lacks `trace`, or `rate` with `mean_duration`";
  EXPECT_THAT(work_said("jobs: { rate: 1 /h }"), ElementsAre(missing));
  EXPECT_THAT(work_said("jobs: { mean_duration: 1 h }"), ElementsAre(missing));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, sizes: [1, 2], weights: [1] }"),
              ElementsAre("design.range at [1: there are not as many weights as sizes"));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, sizes: [1, 2], weights: [1, 3] }"),
              IsEmpty());
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, fleet: tiny }"),
              ElementsAre("design.unknown-name at tiny: this file has no fleet `tiny`"));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, residency: atlantis }"),
              ElementsAre("design.unknown-part at atlantis: `atlantis` is no region or country"));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, residency: eu }"), IsEmpty());
}

TEST(CheckNames, jobs_on_slices_have_no_sizes) {
  const std::string mig = "jobs: { rate: 1 /h, mean_duration: 1 h, mig: { 1g.10gb: 1 }";
  EXPECT_THAT(work_said(mig + " }"), IsEmpty());
  EXPECT_THAT(work_said(mig + ", sizes: [1] }"),
              ElementsAre("design.mig at [1: these jobs ask for slices of accelerators"));
  EXPECT_THAT(
      work_said("jobs: { rate: 1 /h, mean_duration: 1 h, mig: { 2g.10gb: 1 } }"),
      ElementsAre("design.unknown-part at 2g.10gb:: `h100-sxm` has no MIG profile `2g.10gb`"));
  EXPECT_THAT(said_of("orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, count: 2, "
                      "custom: { accelerators: 0, cores: 9 } }\nworkloads:\n  - " +
                      mig + " }\n"),
              ElementsAre("design.mig at {: its fleet has no accelerators to slice"));
}

TEST(CheckNames, a_trace_of_jobs_is_a_file_with_its_columns) {
  const auto with = [](const std::string& text) {
    return said_of(two_sites("workloads:\n  - jobs: { trace: j.csv }\n"),
                   [&](std::string_view path) -> Result<std::string> {
                     EXPECT_EQ(path, "j.csv");
                     return text;
                   });
  };
  EXPECT_THAT(with("submit_s,duration_s,accelerators\n0,1,8\n"), IsEmpty());
  EXPECT_THAT(with("submit_s,duration_s\n0,1\n"),
              ElementsAre("design.trace-file at j.csv: `j.csv` has no column `accelerators`"));
  EXPECT_THAT(with("duration_s,accelerators\n0,1\n"),
              ElementsAre("design.trace-file at j.csv: `j.csv` has no column `submit_s`"));
  EXPECT_THAT(with(""),
              ElementsAre("design.trace-file at j.csv: `j.csv`: the table has no header line"));
  EXPECT_THAT(work_said("jobs: { trace: j.csv }"), IsEmpty()) << "no files are at hand";
}

TEST(CheckNames, what_is_trained_and_what_it_reads) {
  const auto train = [](const std::string& fields) {
    return work_said("train: { model: llama-3-8b, tokens: 1T, batch: 64" + fields + " }",
                     "storage:\n  - { tier: hot, kind: object, capacity: 1 PB }\n");
  };
  EXPECT_THAT(train(", dataset: { tier: hot }"), IsEmpty());
  EXPECT_THAT(train(", dataset: { tier: hit }"),
              ElementsAre("design.unknown-name at hit: this file has no storage tier `hit`"));
  EXPECT_THAT(train(", features: { rate: 1 /s, size: 1 kB, tier: hit }"),
              ElementsAre("design.unknown-name at hit: this file has no storage tier `hit`"));
  EXPECT_THAT(train(", checkpoint: { to: [hot, hit] }"),
              ElementsAre("design.unknown-name at hit: this file has no storage tier `hit`"));
  EXPECT_THAT(train(", checkpoint: { keep: { hit: 3 } }"),
              ElementsAre("design.unknown-name at hit:: this file has no storage tier `hit`"));
  EXPECT_THAT(train(", dataset: { format: files, random_access: 0.1 }"),
              ElementsAre("design.range at 0.1: `random_access` is of samples in shards, and these "
                          "are files"));
  EXPECT_THAT(train(", dataset: { format: shards, random_access: 0.1 }"), IsEmpty());
  EXPECT_THAT(train(", network: { params: 1M, forward: 1 GFLOP }"),
              ElementsAre("design.missing at {: both `model` and `network` are given"));
  EXPECT_THAT(work_said("train: { tokens: 1T, batch: 64 }"),
              ElementsAre("design.missing at {: this workload lacks `model`"));
  EXPECT_THAT(work_said("train: { model: llama-3-8c, tokens: 1T, batch: 64 }"),
              ElementsAre("design.unknown-part at llama-3-8c: the catalog has no model "
                          "`llama-3-8c`"));
}

TEST(CheckNames, a_batch_reads_its_input_through) {
  const auto batch = [](const std::string& fields) {
    return work_said("batch: { dataset: { size: 1 TB" + fields + " } , core_hours: 9 }");
  };
  EXPECT_THAT(batch(""), IsEmpty());
  EXPECT_THAT(batch(", random_access: 0.1"),
              ElementsAre("design.range at 0.1: `random_access` is of training runs"));
  EXPECT_THAT(batch(", tier: hit"),
              ElementsAre("design.unknown-name at hit: this file has no storage tier `hit`"));
  EXPECT_THAT(work_said("batch: { core_hours: 9, inference: { model: llama-3-8b, requests: 1M, "
                        "input_tokens: 9, output_tokens: 9 } }"),
              ElementsAre("design.inference at {: the work of this batch is said twice"));
  EXPECT_THAT(work_said("batch: { inference: { model: llama-3-8c, requests: 1M, input_tokens: 9, "
                        "output_tokens: 9 } }"),
              ElementsAre("design.unknown-part at llama-3-8c: the catalog has no model "
                          "`llama-3-8c`"));
}

}  // namespace
}  // namespace orrery::design_text
