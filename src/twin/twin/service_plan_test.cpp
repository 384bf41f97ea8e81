// Services as a run plans them: a plain network as M/M/1 by hand, and what a plan says of loads.
#include "twin/twin/service_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/jobs/build_machine.h"
#include "model/jobs/plain_network.h"
#include "twin/twin/run_fixture.h"

namespace orrery::twin {
namespace {

// A network of so much work that an accelerator answers 100 requests a second.
struct PlainService {
  PlainService() {
    design::Design d = sample_design();
    base = jobs::build_machine(d, machine::known());
    serve.network = design::PlainNetwork{
        .params = 1e8,
        .forward = *jobs::plain_rate(base, base.fleets[design::FleetIndex(0)]) * seconds(0.01)};
    serve.arrivals = {.rate = PerSecond(300)};
  }
  ServicePlan plan() {
    design::Design d = sample_design();
    d.workloads.front().task = serve;
    d.workloads.front().terms = {.name = "net"};
    m = jobs::build_machine(std::move(d), machine::known());
    return service_plans(m, m.design().workloads.front()).front();
  }
  machine::Machine base;
  machine::Machine m;
  design::Serve serve;
};

TEST(ServicePlan, a_plain_network_waits_as_one_server_does) {
  PlainService s;
  const ServicePlan p = s.plan();
  ASSERT_TRUE(p.feasible()) << p.job.infeasible;
  EXPECT_EQ(p.job.label, "net");
  EXPECT_NEAR(p.capacity, 100, 1e-6);
  EXPECT_NEAR(p.most, 99, 1e-6);
  EXPECT_NEAR(p.job.day[0], 300, 1e-6);
  EXPECT_EQ(p.replicas, 4) << "300 / (100 x 0.8) = 3.75";
  EXPECT_EQ(p.slots, 1);
  EXPECT_EQ(p.beside, 1);
  EXPECT_EQ(p.job.error, 0.4);
  EXPECT_EQ(p.stands_in, "its requests wait as M/M/1");
  const double loads[] = {0.02, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99};
  ASSERT_EQ(p.windows.levels.size(), 9u);
  for (std::size_t i = 0; i < 9; ++i) {
    const LoadWindow& w = p.windows.levels[i];
    EXPECT_NEAR(w.rate, 100 * loads[i], 1e-6);
    EXPECT_NEAR(w.busy, loads[i], 1e-12);
    EXPECT_NEAR(w.stay, 1 / (100 - 100 * loads[i]), 1e-9);
    for (const WindowPart& part : w.parts) {
      EXPECT_EQ(part.good, 1);
      EXPECT_EQ(part.requests, 1e15);
      EXPECT_NEAR(part.whole[0], -std::log(1 - 0.0025) * w.stay, 1e-9);
      EXPECT_NEAR(part.whole[199], -std::log(0.0025) * w.stay, 1e-6);
    }
  }
}

// p99 of an exponential sojourn is ln 100 of its means: within 0.1 s a server carries 46.05 less.
TEST(ServicePlan, an_objective_takes_from_what_a_replica_carries) {
  PlainService s;
  s.serve.objective.latency_p99 = seconds(0.1);
  const ServicePlan p = s.plan();
  ASSERT_TRUE(p.feasible()) << p.job.infeasible;
  EXPECT_NEAR(p.capacity, 100 - std::log(100) / 0.1, 1e-6);
  EXPECT_NEAR(p.most, 99, 1e-6);
  EXPECT_EQ(p.replicas, 7) << "300 / (53.95 x 0.8) = 6.95";
  for (const LoadWindow& w : p.windows.levels) {
    EXPECT_NEAR(w.parts[0].good, 1 - std::exp(-(100 - w.rate) * 0.1), 1e-9);
  }
  s.serve.replicas = 3;
  EXPECT_EQ(s.plan().replicas, 3) << "as the design says";
  s.serve.objective.latency_p99 = seconds(0.046);
  EXPECT_FALSE(s.plan().feasible()) << "an idle accelerator takes longer";
  s.serve.objective.latency_p99 = seconds(0.0461);
  EXPECT_TRUE(s.plan().feasible());
  s.serve.network->forward = Flops(0);
  EXPECT_TRUE(s.plan().job.infeasible.starts_with("a plain network needs `network.forward`"));
  s.serve.network.reset();
  EXPECT_TRUE(s.plan().job.infeasible.starts_with("a plain network needs `network.forward`"));
}

// Three in flight of rho / (1 - rho) are at 75 of 100 a second.
TEST(ServicePlan, an_autoscaler_calls_what_the_hour_needs) {
  PlainService s;
  s.serve.autoscale = design::Autoscale{.min = 2, .max = 6, .target = 3};
  const ServicePlan p = s.plan();
  ASSERT_TRUE(p.feasible()) << p.job.infeasible;
  EXPECT_NEAR(p.job.target->base(), 75, 1e-6);
  EXPECT_EQ(p.replicas, 6);
  EXPECT_EQ(p.least, 2);
  EXPECT_EQ(p.called_at(0), 4) << "300 / 75";
  ServicePlan quiet = p;
  quiet.job.day.fill(10);
  quiet.job.day[5] = 301;
  quiet.job.day[6] = 4000;
  EXPECT_EQ(quiet.called_at(0), 2);
  EXPECT_EQ(quiet.called_at(5), 5);
  EXPECT_EQ(quiet.called_at(6), 6);
}

TEST(ServicePlan, loads_between_levels_are_on_a_line) {
  ServicePlan p;
  p.most = 30;
  p.windows.levels = {{.rate = 10, .busy = 0.3, .stay = 2}, {.rate = 20, .busy = 0.7, .stay = 5}};
  EXPECT_NEAR(p.busy_at(0), 0, 1e-12);
  EXPECT_NEAR(p.busy_at(4), 0.12, 1e-12);
  EXPECT_NEAR(p.busy_at(10), 0.3, 1e-12);
  EXPECT_NEAR(p.busy_at(15), 0.5, 1e-12);
  EXPECT_NEAR(p.busy_at(20), 0.7, 1e-12);
  EXPECT_NEAR(p.busy_at(25), 0.85, 1e-12);
  EXPECT_EQ(p.busy_at(30), 1);
  EXPECT_EQ(p.busy_at(40), 1);
  EXPECT_EQ(p.stay_at(3), seconds(2));
  EXPECT_EQ(p.stay_at(10), seconds(2));
  EXPECT_NEAR(p.stay_at(14).base(), 3.2, 1e-12);
  EXPECT_NEAR(p.stay_at(20).base(), 5, 1e-12);
  EXPECT_EQ(p.stay_at(99), seconds(5));
  p.windows.levels.clear();
  EXPECT_EQ(p.stay_at(3), seconds(0));
}

TEST(ServicePlan, replicas_are_placed_together_where_accelerators_are_cut) {
  ServicePlan p;
  p.replicas = 10;
  p.beside = 4;
  EXPECT_EQ(p.placements(10), 3);
  EXPECT_EQ(p.placements(8), 2);
  EXPECT_EQ(p.placements(9), 3);
  EXPECT_EQ(p.replicas_at(0), 4);
  EXPECT_EQ(p.replicas_at(1), 4);
  EXPECT_EQ(p.replicas_at(2), 2);
  p.beside = 1;
  EXPECT_EQ(p.placements(10), 10);
}

TEST(ServicePlan, a_service_that_does_not_fit_says_why) {
  PlainService s;
  s.serve.network.reset();
  s.serve.model = "llama-3-405b";
  s.serve.tp = 1;
  s.serve.arrivals = {.rate = PerSecond(1), .input_tokens = 100, .output_tokens = 10};
  const ServicePlan p = s.plan();
  EXPECT_NE(p.job.infeasible, "") << "405 billion parameters on one accelerator";
  EXPECT_TRUE(p.windows.levels.empty());
}

}  // namespace
}  // namespace orrery::twin
