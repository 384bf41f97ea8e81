#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/review/stages.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

// 127 nodes: a run of 120, a service of 2 and jobs of 5.
machine::FleetBook& book_in(review::Review& r) { return r.ledger.fleets.front(); }

TEST(RulesLedger, more_nodes_held_than_there_are) {
  review::Review r = review::lab_review("superpod-h100");
  EXPECT_TRUE(findings_by(r, "cluster.nodes").empty());
  for (machine::Booking& b : book_in(r).bookings) {
    if (b.workload == &r.design().workloads[2]) b.nodes = 12.345;
  }
  const Finding f = only_finding(r, "cluster.nodes");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("134.35", "127", "120", "12.35", "2"));
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].train.nodes").line);
  EXPECT_TRUE(f.edit);
}

TEST(RulesLedger, workload_too_large_for_the_fleet_is_reported_once) {
  review::Review r = review::lab_review("superpod-h100");
  for (machine::Booking& b : book_in(r).bookings) {
    b.given = false;
    if (b.workload == &r.design().workloads[2]) b.nodes = 12;
  }
  EXPECT_EQ(findings_by(r, "cluster.nodes").size(), 1U);
  review::Review full = r;
  full.jobs[0].queue.load = 1;
  EXPECT_TRUE(findings_by(full, "cluster.nodes").empty());
  full.jobs[0].fleet = nullptr;
  EXPECT_EQ(findings_by(full, "cluster.nodes").size(), 1U);
  review::Review wide = r;
  wide.jobs[0].largest_fits = cluster::GangVerdict::never;
  EXPECT_TRUE(findings_by(wide, "cluster.nodes").empty());
  review::Review served = r;
  served.serves[0].devices = served.serves[0].devices_there + 1;
  EXPECT_TRUE(findings_by(served, "cluster.nodes").empty());
  served.serves[0].infeasible = "no";
  EXPECT_EQ(findings_by(served, "cluster.nodes").size(), 1U);
}

// A request to another fleet does not affect this one.
TEST(RulesLedger, service_on_another_fleet_does_not_hide_the_finding) {
  review::Review r = review::lab_review("superpod-h100");
  for (machine::Booking& b : r.ledger.fleets[design::FleetIndex(0)].bookings) b.given = false;
  r.ledger.fleets[design::FleetIndex(0)].bookings[2].nodes = 12;
  r.serves[0].devices = r.serves[0].devices_there + 1;
  EXPECT_TRUE(findings_by(r, "cluster.nodes").empty()) << "it says so itself";
  r.serves[0].fleet = nullptr;
  const Finding f = only_finding(r, "cluster.nodes");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("134", "127", "120", "12", "2"));
  EXPECT_EQ(f.place.line, place_of(r.design(), "fleet[0].count").line)
      << "no booking has a number of its own";
}

// To a hundredth of a node, or to three digits below ten.
TEST(RulesLedger, nodes_are_shown_to_a_hundredth) {
  review::Review r = review::lab_review("superpod-h100");
  auto& bookings = r.ledger.fleets[design::FleetIndex(0)].bookings;
  bookings[0].nodes = 1234.5678;
  bookings[1].nodes = 9.98765;
  bookings[2].nodes = 10.001;
  EXPECT_THAT(numbers_in(only_finding(r, "cluster.nodes").what),
              testing::ElementsAre("1254.56", "127", "1234.57", "10", "9.99"));
}

// Sixteen replicas of four accelerators, but eight suffice: 32 of 64 accelerators are idle.
TEST(RulesLedger, more_replicas_than_needed) {
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.replicas_needed = 8;
  v.capacity_per_replica = PerSecond(10.234);
  v.peak = PerSecond(75.678);
  design::Workload calm = *v.workload;
  calm.terms.availability.reset();
  v.workload = &calm;
  r.cost.annual = usd(640e3);
  r.cost.accelerators = 64;
  v.replicas = 12;
  EXPECT_TRUE(findings_by(r, "serving.over-provision").empty()) << "half as many again";
  v.replicas = 16;
  v.devices = 64;
  const Finding f = only_finding(r, "serving.over-provision");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("16", "8", "32", "320"));
  EXPECT_EQ(edit_of(f), "workloads[0].serve.replicas = 8");
  v.replicas = 12.4;
  EXPECT_EQ(findings_by(r, "serving.over-provision").size(), 1U);
  v.devices = 32;
  EXPECT_TRUE(findings_by(r, "serving.over-provision").empty()) << "nothing is spare";
  v.replicas_needed = 2;
  v.replicas = 3.9;
  v.devices = 64;
  EXPECT_TRUE(findings_by(r, "serving.over-provision").empty()) << "fewer than two more";
  v.replicas = 4;
  EXPECT_EQ(findings_by(r, "serving.over-provision").size(), 1U);
}

TEST(RulesLedger, replicas_for_availability_are_not_too_many) {
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.replicas_needed = 2;
  v.capacity_per_replica = PerSecond(10);
  v.peak = PerSecond(16);
  const double enough = review::enough_replicas(v, *r.machine);
  ASSERT_LE(enough, 4);
  r.cost.annual = usd(640e3);
  r.cost.accelerators = 64;
  const Finding f = only_finding(r, "serving.over-provision");
  expect_finding(r, f, "workloads[0].serve.replicas",
                 "workloads[0].serve.replicas = " + significant(enough, 9));
  const double spare = 64 - 4 * enough;  // accelerators, 10 kUSD per year each
  EXPECT_EQ(numbers_in(f.what),
            (std::vector<std::string>{"16", significant(enough, 4), significant(spare, 6),
                                      significant(spare * 10, 3)}));
  v.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "serving.over-provision").empty());
  v.infeasible.clear();
  design::Serve open = *v.serve;
  open.replicas.reset();
  v.serve = &open;
  EXPECT_TRUE(findings_by(r, "serving.over-provision").empty()) << "as many as are needed";
}

TEST(RulesLedger, over_provisioned_zone_offers_no_edit) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  v.replicas_needed = 1;
  v.guests_asked = PerSecond();
  v.peak = v.capacity_per_replica * 0.5;
  const Finding f = only_finding(r, "serving.over-provision");
  EXPECT_EQ(edit_of(f), "none");
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.zones[0].replicas").line);
}

// A Poisson mean of 2 is above 6 for 0.0045 and above 5 for 0.0166 of the time: six spares.
TEST(RulesLedger, idle_nodes_beyond_spares) {
  review::Review r = review::lab_review("superpod-h100");
  r.trains[0].failure.mean_in_repair = 2;
  machine::FleetBook& book = book_in(r);
  const auto hold = [&](double nodes) { book.bookings[0].nodes = nodes; };
  r.cost.annual = usd(1016e3);
  r.cost.accelerators = 1016;
  hold(107);
  const auto all = findings_by(r, "cluster.idle-nodes");
  const double booked = book.booked();
  const double idle = std::floor(127 - booked - 6 + 1e-9);
  ASSERT_EQ(all.size(), idle > 6.35 ? 1U : 0U) << booked;
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(numbers_in(all[0].what).at(0), significant(idle, 6));
  hold(107 + idle - 6);
  EXPECT_TRUE(findings_by(r, "cluster.idle-nodes").empty()) << "one in twenty";
  hold(107 + idle - 7);
  EXPECT_EQ(findings_by(r, "cluster.idle-nodes").size(), 1U);
}

// A run of four of eight racks of 18 hosts and 72 accelerators; one rack more is a spare.
review::Review racks_half_held(const char* spares) {
  review::Review r = review::edited_review(
      "superpod-gb200", {{"fleet[0].spares", spares}, {"workloads[0].train.nodes", "4"}});
  r.trains.at(0).infeasible.clear();
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 4, .needed = 4, .given = true}};
  r.cost.annual = usd(576e3);
  r.cost.accelerators = 576;
  return r;
}

// A Poisson mean of 20 is above 30 for 0.0135 and above 31 for 0.0081 of the time: 31 hosts are two
// racks, one of which is a spare.
TEST(RulesLedger, declared_spares_are_not_counted_twice) {
  const auto said = [](const char* spares, double in_repair) {
    review::Review r = racks_half_held(spares);
    r.trains[0].failure.mean_in_repair = in_repair;
    return numbers_in(only_finding(r, "cluster.idle-nodes").what);
  };
  // The idle nodes, all nodes, and what the idle ones cost per year.
  const auto idle = [](int nodes) {
    return std::vector<std::string>{std::to_string(nodes), "8", std::to_string(nodes * 72)};
  };
  EXPECT_EQ(said("0", 20), idle(2));
  EXPECT_EQ(said("1", 20), idle(3));
  EXPECT_EQ(said("2", 20), idle(4));
  EXPECT_EQ(said("3", 20), idle(4)) << "a spare too many is idle as well";
  EXPECT_EQ(said("0", 0), idle(4));
  EXPECT_EQ(said("0", 0.01), idle(4)) << "a hundredth is above none for 0.00995 of the time";
  EXPECT_EQ(said("0", 0.0101), idle(3)) << "for 0.01005: a host, which is a rack";
}

TEST(RulesLedger, infeasible_runs_need_no_spares) {
  review::Review r = racks_half_held("0");
  r.trains[0].failure.mean_in_repair = 20;
  review::Review other = r;
  other.trains[0].fleet = nullptr;
  EXPECT_EQ(numbers_in(only_finding(other, "cluster.idle-nodes").what).at(0), "4");
  other = r;
  other.trains[0].infeasible = "no";
  EXPECT_EQ(numbers_in(only_finding(other, "cluster.idle-nodes").what).at(0), "4");
  expect_finding(r, only_finding(r, "cluster.idle-nodes"), "fleet[0].count");
  r.cost.accelerators = 0;
  EXPECT_EQ(numbers_in(only_finding(r, "cluster.idle-nodes").what).back(), "0") << "no money";
}

// A run that takes all that is left, a fleet without bookings and machines that are returned hourly
// are not reported; a reservation is paid for.
TEST(RulesLedger, idle_nodes_are_reported_only_where_they_cost) {
  const auto count = [](const review::Review& r) {
    return findings_by(r, "cluster.idle-nodes").size();
  };
  review::Review open = review::edited_review("superpod-gb200", {});
  open.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &open.design().workloads[0], .nodes = 2, .needed = 2}};
  EXPECT_EQ(count(open), 0U);
  open.trains.at(0).fleet = nullptr;
  EXPECT_EQ(count(open), 1U) << "a run elsewhere";
  review::Review none = racks_half_held("0");
  none.ledger.fleets[design::FleetIndex(0)].bookings.clear();
  EXPECT_EQ(count(none), 0U);
  const auto rented = [](const char* contract) {
    review::Review r = review::hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 20, rent: { provider: "
        "aws, contract: " +
        std::string(contract) +
        ", price: 2 USD/h } }]\nworkloads: [{ jobs: { name: j, nodes: 10, rate: 1 /h, "
        "mean_duration: 1 h, sizes: [1] } }]\n");
    return findings_by(r, "cluster.idle-nodes").size();
  };
  EXPECT_EQ(rented("on-demand"), 0U);
  EXPECT_EQ(rented("spot"), 0U);
  EXPECT_EQ(rented("reserved"), 1U);
}

// One idle node in twenty counts as a spare; one in nineteen does not, and less than one node is
// not reported.
TEST(RulesLedger, up_to_one_idle_node_in_twenty) {
  const auto count = [](int nodes, double held) {
    review::Review r = review::hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: " +
        std::to_string(nodes) +
        " }]\nworkloads: [{ jobs: { name: j, nodes: 1, rate: 1 /h, mean_duration: 1 h, sizes: [1] "
        "} }]\n");
    r.ledger.fleets[design::FleetIndex(0)].bookings[0].nodes = held;
    return findings_by(r, "cluster.idle-nodes").size();
  };
  EXPECT_EQ(count(20, 19), 0U);
  EXPECT_EQ(count(19, 18), 1U);
  EXPECT_EQ(count(4, 3.1), 0U) << "nine tenths of a node";
  EXPECT_EQ(count(4, 3), 1U);
}

TEST(RulesLedger, services_and_jobs_under_two_schedulers) {
  review::Review r = review::edited_review("superpod-h100", {{"scheduler.kind", "both"}});
  for (machine::Booking& b : book_in(r).bookings) {
    if (b.workload == &r.design().workloads[1]) b.nodes = 2.5;
  }
  expect_finding(r, only_finding(r, "cluster.partitions"), "fleet[0].partition");
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "cluster.partitions").empty());
  EXPECT_TRUE(findings_by(review::lab_review("small-lab"), "cluster.partitions").empty());
}

// 2.2 nodes of services need three; of a Kubernetes fleet whose services need more nodes than it
// has, none is left.
TEST(RulesLedger, split_of_a_fleet_between_two_schedulers) {
  review::Review r = review::edited_review(
      "superpod-h100", {{"scheduler.kind", "both"}, {"fleet[0].partition", "kubernetes"}});
  for (machine::Booking& b : r.ledger.fleets[design::FleetIndex(0)].bookings) {
    if (b.workload == &r.design().workloads[1]) b.nodes = 2.2;
  }
  EXPECT_THAT(numbers_in(only_finding(r, "cluster.partitions").what),
              testing::ElementsAre("3", "124"));
  for (machine::Booking& b : r.ledger.fleets[design::FleetIndex(0)].bookings) {
    if (b.workload == &r.design().workloads[1]) b.nodes = 1500;
  }
  EXPECT_EQ(numbers_in(only_finding(r, "cluster.partitions").what).at(0), "1,500");
  for (machine::Booking& b : r.ledger.fleets[design::FleetIndex(0)].bookings) {
    if (b.workload == &r.design().workloads[1]) b.nodes = 0;
  }
  EXPECT_TRUE(findings_by(r, "cluster.partitions").empty()) << "no service";
}

TEST(RulesLedger, partition_too_small_for_its_workloads) {
  design::Design d = review::lab_design("superpod-h100");
  d.scheduler.partitions = {{.name = "wide", .nodes = 1100}, {.name = "rest", .nodes = 20}};
  d.fleet[0].count = 1270;
  for (design::Workload& w : d.workloads) w.terms.partition = "wide";
  d.workloads[2].terms.partition = "rest";
  review::Review r = review::run_stages(std::move(d), machine::known());
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 1150, .needed = 1, .given = true},
      {.workload = &r.design().workloads[2], .nodes = 19.5, .needed = 1, .given = true}};
  expect_finding(r, only_finding(r, "cluster.partition-nodes"), "scheduler.partitions[0].nodes",
                 "scheduler.partitions[0].nodes = 1150");
  r.ledger.fleets[design::FleetIndex(0)].bookings[1].nodes = 20.5;
  const auto all = findings_by(r, "cluster.partition-nodes");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(edit_of(all[1]), "scheduler.partitions[1].nodes = 21");
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].nodes = 1249;  // and 20 are all but one
  EXPECT_EQ(edits_by(r, "cluster.partition-nodes"),
            (std::vector<std::string>{"scheduler.partitions[0].nodes = 1249",
                                      "scheduler.partitions[1].nodes = 21"}));
}

// An over-booked fleet is not reported by the rule on partitions.
TEST(RulesLedger, partition_of_an_over_booked_fleet) {
  design::Design d = review::lab_design("superpod-h100");
  d.scheduler.partitions = {{.name = "p", .nodes = 100}};
  for (design::Workload& w : d.workloads) w.terms.partition = "p";
  review::Review r = review::run_stages(std::move(d), machine::known());
  auto& bookings = r.ledger.fleets[design::FleetIndex(0)].bookings;
  bookings = {{.workload = &r.design().workloads[0], .nodes = 110, .needed = 110, .given = true}};
  EXPECT_THAT(numbers_in(only_finding(r, "cluster.partition-nodes").what),
              testing::ElementsAre("100", "127", "110"));
  bookings[0].nodes = 128;
  EXPECT_TRUE(findings_by(r, "cluster.partition-nodes").empty());
}

// Four of eight nodes are partition b's. What takes turns needs the widest of it.
TEST(RulesLedger, partition_edit_needs_nodes_that_are_left) {
  review::Pod pod;
  design::Design d = pod.review().design();
  d.scheduler.kind = design::SchedulerKind::slurm;
  d.workloads.resize(1);
  d.workloads.push_back(d.workloads.front());
  d.workloads.push_back(d.workloads.front());
  for (std::size_t i = 0; i < 3; ++i) {
    d.workloads[i].terms.name = "w" + std::to_string(i);
    d.workloads[i].terms.partition = "a";
  }
  const auto got = [&](int a, int b, std::vector<machine::Booking> bookings) {
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
  EXPECT_FALSE(got(3, 4, held)) << "one, and two or one and a half in turn";
  const auto f = got(2, 4, held);
  ASSERT_TRUE(f && f->edit);
  EXPECT_EQ(f->edit->path, "scheduler.partitions[0].nodes");
  EXPECT_EQ(f->edit->value, "3");
  ASSERT_TRUE(got(2, 5, held)->edit) << "5 + 3 of 8";
  const auto full = got(2, 6, held);
  ASSERT_TRUE(full);
  EXPECT_FALSE(full->edit) << "6 + 3 of 8";
}

// 63.5 of 127 nodes all the time are half of the hours; of those, 0.8 are used.
TEST(RulesLedger, owning_costs_more_than_renting) {
  review::Review r = review::lab_review("superpod-h100");
  machine::FleetBook& book = book_in(r);
  book.bookings.resize(1);
  book.bookings[0].nodes = 63.5;
  book.bookings[0].share = 3;  // at most all of the time
  r.cost.utilisation = 0.8;
  r.cost.break_even_earliest = 0.5;
  r.cost.accelerators = 1016;
  r.cost.annual = usd(9e6);
  r.cost.market->median = usd_per_hour(2);
  const Finding f = only_finding(r, "cost.renting");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("40", "50"));
  EXPECT_EQ(f.place.line, place_of(r.design(), "fleet[0]").line);
  r.cost.break_even_earliest = 0.4 - 1e-9;
  EXPECT_TRUE(findings_by(r, "cost.renting").empty());
  r.cost.break_even_earliest = 0.5;
  book.bookings[0].nodes = 500;  // at most as many as there are
  EXPECT_TRUE(findings_by(r, "cost.renting").empty());
  book.bookings[0].nodes = 63.5;
  review::Review other = r;
  other.cost.owned.reset();
  EXPECT_TRUE(findings_by(other, "cost.renting").empty());
  other = r;
  other.cost.market.reset();
  EXPECT_TRUE(findings_by(other, "cost.renting").empty());
  other = r;
  other.cost.in_nodes = true;
  EXPECT_TRUE(findings_by(other, "cost.renting").empty());
  other = r;
  other.trains[0].infeasible = "no";
  EXPECT_TRUE(findings_by(other, "cost.renting").empty());
  other = r;
  other.serves[0].infeasible = "no";
  EXPECT_TRUE(findings_by(other, "cost.renting").empty());
}

// Half of ten nodes of accelerators; the hours of a hundred servers are not accelerator-hours.
TEST(RulesLedger, use_counts_accelerator_hours_only) {
  review::Review r = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 10 }, { name: c, node: "
      "cpu-2s-server, count: 100 }]\nworkloads: [{ jobs: { name: j, fleet: f, nodes: 5, rate: 1 "
      "/h, "
      "mean_duration: 1 h, sizes: [1] } }]\n");
  ASSERT_TRUE(r.cost.owned && r.cost.market && !r.cost.in_nodes);
  r.cost.utilisation = 1;
  r.cost.break_even_earliest = 0.9;
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].share = 1;
  EXPECT_THAT(numbers_in(only_finding(r, "cost.renting").what), testing::ElementsAre("50", "90"));
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].share = 0.5;
  EXPECT_EQ(numbers_in(only_finding(r, "cost.renting").what).at(0), "25");
}

// Half of the nodes, half of the time: a quarter of the hours.
TEST(RulesLedger, renting_at_exactly_break_even) {
  review::Review r = review::lab_review("superpod-h100");
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 63.5, .needed = 63.5}};
  r.cost.utilisation = 0.5;
  r.cost.break_even_earliest = 0.25;
  EXPECT_TRUE(findings_by(r, "cost.renting").empty());
  r.cost.break_even_earliest = 0.2501;
  EXPECT_EQ(findings_by(r, "cost.renting").size(), 1U);
}

const Finding* finding_named(const std::vector<Finding>& all, std::string_view rule) {
  const auto at = std::ranges::find(all, rule, &Finding::rule);
  return at == all.end() ? nullptr : &*at;
}

// 16 nodes of training and a service without a number, on a fleet of `count`.
design::Design train_and_serve(int count) {
  design::Design d = review::lab_design("superpod-h100");
  d.fleet[0].count = count;
  d.goals.clear();
  d.workloads.resize(2);
  d.workloads[0].terms.nodes = 16;
  auto& train = std::get<design::Train>(d.workloads[0].task);
  train.layout.reset();
  train.batch = 512;
  d.workloads[1].terms.nodes.reset();
  auto& serve = std::get<design::Serve>(d.workloads[1].task);
  serve.replicas = 3;
  serve.tp = 8;  // a node each
  return d;
}

TEST(RulesLedger, service_without_a_number_is_booked_beside_the_run) {
  for (const int count : {16, 17, 18}) {
    const review::Review r = review::run_stages(train_and_serve(count), machine::known());
    const machine::FleetBook& book = r.book_of(r.fleets()[design::FleetIndex(0)]);
    EXPECT_DOUBLE_EQ(book.booked(), 19) << "16 + 3 x 8 / 8";
    const auto findings = check_rules(r);
    const Finding* f = finding_named(findings, "cluster.nodes");
    ASSERT_NE(f, nullptr) << count;
    EXPECT_EQ(f->severity, Severity::error);
    EXPECT_EQ(f->edit->path, "fleet[0].count");
    EXPECT_EQ(f->edit->value, "19");
  }
  const review::Review enough = review::run_stages(train_and_serve(19), machine::known());
  EXPECT_EQ(finding_named(check_rules(enough), "cluster.nodes"), nullptr);
}

TEST(RulesLedger, run_without_a_number_gives_way_to_the_service) {
  design::Design d = train_and_serve(19);
  d.workloads[0].terms.nodes.reset();
  std::get<design::Train>(d.workloads[0].task).batch = 19 * 8;
  const review::Review r = review::run_stages(d, machine::known());
  EXPECT_DOUBLE_EQ(r.book_of(r.fleets()[design::FleetIndex(0)]).booked(), 19 + 3);
  const auto findings = check_rules(r);
  const Finding* f = finding_named(findings, "cluster.nodes");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->edit->path, "workloads[0].train.nodes");
  EXPECT_EQ(f->edit->value, "16");
}

}  // namespace
}  // namespace orrery::rules
