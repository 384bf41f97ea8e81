// How many replicas a service's plan has, of how many accelerators, and what it asks windows of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/jobs/build_machine.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/request_shape.h"
#include "twin/twin/run_fixture.h"
#include "twin/twin/service_plan.h"

namespace orrery::twin {
namespace {

struct SizedService {
  machine::Machine machine;
  std::vector<ServicePlan> plans;

  explicit SizedService(const std::function<void(design::Serve&)>& change,
                        const std::function<void(design::Design&)>& also = {}) {
    design::Design d = sample_design();
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
    plans = service_plans(machine, machine.design().workloads.front(), false);
  }
  const ServicePlan& plan() const { return plans.front(); }
};

TEST(ServiceSizes, as_many_replicas_as_the_peak_needs_at_four_fifths) {
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
  EXPECT_EQ(p.job.start, jobs::replica_start(s.machine, *p.job.serve,
                                             s.machine.fleets[design::FleetIndex(0)], 1));
  EXPECT_EQ(p.ask.serve, p.job.serve);
  EXPECT_FALSE(p.ask.rise || p.ask.retrieval);
  EXPECT_EQ(p.ask.guests, 0);
}

TEST(ServiceSizes, a_model_has_the_accelerators_that_it_needs) {
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
TEST(ServiceSizes, zones_have_their_share_of_the_replicas) {
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
      << "zones of one site are told apart by their fleets";
  EXPECT_NEAR(std::ranges::max(s.plans[1].job.day), 1050 * 0.36, 1);
  EXPECT_EQ(s.plans[2].job.in_zone(), &s.plans[2].job.serve->zones[2]);
  EXPECT_FALSE(s.plans[0].failover) << "none names another";
}

TEST(ServiceSizes, an_objective_that_nobody_meets_says_so) {
  const SizedService s([](design::Serve& serve) { serve.objective.tpot_p99 = milliseconds(0.5); });
  EXPECT_EQ(s.plan().job.infeasible, "not even one request meets the objective on this split");
  EXPECT_EQ(s.plan().replicas, 0);
}

TEST(ServiceSizes, prefill_apart_has_its_own_replicas) {
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
}  // namespace orrery::twin
