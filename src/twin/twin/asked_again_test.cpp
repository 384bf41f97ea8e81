// What a run asks for when it comes back after it had shrunk, whose hosts are written down beside
// services, batches on hosts of which nobody says how much memory they have, and power units above
// what they carry where no rack is.
#include <gtest/gtest.h>

#include "model/jobs/build_machine.h"
#include "twin/twin/timed_fixture.h"
#include "twin/twin/told_fixture.h"
#include "twin/twin/work_plan.h"

namespace orrery::twin {
namespace {

// All eight hosts are the run's, and six are enough.
design::Design shrinking_design() {
  design::Design d = timed_design();
  d.fleet.front().count = 8;
  train_of(d).min_replicas = 6;
  return d;
}

failure::FaultCause lost_with_disk() {
  return {.name = "dies", .scope = kTakesHost, .keeps_disk = true};
}

// It loses a host at 295 and steps with seven from 364 on. At 400 it is put back, for no fault of a
// host: at 465 it asks for all eight, which are there when the host is mended at 506. Started at
// 551, it has its copy at 564.
TEST(AskedAgain, a_run_that_is_put_back_asks_for_all_of_its_hosts) {
  TimedTrain t(seconds(600), shrinking_design());
  ASSERT_TRUE(t.job().elastic);
  t.strike_run(295, lost_with_disk(), 3);
  t.at(400,
       [&](World& w) { w.fleet(0).queue().put_back(t.running(), cluster::StopCause::failed); });
  t.run();
  // Of 250 s of steps 236 are work, of which 200 are kept; of the 36 s with seven nothing is.
  expect_seconds(t.outcome(), {{Cause::start, 45 * 3},
                               {Cause::productive, 200 + 36},
                               {Cause::save, 14},
                               {Cause::lost, 36 + 36 * 0.875},
                               {Cause::shrunk, 36 * 0.125},
                               {Cause::detect, 11},
                               {Cause::requeue, 65},
                               {Cause::no_host, 41},
                               {Cause::restore, 26}});
  EXPECT_EQ(t.outcome().shrinks, 1U);
  EXPECT_EQ(t.outcome().grows, 1U);
  EXPECT_EQ(t.outcome().interruptions, 1U);
  EXPECT_EQ(t.outcome().restores, 2U);
  EXPECT_EQ(t.outcome().holds, 0U);
  EXPECT_NEAR(t.outcome().units, 236 * 3, 1e-5);
  EXPECT_NEAR(t.booked_s(Cause::requeue), 56 * 65, 1e-4);
  EXPECT_NEAR(t.booked_s(Cause::no_host), 56 * 41, 1e-4);
}

// Runs are numbered from the first run on, whatever services stand before them.
TEST(AskedAgain, hosts_are_written_down_as_the_runs_beside_a_service) {
  const design::Serve serve;
  TimedTrain t(seconds(100));
  t.scenario.services.push_back({.job = {.workload = &t.machine.design().workloads.front(),
                                         .serve = &serve,
                                         .label = "service",
                                         .infeasible = "nothing to run on"}});
  t.run(true);
  ASSERT_EQ(t.processes->services().size(), 1U);
  const std::vector<HostChange>& hosts = t.recorder->host_changes();
  ASSERT_EQ(hosts.size(), 8U);
  for (const HostChange& c : hosts) {
    EXPECT_EQ(c.mark, HostMark::held);
    EXPECT_EQ(c.holder, 0);
  }
  expect_seconds(t.outcome(), {{Cause::start, 45}, {Cause::productive, 55}});
}

// Fifty tasks of 8 GB on hosts of 16 cores: with 64 GB eight at once, else one a core.
TEST(AskedAgain, memory_that_nobody_names_limits_nothing) {
  design::Design d = sample_design();
  d.workloads.front().task = design::Batch{.core_hours = 100, .tasks = 50, .memory = gigabytes(8)};
  d.workloads.front().terms = {};
  d.workloads.front().terms.name = "work";
  machine::Machine m = jobs::build_machine(std::move(d), machine::known());
  m.fleets[0].node.cores = 16;
  m.fleets[0].node.memory = gigabytes(64);
  EXPECT_EQ(batch_plan(m, m.design().workloads.front()).job.elements, 7);
  m.fleets[0].node.memory.reset();
  EXPECT_EQ(batch_plan(m, m.design().workloads.front()).job.elements, 4);
}

// Two racks of 10 kW on a unit of 20 kW, which carries 80 % of that for long.
TEST(AskedAgain, a_power_unit_may_be_above_its_limit_alone) {
  ToldRun t;
  FleetPart& part = t.scenario.fleets[0];
  part.rack_limit = kilowatts(12);
  part.racks_per_pdu = 2;
  part.pdu_rating = kilowatts(20);
  part.host_power.idle = Watts(0);
  t.first().racks = {{{.energy = Joules(0), .highest = kilowatts(10), .hosts = 4},
                      {.energy = Joules(0), .highest = kilowatts(10), .hosts = 4}}};
  t.told();
  const std::string name = "racks of " + part.fleet->fleet->name;
  const figures::Section* s = t.section(figures::Layer::facility, name);
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->limit,
            "1 of 1 power units pass 16 kW at their highest: 0 (20 kW); fewer nodes a rack, a "
            "power_cap or a higher limit would keep it");
  part.pdu_rating = kilowatts(25);
  t.told();
  EXPECT_EQ(t.section(figures::Layer::facility, name)->limit, "") << "20 kW, to the watt";
}

}  // namespace
}  // namespace orrery::twin
