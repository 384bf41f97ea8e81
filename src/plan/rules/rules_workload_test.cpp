// What the rules of training runs, services, queues and stages say, word for word.
#include <gtest/gtest.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

review::Review changed_pod(const char* name, void (*change)(design::Design&)) {
  design::Design d = review::lab_design(name);
  change(d);
  return review::run_stages(std::move(d), machine::known());
}

TEST(WorkRules, ARunThatCannotRun) {
  review::Review r = review::lab_review("superpod-h100");
  r.trains[0].infeasible = "too wide";
  expect_said(r, only_finding(r, "training.feasible"),
              {.path = "workloads[0].train.batch",
               .what = "'pretrain' cannot run: too wide.",
               .why = "Every device must hold its share, and the batch must split evenly over the "
                      "replicas.",
               .fix = "Change the batch, the fleet or the model.",
               .edit = "none"});
  review::Review laid = changed_pod("superpod-h100", [](design::Design& d) {
    std::get<design::Train>(d.workloads[0].task).layout.emplace();
  });
  laid.trains[0].infeasible = "too wide";
  const Finding f = only_finding(laid, "training.feasible");
  EXPECT_EQ(f.fix, "Try layout: auto, or another batch.");
  EXPECT_EQ(f.edit->path + " = " + f.edit->value, "workloads[0].train.layout = auto");
}

// 512 accelerators, of which one in twenty may be left over.
TEST(WorkRules, ABatchThatLeavesMachinesIdle) {
  review::Review r = review::lab_review("av-vision");
  review::TrainView& t = r.trains.at(0);
  const int all = t.fleet->accelerators;
  ASSERT_EQ(all, 512);
  r.ledger.fleets[t.fleet->index].bookings.clear();
  t.accelerators = 487;  // 0.0488 idle
  EXPECT_TRUE(findings_by(r, "training.idle-nodes").empty());
  t.accelerators = 486;  // 0.0508
  const Finding f = only_finding(r, "training.idle-nodes");
  EXPECT_EQ(f.what, "'" + t.label + "' uses 486 of 512 accelerators; the rest stand idle.");
  EXPECT_EQ(f.why,
            "A batch of " + std::to_string(t.train->batch) + " does not split over more of them.");
  EXPECT_EQ(f.fix, "Choose a batch that 512 accelerators can share, or give `nodes`.")
      << "the batch of the template is one";
  // Two nodes of eight that another holds are not idle: 486 of 496.
  review::Review beside = r;
  const design::Workload other;
  beside.ledger.fleets[t.fleet->index].bookings = {
      {.workload = &other, .nodes = 2, .needed = 2, .given = true}};
  EXPECT_TRUE(findings_by(beside, "training.idle-nodes").empty());
  t.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "training.idle-nodes").empty());
  // A batch that no 512 share offers one that they do.
  review::Review odd = changed_pod("av-vision", [](design::Design& d) {
    std::get<design::Train>(d.workloads[0].task).batch = 3200;
  });
  const Finding batch = only_finding(odd, "training.idle-nodes");
  EXPECT_EQ(batch.fix,
            "Choose a batch that 512 accelerators can share, for instance 3072, or give `nodes`.");
  EXPECT_EQ(batch.edit->value, "3072");
}

TEST(WorkRules, AServiceThatCannotBeServed) {
  review::Review r = review::lab_review("inference-pod");
  r.serves[0].infeasible = "it does not fit";
  expect_said(r, only_finding(r, "serving.capacity"),
              {.path = "workloads[0].serve",
               .what = "'chat' cannot be served: it does not fit.",
               .why = "Weights, cache and objective must fit one replica.",
               .fix = "Use more accelerators a replica, a smaller number format, or a looser "
                      "objective.",
               .edit = "none"});
}

TEST(WorkRules, AServiceWithTooFewReplicas) {
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.replicas = 12.123456;
  v.replicas_needed = 14.987654;
  v.capacity_per_replica = PerSecond(9.87654);
  v.peak = PerSecond(140.1234);
  v.devices = 48;
  v.devices_there = 64;
  const Finding f = only_finding(r, "serving.capacity");
  EXPECT_EQ(f.what, "'chat' has 12.12 replicas and needs 14.99 at peak.");
  EXPECT_EQ(f.why,
            "One replica serves 9.88 requests a second within the objective; 140 arrive at peak.");
  EXPECT_EQ(f.fix, "Provide " + significant(v.accelerators_for(14.987654), 6) +
                       " accelerators, or loosen the objective.");
  v.replicas = v.replicas_needed = 15;
  EXPECT_TRUE(findings_by(r, "serving.capacity").empty());
  v.devices = 64;
  EXPECT_TRUE(findings_by(r, "serving.capacity").empty()) << "all of them";
  v.devices = 64.123456789;
  EXPECT_EQ(only_finding(r, "serving.capacity").what,
            "'chat' occupies 64.1235 accelerators of 64 there.");
}

TEST(WorkRules, KvBlocksWithoutRoom) {
  const auto with_kv = [](const char* tier, Bytes each) {
    design::Design d = review::lab_design("inference-pod");
    auto& serve = std::get<design::Serve>(d.workloads[0].task);
    serve.kv_tier = design::KvTier{.tier = tier, .capacity = each};
    return review::run_stages(std::move(d), machine::known());
  };
  // 16 replicas share the 250 TB of the tier: 15.625 each, 15.6 to three digits.
  const review::Review r = with_kv("hot", terabytes(16));
  ASSERT_EQ(r.serves[0].replicas, 16);
  expect_said(r, only_finding(r, "serving.kv-room"),
              {.path = "workloads[0].serve.kv_tier.capacity",
               .what = "16 replicas of 'chat' keep 16 TB of blocks each where there are 250 TB.",
               .why = "All replicas share the tier.",
               .fix = "Keep 15.6 TB each, or provide the room.",
               .edit = "workloads[0].serve.kv_tier.capacity = 15.6 TB"});
  EXPECT_TRUE(findings_by(with_kv("hot", terabytes(15.625)), "serving.kv-room").empty());
  // Of host memory nothing is known, so that nothing is said.
  EXPECT_TRUE(findings_by(with_kv("host", terabytes(900)), "serving.kv-room").empty());
}

// Two replicas of four accelerators stand on a host of eight: each has half of its memory.
TEST(WorkRules, KvBlocksOfOneHost) {
  const review::Review r = review::edited_review(
      "inference-pod", {{"fleet[0].custom", "{ memory: 1 TB }"},
                        {"workloads[0].serve.kv_tier", "{ tier: host, capacity: 600 GB }"}});
  const Finding f = only_finding(r, "serving.kv-room");
  EXPECT_EQ(f.what, "2 replicas of 'chat' keep 600 GB of blocks each where there are 1 TB.");
  EXPECT_EQ(f.why, "Replicas of one host share its memory and its drives.");
  EXPECT_EQ(f.fix, "Keep 500 GB each, or provide the room.");
  EXPECT_EQ(edit_of(f), "workloads[0].serve.kv_tier.capacity = 500 GB");
}

TEST(WorkRules, AServiceThatIsUpTooSeldom) {
  review::Review r = review::lab_review("inference-pod");  // 0.999 is asked for: 8.76 hours a year
  review::ServeView& v = r.serves[0];
  v.availability = 0.998;
  Finding f = only_finding(r, "serving.availability");
  EXPECT_EQ(f.what, "'chat' is short of replicas for " + brief(years(1 - 0.998)) + " a year; " +
                        brief(years(1 - 0.999)) + " are allowed.");
  EXPECT_EQ(f.why, "Hosts fail and their replicas are gone until others have loaded the weights.");
  EXPECT_EQ(f.fix,
            "Run more replicas than the peak needs, on accelerators that are there for them.");
  EXPECT_TRUE(f.edit);
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.availability").line);
  v.dark = 0.0015;
  v.dark_missed = 0.0011;
  f = only_finding(r, "serving.availability");
  EXPECT_EQ(f.why, "Its site is without power for " + brief(years(0.0015)) +
                       " a year, whatever stands "
                       "there.");
  EXPECT_EQ(f.fix,
            "Let batteries last until generators carry the site, or let another site take the "
            "users (`failover`), sooner.");
  EXPECT_EQ(f.edit->path, "site.generator");
  v.dark_missed = 0.0009;
  EXPECT_FALSE(is_dark_too_long(v));
  v.availability = 0.999;
  EXPECT_TRUE(findings_by(r, "serving.availability").empty());
  v.availability = 0;
  EXPECT_TRUE(findings_by(r, "serving.availability").empty()) << "too few for the peak";
  v.availability = 0.5;
  v.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "serving.availability").empty());
}

TEST(WorkRules, RunsThatEndTooLate) {
  review::Review r = changed_pod("superpod-h100", [](design::Design& d) {
    auto& train = std::get<design::Train>(d.workloads[0].task);
    train.deadline = days(10);
    train.repeat.emplace();
    train.repeat->every = days(30);
    train.repeat->window = days(12);
  });
  r.trains[0].run_time = days(15);
  const auto all = findings_by(r, "workload.deadline");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].what, "'pretrain' takes 15 d and must end within 10 d.");
  EXPECT_EQ(all[1].what, "'pretrain' takes 15 d and must end within 12 d.");
  EXPECT_EQ(all[0].why, "Goodput, waiting for data and restarts are in the figure.");
  EXPECT_EQ(all[0].fix,
            "Add machines (1.5 times as many at the same efficiency), or shorten the run.");
  EXPECT_EQ(all[1].fix,
            "Add machines (1.2 times as many at the same efficiency), or shorten the run.");
  r.trains[0].run_time = days(12);
  EXPECT_EQ(findings_by(r, "workload.deadline").size(), 1U);
  r.trains[0].run_time = days(10);
  EXPECT_TRUE(findings_by(r, "workload.deadline").empty());
  r.trains[0].run_time = days(15);
  r.trains[0].infeasible = "no";
  EXPECT_TRUE(findings_by(r, "workload.deadline").empty());

  review::Review batch = review::lab_review("fraud-cpu");
  batch.batches[0].duration = hours(6);
  const Finding f = only_finding(batch, "workload.deadline");
  EXPECT_EQ(f.what, "'retrain' takes 6 h and must end within 4 h.");
  EXPECT_EQ(f.place.line, place_of(batch.design(), "workloads[0].batch").line);
  batch.batches[0].duration = hours(4);
  EXPECT_TRUE(findings_by(batch, "workload.deadline").empty());
  batch.batches[0].duration = hours(6);
  batch.batches[0].bound.reset();
  EXPECT_TRUE(findings_by(batch, "workload.deadline").empty());
}

TEST(WorkRules, QueuesAndGangsThatNeverEnd) {
  review::Review r = review::lab_review("superpod-h100");
  review::JobsView& j = r.jobs.at(0);
  EXPECT_TRUE(findings_by(r, "cluster.gangs").empty());
  j.queue.load = 1;
  const Finding full = only_finding(r, "cluster.gangs");
  EXPECT_EQ(full.what, "'group' offers 100 % of what the fleet can do: the queue has no end.");
  EXPECT_EQ(full.why, "Arrivals times duration times size exceed the accelerators.");
  EXPECT_EQ(full.fix, "Grow the fleet or shed load.");
  EXPECT_EQ(full.place.line, place_of(r.design(), "workloads[2].jobs.rate").line);
  ASSERT_TRUE(full.edit);
  j.from_trace = true;
  EXPECT_TRUE(findings_by(r, "cluster.gangs").empty());
  j.queue.load = 0.5;
  j.largest = 64;
  j.largest_fits = cluster::GangVerdict::never;
  const Finding wide = only_finding(r, "cluster.gangs");
  EXPECT_EQ(wide.what, "Jobs of 64 accelerators in 'group' can never start: the fleet has 1,016.");
  EXPECT_EQ(wide.why, "An all-or-nothing job waits for ever for nodes that do not exist.");
  EXPECT_EQ(wide.fix, "Drop the size, or grow the fleet.");
  EXPECT_TRUE(wide.edit);
  j.fleet = nullptr;
  EXPECT_TRUE(findings_by(r, "cluster.gangs").empty());
  const review::Review alone =
      changed_pod("superpod-h100", [](design::Design& d) { d.scheduler.gang = false; });
  expect_said(alone, only_finding(alone, "cluster.gangs"),
              {.path = "scheduler.gang",
               .what = "Training jobs are scheduled without gangs.",
               .why = "Two jobs that each hold half of the nodes wait for each other for ever.",
               .fix = "gang: true",
               .edit = "scheduler.gang = true"});
  review::Review idle = alone;
  idle.trains.clear();
  EXPECT_TRUE(findings_by(idle, "cluster.gangs").empty());
}

TEST(WorkRules, SlicesThatDoNotFit) {
  review::Review r = review::lab_review("small-lab");
  ASSERT_FALSE(r.mig.empty());
  review::MigView& v = r.mig[0];
  EXPECT_TRUE(findings_by(r, "cluster.mig-slices").empty());
  v.fits = false;
  const std::string name = v.fleet->fleet->name;
  Finding f = only_finding(r, "cluster.mig-slices");
  EXPECT_EQ(f.what, "The slices of fleet '" + name + "' do not fit one accelerator together.");
  EXPECT_EQ(f.why, "Instances may not overlap in memory slices, and start only at fixed ones.");
  EXPECT_EQ(f.fix, "Take fewer or smaller slices; `orrery catalog mig_profiles` lists them.");
  EXPECT_EQ(f.edit->path, v.fleet->path + ".mig");
  v.packing.unplaced = {"9g.900gb"};
  f = only_finding(r, "cluster.mig-slices");
  EXPECT_EQ(f.what,
            "Fleet '" + name + "' asks for slices that its accelerator does not offer: 9g.900gb.");
}

TEST(WorkRules, TooFewSpares) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.failure.shortfall = 0.01;
  EXPECT_TRUE(findings_by(r, "failure.spares").empty());
  t.failure.shortfall = 0.034;
  t.failure.spares = 2;
  t.failure.mean_in_repair = 2.567;
  const Finding f = only_finding(r, "failure.spares");
  EXPECT_EQ(f.what, "With 2 spare hosts 'pretrain' lacks nodes 3.4 % of the time.");
  EXPECT_EQ(f.why, "2.6 hosts are in repair on average.");
  EXPECT_EQ(f.fix, "Add spare nodes, or plan the job some nodes smaller.");
  // A Poisson mean of 2.567 is above 6 for 0.0155 of the time and above 7 for 0.0051: five more.
  EXPECT_EQ(f.edit->path + " = " + f.edit->value, "fleet[0].spares = 5");
  t.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "failure.spares").empty());
}

TEST(WorkRules, Int8WhereItIsLost) {
  const auto with = [](const char* node, catalog::Precision precision) {
    design::Design d = review::lab_design("inference-pod");
    d.fleet[0].node = node;
    std::get<design::Serve>(d.workloads[0].task).precision = precision;
    return review::run_stages(std::move(d), machine::known());
  };
  const review::Review r = with("dgx-b300", catalog::Precision::int8);
  const catalog::Accelerator& a = *r.fleets()[design::FleetIndex(0)].accelerator();
  expect_said(
      r, only_finding(r, "serving.int8-lost"),
      {.path = "workloads[0].serve.precision",
       .what = "'chat' serves in int8 on " + a.name + ", which has " +
               brief(*a.peak(catalog::Dtype::int8)) + " of it.",
       .why = "Blackwell Ultra and Rubin gave int8 up for fp4: the model would run far below "
              "its bf16 speed.",
       .fix = "Quantise to fp8 instead.",
       .edit = "workloads[0].serve.precision = fp8"});
  EXPECT_TRUE(findings_by(with("dgx-b300", catalog::Precision::fp8), "serving.int8-lost").empty());
  EXPECT_TRUE(findings_by(with("dgx-h200", catalog::Precision::int8), "serving.int8-lost").empty());
}

TEST(WorkRules, AZoneWhoseUsersFindNoRoom) {
  review::Review r = review::lab_review("chatbot-zones");
  EXPECT_TRUE(findings_by(r, "serving.failover").empty());
  review::ServeView& v = r.serves[0];
  ASSERT_TRUE(v.failover && v.failover->first);
  v.peak = PerSecond(72.3456);
  v.failover->refused = PerSecond(10.456);
  const Finding f = only_finding(r, "serving.failover");
  EXPECT_EQ(f.what, "When the site of '" + v.label +
                        "' is lost at peak, 10.5 of its 72.3 requests a second find no room.");
  EXPECT_EQ(f.why,
            "Zones are busiest together, and whoever takes them keeps the promise to users of its "
            "own.");
  ASSERT_TRUE(f.edit);
  EXPECT_EQ(f.edit->path, "workloads[0].serve.zones[1].replicas");
  EXPECT_EQ(f.fix, "Run more replicas at 'us-west': " + f.edit->value + ".");
  v.failover->refused = v.peak * 1e-6;
  EXPECT_TRUE(findings_by(r, "serving.failover").empty());
  v.failover->refused = v.peak * 1.03e-6;
  EXPECT_EQ(findings_by(r, "serving.failover").size(), 1U);
  v.failover->first.reset();
  EXPECT_TRUE(findings_by(r, "serving.failover").empty());
}

TEST(WorkRules, ALineThatDoesNotCarryTheUsers) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  review::FailoverTo& to = v.failover->to.at(0);
  to.line = to.way.path.rate;
  EXPECT_TRUE(findings_by(r, "serving.failover").empty());
  to.line = gbits_per_s(12.5);
  expect_said(
      r, only_finding(r, "serving.failover"),
      {.path = "fabric.wan[0].rate",
       .what = brief(gbits_per_s(12.5)) + " of '" + v.label + "' would cross on a line of " +
               brief(gbits_per_s(10)) + " when its site is lost.",
       .why = "What comes with a request must cross before it is computed.",
       .fix = "Rent a line of " + at_least(gbits_per_s(12.5)) + ".",
       .edit = "fabric.wan[0].rate = " + at_least(gbits_per_s(12.5))});
  // Of two sites on one line the one that sends more is named.
  review::ServeView& other = r.serves[1];
  other.failover->to.at(0).line = gbits_per_s(20);
  EXPECT_NE(only_finding(r, "serving.failover").what.find(other.label), std::string::npos);
}

TEST(WorkRules, AZoneWithoutAWay) {
  const review::Review r = changed_pod("chatbot-zones", [](design::Design& d) {
    d.fabric.wan.erase(d.fabric.wan.begin());
    auto& zones = std::get<design::Serve>(d.workloads[0].task).zones;
    zones[1].failover.clear();
  });
  bool said = false;
  for (const Finding& f : findings_by(r, "serving.failover")) {
    if (f.what != "'" + r.serves[0].label + "' would go to 'us-west', and no line leads there.") {
      continue;
    }
    said = true;
    EXPECT_EQ(f.why, "Requests cross to another site on the lines of `fabric.wan`.");
    EXPECT_EQ(f.fix, "Draw a line between the sites, or name one that can be reached.");
    EXPECT_FALSE(f.edit);
  }
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace orrery::rules
