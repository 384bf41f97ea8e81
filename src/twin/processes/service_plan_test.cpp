// Services as a run plans them: a non-transformer network as M/M/1 by hand, and a plan's figures at
// several loads.
#include "twin/processes/service_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/jobs/build_machine.h"
#include "model/jobs/plain_network.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/request_shape.h"
#include "twin/world/sample_fixture.h"

namespace orrery::processes {

namespace {

// A network with so much work that an accelerator answers 100 requests per second.
struct PlainService {
  PlainService() {
    design::Design d = world::sample_design();
    base = jobs::build_machine(d, machine::known());
    serve.network = design::PlainNetwork{
        .params = 1e8,
        .forward = *jobs::plain_rate(base, base.fleets[world::kFirstFleet]) * seconds(0.01)};
    serve.arrivals = {.rate = PerSecond(300)};
  }
  ServicePlan plan() {
    design::Design d = world::sample_design();
    d.workloads.front().task = serve;
    d.workloads.front().terms = {.name = "net"};
    m = jobs::build_machine(std::move(d), machine::known());
    return service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m).front();
  }
  machine::Machine base;
  machine::Machine m;
  design::Serve serve;
};

TEST(ServicePlan, a_plain_network_waits_as_mm1) {
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
  EXPECT_FALSE(p.stands_in.empty());
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
TEST(ServicePlan, an_objective_lowers_the_capacity_of_a_replica) {
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
  EXPECT_TRUE(
      s.plan().job.infeasible.starts_with("a non-transformer network needs `network.forward`"));
  s.serve.network.reset();
  EXPECT_TRUE(
      s.plan().job.infeasible.starts_with("a non-transformer network needs `network.forward`"));
}

// Three in flight, rho / (1 - rho), are at 75 of 100 per second.
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

TEST(ServicePlan, between_levels_load_is_interpolated) {
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

TEST(ServicePlan, replicas_on_slices_of_one_accelerator_are_placed_together) {
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

TEST(ServicePlan, a_service_that_does_not_fit_has_a_reason) {
  PlainService s;
  s.serve.network.reset();
  s.serve.model = "llama-3-405b";
  s.serve.tp = 1;
  s.serve.arrivals = {.rate = PerSecond(1), .input_tokens = 100, .output_tokens = 10};
  const ServicePlan p = s.plan();
  EXPECT_NE(p.job.infeasible, "") << "405 billion parameters on one accelerator";
  EXPECT_TRUE(p.windows.levels.empty());
}

struct SizedService {
  machine::Machine machine;
  std::vector<ServicePlan> plans;

  explicit SizedService(const std::function<void(design::Serve&)>& change,
                        const std::function<void(design::Design&)>& also = {}) {
    design::Design d = world::sample_design();
    design::Serve serve;
    serve.model = "llama-3-8b";
    serve.arrivals = {
        .rate = PerSecond(700), .peak = 1.5, .input_tokens = 900, .output_tokens = 200};
    serve.objective.ttft_p99 = seconds(2);
    serve.objective.tpot_p99 = milliseconds(60);
    change(serve);
    d.workloads.front() = {.terms = {.name = "chat"}, .task = serve};
    if (also) also(d);
    machine = jobs::build_machine(std::move(d), machine::known());
    plans = service_plans(jobs::serve_jobs(machine, machine.design().workloads.front()), machine,
                          false);
  }
  const ServicePlan& plan() const { return plans.front(); }
};

TEST(ServicePlan, replicas_carry_the_peak_at_80_percent_load) {
  const SizedService s([](design::Serve&) {});
  const ServicePlan& p = s.plan();
  ASSERT_EQ(p.job.infeasible, "");
  EXPECT_EQ(p.job.label, "chat");
  const machine::Costs costs = serving_costs(s.machine.models(), p.ask.query);
  const serving::ServingCosts source = serving_source(costs);
  const serving::RequestShape& request = p.ask.query.request;
  const auto target = jobs::target_of(*p.job.serve, request.output);
  const double within = capacity(p.ask.replica, request, target, source).requests.base();
  const double most = capacity(p.ask.replica, request, {}, source).requests.base();
  EXPECT_DOUBLE_EQ(p.capacity, within);
  EXPECT_DOUBLE_EQ(p.most, std::max(within, most));
  const double peak = std::ranges::max(p.job.day);
  EXPECT_NEAR(peak, 1050, 1);
  EXPECT_EQ(p.replicas, static_cast<int>(std::ceil(peak / (within * 0.8))));
  ASSERT_GT(p.replicas, 5);
  EXPECT_EQ(p.least, p.replicas) << "nothing calls more or fewer";
  EXPECT_EQ(p.prefill, 0);
  EXPECT_EQ(p.slots, 1) << "16 GB of weights fit one accelerator";
  EXPECT_EQ(p.beside, 1);
  EXPECT_DOUBLE_EQ(p.job.error, std::hypot(serving_error(costs.device(), p.ask.query), 0.28));
  EXPECT_EQ(p.stands_in, "");
  EXPECT_FALSE(p.failover);
  EXPECT_EQ(p.job.in_zone(), nullptr);
  EXPECT_TRUE(p.windows.levels.empty());
  EXPECT_DOUBLE_EQ(p.ask.high, peak / p.replicas);
  EXPECT_DOUBLE_EQ(p.ask.low, std::ranges::min(p.job.day) / p.replicas);
  EXPECT_EQ(p.ask.replicas, p.replicas);
  EXPECT_EQ(p.ask.most, p.most);
  EXPECT_EQ(p.ask.start, p.job.start);
  EXPECT_EQ(p.job.start,
            jobs::replica_start(s.machine, *p.job.serve, s.machine.fleets[world::kFirstFleet], 1));
  EXPECT_EQ(p.ask.serve, p.job.serve);
  EXPECT_FALSE(p.ask.rise || p.ask.retrieval);
  EXPECT_EQ(p.ask.guests, 0);
}

TEST(ServicePlan, a_replica_has_the_accelerators_its_model_needs) {
  const auto slots = [](const char* model, std::optional<int> tp) {
    const SizedService s([&](design::Serve& serve) {
      serve.model = model;
      serve.tp = tp;
      serve.arrivals.rate = PerSecond(1);
      serve.objective = {};
    });
    EXPECT_EQ(s.plan().job.infeasible, "");
    EXPECT_EQ(s.plan().ask.query.split.tp, s.plan().slots);
    return s.plan().slots;
  };
  EXPECT_EQ(slots("llama-3-8b", {}), 1);
  EXPECT_EQ(slots("llama-3-8b", 4), 4);
  EXPECT_EQ(slots("llama-3-70b", {}), 4)
      << "141 GB of weights leave two of 80 GB no room for a request";
  EXPECT_EQ(slots("llama-3-70b", 8), 8);
}

// Seven replicas over zones by their traffic, at least one each; a zone's own number goes first.
TEST(ServicePlan, zones_divide_the_replicas) {
  const SizedService s([](design::Serve& serve) { serve.replicas = 7; },
                       [](design::Design& d) {
                         auto& serve = std::get<design::Serve>(d.workloads.front().task);
                         const std::string site = d.sites.front().name;
                         const std::string fleet = d.fleet.front().name;
                         for (const double share : {0.35, 0.36, 0.04, 0.25}) {
                           serve.zones.push_back({.site = site, .fleet = fleet, .share = share});
                         }
                         serve.zones.back().replicas = 5;
                       });
  ASSERT_EQ(s.plans.size(), 4U);
  EXPECT_EQ(s.plans[0].replicas, 2) << "2.45";
  EXPECT_EQ(s.plans[1].replicas, 3) << "2.52";
  EXPECT_EQ(s.plans[2].replicas, 1);
  EXPECT_EQ(s.plans[3].replicas, 5);
  EXPECT_EQ(s.plans[0].job.label, "chat in " + s.machine.design().sites.front().name + ", " +
                                      s.machine.design().fleet.front().name)
      << "zones of one site differ by their fleets";
  EXPECT_NEAR(std::ranges::max(s.plans[1].job.day), 1050 * 0.36, 1);
  EXPECT_EQ(s.plans[2].job.in_zone(), &s.plans[2].job.serve->zones[2]);
  EXPECT_FALSE(s.plans[0].failover) << "none names another";
}

TEST(ServicePlan, an_objective_that_cannot_be_met_has_a_reason) {
  const SizedService s([](design::Serve& serve) { serve.objective.tpot_p99 = milliseconds(0.5); });
  EXPECT_FALSE(s.plan().feasible());
  EXPECT_EQ(s.plan().replicas, 0);
}

TEST(ServicePlan, separate_prefill_has_its_own_replicas) {
  const SizedService open([](design::Serve& serve) { serve.disaggregated = true; });
  const ServicePlan& p = open.plan();
  ASSERT_EQ(p.job.infeasible, "");
  EXPECT_GE(p.prefill, 1);
  EXPECT_GT(p.replicas, p.prefill);
  EXPECT_EQ(p.capacity, p.most);
  EXPECT_EQ(p.ask.prefill, p.prefill);
  const SizedService given([](design::Serve& serve) {
    serve.disaggregated = true;
    serve.arrivals.rate = PerSecond(20);
    serve.prefill_replicas = 3;
    serve.replicas = 2;
  });
  EXPECT_EQ(given.plan().prefill, 3);
  EXPECT_EQ(given.plan().replicas, 4) << "one at least decodes";
}

}  // namespace
}  // namespace orrery::processes
