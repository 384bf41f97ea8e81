// Rules, edits and views at their edges: bounds met exactly, sites without machines, talks that
// crowd a cache, deadlines, doubled tiers.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "model/design_text/read_design.h"
#include "model/jobs/conversations.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_query.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/spend.h"
#include "plan/verdict/invariants.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

review::Review edge_review(const std::string& text) {
  const auto d =
      design_text::read_design("orrery: 1\nname: a\n" + text, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return review::run_stages(d ? *d : design::Design{}, machine::known());
}

// A rack at just what its cooling reaches is the site's limit's concern.
TEST(RuleEdges, ARackAtWhatItsCoolingReaches) {
  review::Review r = review::lab_review("superpod-h100");
  r.sites[0].fleets[0].rack.power = kilowatts(70);
  r.sites[0].fleets[0].rack.limit = kilowatts(44);
  EXPECT_EQ(rules::only_finding(r, "facility.rack-above-cooling").fix,
            "Use fewer nodes a rack, or racks of 70 kW.");
  r.sites[0].fleets[0].rack.power = kilowatts(70.1);
  EXPECT_EQ(rules::only_finding(r, "facility.rack-above-cooling").fix,
            "Use immersion-1p cooling, or fewer nodes a rack.");
}

// Eight nodes of 10.2 kW: two a rack in air, three behind passive doors, five behind active ones.
TEST(RuleEdges, CoolingThatMakesRoomExactly) {
  const auto edit = [](int positions) {
    const review::Review r = edge_review(
        "site: { region: usa, cooling: air-contained, racks: " + std::to_string(positions) +
        " }\nfleet: [{ name: f, node: dgx-h100, count: 8 }]\n");
    EXPECT_EQ(r.sites[0].racks, 4);
    return rules::edit_of(rules::edit_positions(r, r.sites[0]));
  };
  EXPECT_EQ(edit(3), "site.cooling = rear-door-passive");
  EXPECT_EQ(edit(2), "site.cooling = rear-door-active");
}

// A tier at a site that nobody knows has no site to encrypt it.
TEST(RuleEdges, EncryptionOfATierWithoutASite) {
  review::Review r = review::lab_review("chatbot-zones");
  auto m = std::make_shared<machine::Machine>(*r.machine);
  design::Design d = r.design();
  d.storage[0].encrypted = false;
  d.storage[0].site = "nowhere";
  std::get<design::Serve>(d.workloads[0].task).weights_tier = d.storage[0].name;
  m->wanted = std::make_shared<const design::Design>(d);
  r.machine = m;
  EXPECT_EQ(rules::only_finding(r, "policy.encryption-at-rest").what,
            "'chatbot' asks for encryption at rest; tier 'hot-us-east' does not offer it.");
}

// What is held by more than there is of a fleet is not a partition's concern.
TEST(RuleEdges, PartitionsOfAFleetThatIsOverBooked) {
  design::Design d = review::lab_design("superpod-h100");
  d.scheduler.partitions = {{.name = "p", .nodes = 100}};
  for (design::Workload& w : d.workloads) w.terms.partition = "p";
  review::Review r = review::run_stages(std::move(d), machine::known());
  auto& bookings = r.ledger.fleets[design::FleetIndex(0)].bookings;
  bookings = {{.workload = &r.design().workloads[0], .nodes = 110, .needed = 110, .given = true}};
  EXPECT_EQ(rules::only_finding(r, "cluster.partition-nodes").what,
            "Partition 'p' has 100 of the 127 nodes of 'train'; its workloads hold 110.");
  bookings[0].nodes = 128;
  EXPECT_TRUE(rules::findings_by(r, "cluster.partition-nodes").empty());
}

// Half of the nodes, half of the time: a quarter of the hours.
TEST(RuleEdges, UseAtWhichOwningBreaksEven) {
  review::Review r = review::lab_review("superpod-h100");
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 63.5, .needed = 63.5}};
  r.cost.utilisation = 0.5;
  r.cost.break_even_earliest = 0.25;
  EXPECT_TRUE(rules::findings_by(r, "cost.renting").empty());
  r.cost.break_even_earliest = 0.2501;
  EXPECT_EQ(rules::findings_by(r, "cost.renting").size(), 1U);
}

// A workload that takes longer than a cycle wants machines; no line of the file mends it.
TEST(RuleEdges, AStageOfWorkThatIsTooSlow) {
  review::Review r = edge_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2, custom: { cores: 96 } "
      "}]\nstorage: [{ name: hot, tier: hot, kind: parallel-fs, read: 9 GB/s, write: 1 GB/s, "
      "capacity: 9 PB }]\nworkloads: [{ batch: { name: b, core_hours: 96, tasks: 96 } }]\n"
      "pipeline: { every: 1 d, stages: [{ stage: ingest, name: in, to: hot, size: 1 TB, rate: 100 "
      "Gb/s }, { stage: "
      "prepare, name: prep, workload: b }] }\n");
  ASSERT_EQ(r.pipeline.stages.size(), 2U);
  EXPECT_TRUE(rules::findings_by(r, "pipeline.period").empty());
  r.pipeline.stages[1].time = days(1);
  EXPECT_TRUE(rules::findings_by(r, "pipeline.period").empty()) << "just in time";
  r.pipeline.stages[1].time = days(1.5);
  expect_said(r, rules::only_finding(r, "pipeline.period"),
              {.path = "pipeline.stages[1]",
               .what = "Stage 'prep' takes 1.5 d; a cycle begins every 1 d.",
               .why = "Cycles pile up before it, and the model that serves grows older with each.",
               .fix = "Give its workload more machines, or begin cycles less often."});
  r.pipeline.stages[1].time = days(1);
  r.pipeline.stages[0].time = days(2);
  EXPECT_EQ(rules::only_finding(r, "pipeline.period").fix,
            "Give it a faster way, move less, or begin cycles less often.");
}

TEST(RuleEdges, LruMattersFromTheSecondEpochOn) {
  review::Review r =
      review::edited_review("av-vision", {{"storage[0].policy", "lru"},
                                          {"storage[0].capacity", "100 TB"},
                                          {"workloads[0].train.dataset.tier", "lake"}});
  r.used[r.trains[0].feed.tier->index] = terabytes(200);
  design::Train train = *r.trains[0].train;
  r.trains[0].train = &train;
  train.dataset.epochs = 1.5;
  EXPECT_EQ(rules::findings_by(r, "storage.lru-shuffled").size(), 1U);
  train.dataset.epochs = 1;
  EXPECT_TRUE(rules::findings_by(r, "storage.lru-shuffled").empty());
  train.dataset.epochs = 3;
  train.dataset.shuffle = false;
  EXPECT_TRUE(rules::findings_by(r, "storage.lru-shuffled").empty());
}

// A site with a tier and no machines has nothing to power.
TEST(RuleEdges, ASiteWithoutMachines) {
  const review::Review r = edge_review(
      "sites: [{ name: here, region: usa }, { name: there, region: usa }]\nfleet: [{ name: f, "
      "node: dgx-h100, count: 2, site: here }]\nstorage: [{ name: t, tier: hot, kind: parallel-fs, "
      "site: there, device: tlc-gen4, servers: 2, devices_per_server: 8 }]\n");
  ASSERT_EQ(r.sites.size(), 2U);
  EXPECT_FALSE(r.sites[1].has_machines());
  EXPECT_EQ(r.sites[1].storage, Watts());
  EXPECT_EQ(r.sites[1].it_nameplate, Watts());
  EXPECT_EQ(r.sites[1].draw_peak, Watts());
  EXPECT_FALSE(r.sites[1].schedule);
  EXPECT_EQ(r.sites[0].storage, Watts()) << "it stands elsewhere";
}

// Talks come back to a cache that others have filled: less of their history is there.
TEST(RuleEdges, TalksCrowdOneAnothersCache) {
  const std::string serve =
      "model: llama-3-70b, tp: 4, precision: fp8, arrivals: { rate: 30 /s, peak: 1.5, "
      "input_tokens: 900, output_tokens: 300, turns: 8, think_time: 200 s, shared_prefix: 0.1 }";
  const auto settled = [&](const std::string& more, std::optional<double> replicas) {
    const review::Review r = edge_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 32 }]\nworkloads: [{ "
        "serve: { name: s, " +
        more + serve + " } }]\n");
    const review::ServeView& v = r.serves.at(0);
    EXPECT_TRUE(v.feasible()) << v.infeasible;
    serving::RequestShape request = jobs::request_of(*r.machine, *v.serve);
    const double fresh = request.cached_share;
    jobs::ServingQuery q = jobs::serving_query(r.models(), *v.serve, *v.model, *v.fleet, request);
    q.split.tp = 4;
    const machine::Costs device = serving_costs(r.models(), q);
    const serving::ServingCosts costs = serving_source(device);
    jobs::settle_talks(request, *v.serve, replica_of(r.models(), q).value(), costs,
                       {.target = jobs::target_of(*v.serve, request.output),
                        .peak = PerSecond(45),
                        .replicas = replicas,
                        .load = 0.8});
    EXPECT_NEAR(v.request.cached_share, request.cached_share, 1e-12);
    EXPECT_LT(v.request.cached_share, fresh - 0.01) << "not all of it is found";
    return v.request.cached_share;
  };
  const double given = settled("replicas: 48, ", 48);
  const double open = settled("", std::nullopt);
  EXPECT_GT(given, open) << "more replicas keep more";
  EXPECT_NEAR(settled("autoscale: { min: 1, max: 48, target: 16 }, ", std::nullopt), open, 1e-12);
}

// Four nodes end in time T; 1.9 times as fast wants 7.6, and eight do.
TEST(RuleEdges, NodesForADeadline) {
  const auto edit = [](const std::string& nodes, int beside, double faster) {
    review::Review r = edge_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: " +
        std::string(nodes.empty() ? "4" : "16") +
        " }]\nfabric: { compute: { topology: fat-tree, switch: qm9700 } }\nworkloads:\n  - train: "
        "{ name: t, " +
        nodes +
        "network: { params: 30M, forward: 400 GFLOP }, batch: 3840, samples: 100M }\n  - serve: { "
        "name: s, nodes: " +
        std::to_string(beside) +
        ", model: llama-3-8b, tp: 1, arrivals: { rate: 1 /s, trace: chat } }\n");
    const review::TrainView& t = r.trains.at(0);
    EXPECT_TRUE(t.feasible()) << t.infeasible;
    return rules::edit_of(rules::edit_deadline(r, t, t.run_time / faster));
  };
  EXPECT_EQ(edit("nodes: 4, ", 8, 1.9), "workloads[0].train.nodes = 8");
  EXPECT_EQ(edit("nodes: 4, ", 9, 1.9), "none") << "the fleet has seven left";
  EXPECT_EQ(edit("", 1, 1.9), "fleet[0].count = 8");
}

TEST(RuleEdges, DoubledTiers) {
  const review::Review r = edge_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 16 }]\nfabric: { compute: "
      "{ topology: fat-tree, switch: qm9700 } }\nstorage: [{ name: lake, tier: hot, kind: "
      "parallel-fs, device: tlc-gen4, servers: 3, devices_per_server: 8, read: 4 GB/s, write: 3 "
      "GB/s, capacity: 90 TB }]\nworkloads: [{ train: { name: t, network: { params: 30M, forward: "
      "4 GFLOP }, batch: 3840, samples: 1B, dataset: { tier: lake, samples: 10M, sample_size: 600 "
      "kB } } }]\n");
  ASSERT_LT(r.trains.at(0).feed.loader.utilisation, 0.4) << "it starves";
  bool found = false;
  for (const rules::Spend& s : rules::best_spends(r)) {
    if (s.what != "twice the servers of tier 'lake'") continue;
    found = true;
    EXPECT_EQ(s.change.path, "storage[0]");
    for (const char* line : {"servers: 6", "read: 8 GB/s", "write: 6 GB/s", "capacity: 0.18 PB"}) {
      EXPECT_NE(s.change.value.find(line), std::string::npos) << line << " in " << s.change.value;
    }
    EXPECT_NEAR(s.goodput_after / s.goodput_before, 2, 0.02);
    EXPECT_GT(s.cost_usd_per_year, 0);
  }
  EXPECT_TRUE(found);
}

TEST(RuleEdges, AFigureIsReadToo) {
  Verdict v;
  v.sections = {{.name = "part"}};
  v.sections[0].figures = {{.kind = figures::FigureId::mfu, .estimate = {}}};
  v.sections[0].figures[0].estimate = {.value = 3, .low = 3, .high = 3};
  const review::Review& r = review::lab_review("superpod-h100");
  EXPECT_TRUE(broken_invariants(r, v).empty());
  v.sections[0].figures[0].estimate = {.value = 1e20, .low = 1e20, .high = 1e20};
  EXPECT_FALSE(broken_invariants(r, v).empty()) << "a power of ten is nothing to read";
}

// 123.4567 nodes to six digits; 1,234.56 TB to four.
TEST(RuleEdges, DigitsOfBooksAndTiers) {
  review::Review r = review::lab_review("superpod-h100");
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 12.34567891, .needed = 9.87654321},
      {.workload = &r.design().workloads[2], .nodes = 3.456789123, .share = 0.5}};
  auto m = std::make_shared<machine::Machine>(*r.machine);
  m->tiers[design::TierIndex(0)].capacity = terabytes(1234.56);
  r.machine = m;
  for (const figures::Section& s : cluster_sections(r)) {
    if (s.name != "train fleet") continue;
    EXPECT_EQ(s.figures.at(0).formula, "12.3457 all the time + 3.45679 in turn");
    EXPECT_EQ(s.figures.at(0).inputs.at(0).value, "12.35 nodes, 9.877 needed, 100 % of the time");
  }
  for (const figures::Section& s : storage_sections(r)) {
    if (s.name != "hot tier") continue;
    EXPECT_EQ(s.figures.back().formula,
              "384 x tlc-gen4 for 1235 TB, as the design counts them, in 16 servers");
  }
}

// Nothing is published of such failures: only restarts may be longer or shorter.
TEST(RuleEdges, FailuresOfWhichNothingIsPublished) {
  machine::Models models = machine::known();
  models.failure_rates.clear();
  const review::Review r = review::run_stages(review::lab_design("superpod-h100"), models);
  const review::TrainView& t = r.trains.at(0);
  ASSERT_EQ(t.failure.rate_high, 0);
  const auto kept = [&](double restart) {
    return failure::exact_efficiency({.interval = t.checkpoint->interval,
                                      .save_stall = t.checkpoint->stall.total,
                                      .mtbf = t.failure.mtbf,
                                      .restart = t.failure.restart * restart,
                                      .unsafe_window = t.checkpoint->drain.total});
  };
  EXPECT_NEAR(t.goodput_low / t.goodput, kept(t.failure.restart_factor) / kept(1), 1e-9);
}

}  // namespace
}  // namespace orrery::verdict
