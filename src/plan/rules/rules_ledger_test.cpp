// What the rules of who holds what, and of law and security, compare and say.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/text.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// 127 nodes: a run of 120, a service of 2 and jobs of 5.
machine::FleetBook& book_in(review::Review& r) { return r.ledger.fleets.front(); }

TEST(BookRules, MoreNodesThanThereAre) {
  review::Review r = review::lab_review("superpod-h100");
  EXPECT_TRUE(findings_by(r, "cluster.nodes").empty());
  for (machine::Booking& b : book_in(r).bookings) {
    if (b.workload == &r.design().workloads[2]) b.nodes = 12.345;
  }
  const Finding f = only_finding(r, "cluster.nodes");
  EXPECT_EQ(f.what,
            "Workloads hold 134.35 nodes of fleet 'train', which has 127: pretrain 120, group "
            "12.35, assistant 2.");
  EXPECT_EQ(f.why,
            "Nodes given to one workload are not there for another; its figures are those of the "
            "nodes that exist.");
  EXPECT_EQ(f.fix, "Hold fewer nodes, or grow the fleet.");
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].train.nodes").line);
  EXPECT_TRUE(f.edit);
}

TEST(BookRules, WhoAsksForMoreThanTheFleetSaysSoItself) {
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

// Sixteen replicas of four accelerators where eight do: 32 of 64 accelerators idle.
TEST(BookRules, MoreReplicasThanAreNeeded) {
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
  EXPECT_EQ(f.what, "'chat' runs 16 replicas where 8 do; 32 accelerators do nothing, " +
                        show(320e3, figures::Unit::usd_per_year) + ".");
  EXPECT_EQ(f.why,
            "One replica serves 10.2 requests a second within the objective, 75.7 arrive at peak.");
  EXPECT_EQ(f.fix, "Run fewer, and give the machines other work or do not buy them.");
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

// A Poisson mean of 2 is above 6 for 0.0045 and above 5 for 0.0166 of the time: six stand by.
TEST(BookRules, NodesThatAreNobodys) {
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
  EXPECT_EQ(all[0].what, significant(idle, 6) + " of 127 nodes of fleet 'train' are nobody's, " +
                             show(8 * idle * 1000, figures::Unit::usd_per_year) + ".");
  EXPECT_EQ(all[0].why.find("Its workloads hold " + significant(booked, 6) + ": "), 0U)
      << all[0].why;
  EXPECT_EQ(all[0].fix, "Buy fewer, count them as spares, or give them work.");
  hold(107 + idle - 6);
  EXPECT_TRUE(findings_by(r, "cluster.idle-nodes").empty()) << "one in twenty";
  hold(107 + idle - 7);
  EXPECT_EQ(findings_by(r, "cluster.idle-nodes").size(), 1U);
}

TEST(BookRules, TwoSchedulersOnOneFleet) {
  review::Review r = review::edited_review("superpod-h100", {{"scheduler.kind", "both"}});
  for (machine::Booking& b : book_in(r).bookings) {
    if (b.workload == &r.design().workloads[1]) b.nodes = 2.5;
  }
  expect_said(r, only_finding(r, "cluster.partitions"),
              {.path = "fleet[0].partition",
               .what = "Fleet 'train' belongs to Slurm and holds both services and jobs: 3 of its "
                       "nodes are Kubernetes' and 124 Slurm's.",
               .why = "Neither scheduler sees what the other has started on a node that both use.",
               .fix = "Make two fleets of it: 3 nodes with `partition: kubernetes`, 124 with "
                      "`partition: slurm`."});
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "cluster.partitions").empty());
  EXPECT_TRUE(findings_by(review::lab_review("small-lab"), "cluster.partitions").empty());
}

// 63.5 of 127 nodes for all the time are half of the hours; of those 0.8 are used.
TEST(BookRules, HoursThatAreDearerThanRented) {
  review::Review r = review::lab_review("superpod-h100");
  machine::FleetBook& book = book_in(r);
  book.bookings.resize(1);
  book.bookings[0].nodes = 63.5;
  book.bookings[0].share = 3;  // no more than all the time
  r.cost.utilisation = 0.8;
  r.cost.break_even_earliest = 0.5;
  r.cost.accelerators = 1016;
  r.cost.annual = usd(9e6);
  r.cost.market->median = usd_per_hour(2);
  const Finding f = only_finding(r, "cost.renting");
  EXPECT_EQ(f.what,
            "Of the hours that this design buys it uses 40 %; owning is cheaper than renting above "
            "50 % at the earliest.");
  EXPECT_EQ(f.why, "The hours that it uses cost " +
                       show(2 * 8760 * 1016 * 0.4, figures::Unit::usd_per_year) +
                       " on demand at list prices; owned they cost " +
                       show(9e6, figures::Unit::usd_per_year) + ".");
  EXPECT_EQ(f.fix, "Rent them, buy fewer machines, or share them with more work.");
  EXPECT_EQ(f.place.line, place_of(r.design(), "fleet[0]").line);
  r.cost.break_even_earliest = 0.4 - 1e-9;
  EXPECT_TRUE(findings_by(r, "cost.renting").empty());
  r.cost.break_even_earliest = 0.5;
  book.bookings[0].nodes = 500;  // no more than there are
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

TEST(PolicyRules, WorkOutsideItsRegion) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.residency", "deu"}});
  const auto all = findings_by(r, "policy.residency");
  ASSERT_EQ(all.size(), 3U);
  expect_said(r, all[0],
              {.path = "workloads[0].train.residency",
               .what = "'pretrain' must stay in deu, but fleet 'train' stands in " +
                       r.fleets()[design::FleetIndex(0)].region->id + ".",
               .why = "A workload tagged with a region may not be placed outside it.",
               .fix = "Run it on a fleet of that region, or change the residency tag."});
  expect_said(r, all[1],
              {.path = "workloads[0].train.residency",
               .what = "'pretrain' must stay in deu, but it stores on tier 'cold' in " +
                       r.fleets()[design::FleetIndex(0)].region->id + ".",
               .why = "Data of a workload tagged with a region may not lie outside it.",
               .fix = "Use a tier in that region, or change the residency tag."});
}

// The hot tier lies in America: the cold one inside takes its place wherever it is named.
TEST(PolicyRules, DataOutsideItsRegion) {
  const auto edits = [](const review::Review& r) {
    std::vector<std::string> all;
    for (const Finding& f : findings_by(r, "policy.residency")) all.push_back(edit_of(f));
    return all;
  };
  const review::Review data =
      review::edited_review("medical-imaging", {{"storage[0].region", "usa"}});
  EXPECT_EQ(edits(data), std::vector<std::string>{"workloads[0].train.dataset.tier = cold"});
  const review::Review saves = review::edited_review(
      "medical-imaging",
      {{"storage[0].region", "usa"}, {"workloads[0].train.dataset.tier", "cold"}});
  EXPECT_EQ(edits(saves), std::vector<std::string>{"workloads[0].train.checkpoint.to = [cold]"});
  // With no other tier inside, the tier itself moves to where the run is.
  const review::Review alone =
      review::edited_review("medical-imaging", {{"storage[0].region", "usa"},
                                                {"storage[1].region", "usa"},
                                                {"storage[2].region", "usa"},
                                                {"storage[3].region", "usa"},
                                                {"workloads[0].train.checkpoint", ""}});
  EXPECT_EQ(edits(alone),
            std::vector<std::string>{"storage[0].region = " +
                                     alone.fleets()[design::FleetIndex(0)].region->id});
}

TEST(PolicyRules, AZoneWhoseFleetStandsOutside) {
  const review::Review r =
      review::edited_review("chatbot-zones", {{"workloads[0].serve.zones[0].residency", "eu"},
                                              {"workloads[0].serve.zones[0].failover", ""}});
  const Finding f = only_finding(r, "policy.residency");
  const std::string edit = edit_of(f);
  EXPECT_EQ(edit.find("workloads[0].serve.zones[0] = { site: europe, fleet: europe"), 0U) << edit;
  EXPECT_EQ(f.what, "'chatbot' must stay in eu, but fleet 'us-east' stands in " +
                        r.fleets()[design::FleetIndex(0)].region->id + ".");
}

TEST(PolicyRules, AZoneThatWouldSendItsUsersOutside) {
  const review::Review r = review::edited_review(
      "chatbot-zones", {{"workloads[0].serve.zones[0].failover", "[us-west, europe]"}});
  const Finding f = only_finding(r, "policy.residency");
  EXPECT_EQ(f.what, "'chatbot in us-east' must stay in usa, but would go to europe.");
  EXPECT_EQ(f.why,
            "Requests are data; none is sent outside, so that a lost site leaves its users alone.");
  EXPECT_EQ(f.fix, "Name sites inside, or none.");
  const std::string edit = edit_of(f);
  EXPECT_NE(edit.find("failover: [us-west]"), std::string::npos) << edit;
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.zones[0].failover").line);
  EXPECT_TRUE(findings_by(review::lab_review("chatbot-zones"), "policy.residency").empty());
}

TEST(PolicyRules, PartsThatNeedALicence) {
  const review::Review r = review::edited_review("superpod-h100", {{"site.region", "chn"}});
  const Finding f = only_finding(r, "policy.export-control");
  EXPECT_EQ(f.what.find(r.fleets()[design::FleetIndex(0)].accelerator()->name +
                        " may need an export licence for chn ("),
            0U)
      << f.what;
  EXPECT_TRUE(f.why.ends_with("; ask counsel before ordering.")) << f.why;
  EXPECT_EQ(f.fix, "Choose a part that is not listed for this country, or plan for the licence.");
  EXPECT_EQ(f.place.line, place_of(r.design(), "fleet[0].node").line);
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "policy.export-control").empty());
}

TEST(PolicyRules, CallsOutOfAnAirGap) {
  const std::string why =
      "An air-gapped site reaches nothing outside: the call fails on the first day.";
  const review::Review calls = review::edited_review(
      "superpod-h100", {{"site.air_gapped", "true"}, {"workloads[0].train.external", "[a, b]"}});
  const std::string site = calls.sites[0].site->name;
  expect_said(calls, only_finding(calls, "policy.air-gap"),
              {.path = "workloads[0].train.external",
               .what = "'pretrain' runs on air-gapped site '" + site + "' but calls a, b.",
               .why = why,
               .fix = "Mirror it inside the site, then take it off `external`; or drop air_gapped.",
               .edit = "workloads[0].train.external = "});
  const review::Review cloud = review::edited_review(
      "superpod-h100", {{"site.air_gapped", "true"}, {"storage[0].provider", "aws"}});
  const auto all = findings_by(cloud, "policy.air-gap");
  ASSERT_GE(all.size(), 1U);
  EXPECT_EQ(all[0].what,
            "'pretrain' runs on air-gapped site '" + site + "' but uses tier 'hot' at aws.");
  EXPECT_EQ(all[0].why, why);
  EXPECT_EQ(all[0].fix, "Use a tier of the site, or drop air_gapped.");
  EXPECT_EQ(edit_of(all[0]), "workloads[0].train.dataset.tier = cold");
  const review::Review stage = review::edited_review(
      "superpod-h100",
      {{"site.air_gapped", "true"},
       {"pipeline", "{ stages: [{ stage: ingest, to: hot, size: 10 TB, rate: 100 Gb/s }] }"}});
  const Finding f = only_finding(stage, "policy.air-gap");
  EXPECT_EQ(f.what.find("Stage '"), 0U);
  EXPECT_TRUE(f.what.ends_with("' takes in data from outside to air-gapped site '" + site + "'."));
  EXPECT_EQ(f.fix,
            "Carry the data in by hand and begin with a copy between tiers; or drop air_gapped.");
  EXPECT_TRUE(findings_by(review::edited_review("superpod-h100", {{"site.air_gapped", "true"}}),
                          "policy.air-gap")
                  .empty());
}

TEST(PolicyRules, EncryptionThatIsAskedForAndNotOffered) {
  const review::Review rest = review::edited_review(
      "superpod-h100",
      {{"workloads[0].train.encrypt_at_rest", "true"}, {"storage[1].encrypted", "true"}});
  expect_said(rest, only_finding(rest, "policy.encryption-at-rest"),
              {.path = "workloads[0].train.encrypt_at_rest",
               .what = "'pretrain' asks for encryption at rest; tier 'hot' does not offer it.",
               .why = "Data would lie readable on drives that leave the hall when they fail.",
               .fix = "Set encrypted: true on tier 'hot', or encryption_at_rest on the site.",
               .edit = "storage[0].encrypted = true"});
  const review::Review offered = review::edited_review(
      "superpod-h100",
      {{"workloads[0].train.encrypt_at_rest", "true"}, {"site.encryption_at_rest", "true"}});
  EXPECT_TRUE(findings_by(offered, "policy.encryption-at-rest").empty());
  const review::Review way =
      review::edited_review("superpod-h100", {{"workloads[0].train.encrypt_in_transit", "true"}});
  expect_said(
      way, only_finding(way, "policy.encryption-in-transit"),
      {.path = "workloads[0].train.encrypt_in_transit",
       .what = "'pretrain' asks for encryption in transit; neither site '" +
               way.sites[0].site->name + "' nor its networks offer it.",
       .why = "Traffic between nodes and storage would cross the fabric in the clear.",
       .fix = "Set encryption_in_transit on the site, or encrypted: true on the compute and "
              "storage networks.",
       .edit = "site.encryption_in_transit = true"});
  const auto with = [](std::vector<design_text::Change> more) {
    more.push_back({"workloads[0].train.encrypt_in_transit", "true"});
    return findings_by(review::edited_review("superpod-h100", more), "policy.encryption-in-transit")
        .size();
  };
  EXPECT_EQ(with({{"site.encryption_in_transit", "true"}}), 0U);
  EXPECT_EQ(with({{"fabric.compute.encrypted", "true"}}), 1U) << "both networks";
  EXPECT_EQ(with({{"fabric.compute.encrypted", "true"}, {"fabric.storage.encrypted", "true"}}), 0U);
}

TEST(PolicyRules, TenantsAndEngines) {
  const review::Review tenant =
      review::edited_review("superpod-h100", {{"workloads[0].train.isolate_tenant", "true"}});
  expect_said(tenant, only_finding(tenant, "policy.tenant-isolation"),
              {.path = "workloads[0].train.isolate_tenant",
               .what = "'pretrain' must be kept apart from other tenants; site '" +
                       tenant.sites[0].site->name + "' does not segment them.",
               .why = "Without partition keys or tenant networks one tenant's nodes can reach "
                      "another's.",
               .fix = "Set tenant_isolation on the site, or give the workload a site of its own.",
               .edit = "site.tenant_isolation = true"});
  EXPECT_TRUE(findings_by(review::lab_review("fraud-cpu"), "policy.tenant-isolation").empty());
  const review::Review engine =
      review::edited_review("superpod-h100", {{"workloads[1].serve.engine", "tgi"}});
  const catalog::ServingEngine& tgi = *engine.catalog().engine("tgi");
  const std::string next = tgi.replaced_by.empty() ? "vllm" : tgi.replaced_by;
  expect_said(
      engine, only_finding(engine, "serving.engine-retired"),
      {.path = "workloads[1].serve.engine",
       .what = tgi.name + " is " + std::string(to_text(tgi.status)) + " since " + tgi.status_since +
               ".",
       .why = "It gets no fixes and no support for new models (" + tgi.provenance.source + ").",
       .fix = "Use " + next + ".",
       .edit = "workloads[1].serve.engine = " + next});
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "serving.engine-retired").empty());
}

}  // namespace
}  // namespace orrery::rules
