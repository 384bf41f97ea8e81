// Names that must exist, counts that must fit, and fields that would have no effect.
#include "model/design_text/check_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
      ElementsAre("design.duplicate-name at a"));
  EXPECT_THAT(said_of(two_sites("scheduler:\n  partitions:\n    - { name: p, fleet: big }\n"
                                "    - { name: p, fleet: small }\n")),
              ElementsAre("design.duplicate-name at p"));
  EXPECT_THAT(said_of(two_sites("scheduler:\n  qos:\n    - { name: q }\n    - { name: q }\n")),
              ElementsAre("design.duplicate-name at q"));
}

std::string north_and_south(const std::string& more, const std::string& fleet = "") {
  return "orrery: 1\nname: t\nsites:\n  - { name: north, region: usa }\n"
         "  - { name: south, region: deu }\nfleet:\n"
         "  - { name: large, node: dgx-h100, count: 8, site: north" +
         fleet + " }\n  - { name: little, node: dgx-h100, count: 4, site: south }\n" + more;
}

Lines scheduled(const std::string& fields, const std::string& fleet = "") {
  return said_of(north_and_south("scheduler: { " + fields + " }\n", fleet));
}

TEST(CheckNames, every_repeated_name_is_reported) {
  const std::string again = "design.duplicate-name at p";
  EXPECT_THAT(scheduled("partitions: [{ name: p }, { name: p }, { name: q }, { name: p }]"),
              ElementsAre(again, again));
  // Missing names are reported as missing, not as equal.
  const Lines nameless = scheduled("partitions: [{ nodes: 1 }, { nodes: 1 }]");
  ASSERT_EQ(nameless.size(), 2U);
  for (const std::string& line : nameless) {
    EXPECT_EQ(line, "design.missing at {");
  }
}

TEST(CheckNames, fleet_names_its_site_and_provider) {
  EXPECT_THAT(said_of(two_sites("", ", rent: { provider: awz }")),
              ElementsAre("design.unknown-part at awz"));
  EXPECT_THAT(said_of(two_sites("", ", rent: { provider: awz, price: 2 USD/h }")), IsEmpty());
  EXPECT_THAT(said_of(two_sites("", ", rent: { provider: aws }")), IsEmpty());
  EXPECT_THAT(said_of("orrery: 1\nname: t\nsites:\n  - { name: one, region: usa }\nfleet:\n"
                      "  - { name: a, node: dgx-h100, count: 1, site: onne }\n"),
              ElementsAre("design.unknown-name at onne"));
}

TEST(CheckNames, node_is_named_or_described) {
  const auto fleet = [](const std::string& fields) {
    return said_of("orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, count: 2" +
                   fields + " }\n");
  };
  const std::string lacks = "design.missing at {";
  EXPECT_THAT(fleet(""), ElementsAre(lacks));
  EXPECT_THAT(fleet(", custom: { cores: 64 }"), ElementsAre(lacks));
  EXPECT_THAT(fleet(", custom: { accelerators: 4, cores: 64 }"), ElementsAre(lacks));
  EXPECT_THAT(fleet(", custom: { accelerators: 0, cores: 64 }"), IsEmpty());
  EXPECT_THAT(fleet(", custom: { accelerators: 4, accelerator: h100-sxm, cores: 64 }"), IsEmpty());
  EXPECT_THAT(fleet(", node: dgx-h10O"), ElementsAre("design.unknown-part at dgx-h10O"));
}

TEST(CheckNames, scale_up_links_need_accelerators) {
  const std::string of_none = ", custom: { accelerators: 0, cores: 9, scale_up: ualink-200 }";
  EXPECT_THAT(said_of("orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, count: 2" +
                      of_none + " }\n"),
              ElementsAre("design.range at ualink-200"));
  EXPECT_THAT(said_of(two_sites("", ", custom: { scale_up_links: 4 }")),
              ElementsAre("design.missing at 4"));
  EXPECT_THAT(said_of(two_sites("", ", custom: { scale_up: ualink-200, scale_up_links: 4 }")),
              IsEmpty());
}

TEST(CheckNames, node_draws_at_most_its_nameplate) {
  EXPECT_THAT(said_of(two_sites("", ", custom: { typical_power: 10.3 kW }")),
              ElementsAre("design.range at 10.3"));
  EXPECT_THAT(said_of(two_sites("", ", custom: { typical_power: 10.2 kW }")), IsEmpty());
  const Lines low = said_of(two_sites("", ", custom: { max_power: 1.5 kW, idle_power: 1 kW }"));
  EXPECT_THAT(low, ElementsAre("design.range at 1.5")) << "below the catalog's typical power";
}

TEST(CheckNames, every_draw_is_compared_with_the_nameplate) {
  const auto above = [](const std::string& at) { return "design.range at " + at; };
  EXPECT_THAT(said_of(north_and_south("", ", custom: { idle_power: 11 kW }")),
              ElementsAre(above("11")));
  EXPECT_THAT(said_of(north_and_south("", ", custom: { typical_power: 13 kW, idle_power: 12 kW }")),
              ElementsAre(above("13"), above("12")));
  EXPECT_THAT(
      said_of(north_and_south("",
                              ", custom: { max_power: 9 kW, typical_power: 9 kW, idle_power: "
                              "1 kW }")),
      IsEmpty());
  EXPECT_THAT(said_of(north_and_south(
                  "", ", custom: { max_power: 5 kW, typical_power: 4 kW, idle_power: 6 kW }")),
              ElementsAre(above("6")));
}

TEST(CheckNames, slices_must_suit_the_accelerator) {
  EXPECT_THAT(said_of(two_sites("", ", mig: { 1g.10gb: 7 }")), IsEmpty());
  EXPECT_THAT(said_of(two_sites("", ", mig: { 1g.11gb: 7 }")),
              ElementsAre("design.unknown-part at 1g.11gb:"));
}

TEST(CheckNames, weibull_shape_has_bounds) {
  const auto with = [](const char* shape) {
    return said_of(two_sites("", ", failures: { shape: " + std::string(shape) + " }"));
  };
  EXPECT_THAT(with("0.3"), IsEmpty());
  EXPECT_THAT(with("0.29"), ElementsAre("design.range at 0.29"));
  EXPECT_THAT(with("5"), IsEmpty());
  EXPECT_THAT(with("5.1"), ElementsAre("design.range at 5.1"));
}

Lines tier_said(const std::string& fields) {
  return said_of(two_sites("storage:\n  - { tier: warm, kind: object, capacity: 1 PB, site: one" +
                           fields + " }\n"));
}

TEST(CheckNames, tier_names_what_exists) {
  EXPECT_THAT(tier_said(", provider: acme"), ElementsAre("design.unknown-part at acme"));
  EXPECT_THAT(tier_said(", caches: hott"), ElementsAre("design.unknown-name at hott"));
  EXPECT_THAT(tier_said(", caches: node-nvme"), IsEmpty()) << "every node has drives";
}

// 223 + 32 shards are the 255 of a code over bytes; 8 + 2 leaves 0.8 of what is there.
TEST(CheckNames, erasure_code_needs_servers_with_drives) {
  const std::string drive = ", device: tlc-gen5";
  EXPECT_THAT(tier_said(drive + ", protection: { data: 8, parity: 2 }, server_cores: 32"),
              IsEmpty());
  EXPECT_THAT(tier_said(drive + ", protection: { data: 223, parity: 32 }"), IsEmpty());
  EXPECT_THAT(tier_said(drive + ", protection: { data: 224, parity: 32 }"),
              ElementsAre("design.range at {"));
  EXPECT_THAT(tier_said(drive + ", protection: { data: 8, parity: 2 }, usable: 0.8"), IsEmpty());
  EXPECT_THAT(tier_said(drive + ", protection: { data: 8, parity: 2 }, usable: 0.81"),
              ElementsAre("design.range at 0.81"));
  EXPECT_THAT(tier_said(", protection: { data: 8, parity: 2 }"),
              ElementsAre("design.protection at {"));
  EXPECT_THAT(tier_said(", server_cores: 32"), ElementsAre("design.protection at 32"));
  EXPECT_EQ(tier_said(", provider: aws, protection: { data: 8, parity: 2 }").size(), 1U);
  EXPECT_EQ(tier_said(", device: ddn-ai400x3, protection: { data: 8, parity: 2 }").size(), 1U);
}

Lines scheduler_said(const std::string& fields, const std::string& fleet = "") {
  return said_of(two_sites("scheduler: { " + fields + " }\n", fleet));
}

TEST(CheckNames, partitions_do_not_overlap_in_their_fleet) {
  EXPECT_THAT(scheduler_said("partitions: [{ name: p, nodes: 5 }, { name: q, nodes: 3 }]"),
              IsEmpty());
  EXPECT_THAT(scheduler_said("partitions: [{ name: p, nodes: 5 }, { name: q, nodes: 4 }]"),
              ElementsAre("design.partition at 4"));
  EXPECT_THAT(
      scheduler_said(
          "partitions: [{ name: p, nodes: 8 }, { name: q, fleet: small, nodes: 4 }, { name: r }]"),
      IsEmpty());
  EXPECT_THAT(scheduler_said("partitions: [{ name: p, fleet: small, nodes: 5 }]"),
              ElementsAre("design.partition at 5"));
  EXPECT_THAT(scheduler_said("partitions: [{ name: p, fleet: smal }]"),
              ElementsAre("design.unknown-name at smal"));
  EXPECT_THAT(scheduler_said("partitions: [{ name: small }]"),
              ElementsAre("design.partition at small"));
  EXPECT_THAT(scheduler_said("partitions: [{ name: big }]"), IsEmpty());
}

// 8 nodes: after 9 and after 11 nothing is left.
TEST(CheckNames, partitions_take_what_earlier_ones_leave) {
  const auto wants = [](int nodes) { return "design.partition at " + std::to_string(nodes); };
  EXPECT_THAT(scheduled("partitions: [{ name: p, nodes: 9 }, { name: q, nodes: 2 }]"),
              ElementsAre(wants(9), wants(2)));
  EXPECT_THAT(scheduled("partitions: [{ name: p, nodes: 2 }, { name: q, nodes: 7 }]"),
              ElementsAre(wants(7)));
  EXPECT_THAT(scheduled("partitions: [{ name: p, fleet: little, nodes: 3 }, { name: q, nodes: 6 }, "
                        "{ name: r, fleet: little, nodes: 2 }, { name: s, nodes: 2 }]"),
              ElementsAre(wants(2)));
  // A partition without a fleet belongs to Slurm's first one.
  EXPECT_THAT(scheduled("kind: both, partitions: [{ name: p, nodes: 5 }]",
                        ", partition: kubernetes } \n  - { name: mid, node: dgx-h100, count: 5"),
              IsEmpty());
  EXPECT_THAT(scheduled("kind: both, partitions: [{ name: p, nodes: 6 }]",
                        ", partition: kubernetes } \n  - { name: mid, node: dgx-h100, count: 5"),
              ElementsAre(wants(6)));
}

TEST(CheckNames, partitions_need_slurm) {
  const std::string kubernetes = "design.partition at {";
  EXPECT_THAT(scheduler_said("kind: kubernetes, partitions: [{ name: p }]"),
              ElementsAre(kubernetes));
  EXPECT_THAT(scheduler_said("kind: both, partitions: [{ name: p, fleet: big }]",
                             ", partition: kubernetes"),
              ElementsAre(kubernetes));
  EXPECT_THAT(
      scheduler_said("kind: both, partitions: [{ name: p, fleet: big }]", ", partition: slurm"),
      IsEmpty());
}

TEST(CheckNames, qos_must_have_an_effect) {
  EXPECT_THAT(scheduler_said("preemption: requeue, qos: [{ name: a, preempts: [b] }, { name: b }]"),
              IsEmpty());
  EXPECT_THAT(scheduler_said("qos: [{ name: a, preempts: [b] }, { name: b }]"),
              ElementsAre("design.qos at [b"));
  EXPECT_THAT(scheduler_said("preemption: requeue, qos: [{ name: aa, preempts: [bb] }]"),
              ElementsAre("design.unknown-name at [bb"));
  EXPECT_THAT(scheduler_said("kind: kubernetes, qos: [{ name: a }]"),
              ElementsAre("design.qos at {"));
  EXPECT_THAT(scheduler_said("fair_share_by: classic"),
              ElementsAre("design.fair-share at classic"));
  EXPECT_THAT(scheduler_said("fair_share: true, fair_share_by: classic"), IsEmpty());
}

const std::string kLimited =
    "scheduler:\n  partitions: [{ name: part, fleet: little }]\n"
    "  qos: [{ name: slow, time_limit: 1 d }, { name: free }]\n";

Lines work_said_of(const std::string& workload, const std::string& more = kLimited) {
  return said_of(north_and_south(more + "workloads:\n  - " + workload + "\n"));
}

// Jobs and batches end; work that does not end is not cut.
TEST(CheckNames, time_limit_needs_work_that_ends) {
  const std::string cut = "design.qos at slow";
  EXPECT_THAT(work_said_of("batch: { core_hours: 9, dataset: { size: 1 TB }, qos: slow }"),
              IsEmpty());
  EXPECT_THAT(work_said_of("jobs: { rate: 1 /h, mean_duration: 1 h, qos: slow }"), IsEmpty());
  EXPECT_THAT(work_said_of("train: { model: llama-3-8b, tokens: 1T, batch: 64, qos: slow }"),
              ElementsAre(cut));
  EXPECT_THAT(work_said_of("train: { model: llama-3-8b, tokens: 1T, batch: 64, qos: free }"),
              IsEmpty());
  EXPECT_THAT(work_said_of("train: { model: llama-3-8b, tokens: 1T, batch: 64, qos: fre }"),
              ElementsAre("design.unknown-name at fre"));
}

Lines work_said(const std::string& workload, const std::string& more = "") {
  return said_of(two_sites(more + "workloads:\n  - " + workload + "\n"));
}

TEST(CheckNames, workload_names_its_partition_and_qos) {
  const std::string scheduler =
      "scheduler:\n  partitions: [{ name: part, fleet: small }]\n"
      "  qos: [{ name: slow, time_limit: 1 d }, { name: free }]\n";
  const auto jobs = [&](const std::string& fields) {
    return work_said("jobs: { rate: 1 /h, mean_duration: 1 h" + fields + " }", scheduler);
  };
  EXPECT_THAT(jobs(", partition: part, fleet: small, qos: slow"), IsEmpty());
  EXPECT_THAT(jobs(", partition: parts"), ElementsAre("design.unknown-name at parts"));
  EXPECT_THAT(jobs(", partition: part"), ElementsAre("design.partition at part"));
  EXPECT_THAT(jobs(", qos: slov"), ElementsAre("design.unknown-name at slov"));
  const auto serve = [&](const char* qos) {
    return work_said("serve: { model: llama-3-8b, arrivals: { rate: 1 /s, trace: chat }, qos: " +
                         std::string(qos) + " }",
                     scheduler);
  };
  EXPECT_THAT(serve("slow"), ElementsAre("design.qos at slow"));
  EXPECT_THAT(serve("free"), IsEmpty());
}

TEST(CheckNames, wan_line_joins_two_sites) {
  const auto wan = [](const std::string& between) {
    return said_of(
        north_and_south("fabric: { wan: [{ " + between + "rate: 10 Gb/s, latency: 5 ms }] }\n"));
  };
  const auto joins = [](const std::string& at) { return "design.range at " + at; };
  EXPECT_THAT(wan("between: [north, south], "), IsEmpty());
  EXPECT_THAT(wan("between: [north, north], "), ElementsAre(joins("[north")));
  EXPECT_THAT(wan("between: [north], "), ElementsAre(joins("[north")));
  EXPECT_THAT(wan("between: [north, south, north], "), ElementsAre(joins("[north")));
  EXPECT_THAT(wan("between: [north, south_], "), ElementsAre("design.unknown-name at south_"));
  EXPECT_EQ(wan("").size(), 1U) << "`between` is missing";
}

TEST(CheckNames, jobs_need_a_trace_or_a_rate) {
  const std::string missing = "design.missing at {";
  EXPECT_THAT(work_said("jobs: { rate: 1 /h }"), ElementsAre(missing));
  EXPECT_THAT(work_said("jobs: { mean_duration: 1 h }"), ElementsAre(missing));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, sizes: [1, 2], weights: [1] }"),
              ElementsAre("design.range at [1"));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, sizes: [1, 2], weights: [1, 3] }"),
              IsEmpty());
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, fleet: tiny }"),
              ElementsAre("design.unknown-name at tiny"));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, residency: atlantis }"),
              ElementsAre("design.unknown-part at atlantis"));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, residency: eu }"), IsEmpty());
}

TEST(CheckNames, jobs_on_slices_have_no_sizes) {
  const std::string mig = "jobs: { rate: 1 /h, mean_duration: 1 h, mig: { 1g.10gb: 1 }";
  EXPECT_THAT(work_said(mig + " }"), IsEmpty());
  EXPECT_THAT(work_said(mig + ", sizes: [1] }"), ElementsAre("design.mig at [1"));
  EXPECT_THAT(work_said("jobs: { rate: 1 /h, mean_duration: 1 h, mig: { 2g.10gb: 1 } }"),
              ElementsAre("design.unknown-part at 2g.10gb:"));
  EXPECT_THAT(said_of("orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, count: 2, "
                      "custom: { accelerators: 0, cores: 9 } }\nworkloads:\n  - " +
                      mig + " }\n"),
              ElementsAre("design.mig at {"));
}

TEST(CheckNames, jobs_on_slices_refuse_sizes_weights_and_traces) {
  const auto jobs = [](const std::string& fields) {
    return work_said_of(
        "jobs: { rate: 1 /h, mean_duration: 1 h, mig: { 1g.10gb: 1 }, " + fields + " }", "");
  };
  const auto slices = [](const std::string& at) { return "design.mig at " + at; };
  EXPECT_THAT(jobs("sizes: [2], weights: [1]"), ElementsAre(slices("[2"), slices("[1")));
  EXPECT_THAT(jobs("trace: x.csv"), ElementsAre(slices("x.csv")));
  EXPECT_THAT(jobs("fleet: nowhere-at-all"), ElementsAre("design.unknown-name at nowhere-at-all"));
  // The fleet's own accelerator decides which slices it has.
  EXPECT_THAT(
      said_of(north_and_south("workloads:\n  - jobs: { rate: 1 /h, mean_duration: 1 h, fleet: "
                              "cut, mig: { 1g.18gb: 1 } }\n",
                              " }\n  - { name: cut, node: dgx-h200, count: 2, site: north")),
      IsEmpty());
}

TEST(CheckNames, job_trace_needs_its_columns) {
  const auto with = [](const std::string& text) {
    return said_of(two_sites("workloads:\n  - jobs: { trace: j.csv }\n"),
                   [&](std::string_view path) -> Result<std::string> {
                     EXPECT_EQ(path, "j.csv");
                     return text;
                   });
  };
  EXPECT_THAT(with("submit_s,duration_s,accelerators\n0,1,8\n"), IsEmpty());
  EXPECT_THAT(with("submit_s,duration_s\n0,1\n"), ElementsAre("design.trace-file at j.csv"));
  EXPECT_THAT(with("duration_s,accelerators\n0,1\n"), ElementsAre("design.trace-file at j.csv"));
  EXPECT_THAT(with(""), ElementsAre("design.trace-file at j.csv"));
  EXPECT_THAT(work_said("jobs: { trace: j.csv }"), IsEmpty()) << "no files are at hand";
}

std::string traced_service(const std::string& fields) {
  return "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: f, node: dgx-h100, count: "
         "2 }\nworkloads:\n  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s, trace: r.csv" +
         fields + " } }\n";
}

// "IN OUT" as the lengths were read, or the complaint.
std::string trace_lengths(const std::string& rows, const std::string& fields = "") {
  const auto d = read_design(traced_service(fields), design::catalog(),
                             {.read_file = [&](std::string_view) -> Result<std::string> {
                               return "input_tokens,output_tokens\n" + rows;
                             }});
  if (!d) {
    const Diagnostic& f = d.error().front();
    return f.code;
  }
  const design::Arrivals& a = std::get<design::Serve>(d->workloads[0].task).arrivals;
  return shortest(a.input_tokens.value_or(-1)) + " " + shortest(a.output_tokens.value_or(-1));
}

// (100 + 300) / 2 and (20 + 40) / 2; a row that lacks a number or has one below nothing is none.
TEST(CheckNames, request_trace_averages_complete_rows) {
  EXPECT_EQ(trace_lengths("100,20\n300,40\n"), "200 30");
  EXPECT_EQ(trace_lengths("100,20\n300,40\n,90\n"), "200 30");
  EXPECT_EQ(trace_lengths("100,20\n300,40\n900,\n"), "200 30");
  EXPECT_EQ(trace_lengths("100,20\nx,90\n300,40\n"), "200 30");
  EXPECT_EQ(trace_lengths("100,20\n900,y\n300,40\n"), "200 30");
  EXPECT_EQ(trace_lengths("100,20\n-1,90\n300,40\n"), "200 30");
  EXPECT_EQ(trace_lengths("100,20\n900,-1\n300,40\n"), "200 30");
  EXPECT_EQ(trace_lengths("0,20\n300,0\n"), "150 10") << "0 counts as a length";
}

TEST(CheckNames, given_lengths_override_the_trace) {
  EXPECT_EQ(trace_lengths("100,20\n300,40\n", ", input_tokens: 7"), "7 30");
  EXPECT_EQ(trace_lengths("100,20\n300,40\n", ", output_tokens: 9"), "200 9");
}

const char* const kNoRequests = "design.trace-file";

TEST(CheckNames, requests_have_a_token_each_way) {
  EXPECT_EQ(trace_lengths(""), kNoRequests);
  EXPECT_EQ(trace_lengths("1,1\n"), "1 1");
  EXPECT_EQ(trace_lengths("0,5\n"), kNoRequests);
  EXPECT_EQ(trace_lengths("5,0\n"), kNoRequests);
  EXPECT_EQ(trace_lengths("1,1\n0,5\n"), kNoRequests) << "the mean is below one token";
  EXPECT_EQ(trace_lengths("2,1\n0,5\n"), "1 3");
  EXPECT_EQ(trace_lengths("5,1\n5,0\n"), kNoRequests);
  EXPECT_EQ(trace_lengths("-5,5\n"), kNoRequests);
}

TEST(CheckNames, unreadable_trace_is_refused) {
  EXPECT_THAT(said_of(traced_service(""), {}), ElementsAre("design.no-files at r.csv"));
  EXPECT_THAT(said_of(traced_service(""), unreadable), ElementsAre("design.trace-file at r.csv"));
  for (const char* column : {"input_tokens\n1\n", "output_tokens\n1\n"}) {
    EXPECT_THAT(said_of(traced_service(""), holding(column)),
                ElementsAre("design.trace-file at r.csv"));
  }
  for (const std::string mix : {"chat", "code", "summary"}) {
    std::string text = traced_service("");
    text.replace(text.find("r.csv"), 5, mix);
    EXPECT_THAT(said_of(text, unreadable), IsEmpty()) << mix;
  }
}

std::string trained_models(const std::string& first, const std::string& second) {
  return "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: f, node: dgx-h100, count: "
         "2 }\nworkloads:\n  - train: { name: a, model: " +
         first + ", tokens: 1T, batch: 64 }\n  - train: { name: b, model: " + second +
         ", tokens: 1T, batch: 64 }\n";
}

constexpr const char* kTinyConfig = R"({"model_type": "llama", "hidden_size": 512,
  "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4,
  "intermediate_size": 1024, "vocab_size": 1000, "torch_dtype": "bfloat16"})";

TEST(CheckNames, model_config_is_read_once) {
  std::vector<std::string> read;
  const auto d = read_design(trained_models("tiny.json", "tiny.json"), design::catalog(),
                             {.read_file = [&](std::string_view path) -> Result<std::string> {
                               read.emplace_back(path);
                               return std::string(kTinyConfig);
                             }});
  ASSERT_TRUE(d) << to_text(d.error());
  EXPECT_THAT(read, ElementsAre("tiny.json"));
  ASSERT_EQ(d->local_models.size(), 1U);
  EXPECT_EQ(d->local_models[0].path, "tiny.json");
  EXPECT_EQ(d->local_models[0].shape.hidden, 512);
  const auto two = read_design(trained_models("tiny.json", "tinier.json"), design::catalog(),
                               {.read_file = holding(kTinyConfig)});
  ASSERT_TRUE(two);
  ASSERT_EQ(two->local_models.size(), 2U);
  EXPECT_EQ(two->local_models[1].path, "tinier.json");
}

TEST(CheckNames, unreadable_model_config_is_refused) {
  EXPECT_THAT(said_of(trained_models("llama-3-8b", "tiny.json"), {}),
              ElementsAre("design.no-files at tiny.json"));
  EXPECT_THAT(said_of(trained_models("llama-3-8b", "tiny.json"), unreadable),
              ElementsAre("design.model-file at tiny.json"));
}

TEST(CheckNames, training_names_its_model_and_tiers) {
  const auto train = [](const std::string& fields) {
    return work_said("train: { model: llama-3-8b, tokens: 1T, batch: 64" + fields + " }",
                     "storage:\n  - { tier: hot, kind: object, capacity: 1 PB }\n");
  };
  EXPECT_THAT(train(", dataset: { tier: hot }"), IsEmpty());
  EXPECT_THAT(train(", dataset: { tier: hit }"), ElementsAre("design.unknown-name at hit"));
  EXPECT_THAT(train(", features: { rate: 1 /s, size: 1 kB, tier: hit }"),
              ElementsAre("design.unknown-name at hit"));
  EXPECT_THAT(train(", checkpoint: { to: [hot, hit] }"), ElementsAre("design.unknown-name at hit"));
  EXPECT_THAT(train(", checkpoint: { keep: { hit: 3 } }"),
              ElementsAre("design.unknown-name at hit:"));
  EXPECT_THAT(train(", dataset: { format: files, random_access: 0.1 }"),
              ElementsAre("design.range at 0.1"));
  EXPECT_THAT(train(", dataset: { format: shards, random_access: 0.1 }"), IsEmpty());
  EXPECT_THAT(train(", network: { params: 1M, forward: 1 GFLOP }"),
              ElementsAre("design.missing at {"));
  EXPECT_THAT(work_said("train: { tokens: 1T, batch: 64 }"), ElementsAre("design.missing at {"));
  EXPECT_THAT(work_said("train: { model: llama-3-8c, tokens: 1T, batch: 64 }"),
              ElementsAre("design.unknown-part at llama-3-8c"));
}

TEST(CheckNames, batch_reads_its_input_in_order) {
  const auto batch = [](const std::string& fields) {
    return work_said("batch: { dataset: { size: 1 TB" + fields + " } , core_hours: 9 }");
  };
  EXPECT_THAT(batch(""), IsEmpty());
  EXPECT_THAT(batch(", random_access: 0.1"), ElementsAre("design.range at 0.1"));
  EXPECT_THAT(batch(", tier: hit"), ElementsAre("design.unknown-name at hit"));
  EXPECT_THAT(work_said("batch: { core_hours: 9, inference: { model: llama-3-8b, requests: 1M, "
                        "input_tokens: 9, output_tokens: 9 } }"),
              ElementsAre("design.inference at {"));
  EXPECT_THAT(work_said("batch: { inference: { model: llama-3-8c, requests: 1M, input_tokens: 9, "
                        "output_tokens: 9 } }"),
              ElementsAre("design.unknown-part at llama-3-8c"));
}

TEST(CheckNames, workload_has_one_model_or_network) {
  EXPECT_THAT(work_said_of("train: { tokens: 1T, batch: 64 }", ""),
              ElementsAre("design.missing at {"));
  EXPECT_THAT(work_said_of("serve: { model: llama-3-8b, network: { params: 1M, forward: 1 GFLOP }, "
                           "arrivals: { rate: 1 /s } }",
                           ""),
              testing::Contains("design.missing at {"));
  EXPECT_EQ(work_said_of("train: { model: [x], tokens: 1T, batch: 64 }", "").size(), 1U)
      << "a model that was refused is not missing too";
}

}  // namespace
}  // namespace orrery::design_text
