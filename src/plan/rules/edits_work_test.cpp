// Edits of runs, services, queues and batches, by hand.
#include <gtest/gtest.h>

#include <utility>

#include "core/base/text.h"
#include "model/jobs/batch_split.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/stages.h"
#include "plan/rules/edits.h"
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

TEST(EditsWork, replicas_for_the_peak_on_the_accelerators_there) {
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

TEST(EditsWork, without_a_replica_count_the_fleet_grows) {
  review::Review r = chat_pod(20, 64);
  design::Serve open = *r.serves[0].serve;
  open.replicas.reset();
  r.serves[0].serve = &open;
  EXPECT_EQ(edit_of(edit_service(r, r.serves[0])), "fleet[0].count = 10");
  r.serves[0].devices_there = 1000;
  EXPECT_EQ(edit_of(edit_service(r, r.serves[0])), "fleet[0].count = 10");
}

// A zone with its own number of replicas gets its own edit: twelve fit on 48.
TEST(EditsWork, zone_with_its_own_replicas_changes_them) {
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

// Europe has a share of 0.35: eight replicas here are 7.5 / 0.35 = 21.4, so 22 in all.
TEST(EditsWork, zone_by_share_changes_the_services_replicas) {
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
  // Seven are too many for 24: six are 5.5 / 0.35 = 15.7 in all, and up to 18.
  EXPECT_EQ(edit(6, 24), "workloads[0].serve.replicas = 18");
  EXPECT_EQ(edit(1, 24), "workloads[0].serve.replicas = 18");
  EXPECT_EQ(edit(1, 4), "workloads[0].serve.replicas = 4") << "0.35 of four is one, of five two";
}

// If a zone has no number of its own, its need also raises the number for the others.
TEST(EditsWork, all_zones_of_a_service_are_served) {
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
  // Europe has no room for eight: its own seven correspond to 19, which fit.
  r.serves[2].devices_there = 28;
  EXPECT_EQ(edit(2), "workloads[0].serve.replicas = 19");
  EXPECT_EQ(edit(0), "workloads[0].serve.replicas = 24");
  // A zone that cannot be served does not count.
  r.serves[0].infeasible = "no";
  EXPECT_EQ(edit(1), "workloads[0].serve.replicas = 20");
}

// A second service on the same fleet: what it lacks is reported for it, not for the first.
TEST(EditsWork, other_services_do_not_change_the_edit) {
  review::Review r = review::lab_review("inference-pod");
  r.serves.push_back(r.serves[0]);
  design::Serve second = *r.serves[0].serve;
  r.serves[1].serve = &second;
  review::ServeView& v = r.serves[0];
  v.replicas_needed = 20;
  v.devices_there = 80;
  r.serves[1].replicas_needed = 500;
  r.serves[1].devices_there = 1;
  EXPECT_EQ(edit_of(edit_service(r, v)), "workloads[0].serve.replicas = 20");
  v.replicas_needed = 12;
  v.devices_there = 63;
  EXPECT_EQ(edit_of(edit_service(r, v)), "workloads[0].serve.replicas = 15");
  v.replicas = 16;
  v.devices_there = 80;
  r.serves[1].dark_missed = 0.9;
  EXPECT_EQ(edit_of(edit_availability(r, v)), "workloads[0].serve.replicas = 16");
  r.serves[1].dark_missed = 0;
  r.serves[1].replicas = 900;
  EXPECT_EQ(edit_of(edit_availability(r, v)), "workloads[0].serve.replicas = 16");
  EXPECT_EQ(edit_of(edit_availability(r, r.serves[1])).find("fleet[0].count = "), 0U);
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

TEST(EditsWork, availability_needs_replicas_then_machines) {
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

TEST(EditsWork, power_outages_can_exceed_what_may_be_missed) {
  review::ServeView v;
  design::Workload w;
  v.workload = &w;
  v.dark_missed = 0.5;
  EXPECT_FALSE(is_dark_too_long(v)) << "no availability is asked for";
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

// The first zone that is short gets an edit; zones with their own counts follow one after the
// other.
TEST(EditsWork, zones_are_mended_one_after_the_other) {
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
  EXPECT_EQ(edit(), "workloads[0].serve.replicas = 1") << "no other zone is short";
}

// 50 of its own, 12.5 that find no room and 30 that do, of ten each: ten replicas.
TEST(EditsWork, failover_adds_replicas_at_the_first_site) {
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
TEST(EditsWork, smallest_split_or_narrower_format_that_fits) {
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
TEST(EditsWork, nearest_batch_that_spreads) {
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

TEST(EditsWork, slices_shrink_from_the_most_common) {
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
  // At most seven, then fewer, down to two with two small ones, which is still too much; then one.
  EXPECT_EQ(edit({{"3g.71gb", 9}, {"1g.18gb", 2}}), "fleet[1].mig = { 3g.71gb: 1, 1g.18gb: 2 }");
  EXPECT_EQ(edit({{"4g.71gb", 1}, {"7g.141gb", 1}}), "fleet[1].mig = { 7g.141gb: 1 }");
  EXPECT_EQ(edit({{"1g.18gb", 8}}), "fleet[1].mig = { 1g.18gb: 7 }");
  m.packing.unplaced = {"9g.900gb"};
  EXPECT_EQ(edit({{"9g.900gb", 1}, {"1g.18gb", 2}}), "fleet[1].mig = { 1g.18gb: 2 }");
  EXPECT_EQ(edit({{"9g.900gb", 1}}), "fleet[1].mig = ");
}

TEST(EditsWork, nearest_batch_is_a_multiple_of_the_accelerators) {
  design::Design d = review::lab_design("av-vision");  // a plain network on 512
  auto& train = std::get<design::Train>(d.workloads[0].task);
  const auto nearest = [&](int batch) {
    train.batch = batch;
    return nearest_batch(review::run_stages(d, machine::known()).trains.at(0), 512);
  };
  EXPECT_EQ(nearest(3200), 3072);
  EXPECT_EQ(nearest(3500), 3584);
  EXPECT_EQ(nearest(1), 512);
  EXPECT_EQ(nearest(4096), 4096);
  // One accelerator takes any batch, and the least is one; of two equally near ones the larger is
  // chosen.
  train.batch = 1;
  EXPECT_EQ(nearest_batch(review::run_stages(d, machine::known()).trains.at(0), 1), 1);
  EXPECT_EQ(nearest(3328), 3584);
}

// A given number counts as the need if that is larger; jobs count by what they hold, services by
// what they need, and a run without a number not at all.
TEST(EditsWork, nodes_asked_by_number_or_need) {
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

// Jobs without a number of nodes: work of 1.25 times four nodes needs 5.6, of which the site
// carries six, or the rate falls by 1.389.
review::Review queue_pod(const std::string& site, const std::string& jobs) {
  return review::hand_review(
      "site: { region: usa" + site +
      " }\nfleet: [{ name: f, node: dgx-h100, count: 4 }]\nworkloads: [{ jobs: { "
      "name: j, rate: 10 /h, mean_duration: 1 h, " +
      jobs + " } }]\n");
}

TEST(EditsWork, overloaded_queue_grows_the_fleet_or_sheds_load) {
  const auto edit = [](const std::string& site, const std::string& jobs, double load) {
    review::Review r = queue_pod(site, jobs);
    r.jobs.at(0).queue.load = load;
    return edit_of(edit_load(r, r.jobs[0]));
  };
  EXPECT_EQ(edit("", "sizes: [1]", 1.25), "fleet[0].count = 6") << "4 x 1.25 / 0.9 = 5.56";
  EXPECT_EQ(edit("", "sizes: [1]", 1.35), "fleet[0].count = 6") << "exactly";
  EXPECT_EQ(edit("", "sizes: [1]", 1.36), "fleet[0].count = 7");
  EXPECT_EQ(edit(", power: 60 kW", "sizes: [1]", 1.25), "workloads[0].jobs.rate = 7.2 /h");
  EXPECT_EQ(edit("", "nodes: 2, sizes: [1]", 1.25), "workloads[0].jobs.nodes = 3");
  EXPECT_EQ(edit("", "nodes: 2, sizes: [1]", 2.25), "workloads[0].jobs.rate = 4 /h")
      << "five of four";
}

TEST(EditsWork, sizes_that_never_start_are_dropped) {
  const auto edit = [](const std::string& jobs, int largest) {
    review::Review r = queue_pod("", jobs);
    r.jobs.at(0).largest = largest;
    return edit_of(edit_sizes(r, r.jobs[0]));
  };
  EXPECT_EQ(edit("sizes: [8, 32, 33]", 33), "workloads[0].jobs.sizes = [8, 32]");
  EXPECT_EQ(edit("sizes: [33]", 33), "fleet[0].count = 5") << "nothing would be left";
  EXPECT_EQ(edit("sizes: [8, 33], weights: [1, 1]", 33), "fleet[0].count = 5")
      << "the weights belong to the sizes";
  EXPECT_EQ(edit("sizes: [8, 40]", 40), "workloads[0].jobs.sizes = [8]");
  EXPECT_EQ(edit("nodes: 2, sizes: [8, 17]", 17), "workloads[0].jobs.nodes = 3");
  EXPECT_EQ(edit("nodes: 2, sizes: [8, 16, 33]", 33), "workloads[0].jobs.sizes = [8, 16]");
}

// Nodes of 18 hosts: 73 accelerators are 19 hosts of four, two racks.
TEST(EditsWork, racks_are_added_whole) {
  review::Review r = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: gb200-nvl72, count: 1 }]\nworkloads: [{ "
      "jobs: { name: j, rate: 1 /h, mean_duration: 1 h, sizes: [73] } }]\n");
  EXPECT_EQ(edit_of(edit_sizes(r, r.jobs.at(0))), "fleet[0].count = 2");
  // 31 hosts for a mean of 20: two racks; 30 are spares already: one.
  review::TrainView t;
  t.fleet = r.jobs[0].fleet;
  t.failure.mean_in_repair = 20;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 2");
  t.failure.spares = 30;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 1");
  t.failure.spares = 12;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 2") << "19 more";
  t.failure.spares = 13;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 1") << "18 more";
}

// Tasks of one hour on 8 of 640: 80 hours for 20 need 32 slots, four nodes; never more than tasks.
TEST(EditsWork, batch_gets_nodes_to_end_in_time) {
  review::Review r = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 1 }]\nworkloads: [{ batch: "
      "{ name: b, accelerator_hours: 640, tasks: 640, deadline: 21 h } }]\n");
  review::BatchView& b = r.batches.at(0);
  ASSERT_EQ(b.at_once, 8);
  ASSERT_NEAR(b.compute / hours(1), 80, 1e-9);
  const auto edit = [&] { return edit_of(edit_window(r, b)); };
  EXPECT_EQ(edit(), "fleet[0].count = 4") << "3.81";
  b.bound = hours(19);
  EXPECT_EQ(edit(), "fleet[0].count = 5") << "4.21";
  b.bound = hours(1);
  EXPECT_EQ(edit(), "fleet[0].count = 81") << "all at once, and a little";
  b.bound = hours(0.99);
  EXPECT_EQ(edit(), "none") << "shorter than a task";
  b.bound = hours(21);
  b.at_once = 640;
  b.compute = hours(30);
  EXPECT_EQ(edit(), "none") << "each has its own already";
}

// Six hours of 3,072 tasks on 24 nodes of 128 slots for a bound of four: a half more.
TEST(EditsWork, batch_on_cores_gets_nodes_to_end_in_time) {
  review::Review r = review::edited_review(
      "fraud-cpu", {{"site.power", "900 kW"}, {"workloads[0].batch.tasks", "6000"}});
  review::BatchView& b = r.batches[0];
  b.at_once = 3072;
  b.compute = hours(6);
  b.read = hours(1);
  b.bound = hours(4);
  // One task takes 6 h * 3072 / 6000; nodes: 6000 * 3.072 / 4 / 128 = 36.
  EXPECT_EQ(edit_of(edit_window(r, b)), "fleet[0].count = 37");
  b.read = hours(4);
  EXPECT_EQ(edit_of(edit_window(r, b)), "fleet[0].count = 37");
  b.read = hours(4.1);
  EXPECT_EQ(edit_of(edit_window(r, b)), "none") << "reading alone takes longer";
  b.read = hours(1);
  b.bound = hours(3);
  EXPECT_EQ(edit_of(edit_window(r, b)), "none") << "one task does";
}

// A Poisson mean of 400 is above 446 for 0.0110 and above 447 for 0.0097 of the time.
TEST(EditsWork, spares_of_a_very_large_fleet) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.failure.mean_in_repair = 400;
  t.failure.spares = 0;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 447");
  t.failure.mean_in_repair = 0.2;  // above 1 for 0.0175 and above 2 for 0.0011
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 2");
}

// A mean of 2.567 in repair: above 6 for 0.0155 and above 7 for 0.0051 of the time.
TEST(EditsWork, spares_keep_the_shortfall_below_one_percent) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.failure.mean_in_repair = 2.567;
  t.failure.spares = 2;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 5");
  t.failure.spares = 6;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 1");
}

// Four nodes end in time T; 1.9 times as fast needs 7.6, so eight do.
TEST(EditsWork, nodes_for_a_deadline_are_tried) {
  const auto edit = [](const std::string& nodes, int beside, double faster) {
    review::Review r = review::hand_review(
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
    return edit_of(edit_deadline(r, t, t.run_time / faster));
  };
  EXPECT_EQ(edit("nodes: 4, ", 8, 1.9), "workloads[0].train.nodes = 8");
  EXPECT_EQ(edit("nodes: 4, ", 9, 1.9), "none") << "the fleet has seven left";
  EXPECT_EQ(edit("", 1, 1.9), "fleet[0].count = 8");
}

}  // namespace
}  // namespace orrery::rules
