// What is said of names and counts that do not fit, whole: where, what, why and what to do; files
// that a design names, row by row; and several faults of one entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text::check_sentences_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Lines = std::vector<std::string>;

// "code at WORD: what | why | fix", one a fault.
Lines sentences(const std::string& text, const catalog::ReadFile& files = {}) {
  const auto design = read_design(text, design::catalog(), {.file = "d.yaml", .read_file = files});
  Lines lines;
  if (design) return lines;
  for (const Diagnostic& d : design.error()) {
    lines.push_back(d.code + " at " + word_at(text, d.place) + ": " + d.what + " | " + d.why +
                    " | " + d.fix);
  }
  return lines;
}

std::string plain(const std::string& more, const std::string& fleet = "") {
  return "orrery: 1\nname: t\nsites:\n  - { name: north, region: usa }\n"
         "  - { name: south, region: deu }\nfleet:\n"
         "  - { name: large, node: dgx-h100, count: 8, site: north" +
         fleet + " }\n  - { name: little, node: dgx-h100, count: 4, site: south }\n" + more;
}

Lines scheduled(const std::string& fields, const std::string& fleet = "") {
  return sentences(plain("scheduler: { " + fields + " }\n", fleet));
}

TEST(CheckSentences, a_name_is_told_each_time_it_comes_again) {
  const std::string again =
      "design.duplicate-name at p: two entries are the partition `p` | others refer to it by that "
      "name | give each a `name` of its own";
  EXPECT_THAT(scheduled("partitions: [{ name: p }, { name: p }, { name: q }, { name: p }]"),
              ElementsAre(again, again));
  // Names that are missing are missing, and no two alike.
  const Lines nameless = scheduled("partitions: [{ nodes: 1 }, { nodes: 1 }]");
  ASSERT_EQ(nameless.size(), 2U);
  for (const std::string& line : nameless) {
    EXPECT_THAT(line, testing::StartsWith("design.missing at {: ")) << line;
  }
}

// 8 nodes: after 9 and after 11 nothing is left.
TEST(CheckSentences, partitions_take_what_is_left_by_those_before_them) {
  const auto wants = [](int nodes, const std::string& of, const std::string& fleet, int left) {
    return "design.partition at " + std::to_string(nodes) + ": partition `" + of + "` wants " +
           std::to_string(nodes) + " nodes of fleet `" + fleet + "`, " + std::to_string(left) +
           " are left | partitions with `nodes` lie apart, one after the other | lower `nodes`, or "
           "leave it out to share the whole fleet";
  };
  EXPECT_THAT(scheduled("partitions: [{ name: p, nodes: 9 }, { name: q, nodes: 2 }]"),
              ElementsAre(wants(9, "p", "large", 8), wants(2, "q", "large", 0)));
  EXPECT_THAT(scheduled("partitions: [{ name: p, nodes: 2 }, { name: q, nodes: 7 }]"),
              ElementsAre(wants(7, "q", "large", 6)));
  EXPECT_THAT(scheduled("partitions: [{ name: p, fleet: little, nodes: 3 }, { name: q, nodes: 6 }, "
                        "{ name: r, fleet: little, nodes: 2 }, { name: s, nodes: 2 }]"),
              ElementsAre(wants(2, "r", "little", 1)));
  // Without a fleet it is Slurm's first.
  EXPECT_THAT(scheduled("kind: both, partitions: [{ name: p, nodes: 5 }]",
                        ", partition: kubernetes } \n  - { name: mid, node: dgx-h100, count: 5"),
              IsEmpty());
  EXPECT_THAT(scheduled("kind: both, partitions: [{ name: p, nodes: 6 }]",
                        ", partition: kubernetes } \n  - { name: mid, node: dgx-h100, count: 5"),
              ElementsAre(wants(6, "p", "mid", 5)));
}

TEST(CheckSentences, a_partition_has_a_fleet_of_slurm_and_a_name_of_its_own) {
  EXPECT_THAT(scheduled("kind: kubernetes, partitions: [{ name: p, fleet: large }]"),
              ElementsAre("design.partition at {: a partition is Slurm's, and its fleet is run by "
                          "Kubernetes | Kubernetes would not hold it | use `quotas`, or a fleet of "
                          "its own"));
  EXPECT_THAT(scheduled("partitions: [{ name: little, fleet: large }]"),
              ElementsAre("design.partition at little: `little` is the name of another fleet | a "
                          "fleet without partitions is one under its own name | choose another"));
  EXPECT_THAT(scheduled("partitions: [{ name: p, fleet: lerge }]"),
              ElementsAre("design.unknown-name at lerge: this file has no fleet `lerge` |  | did "
                          "you mean `large`?"));
}

TEST(CheckSentences, qualities_of_service) {
  EXPECT_THAT(scheduled("kind: kubernetes, qos: [{ name: a }]"),
              ElementsAre("design.qos at {: a QOS is Slurm's, and the scheduler is Kubernetes | "
                          "Kubernetes would not hold it | use `priority` and `quotas`"));
  EXPECT_THAT(scheduled("qos: [{ name: low }, { name: high, preempts: [lov, low] }]"),
              ElementsAre("design.unknown-name at [lov: this file has no QOS `lov` |  | did you "
                          "mean `low`?",
                          "design.qos at [lov: `preempts` while `preemption` is none | nobody "
                          "would be stopped | set `preemption: requeue`"));
  EXPECT_THAT(scheduled("fair_share_by: classic"),
              ElementsAre("design.fair-share at classic: `fair_share` is off | past use moves "
                          "nobody, by any formula | add `fair_share: true`, or leave this out"));
}

const std::string kLimited =
    "scheduler:\n  partitions: [{ name: part, fleet: little }]\n"
    "  qos: [{ name: slow, time_limit: 1 d }, { name: free }]\n";

Lines worked(const std::string& workload, const std::string& more = kLimited) {
  return sentences(plain(more + "workloads:\n  - " + workload + "\n"));
}

// Jobs and batches end; what does not is not cut.
TEST(CheckSentences, a_limit_is_of_work_that_ends) {
  const std::string cut =
      "design.qos at slow: the QOS `slow` ends jobs at its time limit | a training run or a "
      "service that is cut and queued again is not modelled | give it a QOS without `time_limit`";
  EXPECT_THAT(worked("batch: { core_hours: 9, dataset: { size: 1 TB }, qos: slow }"), IsEmpty());
  EXPECT_THAT(worked("jobs: { rate: 1 /h, mean_duration: 1 h, qos: slow }"), IsEmpty());
  EXPECT_THAT(worked("train: { model: llama-3-8b, tokens: 1T, batch: 64, qos: slow }"),
              ElementsAre(cut));
  EXPECT_THAT(worked("train: { model: llama-3-8b, tokens: 1T, batch: 64, qos: free }"), IsEmpty());
  EXPECT_THAT(worked("train: { model: llama-3-8b, tokens: 1T, batch: 64, qos: fre }"),
              ElementsAre("design.unknown-name at fre: the scheduler has no QOS `fre` |  | did you "
                          "mean `free`?"));
}

TEST(CheckSentences, work_runs_in_a_partition_of_its_fleet) {
  const auto jobs = [](const std::string& fields) {
    return worked("jobs: { rate: 1 /h, mean_duration: 1 h, partition: part" + fields + " }");
  };
  const auto elsewhere = [](const std::string& fleet) {
    return "design.partition at part: partition `part` has nodes of fleet `little`, the workload "
           "runs on `" +
           fleet + "` |  | name a partition of its fleet, or another fleet";
  };
  EXPECT_THAT(jobs(", fleet: little"), IsEmpty());
  EXPECT_THAT(jobs(", fleet: large"), ElementsAre(elsewhere("large")));
  EXPECT_THAT(jobs(""), ElementsAre(elsewhere("large")));
  EXPECT_THAT(worked("jobs: { rate: 1 /h, mean_duration: 1 h, partition: pert }"),
              ElementsAre("design.unknown-name at pert: the scheduler has no partition `pert` |  | "
                          "did you mean `part`?"));
}

TEST(CheckSentences, what_a_node_draws_is_at_most_its_nameplate) {
  const auto above = [](const std::string& at, const std::string& what, const std::string& of,
                        const std::string& plate) {
    return "design.range at " + at + ": `" + what + "` of " + of + " is above the nameplate of " +
           plate + " | a node draws at most its nameplate | write at most " + plate +
           ", or a higher max_power";
  };
  EXPECT_THAT(sentences(plain("", ", custom: { idle_power: 11 kW }")),
              ElementsAre(above("11", "idle_power", "11 kW", "10.2 kW")));
  EXPECT_THAT(sentences(plain("", ", custom: { typical_power: 13 kW, idle_power: 12 kW }")),
              ElementsAre(above("13", "typical_power", "13 kW", "10.2 kW"),
                          above("12", "idle_power", "12 kW", "10.2 kW")));
  EXPECT_THAT(sentences(plain("",
                              ", custom: { max_power: 9 kW, typical_power: 9 kW, idle_power: "
                              "1 kW }")),
              IsEmpty());
  EXPECT_THAT(
      sentences(plain("", ", custom: { max_power: 5 kW, typical_power: 4 kW, idle_power: 6 kW }")),
      ElementsAre(above("6", "idle_power", "6 kW", "5 kW")));
}

Lines tiered(const std::string& fields) {
  return sentences(
      plain("storage:\n  - { tier: warm, kind: object, capacity: 1 PB" + fields + " }\n"));
}

TEST(CheckSentences, a_code_has_at_most_255_shards_and_leaves_its_share) {
  EXPECT_THAT(tiered(", device: tlc-gen5, usable: 0.99, protection: { data: 250, parity: 6 }"),
              ElementsAre("design.range at {: a code of 256 shards | codes over bytes have 255 at "
                          "the most | write 8 + 2, or 17 + 3"));
  // 6 of 8 are 0.75, of which 0.8 are 0.6.
  EXPECT_THAT(tiered(", device: tlc-gen5, usable: 0.76, protection: { data: 6, parity: 2 }"),
              ElementsAre("design.range at 0.76: `usable` is 0.76, and 6 + 2 leaves 0.75 | parity "
                          "takes its share of the raw capacity first | write 0.6 or less"));
  EXPECT_THAT(tiered(", device: tlc-gen5, usable: 0.75, protection: { data: 6, parity: 2 }"),
              IsEmpty());
  EXPECT_THAT(tiered(", device: tlc-gen5, usable: 0.99"), IsEmpty());
  const std::string why =
      " is of servers with drives of their own | the usual device of a tier may be an appliance | "
      "name a drive: `device: tlc-gen5`";
  EXPECT_THAT(tiered(", protection: { data: 6, parity: 2 }, server_cores: 8"),
              ElementsAre("design.protection at {: `protection`" + why,
                          "design.protection at 8: `server_cores`" + why));
}

TEST(CheckSentences, a_line_of_the_wan_joins_two_sites) {
  const auto wan = [](const std::string& between) {
    return sentences(plain("fabric: { wan: [{ " + between + "rate: 10 Gb/s, latency: 5 ms }] }\n"));
  };
  const auto joins = [](const std::string& at) {
    return "design.range at " + at +
           ": a line of the WAN joins two sites | what happens inside one site is its own "
           "networks' business | write between: [one, other] with the names of two sites";
  };
  EXPECT_THAT(wan("between: [north, south], "), IsEmpty());
  EXPECT_THAT(wan("between: [north, north], "), ElementsAre(joins("[north")));
  EXPECT_THAT(wan("between: [north], "), ElementsAre(joins("[north")));
  EXPECT_THAT(wan("between: [north, south, north], "), ElementsAre(joins("[north")));
  EXPECT_THAT(wan("between: [north, south_], "),
              ElementsAre("design.unknown-name at south_: this file has no site `south_` |  | did "
                          "you mean `south`?"));
  const Lines missing = wan("");
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_THAT(missing[0], testing::HasSubstr("lacks `between`"));
}

TEST(CheckSentences, jobs_on_slices_leave_out_what_they_do_not_have) {
  const auto jobs = [](const std::string& fields) {
    return worked("jobs: { rate: 1 /h, mean_duration: 1 h, mig: { 1g.10gb: 1 }, " + fields + " }",
                  "");
  };
  const auto slices = [](const std::string& at, const std::string& key) {
    return "design.mig at " + at +
           ": these jobs ask for slices of accelerators | each takes one slice, and is drawn as it "
           "comes | leave `" +
           key + "` out, or `mig`";
  };
  EXPECT_THAT(jobs("sizes: [2], weights: [1]"),
              ElementsAre(slices("[2", "sizes"), slices("[1", "weights")));
  EXPECT_THAT(jobs("trace: x.csv"), ElementsAre(slices("x.csv", "trace")));
  EXPECT_THAT(jobs("fleet: nowhere-at-all"),
              ElementsAre("design.unknown-name at nowhere-at-all: this file has no fleet "
                          "`nowhere-at-all` |  | add it, or name one of those there are"));
  // A fleet of its own decides what its slices are.
  EXPECT_THAT(sentences(plain("workloads:\n  - jobs: { rate: 1 /h, mean_duration: 1 h, fleet: "
                              "cut, mig: { 1g.18gb: 1 } }\n",
                              " }\n  - { name: cut, node: dgx-h200, count: 2, site: north")),
              IsEmpty());
}

TEST(CheckSentences, a_workload_says_what_it_computes) {
  EXPECT_THAT(worked("train: { tokens: 1T, batch: 64 }", ""),
              ElementsAre("design.missing at {: this workload lacks `model` | it says what is "
                          "computed | add `model: llama-3-8b`, or `network:`"));
  EXPECT_THAT(worked("serve: { model: llama-3-8b, network: { params: 1M, forward: 1 GFLOP }, "
                     "arrivals: { rate: 1 /s } }",
                     ""),
              testing::Contains("design.missing at {: both `model` and `network` are given | it "
                                "says what is computed | keep one of them"));
  EXPECT_EQ(worked("train: { model: [x], tokens: 1T, batch: 64 }", "").size(), 1U)
      << "a model that was refused is not missing too";
}

}  // namespace
}  // namespace orrery::design_text::check_sentences_tests
