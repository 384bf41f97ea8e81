// Parts of a machine at their very edges: batches, ledgers, links as fitted, costs of collectives,
// racks, tiers of nodes without drives, stages that cannot run, asks within their least time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "layers/failure/rates.h"
#include "layers/serving/graph_reduce.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/value_reader.h"
#include "model/figures/goals.h"
#include "model/jobs/batch_split.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/pipeline.h"
#include "model/jobs/serving_choices.h"
#include "model/jobs/tier_asks.h"
#include "model/machine/costs.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/site_load.h"

namespace orrery::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

design::Design read_edges(const std::string& more, const std::string& fleet = "node: dgx-h100") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n  - { name: f, count: 4, " + fleet +
          " }\n" + more,
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return d.value();
}

TEST(EdgesOfBatches, microbatches_and_splits_divide_them) {
  const machine::Machine m = build_machine(read_edges(""), machine::known());
  design::Workload w;
  design::Train train{.batch = 6};
  catalog::ModelShape model{.layers = 2};
  TrainJob job{
      .workload = &w, .train = &train, .fleet = &m.fleets[design::FleetIndex(0)], .model = &model};
  EXPECT_TRUE(batch_spreads(job, 3));
  train.batch = 1;
  EXPECT_FALSE(batch_spreads(job, 3)) << "one of three has nothing to do";
  EXPECT_TRUE(batch_spreads(job, 2)) << "two stages";
  model.layers = 61;
  EXPECT_TRUE(batch_spreads(job, 61)) << "a layer each";
  model.layers = 67;
  EXPECT_FALSE(batch_spreads(job, 67)) << "more than 64 stages";
  model.layers = 64;
  EXPECT_TRUE(batch_spreads(job, 512)) << "64 stages of 8";
  EXPECT_FALSE(batch_spreads(job, 1024));
  train.layout = design::Layout{.tp = 1, .pp = 1, .mbs = 1};
  train.batch = 6;
  EXPECT_TRUE(batch_spreads(job, 6));
  train.layout->mbs = 5;
  EXPECT_FALSE(batch_spreads(job, 3)) << "three of five are fifteen";
  train.layout->mbs = 0;
  EXPECT_TRUE(batch_spreads(job, 3)) << "at least one";
  train.layout->dp = 2;
  EXPECT_THAT(counts_to_try(job, 64), ElementsAre(2)) << "what it names, of however many";
  train.layout->dp = 4;
  EXPECT_THAT(counts_to_try(job, 64), IsEmpty()) << "six of four";
}

TEST(EdgesOfBatches, the_nearest_is_one_that_can_be_written) {
  const machine::Machine m = build_machine(read_edges(""), machine::known());
  design::Workload w;
  design::Train train{.batch = 1};
  TrainJob job{.workload = &w, .train = &train, .fleet = &m.fleets[design::FleetIndex(0)]};
  EXPECT_EQ(nearest_batch(job, 1), 1);
  EXPECT_EQ(nearest_batch(job, 0), std::nullopt);
  // 10,000,001 is 11 x 909,091, and more than a design may ask for.
  ASSERT_EQ(design_text::kMostCount, 10'000'000);
  train.batch = 10'000'000;
  EXPECT_EQ(nearest_batch(job, 11), 10'000'001 - 11);
  EXPECT_EQ(nearest_batch(job, 10), 10'000'000);
  train.batch = 15;
  EXPECT_EQ(nearest_batch(job, 10), 20) << "of two as near the larger";
}

TEST(EdgesOfLedgers, rounding_and_the_largest) {
  design::Design d;
  d.workloads.resize(4);
  machine::FleetBook b{.count = 10, .bookings = {}};
  book(b, {.workload = &d.workloads[0], .nodes = 10 - 1.03e-8, .given = true});
  EXPECT_NEAR(b.idle(), 1.03e-8, 1e-12) << "more than a thousandth of a millionth of ten";
  b.bookings[0].nodes = 10 + 1.03e-8;
  EXPECT_NEAR(b.over(), 1.03e-8, 1e-12);
  b.bookings[0].nodes = 3;
  book(b, {.workload = &d.workloads[1], .nodes = 9});
  EXPECT_EQ(b.largest_given(), &b.bookings[0]) << "the larger one was not given";
  book(b, {.workload = &d.workloads[2], .nodes = 3, .given = true});
  EXPECT_EQ(b.largest_given(), &b.bookings[0]) << "the first of equals";
  book(b, {.workload = &d.workloads[3], .nodes = 2, .given = true});
  EXPECT_EQ(b.largest_given(), &b.bookings[0]);
}

TEST(EdgesOfLinks, are_fitted_where_both_levels_are) {
  const fabric::CollectiveParameters& p = machine::known().collectives;
  int fitted = 0, others = 0;
  for (const char* id : {"h100-sxm", "b200-sxm", "mi300x", "tpu-v5e", "gaudi3"}) {
    const catalog::Accelerator* a = machine::known().catalog().accelerator(id);
    if (a == nullptr) continue;
    using enum catalog::NetworkKind;
    for (const catalog::NetworkKind n : {none, infiniband, roce}) {
      machine::Wiring w{
          .accelerator = a, .nics_per_host = 8, .nic_rate = gbits_per_s(400), .network = n};
      const bool both = p.scaleup(a->scaleup_link).fitted && (n == none || p.network(n).fitted);
      EXPECT_EQ(machine::Links(w, p).fitted(), both) << id;
      ++(both ? fitted : others);
      w.unmeasured = true;
      EXPECT_FALSE(machine::Links(w, p).fitted());
      const machine::Links links(w, p);
      EXPECT_EQ(links.built().nic_rate,
                n == none ? BytesPerSecond(0)
                          : min(gbytes_per_s(50), machine::pcie_rate(a->pcie_generation)));
    }
  }
  EXPECT_GT(fitted, 0);
  fabric::CollectiveParameters unknown = p;
  for (auto& s : unknown.scaleups) s.fitted = false;
  const machine::Wiring w{.accelerator = machine::known().catalog().accelerator("h100-sxm"),
                          .network = catalog::NetworkKind::none};
  EXPECT_TRUE(machine::Links(w, p).fitted());
  EXPECT_FALSE(machine::Links(w, unknown).fitted());
  unknown = p;
  for (auto& n : unknown.networks) n.fitted = false;
  EXPECT_TRUE(machine::Links(w, unknown).fitted()) << "it has no network";
  EXPECT_FALSE(machine::Links({.accelerator = w.accelerator}, unknown).fitted());
}

// Of links without rows the interval is 4.5 times as wide, of sums in switches twice.
TEST(EdgesOfLinks, intervals_are_wider_where_nothing_was_measured) {
  machine::Wiring w{.accelerator = machine::known().catalog().accelerator("h100-sxm"),
                    .nics_per_host = 8,
                    .nic_rate = gbits_per_s(400),
                    .sharp = true};
  const auto predicted = [&](fabric::CollectiveAlgorithm a) {
    const machine::Links links(w, machine::known().collectives);
    return links.predict({workload::Collective::all_reduce, gib(1), links.group_of(64)}, a).seconds;
  };
  const auto rows = machine::known().collectives.interval(true, gib(1));
  const auto expect_wider = [&](const Estimate& e, double wider, Basis basis) {
    EXPECT_NEAR(std::log(e.high / e.value), rows.high * wider, 1e-9);
    EXPECT_NEAR(std::log(e.value / e.low), rows.low * wider, 1e-9);
    EXPECT_EQ(e.basis, basis);
    EXPECT_EQ(e.reference, "docs/models/collectives.md");
  };
  expect_wider(predicted(fabric::CollectiveAlgorithm::ring), 1, Basis::fitted);
  expect_wider(predicted(fabric::CollectiveAlgorithm::sharp), 2, Basis::assumed);
  w.unmeasured = true;
  expect_wider(predicted(fabric::CollectiveAlgorithm::ring), 4.5, Basis::assumed);
}

TEST(EdgesOfCosts, an_engine_adds_by_itself_where_it_is_faster) {
  const machine::Wiring w{.accelerator = machine::known().catalog().accelerator("h100-sxm"),
                          .nics_per_host = 8,
                          .nic_rate = gbits_per_s(400)};
  const machine::Costs library(machine::known(), w, {});
  const machine::Costs own(machine::known(), w, {.graph_reduce = true});
  const auto call = [](workload::Collective kind, double bytes, int ranks) {
    return workload::CollectiveCall{kind, Bytes(bytes), machine::packed_group(ranks, 8)};
  };
  using enum workload::Collective;
  for (const double bytes : {1e4, 1e6, 1e9}) {
    const Seconds graph = serving::graph_all_reduce(Bytes(bytes), 8, gbytes_per_s(450), 4);
    EXPECT_EQ(own.collective(call(all_reduce, bytes, 8)),
              min(graph, library.collective(call(all_reduce, bytes, 8))));
    EXPECT_EQ(own.collective(call(all_gather, bytes, 8)),
              library.collective(call(all_gather, bytes, 8)));
    EXPECT_EQ(own.collective(call(all_reduce, bytes, 64)),
              library.collective(call(all_reduce, bytes, 64)))
        << "between hosts";
  }
  EXPECT_LT(own.collective(call(all_reduce, 1e4, 8)), library.collective(call(all_reduce, 1e4, 8)));
  // Whoever asks for sixteen, four on each host, has two hosts of eight.
  const workload::CollectiveCall packed{all_reduce, Bytes(1e6), {.ranks = 16, .per_domain = 4}};
  EXPECT_EQ(serving_source(library).collective(packed),
            library.collective(call(all_reduce, 1e6, 16)));
  EXPECT_NE(library.collective(packed), library.collective(call(all_reduce, 1e6, 16)));
}

TEST(EdgesOfFailures, published_rates_go_by_the_size_of_the_run) {
  const machine::Machine m = build_machine(read_edges(""), machine::known());
  for (const int hosts : {1, 40, 2000}) {
    const machine::FailureSource s =
        machine::failure_source(m.fleets[design::FleetIndex(0)], machine::known(), hosts);
    EXPECT_DOUBLE_EQ(
        s.base.base(),
        failure::published_rate(machine::known().failure_rates, hosts).per_node.base());
  }
  EXPECT_NE(machine::failure_source(m.fleets[design::FleetIndex(0)], machine::known(), 1).base,
            machine::failure_source(m.fleets[design::FleetIndex(0)], machine::known(), 2000).base);
}

TEST(EdgesOfSites, goals_have_their_line_and_plants_their_own) {
  const design::Design d = read_edges("goals:\n  - mfu >= 0.4\n  - pue <= 1.2\n");
  const auto outcomes = figures::judge_goals(d, {});
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_GT(outcomes[0].place.line, 1);
  EXPECT_EQ(outcomes[1].place.line, outcomes[0].place.line + 1);
  const design::Site site{.cooling_spares = 3, .cooling_design = 41};
  EXPECT_EQ(machine::cooling_plant(site, kilowatts(9)).spares, 3);
  EXPECT_EQ(machine::cooling_plant(site, kilowatts(9)).design_c, 41);
  design::Design two;
  two.sites.resize(2);
  EXPECT_EQ(machine::build_sites(two, machine::known().catalog())[design::SiteIndex(1)].path,
            "sites[1]");
  two.sites.resize(1);
  EXPECT_EQ(machine::build_sites(two, machine::known().catalog())[design::SiteIndex(0)].path,
            "site");
}

// A rack of 18 hosts by itself is one; of a cooling that nobody knows nothing follows.
TEST(EdgesOfSites, hosts_of_a_rack) {
  design::Design d = read_edges("", "node: gb200-nvl72, nodes_per_rack: 2");
  const machine::Machine racks = build_machine(d, machine::known());
  EXPECT_EQ(machine::shared_parts(racks, racks.fleets[design::FleetIndex(0)]).hosts_per_rack, 36);
  d.fleet[0].nodes_per_rack.reset();
  d.sites[0].cooling = "unheard-of";
  const machine::Machine odd = build_machine(d, machine::known());
  EXPECT_EQ(machine::shared_parts(odd, odd.fleets[design::FleetIndex(0)]).hosts_per_rack, 18);
  EXPECT_EQ(machine::shared_parts(odd, odd.fleets[design::FleetIndex(0)]).rack_limit, Watts(0));
}

TEST(EdgesOfTiers, nodes_without_drives_have_no_tier_of_their_own) {
  const machine::Machine bare = build_machine(
      read_edges("", "custom: { accelerators: 0, cores: 8, sockets: 1 }"), machine::known());
  EXPECT_THAT(bare.tiers, IsEmpty());
  const machine::Machine drives = build_machine(read_edges(""), machine::known());
  ASSERT_EQ(drives.tiers.size(), 1U);
  EXPECT_EQ(drives.tiers[design::TierIndex(0)].label, "node-nvme");
  EXPECT_TRUE(drives.tiers[design::TierIndex(0)].implied);
  // Beside the drives of others those without count for nothing.
  const auto both =
      read_edges("  - { name: c, count: 2, custom: { accelerators: 0, cores: 8, sockets: 1 } }\n");
  const machine::Machine mixed = build_machine(both, machine::known());
  EXPECT_EQ(mixed.tiers[design::TierIndex(0)].devices, drives.tiers[design::TierIndex(0)].devices);
  EXPECT_FALSE(
      machine::durability_of(drives.tiers[design::TierIndex(0)], machine::known().catalog(), 1));
  EXPECT_EQ(
      machine::servers_of(drives.tiers[design::TierIndex(0)], machine::known().catalog()).metadata,
      0);
}

// A tenth of five seconds is less than the second that every copy has; saves to a goal that is no
// upper bound have their tenth of the interval.
TEST(EdgesOfAsks, have_a_second_at_the_least) {
  design::Design d = read_edges(
      "storage:\n  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 8 GB/s, capacity: 1 PB "
      "}\n  - { tier: cold, kind: object, read: 9 GB/s, write: 3 GB/s, capacity: 9 PB }\n");
  const auto asked = [&](const design::Goal& goal) {
    d.goals = {goal};
    const machine::Machine m = build_machine(d, machine::known());
    design::Train train;
    TrainJob job{.train = &train, .label = "r"};
    job.checkpoint.emplace();
    job.checkpoint->async = false;
    job.checkpoint->size = gigabytes(6);
    job.checkpoint->files = 4;
    job.checkpoint->interval = seconds(30);
    job.checkpoint->first = job.checkpoint->safe = &m.tiers[design::TierIndex(0)];
    job.checkpoint->later = {
        {.tier = &m.tiers[design::TierIndex(1)], .kept = {}, .every = seconds(5)}};
    std::vector<double> writes;
    for (const machine::TierAsk& a : asks_of(job, m)) writes.push_back(a.demand.write.base());
    return writes;
  };
  const auto goal = [](const char* text) { return *design::parse_goal(text); };
  EXPECT_THAT(asked(goal("checkpoint_stall <= 2 s")), ElementsAre(3e9, 6e9));
  EXPECT_THAT(asked(goal("checkpoint_stall < 2 s")), ElementsAre(3e9, 6e9));
  EXPECT_THAT(asked(goal("checkpoint_stall >= 2 s")), ElementsAre(2e9, 6e9));
  EXPECT_THAT(asked(goal("recovery <= 2 s")), ElementsAre(2e9, 6e9));
}

TEST(EdgesOfStages, that_cannot_run_say_why) {
  design::Design d = read_edges(
      "storage:\n  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 8 GB/s, capacity: 1 PB "
      "}\n");
  d.pipeline.stages.push_back({.stage = design::DataStage::train, .workload = "nobody"});
  d.pipeline.stages.push_back(
      {.stage = design::DataStage::ingest, .to = "hot", .size = gigabytes(8)});
  const machine::Machine m = build_machine(d, machine::known());
  const auto stages = pipeline_of(m);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].infeasible, "its workload is not there");
  EXPECT_FALSE(PipelineStage{}.is_served);
  // What is left of a tier may be less than a byte a second; nothing left is nothing known.
  const Seconds first = stages[1].to->first_byte;
  TiersLeft left(m.tiers.size());
  const design::TierIndex of = stages[1].to->index;
  left[of].write = BytesPerSecond(0.5);
  EXPECT_DOUBLE_EQ(move_time(stages[1], left).base(), first.base() + 16e9);
  left[of].write = BytesPerSecond(0);
  EXPECT_LT(move_time(stages[1], left).base(), first.base() + 1e6);
  // A copy that is made at no interval takes nothing of it.
  design::Workload work;
  TrainJob job{.workload = &work};
  job.checkpoint.emplace();
  job.checkpoint->size = gigabytes(8);
  job.checkpoint->interval = seconds(2);
  job.checkpoint->later = {{.tier = &m.tiers[of], .kept = {}, .every = Seconds(0)}};
  const TrainJob* runs[] = {&job};
  EXPECT_EQ(tiers_left(m, stages, runs)[of].write, gbytes_per_s(8));
  job.checkpoint->later[0].every = seconds(2);
  EXPECT_EQ(tiers_left(m, stages, runs)[of].write, gbytes_per_s(4));
}

TEST(EdgesOfChoices, nothing_that_misses_its_bound_is_offered) {
  ServingAsk ask{.model = *machine::known().catalog().model("llama-3-8b"),
                 .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                 .request = {.input = 10, .output = 50},
                 .engines = {"vllm"},
                 .formats = {catalog::Dtype::bf16},
                 .tp = 1};
  ask.target.ttft_p99 = microseconds(1);
  EXPECT_THAT(serving_for(machine::known(), ask, PerSecond(1)), IsEmpty());
  EXPECT_THAT(serving_within(machine::known(), ask, 8), IsEmpty());
  ask.target = {};
  ask.joined = false;
  // Replicas that carry less than one request a second are counted like others.
  ask.request = {.input = 100000, .output = 4};
  const auto reading = serving_for(machine::known(), ask, PerSecond(2));
  ASSERT_EQ(reading.size(), 1U);
  EXPECT_GT(reading[0].prefill, 2);
  ask.request = {.input = 50000, .output = 50000};
  const auto writing = serving_for(machine::known(), ask, PerSecond(2));
  ASSERT_EQ(writing.size(), 1U);
  EXPECT_GT(writing[0].replicas - writing[0].prefill, 2);
  EXPECT_EQ(ServingChoice{}.batch, 0);
}

}  // namespace
}  // namespace orrery::jobs
