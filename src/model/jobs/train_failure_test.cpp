#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/probability.h"
#include "layers/failure/causes.h"
#include "layers/failure/lifetime.h"
#include "layers/failure/rates.h"
#include "layers/failure/spares.h"
#include "layers/failure/straggler.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/storage_fixture.h"
#include "model/jobs/train_job.h"
#include "model/jobs/train_job_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::jobs {
namespace {

// A node MTBF of 100 d and four hosts: one failure in 25 d. Health checks notice a fault after 60
// s; a hang ends after a time-out of ten minutes.
TEST(TrainFailure, restart_is_the_sum_of_its_steps) {
  const std::string mtbf = ", failures: { node_mtbf: 100 d, repair: 2 d }, spares: 1";
  PlainRun r(kNet + ", batch: 3200, samples: 1M", mtbf);
  const FailurePlan& f = r.costs().failure;
  machine::expect_close(f.node_rate.base(), 1 / (100 * 86400.0));
  machine::expect_close(f.mtbf / days(1), 25);
  EXPECT_EQ(f.spot_rate, PerSecond(0));
  EXPECT_EQ(f.shared_rate, PerSecond(0));
  const double hangs = share_of(machine::known().fault_causes, failure::FaultGroup::hang);
  EXPECT_GT(hangs, 0);
  EXPECT_EQ(f.noticed, seconds(60));
  EXPECT_EQ(f.hang, minutes(10));
  machine::expect_close(f.detect.base(), 60 + 540 * hangs);
  machine::expect_close(f.requeue.base(), 147.7);
  machine::expect_close(f.start.base(), 120 + 0.006 * 32);
  machine::expect_close(f.attempts, 1 / 0.9);
  machine::expect_close(f.hands.base(), 1800 * 0.03);
  machine::expect_close(f.restart.base(), f.detect.base() + (147.7 + 120.192) / 0.9 + 54);
  EXPECT_EQ(f.restart_factor, 1.5);
  EXPECT_EQ(f.slow, 1);
  EXPECT_EQ(f.spares, 1);
  EXPECT_EQ(f.repair, days(2));
  const double soft =
      share_of(machine::known().fault_causes, failure::FaultGroup::software) + hangs;
  machine::expect_close(f.mean_in_repair, 4 * (1 - soft) / 100 * 2);
  // P(more than one host in repair), Poisson.
  const double mean = f.mean_in_repair;
  EXPECT_NEAR(f.shortfall, 1 - std::exp(-mean) * (1 + mean), 1e-12);
}

TEST(TrainFailure, given_recovery_times_replace_the_defaults) {
  const std::string own =
      "scheduler: { recovery: { detect: 20 s, requeue: 90 s, restart: 50 s } }\n";
  PlainRun r(kNet + ", batch: 3200, samples: 1M", "", own);
  const FailurePlan& f = r.costs().failure;
  EXPECT_EQ(f.noticed, seconds(20));
  EXPECT_EQ(f.hang, seconds(20));
  EXPECT_EQ(f.attempts, 1);
  EXPECT_EQ(f.hands, Seconds(0));
  machine::expect_close(f.restart.base(), 160);
  EXPECT_EQ(f.restart_factor, 1.15);
  PlainRun person(kNet + ", batch: 3200, samples: 1M", "",
                  "scheduler: { recovery: { automatic: false, operator_response: 10 min, "
                  "hang_timeout: 30 s } }\n");
  const FailurePlan& p = person.costs().failure;
  machine::expect_close(p.requeue.base(), 147.7 + 600);
  EXPECT_EQ(p.hands, Seconds(0));
  EXPECT_EQ(p.hang, seconds(60)) << "at least the time to notice a fault";
  machine::expect_close(p.detect.base(), 60);
}

// Four hosts under one leaf switch, two per power unit.
struct LossRun {
  machine::Machine machine;
  TrainJob job;

  explicit LossRun(const std::string& failures, const std::string& more = "",
                   const std::string& scheduler = "") {
    const auto read = design_text::read_design(
        "orrery: 1\nname: t\nsite: { region: usa, cooling: air-contained }\nfleet:\n  - { name: a, "
        "node: dgx-h100, count: 4, nodes_per_rack: 2" +
            more + ", failures: { " + failures +
            " } }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n" + scheduler +
            "workloads:\n  - train: { network: { params: 300M, forward: 12 GFLOP }, batch: 3200, "
            "samples: 1M, priority: 5 }\n",
        machine::known().catalog());
    EXPECT_TRUE(read) << to_text(read.error());
    machine = build_machine(read.value(), machine::known());
    job = name_job(machine, machine.design().workloads[0]);
    job.hosts = 4;
    job.accelerators = 32;
    job.raw_time = days(10);
  }
  const FailurePlan& plan() { return plan({.count = 4, .bookings = {}}); }
  const FailurePlan& plan(const machine::FleetBook& book) {
    job.failure = {};
    fill_failure(job, machine, book);
    return job.failure;
  }
};

double soft_share() {
  return share_of(machine::known().fault_causes, failure::FaultGroup::software) +
         share_of(machine::known().fault_causes, failure::FaultGroup::hang);
}

// Repair takes four hours: the leaf is down 4 / 1,000 of the time and takes all hosts with it; each
// of the two power units is down 4 / 2,000 of the time and takes two.
TEST(TrainFailure, shared_part_takes_its_hosts_unless_spares_cover_them) {
  const std::string parts =
      "node_mtbf: 100 d, repair: 2 d, leaf_mtbf: 1000 h, pdu_mtbf: 2000 h, racks_per_pdu: 1";
  LossRun r(parts);
  const double mean = 4 * (1 - soft_share()) / 100 * 2;
  const double any = 1 - std::exp(-mean);
  EXPECT_NEAR(r.plan().mean_in_repair, mean, 1e-12);
  EXPECT_NEAR(r.job.failure.shared_rate * hours(1), 1 / 1000.0 + 2 / 2000.0, 1e-12);
  EXPECT_NEAR(hours(1) / r.job.failure.mtbf, 4 / 2400.0 + 0.002, 1e-12);
  EXPECT_EQ(r.job.failure.spares, 0);
  EXPECT_NEAR(r.job.failure.shortfall, 1 - (1 - any) * (1 - 0.008), 1e-12);
  LossRun spared(parts, ", spares: 2");
  const double over_two = poisson_above(2, mean);
  EXPECT_NEAR(spared.plan().shortfall, 1 - (1 - over_two) * (1 - 0.004), 1e-12)
      << "two spares cover a power unit but not the leaf";
  LossRun all(parts, ", spares: 4");
  EXPECT_NEAR(all.plan().shortfall, poisson_above(4, mean), 1e-12);
  // A run that continues with two of four hosts loses a quarter of its rate per lost host.
  LossRun elastic(parts);
  elastic.job.elastic = ElasticPlan{.unit_hosts = 1, .units = 4, .least = 2};
  const double hosts =
      0.25 * poisson_above(0, mean) + 0.25 * poisson_above(1, mean) + 0.5 * poisson_above(2, mean);
  EXPECT_NEAR(elastic.plan().shortfall, 1 - (1 - hosts) * (1 - 0.004 - 0.004 / 2), 1e-12);
  LossRun rented(parts, ", rent: { provider: aws }");
  EXPECT_NEAR(rented.plan().shortfall, 0.008, 1e-12) << "the provider replaces hosts";
  // Three hosts per power unit: two units, the second with one host.
  LossRun three("node_mtbf: 100 d, repair: 2 d, pdu_mtbf: 2000 h", ", rent: { provider: aws }");
  three.machine.fleets[design::FleetIndex(0)].hosts = 4;
  design::Fleet wider = *three.machine.fleets[design::FleetIndex(0)].fleet;
  wider.nodes_per_rack = 3;
  three.machine.fleets[design::FleetIndex(0)].fleet = &wider;
  three.job.fleet = &three.machine.fleets[design::FleetIndex(0)];
  EXPECT_NEAR(three.plan().shortfall, 2 * 4 / 2000.0, 1e-12);
  // A part that is nearly always down leaves no time to run.
  LossRun worst("node_mtbf: 100 d, leaf_mtbf: 2 h");
  EXPECT_DOUBLE_EQ(worst.plan().shortfall, 1);
}

// Four nodes and a spare, of which the run has two; another workload holds some of the rest.
TEST(TrainFailure, nodes_held_by_others_are_no_spares) {
  const std::string mtbf = "node_mtbf: 100 d";
  design::Workload other;
  const auto spares = [&](LossRun& r, machine::Booking b) {
    r.job.hosts = 2;
    return r.plan({.count = 4, .bookings = {b}}).spares;
  };
  LossRun r(mtbf, ", spares: 1");
  other.task = design::Serve{};
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 1}), 2);
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 0.5}), 2) << "half a node frees none";
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 1, .share = 0.5}), 3)
      << "booked for part of the time";
  EXPECT_EQ(spares(r, {.workload = r.job.workload, .nodes = 2}), 3) << "its own booking";
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 9}), 1) << "declared spares are never booked";
  other.task = design::Jobs{};
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 1}), 2) << "without preemption";
  LossRun way(mtbf, ", spares: 1", "scheduler: { kind: slurm, preemption: requeue }\n");
  other.terms.priority = 4;
  EXPECT_EQ(spares(way, {.workload = &other, .nodes = 1}), 3);
  other.terms.priority = 5;
  EXPECT_EQ(spares(way, {.workload = &other, .nodes = 1}), 2) << "same priority as the run";
  other.terms.priority = 4;
  other.task = design::Serve{};
  EXPECT_EQ(spares(way, {.workload = &other, .nodes = 1}), 2) << "services are not preempted";
}

// Nodes that the spot market takes back are not in repair; a spare NVL72 rack is 18 hosts.
TEST(TrainFailure, spot_interruptions_and_spare_racks) {
  LossRun spot("node_mtbf: 100 d, repair: 2 d",
               ", rent: { provider: aws, contract: spot, interruption: 0.25 }");
  const FailurePlan& f = spot.plan();
  EXPECT_GT(f.spot_rate, PerSecond(0));
  EXPECT_NEAR(f.node_rate.base(), f.spot_rate.base() + 1 / (100 * 86400.0), 1e-15);
  EXPECT_NEAR(f.mean_in_repair, 4 * (1 - soft_share()) / 100 * 2, 1e-12);
  LossRun racks("node_mtbf: 100 d");
  design::Fleet entry = *racks.machine.fleets[design::FleetIndex(0)].fleet;
  entry.spares = 2;
  racks.machine.fleets[design::FleetIndex(0)].fleet = &entry;
  racks.machine.fleets[design::FleetIndex(0)].hosts = 72;
  racks.job.fleet = &racks.machine.fleets[design::FleetIndex(0)];
  racks.job.hosts = 60;
  EXPECT_EQ(racks.plan().spares, 2 * 18 + 12);
}

// Without figures in the design: the geometric mean of three published rates of hosts sent to
// repair.
TEST(TrainFailure, repair_rate_is_the_published_one_by_default) {
  LossRun r("straggler_share: 0.1, straggler_slowdown: 0.5");
  const FailurePlan& f = r.plan();
  double logs = 0;
  for (const char* id : {"meta-rsc-1", "meta-rsc-2", "b200-504"}) {
    const failure::NodeFailureRate* row = find_rate(machine::known().failure_rates, id);
    ASSERT_NE(row, nullptr);
    logs += std::log(scaled_to_host(*row, 8).base());
  }
  const double broken =
      machine::failure_source(r.machine.fleets[design::FleetIndex(0)], machine::known(), 4).rate.base() *
      (1 - soft_share());
  EXPECT_EQ(f.repair, failure::mean_repair({}));
  EXPECT_NEAR(f.mean_in_repair, 4 * std::min(broken, std::exp(logs / 3)) * f.repair.base(), 1e-12);
  EXPECT_DOUBLE_EQ(f.slow,
                   failure::straggler_factor({.ranks = 4, .slow_share = 0.1, .slow_factor = 1.5}));
  EXPECT_GT(f.slow, 1);
  EXPECT_GT(f.rate_high, 1);
  EXPECT_DOUBLE_EQ(f.rate_low * f.rate_high, 1);
}

TEST(TrainFailure, early_failures_and_shared_parts_shorten_the_mtbf) {
  const machine::Machine m =
      detailed(", failures: { node_mtbf: 9 d, shape: 0.7, leaf_mtbf: 2 y }", kRun + " }\n");
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  fill_costs(job, m);
  const double early = failure::early_factor(0.7, days(9), job.raw_time);
  EXPECT_NE(early, 1);
  EXPECT_NEAR(job.failure.node_rate * days(9), early, 1e-9);
  const machine::SharedParts parts = machine::shared_parts(m, m.fleets[design::FleetIndex(0)]);
  const double leaves = std::ceil(4.0 / parts.hosts_per_leaf) * parts.leaves;
  EXPECT_NEAR(job.failure.shared_rate * years(2), leaves, 1e-9);
  EXPECT_NEAR(1.0 / job.failure.mtbf.base(),
              4 * job.failure.node_rate.base() + job.failure.shared_rate.base(), 1e-15);
}

}  // namespace
}  // namespace orrery::jobs
