// Figures of a small design by hand, and what findings offer: a pod of eight nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/rules/rules.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict {
namespace {

using figures::Layer;

struct Pod {
  std::string site = "region: usa";
  std::string fleet = "name: f, node: dgx-h100, count: 8";
  std::string compute = "topology: fat-tree, switch: qm9700";
  std::string tier =
      "name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
      "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB";
  std::string workloads = "serve: { name: s, model: llama-3-8b, tp: 1, replicas: 4, arrivals: { " +
                          std::string("rate: 8 /s, input_tokens: 800, output_tokens: 100 } }");

  review::Review review() const {
    const auto d =
        design_text::read_design("orrery: 1\nname: a\nsite: { " + site + " }\nfleet: [{ " + fleet +
                                     " }]\nfabric: { compute: { " + compute + " } }\nstorage: [{ " +
                                     tier + " }]\nworkloads: [{ " + workloads + " }]\n",
                                 machine::known().catalog());
    EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
    return review::run_stages(d.value(), machine::known());
  }
};

std::optional<rules::Finding> finding_of(const review::Review& r, std::string_view rule) {
  for (const rules::Finding& f : rules::check_rules(r)) {
    if (f.rule == rule) return f;
  }
  return std::nullopt;
}

Estimate figure_of(const review::Review& r, Layer layer, std::string_view id) {
  const Verdict v = verdict_of(r, {.spends = false});
  const figures::Figure* f = v.figure(layer, id);
  EXPECT_NE(f, nullptr) << id;
  return f ? f->estimate : Estimate{};
}

// Whatever a response cache answers came over the line all the same: 10 a second, three times that
// at the peak, of 1 MB.
TEST(Figures, WhatComesInIsAllThatIsAsked) {
  Pod pod;
  for (const char* hits : {"0", "0.4", "0.9"}) {
    pod.workloads =
        "serve: { name: s, model: llama-3-8b, tp: 1, replicas: 4, request_size: 1 MB, arrivals: { "
        "rate: 10 /s, peak: 3, input_tokens: 800, output_tokens: 100, cache_hits: " +
        std::string(hits) + " } }";
    EXPECT_NEAR(figure_of(pod.review(), Layer::serving, "inbound").value, 30e6, 1) << hits;
  }
}

// 8.03e9 weights of two bytes by one process of 5.9 GB/s.
TEST(Figures, WeightsLoadAsFastAsOneProcessTakesThem) {
  EXPECT_NEAR(figure_of(Pod{}.review(), Layer::serving, "load_time").value, 16.06 / 5.9, 0.01);
}

// Ten nodes stand under power that they do not exceed. Under four fifths of it eight do, two of
// which are spares; under a fifth, nobody is cut down to less than workloads hold.
TEST(Findings, NodesThatPowerAllowsLeaveTheirSparesOut) {
  Pod pod;
  pod.fleet = "name: f, node: dgx-h100, count: 8, spares: 2";
  pod.site = "region: usa, power: 10 MW, pue: 1.2";
  const review::Review ample = pod.review();
  const double peak = ample.sites[0].draw_peak.base();
  EXPECT_GT(ample.sites[0].budget->nodes, 10);
  const auto under = [&](double share) {
    pod.site = "region: usa, pue: 1.2, power: " + std::to_string(peak * share) + " W";
    return pod.review();
  };
  const review::Review just = under(1.0001);
  EXPECT_GE(just.sites[0].budget->nodes, 10) << "what stands and fits, fits";
  EXPECT_FALSE(finding_of(just, "facility.power-above-site"));
  const review::Review less = under(0.8);
  const int fit = less.sites[0].budget->nodes;
  const review::SiteView& v = less.sites[0];
  const double each = v.fleets[0].node.nameplate.base() + v.fabric.base() / 10;
  const double others = v.it_nameplate.base() - 10 * each;
  EXPECT_NEAR(fit, std::floor((peak * 0.8 / 1.2 - others) / each), 1);
  const auto f = finding_of(less, "facility.power-above-site");
  ASSERT_TRUE(f && f->edit);
  EXPECT_EQ(f->edit->path, "fleet[0].count");
  EXPECT_EQ(f->edit->value, std::to_string(fit - 2));
  const auto tight = finding_of(under(0.02), "facility.power-above-site");
  ASSERT_TRUE(tight && tight->edit);
  EXPECT_EQ(tight->edit->path, "site.power");
}

// Of eight nodes, four are partition b's. What takes turns needs the widest of it.
TEST(Findings, APartitionHasWhatItsWorkloadsHoldAndNoMoreThanIsLeft) {
  Pod pod;
  design::Design d = pod.review().design();
  d.scheduler.kind = design::SchedulerKind::slurm;
  d.workloads.resize(1);
  d.workloads.push_back(d.workloads.front());
  d.workloads.push_back(d.workloads.front());
  for (std::size_t i = 0; i < 3; ++i) {
    d.workloads[i].terms.name = "w" + std::to_string(i);
    d.workloads[i].terms.partition = "a";
  }
  const auto told = [&](int a, int b, std::vector<machine::Booking> bookings) {
    d.scheduler.partitions = {{.name = "a", .nodes = a}, {.name = "b", .nodes = b}};
    review::Review r = review::run_stages(d, machine::known());
    for (std::size_t i = 0; i < bookings.size(); ++i) {
      bookings[i].workload = &r.design().workloads[i];
    }
    r.ledger.fleets[design::FleetIndex(0)].bookings = bookings;
    return finding_of(r, "cluster.partition-nodes");
  };
  const std::vector<machine::Booking> held = {
      {.nodes = 1, .given = true}, {.nodes = 2, .share = 0.4}, {.nodes = 1.5, .share = 0.3}};
  EXPECT_FALSE(told(3, 4, held)) << "one, and two or one and a half in turn";
  const auto f = told(2, 4, held);
  ASSERT_TRUE(f && f->edit);
  EXPECT_EQ(f->edit->path, "scheduler.partitions[0].nodes");
  EXPECT_EQ(f->edit->value, "3");
  ASSERT_TRUE(told(2, 5, held)->edit) << "5 + 3 of 8";
  const auto full = told(2, 6, held);
  ASSERT_TRUE(full);
  EXPECT_FALSE(full->edit) << "6 + 3 of 8";
}

// A rate is known to a quarter and so are the servers for it; for a code's sake they are counted.
TEST(Figures, ServersAreAsUncertainAsWhatTheyAreFor) {
  Pod pod;
  pod.tier = "name: fast, tier: hot, kind: parallel-fs, device: tlc-gen4, read: 2000 GB/s";
  const review::Review rated = pod.review();
  ASSERT_TRUE(rated.machine->tiers[design::TierIndex(0)].need);
  EXPECT_FALSE(rated.machine->tiers[design::TierIndex(0)].need->for_durability);
  const Estimate some = figure_of(rated, Layer::storage, "servers");
  EXPECT_NEAR(some.high / some.value - 1, rated.machine->tiers[design::TierIndex(0)].rate_error,
              1e-9);
  EXPECT_NEAR(1 - some.low / some.value, rated.machine->tiers[design::TierIndex(0)].rate_error,
              1e-9);
  pod.tier = "name: fast, tier: hot, kind: parallel-fs, device: tlc-gen4, capacity: 1 TB";
  const review::Review coded = pod.review();
  ASSERT_TRUE(coded.machine->tiers[design::TierIndex(0)].need->for_durability);
  const Estimate exact = figure_of(coded, Layer::storage, "servers");
  EXPECT_EQ(exact.low, exact.high);
  EXPECT_EQ(exact.value, coded.machine->tiers[design::TierIndex(0)].servers);
}

TEST(Findings, NewPartsAreNamedByTheirRow) {
  Pod pod;
  EXPECT_FALSE(finding_of(pod.review(), "fabric.emerging"));
  for (const auto& [part, row] : {std::pair{"q3450-cpo", "emerging/cpo-quantum-x:"},
                                  std::pair{"sn6810-cpo", "emerging/cpo-spectrum-x:"}}) {
    pod.compute = std::string("topology: fat-tree, switch: ") + part;
    const auto f = finding_of(pod.review(), "fabric.emerging");
    ASSERT_TRUE(f) << part;
    EXPECT_NE(f->why.find(row), std::string::npos) << f->why;
    EXPECT_EQ(f->why.find("no row"), std::string::npos) << f->why;
  }
  pod.compute = "topology: fat-tree, switch: sn5600, protocol: ultra-ethernet";
  EXPECT_NE(finding_of(pod.review(), "fabric.emerging")->why.find("emerging/uec-800:"),
            std::string::npos);
}

// The bars of the tornado in quadrature, what lowers the price apart from what raises it.
TEST(Figures, APriceIsAsWideAsItsTornadoOnEitherSide) {
  const review::Review r = Pod{}.review();
  const cost::Tornado& t = r.cost.tornado;
  double below = 0, above = 0;
  for (const cost::SensitivityBar& b : t.bars) {
    const double low = std::min({b.at_low, b.at_high, t.value});
    const double high = std::max({b.at_low, b.at_high, t.value});
    below += (t.value - low) * (t.value - low);
    above += (high - t.value) * (high - t.value);
  }
  ASSERT_NE(below, above);
  for (const char* id : {"annual", "running", "useful_hour"}) {
    const Estimate e = figure_of(r, Layer::cost, id);
    EXPECT_NEAR(e.high / e.value, 1 + std::sqrt(above) / t.value, 1e-9) << id;
    EXPECT_NEAR(e.low / e.value, 1 - std::min(0.9, std::sqrt(below) / t.value), 1e-9) << id;
  }
}

// It waits for the next run at worst, and for that run's end.
TEST(Findings, AnEventReachesTheModelAfterItsNextRun) {
  design::Design d = design_text::read_design(design_text::find_template("recommender")->text,
                                              machine::known().catalog())
                         .value();
  const review::Review plain = review::run_stages(d, machine::known());
  auto& train = std::get<design::Train>(d.workloads[0].task);
  const Seconds age = train.repeat->every + plain.trains[0].run_time;
  ASSERT_GT(plain.trains[0].run_time, Seconds(60));
  for (const double share : {0.999, 1.001}) {
    train.features->freshness = age * share;
    const review::Review r = review::run_stages(d, machine::known(), &plain);
    EXPECT_EQ(finding_of(r, "storage.features").has_value(), share < 1) << share;
  }
}

// Four replicas of one accelerator of eight nodes: half a node is held of the eight.
TEST(Figures, OfAFleetAreWhatItsBookSays) {
  const review::Review r = Pod{}.review();
  const machine::FleetBook& book = r.book_of(r.fleets()[design::FleetIndex(0)]);
  EXPECT_DOUBLE_EQ(figure_of(r, Layer::cluster, "booked").value, 0.5);
  EXPECT_DOUBLE_EQ(figure_of(r, Layer::cluster, "idle").value, 7.5);
  EXPECT_DOUBLE_EQ(figure_of(r, Layer::cluster, "use").value, book.used() / 8);
  EXPECT_LE(book.used(), 0.5);
  EXPECT_GT(book.used(), 0);
}

// What a PUE has above one is known to a quarter, either way; one that is given is given.
TEST(Figures, APueIsAsWideAsItsOverhead) {
  Pod pod;
  const facility::PueRange computed = pod.review().sites[0].pue;
  EXPECT_NEAR((computed.high - 1) / (computed.middle - 1), 1.25, 1e-9);
  EXPECT_NEAR((computed.low - 1) / (computed.middle - 1), 0.75, 1e-9);
  pod.site = "region: usa, pue: 1.31";
  const facility::PueRange given = pod.review().sites[0].pue;
  EXPECT_EQ(given.low, 1.31);
  EXPECT_EQ(given.middle, 1.31);
  EXPECT_EQ(given.high, 1.31);
}

// Two outages a year of half an hour in the mean, and nothing that would carry the site over them.
TEST(Figures, ASiteWithoutBackupIsDarkForAsLongAsItsOutages) {
  Pod pod;
  pod.site = "region: usa, outage_mtbf: 0.5 y, outage: 30 min";
  EXPECT_NEAR(figure_of(pod.review(), Layer::facility, "dark_year").value, 3600, 1e-6);
}

// Twelve accelerators lie on two nodes of eight, however few of the second they take.
TEST(Figures, AGangTakesTheNodesThatItBegins) {
  Pod pod;
  pod.workloads = "jobs: { name: j, rate: 1 /h, mean_duration: 1 h, sizes: [8, 12] }";
  for (const int nodes : {1, 2}) {
    pod.fleet = "name: f, node: dgx-h100, count: " + std::to_string(nodes);
    const review::Review r = pod.review();
    ASSERT_EQ(r.jobs.size(), 1U);
    EXPECT_EQ(r.jobs[0].largest, 12);
    EXPECT_EQ(r.jobs[0].largest_fits == cluster::GangVerdict::fits, nodes == 2) << nodes;
  }
}

// A task with a quarter of a host's memory leaves it four slots; with little of it, its cores.
TEST(Figures, TasksHaveTheCoresThatTheirMemoryLeaves) {
  Pod pod;
  pod.fleet = "name: f, node: dgx-h100, count: 8, custom: { cores: 96, memory: 1 TB }";
  const auto slots = [&](double share) {
    pod.workloads = "batch: { name: b, core_hours: 1000, tasks: 100000 }";
    design::Design d = pod.review().design();
    const review::Review plain = review::run_stages(d, machine::known());
    const machine::Fleet& fleet = plain.fleets()[design::FleetIndex(0)];
    EXPECT_TRUE(fleet.node.memory && fleet.node.cores);
    std::get<design::Batch>(d.workloads[0].task).memory = *fleet.node.memory * share;
    return review::run_stages(d, machine::known()).batches[0].at_once / plain.batches[0].at_once;
  };
  EXPECT_NEAR(slots(1e-4), 1, 1e-12);
  const review::Review r = pod.review();
  const double cores = r.fleets()[design::FleetIndex(0)].node.cores.value_or(0);
  EXPECT_NEAR(slots(0.25), 4 / cores, 1e-12);
  EXPECT_NEAR(slots(3), 1 / cores, 1e-12) << "one at the least";
}

}  // namespace
}  // namespace orrery::verdict
