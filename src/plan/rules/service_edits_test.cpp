// Edits of services, by hand: replicas and nodes that carry a peak, outlive hosts, take the users
// of a lost site; splits, batches and slices that fit.
#include <gtest/gtest.h>

#include "plan/review/serve_sizing.h"
#include "plan/rules/edits.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// Sixteen replicas of four accelerators are given, on 64.
review::Review chat_pod(double needed, double there) {
  review::Review r = review::lab_review("inference-pod");
  r.serves[0].replicas_needed = needed;
  r.serves[0].devices_there = there;
  return r;
}

TEST(ServiceEdits, ReplicasThatServeThePeakOnWhatIsThere) {
  const auto edit = [](double needed, double there) {
    const review::Review r = chat_pod(needed, there);
    return edit_of(edit_service(r, r.serves[0]));
  };
  EXPECT_EQ(edit(20, 80), "workloads[0].serve.replicas = 20");
  EXPECT_EQ(edit(20, 79), "fleet[0].count = 10") << "80 accelerators first";
  EXPECT_EQ(edit(12, 64), "workloads[0].serve.replicas = 16") << "as given";
  EXPECT_EQ(edit(16, 64), "workloads[0].serve.replicas = 16");
  EXPECT_EQ(edit(12, 63), "workloads[0].serve.replicas = 15");
  EXPECT_EQ(edit(12, 48), "workloads[0].serve.replicas = 12");
  EXPECT_EQ(edit(12, 47), "fleet[0].count = 6");
  EXPECT_EQ(edit(13, 51), "fleet[0].count = 7") << "6.5 nodes";
  EXPECT_EQ(edit(1, 3), "fleet[0].count = 1");
}

TEST(ServiceEdits, WithoutANumberTheMachinesGrow) {
  review::Review r = chat_pod(20, 64);
  design::Serve open = *r.serves[0].serve;
  open.replicas.reset();
  r.serves[0].serve = &open;
  EXPECT_EQ(edit_of(edit_service(r, r.serves[0])), "fleet[0].count = 10");
  r.serves[0].devices_there = 1000;
  EXPECT_EQ(edit_of(edit_service(r, r.serves[0])), "fleet[0].count = 10");
}

// A zone that counts its own replicas is mended by itself: twelve fit on 48.
TEST(ServiceEdits, OfAZoneWithReplicasOfItsOwn) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  ASSERT_EQ(v.devices_per_replica, 4);
  v.devices_there = 48;
  const auto edit = [&](double replicas, double needed) {
    v.replicas = replicas;
    v.replicas_needed = needed;
    return edit_of(edit_service(r, v));
  };
  EXPECT_EQ(edit(11, 9), "workloads[0].serve.zones[0].replicas = 11");
  EXPECT_EQ(edit(11, 12), "workloads[0].serve.zones[0].replicas = 12");
  EXPECT_EQ(edit(14, 9), "workloads[0].serve.zones[0].replicas = 12");
  EXPECT_EQ(edit(14, 13), "fleet[0].count = 7") << "6.5 nodes";
}

// Europe has 0.35 of all: eight here are 7.5 / 0.35 = 21.4, so 22 of all.
TEST(ServiceEdits, OfAZoneByItsShare) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[2];
  const auto edit = [&](double needed, double there) {
    v.replicas_needed = needed;
    v.devices_there = there;
    return edit_of(edit_service(r, v));
  };
  EXPECT_EQ(edit(8, 32), "workloads[0].serve.replicas = 22");
  EXPECT_EQ(edit(8, 31), "fleet[2].count = 4");
  EXPECT_EQ(edit(7, 32), "workloads[0].serve.replicas = 20") << "as given";
  // Seven are too many for 24: six are 5.5 / 0.35 = 15.7 of all, and up to 18.
  EXPECT_EQ(edit(6, 24), "workloads[0].serve.replicas = 18");
  EXPECT_EQ(edit(1, 24), "workloads[0].serve.replicas = 18");
  EXPECT_EQ(edit(1, 4), "workloads[0].serve.replicas = 4") << "0.35 of four is one, of five two";
}

// With no number of its own a zone that needs more counts for the others too.
TEST(ServiceEdits, AllZonesOfAServiceAreServed) {
  review::Review r = review::lab_review("chatbot-zones");
  design::Serve shared = *r.serves[0].serve;
  for (design::Zone& z : shared.zones) z.replicas.reset();
  const double needs[] = {10, 5, 7};
  for (std::size_t i = 0; i < 3; ++i) {
    r.serves[i].serve = &shared;
    r.serves[i].replicas_needed = needs[i];
    r.serves[i].devices_there = 48;
  }
  const auto edit = [&](std::size_t i) { return edit_of(edit_service(r, r.serves[i])); };
  // 9.5 / 0.4 = 23.75, 4.5 / 0.25 = 18, 6.5 / 0.35 = 18.6: 24, of which 10, 6 and 8.
  EXPECT_EQ(edit(0), "workloads[0].serve.replicas = 24");
  EXPECT_EQ(edit(1), "workloads[0].serve.replicas = 24");
  // Europe has not room for eight: its own seven are 19, for which it has.
  r.serves[2].devices_there = 28;
  EXPECT_EQ(edit(2), "workloads[0].serve.replicas = 19");
  EXPECT_EQ(edit(0), "workloads[0].serve.replicas = 24");
  // A zone that cannot be served asks for nothing.
  r.serves[0].infeasible = "no";
  EXPECT_EQ(edit(1), "workloads[0].serve.replicas = 20");
}

// Hosts are down for a sixtieth of the time: 15 replicas are up for 0.9928 of it, 16 for 0.99964,
// 18 for 0.99998.
review::Review failing_pod(const char* name) {
  design::Design d = review::lab_design(name);
  for (design::Fleet& f : d.fleet) f.failures.node_mtbf = hours(10);
  review::Review r = review::run_stages(std::move(d), machine::known());
  for (review::ServeView& v : r.serves) {
    v.devices_per_replica = 4;
    v.replicas = v.replicas_needed = 15;
    v.devices_there = 80;
    v.dark_missed = 0;
  }
  return r;
}

TEST(AvailabilityEdits, MoreReplicasOrFirstTheirMachines) {
  review::Review r = failing_pod("inference-pod");
  review::ServeView& v = r.serves[0];
  const auto edit = [&] { return edit_of(edit_availability(r, v)); };
  EXPECT_EQ(edit(), "workloads[0].serve.replicas = 16");
  v.devices_there = 64;
  EXPECT_EQ(edit(), "workloads[0].serve.replicas = 16");
  v.devices_there = 63;
  EXPECT_EQ(edit(), "fleet[0].count = 8");
  v.dark_missed = 0.0008;  // which replicas make up for
  EXPECT_EQ(edit(), "fleet[0].count = 9");
  v.devices_there = 72;
  EXPECT_EQ(edit(), "workloads[0].serve.replicas = 18");
  v.dark_missed = 0.0011;
  EXPECT_EQ(edit(), "site.generator = 1 min");
  v.dark_missed = 0;
  v.replicas_needed = 200;  // never within 2 x 15 and 64
  EXPECT_EQ(edit(), "none");
}

TEST(AvailabilityEdits, ASiteThatIsDarkTooLong) {
  review::ServeView v;
  design::Workload w;
  v.workload = &w;
  v.dark_missed = 0.5;
  EXPECT_FALSE(is_dark_too_long(v)) << "nobody asks";
  w.terms.availability = 0.75;
  v.dark_missed = 0.25;
  EXPECT_TRUE(is_dark_too_long(v));
  v.dark_missed = 0.2499;
  EXPECT_FALSE(is_dark_too_long(v));
  w.terms.availability = 1;
  EXPECT_TRUE(is_dark_too_long(v));
  v.dark_missed = 0;
  EXPECT_FALSE(is_dark_too_long(v)) << "it is never dark";
}

// The first zone that is short is mended; where each has its own, one after the other.
TEST(AvailabilityEdits, OfZones) {
  review::Review r = failing_pod("chatbot-zones");
  const auto edit = [&] { return edit_of(edit_availability(r, r.serves[2])); };
  EXPECT_EQ(edit(), "workloads[0].serve.zones[0].replicas = 16");
  r.serves[0].replicas = 16;
  EXPECT_EQ(edit(), "workloads[0].serve.zones[1].replicas = 16");
  r.serves[1].replicas = 18;
  // Sixteen in Europe are 15.5 / 0.35 = 44.3 of all.
  EXPECT_EQ(edit(), "workloads[0].serve.replicas = 45");
  r.serves[2].devices_there = 63;
  EXPECT_EQ(edit(), "fleet[2].count = 8");
  r.serves[2].infeasible = "no";
  EXPECT_EQ(edit(), "workloads[0].serve.replicas = 1") << "nobody else is short";
}

// 50 of its own, 12.5 that find no room and 30 that do, of ten each: ten replicas.
TEST(FailoverEdits, ReplicasWhereTheyAreAskedFirst) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  review::ServeView& host = r.serves[1];
  host.peak = PerSecond(50);
  host.capacity_per_replica = PerSecond(10);
  host.devices_per_replica = 4;
  host.devices_there = 40;
  v.failover->refused = PerSecond(12.5);
  v.failover->to.resize(1);
  v.failover->to[0].zone = 1;
  v.failover->to[0].rate = PerSecond(30);
  v.failover->to.push_back(v.failover->to[0]);
  v.failover->to[1].zone = 2;
  v.failover->to[1].rate = PerSecond(99);
  const auto edit = [&] { return edit_of(edit_failover(r, v)); };
  EXPECT_EQ(edit(), "workloads[0].serve.zones[1].replicas = 10");
  host.devices_there = 39;
  EXPECT_EQ(edit(), "fleet[1].count = 5");
  host.devices_there = 40;
  design::Serve follows = *host.serve;
  follows.replicas.reset();
  follows.autoscale = design::Autoscale{.min = 4, .max = 20, .target = 8};
  follows.zones[1].replicas.reset();
  host.serve = &follows;
  // 9.5 / 0.25 of all.
  EXPECT_EQ(edit(), "workloads[0].serve.autoscale.max = 38");
  host.infeasible = "no";
  EXPECT_EQ(edit(), "none");
  host.infeasible.clear();
  v.failover->first.reset();
  EXPECT_EQ(edit(), "none");
}

// 141 GB of weights in 16 bits want two accelerators of 141 GB; 812 GB do not fit eight of 80, and
// in eight bits they do.
TEST(SplitEdits, TheLeastThatFits) {
  const auto edit = [](const char* node, const char* model, catalog::Precision precision,
                       std::optional<int> tp) {
    design::Design d = review::lab_design("inference-pod");
    d.fleet[0].node = node;
    auto& serve = std::get<design::Serve>(d.workloads[0].task);
    serve.model = model;
    serve.precision = precision;
    serve.tp = tp;
    const review::Review r = review::run_stages(std::move(d), machine::known());
    return edit_of(edit_split(r, r.serves[0]));
  };
  using enum catalog::Precision;
  EXPECT_EQ(edit("dgx-h200", "llama-3-70b", bf16, 1), "workloads[0].serve.tp = 2");
  EXPECT_EQ(edit("dgx-h200", "llama-3-70b", bf16, 2), "none");
  EXPECT_EQ(edit("dgx-h200", "llama-3-70b", bf16, 4), "none");
  EXPECT_EQ(edit("dgx-h200", "llama-3-70b", bf16, {}), "none");
  EXPECT_EQ(edit("dgx-h100", "llama-3.1-405b", bf16, 8), "workloads[0].serve.precision = fp8");
  EXPECT_EQ(edit("dgx-h100", "llama-3.1-405b", bf16, {}), "workloads[0].serve.precision = fp8");
  EXPECT_EQ(edit("dgx-a100", "llama-3.1-405b", bf16, 8), "none") << "without such products";
  EXPECT_EQ(edit("dgx-h100", "deepseek-v3", bf16, 8), "none") << "671 GB in eight bits";
  review::Review r = review::lab_review("inference-pod");
  r.serves[0].model = nullptr;
  EXPECT_EQ(edit_of(edit_split(r, r.serves[0])), "none");
  r = review::lab_review("inference-pod");
  r.serves[0].fleet = nullptr;
  EXPECT_EQ(edit_of(edit_split(r, r.serves[0])), "none");
}

// 960 accelerators share multiples of 960 / (tp pp), the least of which is 3 with 80 layers in 40
// stages of 8: 954 is the nearest to 953, a prime. 1016 are 8 x 127: multiples of 127.
TEST(RunEdits, ABatchThatSpreads) {
  const review::Review& r = review::lab_review("superpod-h100");
  review::TrainView t = r.trains.at(0);
  design::Train train = *t.train;
  t.train = &train;
  train.batch = 953;
  EXPECT_EQ(edit_of(edit_step(t)), "workloads[0].train.batch = 954");
  train.batch = 960;
  EXPECT_EQ(edit_of(edit_step(t)), "none") << "it spreads";
  EXPECT_EQ(edit_of(edit_batch(t)), "workloads[0].train.batch = 1016");
  train.batch = 1016;
  EXPECT_EQ(edit_of(edit_batch(t)), "none");
  train.batch = 953;
  train.layout.emplace();
  EXPECT_EQ(edit_of(edit_step(t)), "workloads[0].train.layout = auto");
  train.layout.reset();
  t.model = nullptr;
  EXPECT_EQ(edit_of(edit_step(t)), "none");
  t.model = r.trains[0].model;
  machine::Fleet bare = *t.fleet;
  bare.accelerators = 0;
  t.fleet = &bare;
  EXPECT_EQ(edit_of(edit_step(t)), "none");
  t.fleet = nullptr;
  EXPECT_EQ(edit_of(edit_step(t)), "none");
}

TEST(SliceEdits, OneFewerOfWhatThereIsMostOf) {
  const review::Review& r = review::lab_review("small-lab");
  review::MigView m = r.mig.at(0);
  machine::Fleet fleet = *m.fleet;
  design::Fleet asks = *fleet.fleet;
  fleet.fleet = &asks;
  m.fleet = &fleet;
  const auto edit = [&](std::vector<design::MigSlices> mig) {
    asks.mig = std::move(mig);
    return edit_of(edit_slices(r, m));
  };
  EXPECT_EQ(edit({{"2g.35gb", 3}}), "fleet[1].mig = { 2g.35gb: 3 }");
  EXPECT_EQ(edit({{"2g.35gb", 4}}), "fleet[1].mig = { 2g.35gb: 3 }");
  // Seven at the most, down to two beside two small ones, which are too much; then one.
  EXPECT_EQ(edit({{"3g.71gb", 9}, {"1g.18gb", 2}}), "fleet[1].mig = { 3g.71gb: 1, 1g.18gb: 2 }");
  EXPECT_EQ(edit({{"4g.71gb", 1}, {"7g.141gb", 1}}), "fleet[1].mig = { 7g.141gb: 1 }");
  EXPECT_EQ(edit({{"1g.18gb", 8}}), "fleet[1].mig = { 1g.18gb: 7 }");
  m.packing.unplaced = {"9g.900gb"};
  EXPECT_EQ(edit({{"9g.900gb", 1}, {"1g.18gb", 2}}), "fleet[1].mig = { 1g.18gb: 2 }");
  EXPECT_EQ(edit({{"9g.900gb", 1}}), "fleet[1].mig = ");
}

}  // namespace
}  // namespace orrery::rules
