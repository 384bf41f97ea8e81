// Rules and edits of the books of fleets, by hand: nodes that stand by, that nobody holds, that a
// partition lacks; what an over-booked fleet is told.
#include <gtest/gtest.h>

#include "core/base/text.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

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
TEST(IdleNodesRule, SparesAreNotCountedTwice) {
  const auto said = [](const char* spares, double in_repair) {
    review::Review r = racks_half_held(spares);
    r.trains[0].failure.mean_in_repair = in_repair;
    return only_finding(r, "cluster.idle-nodes").what;
  };
  const auto idle = [](int nodes) {
    return std::to_string(nodes) + " of 8 nodes of fleet 'train' are nobody's, " +
           show(nodes * 72 * 1e3, figures::Unit::usd_per_year) + ".";
  };
  EXPECT_EQ(said("0", 20), idle(2));
  EXPECT_EQ(said("1", 20), idle(3));
  EXPECT_EQ(said("2", 20), idle(4));
  EXPECT_EQ(said("3", 20), idle(4)) << "a spare too many is nobody's either";
  EXPECT_EQ(said("0", 0), idle(4));
  EXPECT_EQ(said("0", 0.01), idle(4)) << "a hundredth is above none for 0.00995 of the time";
  EXPECT_EQ(said("0", 0.0101), idle(3)) << "for 0.01005: a host, which is a rack";
}

TEST(IdleNodesRule, OfRunsElsewhereAndRunsThatCannotRunNothingStandsBy) {
  review::Review r = racks_half_held("0");
  r.trains[0].failure.mean_in_repair = 20;
  review::Review other = r;
  other.trains[0].fleet = nullptr;
  EXPECT_EQ(only_finding(other, "cluster.idle-nodes").what.find("4 of 8 nodes"), 0U);
  other = r;
  other.trains[0].infeasible = "no";
  EXPECT_EQ(only_finding(other, "cluster.idle-nodes").what.find("4 of 8 nodes"), 0U);
  expect_said(r, only_finding(r, "cluster.idle-nodes"),
              {.path = "fleet[0].count",
               .what = "2 of 8 nodes of fleet 'train' are nobody's, " +
                       show(144e3, figures::Unit::usd_per_year) + ".",
               .why = "Its workloads hold 4: pretrain 4.",
               .fix = "Buy fewer, count them as spares, or give them work."});
  r.cost.accelerators = 0;
  EXPECT_NE(only_finding(r, "cluster.idle-nodes").what.find(show(0, figures::Unit::usd_per_year)),
            std::string::npos);
}

// A run that takes what there is, a fleet that nobody holds and machines that are given back by the
// hour are other matters; a reservation is paid for.
TEST(IdleNodesRule, WhoSpeaksOfItElsewhere) {
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

// One of twenty is a spare; of nineteen it is more than that, and less than one is none.
TEST(IdleNodesRule, OneInTwenty) {
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

TEST(OverProvisionRule, SaysThatAvailabilityIsInIt) {
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.replicas_needed = 2;
  v.capacity_per_replica = PerSecond(10);
  v.peak = PerSecond(16);
  const double enough = review::enough_replicas(v, *r.machine);
  ASSERT_LE(enough, 4);
  r.cost.annual = usd(640e3);
  r.cost.accelerators = 64;
  const double spare = 64 - 4 * enough;
  expect_said(r, only_finding(r, "serving.over-provision"),
              {.path = "workloads[0].serve.replicas",
               .what = "'chat' runs 16 replicas where " + significant(enough, 4) + " do; " +
                       significant(spare, 6) + " accelerators do nothing, " +
                       show(spare * 1e4, figures::Unit::usd_per_year) + ".",
               .why = "One replica serves 10 requests a second within the objective, 16 arrive at "
                      "peak, and so many are up as often as is asked.",
               .fix = "Run fewer, and give the machines other work or do not buy them.",
               .edit = "workloads[0].serve.replicas = " + significant(enough, 9)});
  v.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "serving.over-provision").empty());
  v.infeasible.clear();
  design::Serve open = *v.serve;
  open.replicas.reset();
  v.serve = &open;
  EXPECT_TRUE(findings_by(r, "serving.over-provision").empty()) << "as many as are needed";
}

TEST(OverProvisionRule, OfAZoneOffersNoNumber) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  v.replicas_needed = 1;
  v.guests_asked = PerSecond();
  v.peak = v.capacity_per_replica * 0.5;
  const Finding f = only_finding(r, "serving.over-provision");
  EXPECT_EQ(edit_of(f), "none");
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.zones[0].replicas").line);
}

TEST(PartitionNodesRule, SaysWhatItHasAndOffersWhatIsLeft) {
  design::Design d = review::lab_design("superpod-h100");
  d.scheduler.partitions = {{.name = "wide", .nodes = 1100}, {.name = "rest", .nodes = 20}};
  d.fleet[0].count = 1270;
  for (design::Workload& w : d.workloads) w.terms.partition = "wide";
  d.workloads[2].terms.partition = "rest";
  review::Review r = review::run_stages(std::move(d), machine::known());
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 1150, .needed = 1, .given = true},
      {.workload = &r.design().workloads[2], .nodes = 19.5, .needed = 1, .given = true}};
  expect_said(r, only_finding(r, "cluster.partition-nodes"),
              {.path = "scheduler.partitions[0].nodes",
               .what = "Partition 'wide' has 1,100 of the 1,270 nodes of 'train'; its workloads "
                       "hold 1,150.",
               .why = "Slurm starts no job on nodes outside its partition: some wait for ever.",
               .fix = "Widen it, or give a workload another `partition`.",
               .edit = "scheduler.partitions[0].nodes = 1150"});
  r.ledger.fleets[design::FleetIndex(0)].bookings[1].nodes = 20.5;
  const auto all = findings_by(r, "cluster.partition-nodes");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(edit_of(all[1]), "scheduler.partitions[1].nodes = 21");
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].nodes = 1249;  // and 20 are all but one
  EXPECT_EQ(edits_by(r, "cluster.partition-nodes"),
            (std::vector<std::string>{"scheduler.partitions[0].nodes = 1249",
                                      "scheduler.partitions[1].nodes = 21"}));
}

// 2.2 nodes of services are three; of a fleet of Kubernetes', which has more of them than nodes,
// none is left.
TEST(PartitionsRule, NamesTheSchedulerOfTheFleet) {
  review::Review r = review::edited_review(
      "superpod-h100", {{"scheduler.kind", "both"}, {"fleet[0].partition", "kubernetes"}});
  for (machine::Booking& b : r.ledger.fleets[design::FleetIndex(0)].bookings) {
    if (b.workload == &r.design().workloads[1]) b.nodes = 2.2;
  }
  EXPECT_EQ(only_finding(r, "cluster.partitions").what,
            "Fleet 'train' belongs to Kubernetes and holds both services and jobs: 3 of its nodes "
            "are Kubernetes' and 124 Slurm's.");
  for (machine::Booking& b : r.ledger.fleets[design::FleetIndex(0)].bookings) {
    if (b.workload == &r.design().workloads[1]) b.nodes = 1500;
  }
  EXPECT_EQ(only_finding(r, "cluster.partitions").fix,
            "Make two fleets of it: 1500 nodes with `partition: kubernetes`, 0 with `partition: "
            "slurm`.");
  EXPECT_NE(only_finding(r, "cluster.partitions").what.find("1,500 of its nodes"),
            std::string::npos);
  for (machine::Booking& b : r.ledger.fleets[design::FleetIndex(0)].bookings) {
    if (b.workload == &r.design().workloads[1]) b.nodes = 0;
  }
  EXPECT_TRUE(findings_by(r, "cluster.partitions").empty()) << "no service";
}

// Half of ten nodes of accelerators; the hours of a hundred servers are no accelerators'.
TEST(RentingRule, CountsTheHoursOfAcceleratorsAlone) {
  review::Review r = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 10 }, { name: c, node: "
      "cpu-2s-server, count: 100 }]\nworkloads: [{ jobs: { name: j, fleet: f, nodes: 5, rate: 1 "
      "/h, "
      "mean_duration: 1 h, sizes: [1] } }]\n");
  ASSERT_TRUE(r.cost.owned && r.cost.market && !r.cost.in_nodes);
  r.cost.utilisation = 1;
  r.cost.break_even_earliest = 0.9;
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].share = 1;
  EXPECT_EQ(only_finding(r, "cost.renting").what,
            "Of the hours that this design buys it uses 50 %; owning is cheaper than renting above "
            "90 % at the earliest.");
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].share = 0.5;
  EXPECT_NE(only_finding(r, "cost.renting").what.find("it uses 25 %;"), std::string::npos);
}

// What is asked of another fleet is no word on this one.
TEST(OverBookedRule, AServiceElsewhereSaysNothingOfIt) {
  review::Review r = review::lab_review("superpod-h100");
  for (machine::Booking& b : r.ledger.fleets[design::FleetIndex(0)].bookings) b.given = false;
  r.ledger.fleets[design::FleetIndex(0)].bookings[2].nodes = 12;
  r.serves[0].devices = r.serves[0].devices_there + 1;
  EXPECT_TRUE(findings_by(r, "cluster.nodes").empty()) << "it says so itself";
  r.serves[0].fleet = nullptr;
  const Finding f = only_finding(r, "cluster.nodes");
  EXPECT_EQ(f.what,
            "Workloads hold 134 nodes of fleet 'train', which has 127: pretrain 120, group 12, "
            "assistant 2.");
  EXPECT_EQ(f.place.line, place_of(r.design(), "fleet[0].count").line) << "nobody gave a number";
}

// To a hundredth of a node, or to three digits below ten.
TEST(OverBookedRule, NodesToAHundredth) {
  review::Review r = review::lab_review("superpod-h100");
  auto& bookings = r.ledger.fleets[design::FleetIndex(0)].bookings;
  bookings[0].nodes = 1234.5678;
  bookings[1].nodes = 9.98765;
  bookings[2].nodes = 10.001;
  EXPECT_EQ(only_finding(r, "cluster.nodes").what,
            "Workloads hold 1254.56 nodes of fleet 'train', which has 127: pretrain 1234.57, group "
            "10, assistant 9.99.");
}

// 127 nodes: 120 for a run, 2 for a service, 5 for jobs.
TEST(BookEdits, AnOverBookedFleetGrowsWhereItsSiteCarriesIt) {
  review::Review r = review::lab_review("superpod-h100");
  const machine::Fleet& fleet = r.fleets()[design::FleetIndex(0)];
  machine::FleetBook& book = r.ledger.fleets[design::FleetIndex(0)];
  ASSERT_EQ(book.bookings.size(), 3U);
  const auto edit = [&] { return edit_of(edit_asked(r, fleet)); };
  book.bookings[2].nodes = 6.25;  // 128.25 of all
  EXPECT_EQ(edit(), "fleet[0].count = 129");
  // Without the power for two more the largest gives way: 127 - 8.25 are left to it.
  r.sites[0].draw_peak = megawatts(2);
  EXPECT_EQ(edit(), "workloads[0].train.nodes = 118");
  book.bookings[1].nodes = 60;
  book.bookings[2].nodes = 67;
  EXPECT_EQ(edit(), "none") << "nothing is left to it";
  book.bookings[2].nodes = 66;
  EXPECT_EQ(edit(), "workloads[0].train.nodes = 1");
  for (machine::Booking& b : book.bookings) b.given = false;
  book.bookings[0].workload = &r.design().workloads[2];
  EXPECT_EQ(edit(), "none") << "nobody gives way";
  // A run without a number takes what the others leave.
  book.bookings[0].workload = &r.design().workloads[0];
  book.bookings[1].nodes = 2;
  book.bookings[2].nodes = 6.25;
  EXPECT_EQ(edit(), "workloads[0].train.nodes = 118");
  book.bookings[2].nodes = 125.5;
  EXPECT_EQ(edit(), "none");
}

TEST(BookEdits, NodesOfAWorkloadOrOfItsFleet) {
  review::Review r = review::lab_review("superpod-h100");
  const machine::Fleet& fleet = r.fleets()[design::FleetIndex(0)];
  machine::FleetBook& book = r.ledger.fleets[design::FleetIndex(0)];
  const design::Workload& jobs = r.design().workloads[2];
  const auto edit = [&](int nodes) { return edit_of(edit_nodes(r, jobs, fleet, nodes)); };
  EXPECT_EQ(edit(5), "workloads[2].jobs.nodes = 5");
  EXPECT_EQ(edit(6), "fleet[0].count = 128");
  // What takes turns is not beside it; a run without a number takes what there is.
  book.bookings[0].given = false;
  EXPECT_EQ(edit(125), "workloads[2].jobs.nodes = 125");
  EXPECT_EQ(edit(126), "fleet[0].count = 128");
  book.bookings[0].given = true;
  book.bookings[1].given = false;
  book.bookings[1].share = 0.5;
  EXPECT_EQ(edit(7), "workloads[2].jobs.nodes = 7");
  book.bookings[1].share = 1;
  book.bookings[1].nodes = 1.5;
  EXPECT_EQ(edit(5), "workloads[2].jobs.nodes = 5");
  EXPECT_EQ(edit(6), "fleet[0].count = 128") << "121.5 are 122 beside it";
  EXPECT_EQ(edit(kMostNodes), "fleet[0].count = " + std::to_string(kMostNodes));
}

// What is given counts by what is needed where that is more; jobs by what they hold, services by
// what they need, and a run without a number not at all.
TEST(BookEdits, NodesThatAreAskedFor) {
  review::Review r = review::lab_review("superpod-h100");
  const auto& w = r.design().workloads;
  auto& bookings = r.ledger.fleets[design::FleetIndex(0)].bookings;
  const auto asked = [&] { return nodes_asked(r, r.fleets()[design::FleetIndex(0)]); };
  bookings = {{.workload = &w[0], .nodes = 10, .needed = 12, .given = true}};
  EXPECT_EQ(asked(), 12);
  bookings[0].nodes = 15;
  EXPECT_EQ(asked(), 15);
  bookings[0].given = false;
  EXPECT_EQ(asked(), 0);
  bookings = {{.workload = &w[2], .nodes = 3.5, .needed = 1}};
  EXPECT_EQ(asked(), 4);
  bookings = {{.workload = &w[1], .nodes = 7, .needed = 2.5}};
  EXPECT_EQ(asked(), 3);
  bookings.push_back({.workload = &w[2], .nodes = 3.5, .needed = 1});
  EXPECT_EQ(asked(), 6);
}

}  // namespace
}  // namespace orrery::rules
