// Adapters of a service in a run: the plan's slots, loads and waits against those of its windows.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/jobs/build_machine.h"
#include "twin/twin/run_fixture.h"
#include "twin/twin/service_plan.h"

namespace orrery::twin {
namespace {

design::Design adapted_design(int count, int slots) {
  design::Design d = sample_design();
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.tp = 1;
  serve.replicas = 2;
  serve.arrivals = {.rate = PerSecond(12), .peak = 1, .input_tokens = 700, .output_tokens = 200};
  serve.adapters = design::Adapters{.count = count, .slots = slots};
  d.workloads.front().task = serve;
  return d;
}

struct Windowed {
  ServicePlan plan;
  double ttft = 0;
  double tpot = 0;
  double found = 0;

  explicit Windowed(const design::Design& d) {
    const machine::Machine m = jobs::build_machine(d, machine::known());
    plan = service_plans(m, m.design().workloads.front(), false).front();
    EXPECT_TRUE(plan.feasible()) << plan.job.infeasible;
    const double high[] = {plan.ask.high};
    const ServiceWindows w = simulate_windows(m.models(), plan.ask, high);
    const double one[] = {1};
    ttft = sampled(w.levels, one, &WindowPart::ttft, 0).value;
    tpot = sampled(w.levels, one, &WindowPart::tpot, 0).value;
    found = w.levels.front().found;
  }
};

TEST(ServiceAdapters, FewerSlotsMakeFirstTokensWait) {
  const Windowed all(adapted_design(64, 64));
  const Windowed some(adapted_design(64, 16));
  const Windowed few(adapted_design(64, 4));
  EXPECT_GT(some.ttft, all.ttft);
  EXPECT_GT(few.ttft, 4 * some.ttft);
  EXPECT_GT(few.ttft, 1);
}

TEST(ServiceAdapters, TheyCostATokenALittle) {
  design::Design d = adapted_design(8, 8);
  const Windowed with(d);
  std::get<design::Serve>(d.workloads.front().task).adapters.reset();
  const Windowed without(d);
  EXPECT_GT(with.tpot, 1.05 * without.tpot);
  EXPECT_LT(with.tpot, 1.5 * without.tpot);
}

TEST(ServiceAdapters, RequestsAskForAllOfThemTheFirstMost) {
  const machine::Machine m = jobs::build_machine(adapted_design(10, 4), machine::known());
  const ServicePlan plan = service_plans(m, m.design().workloads.front(), false).front();
  const auto load = window_arrivals(plan.ask, 20, seconds(200), 1);
  std::vector<int> asked(11);
  for (const traffic::Timed& t : load) ++asked[static_cast<std::size_t>(t.spec.adapter)];
  EXPECT_EQ(asked[0], 0);
  for (std::size_t i = 1; i <= 10; ++i) EXPECT_GT(asked[i], 0) << i;
  EXPECT_GT(asked[1], 4 * asked[10]);
}

TEST(ServiceAdapters, ATalkKeepsItsOwn) {
  design::Design d = adapted_design(10, 4);
  auto& serve = std::get<design::Serve>(d.workloads.front().task);
  serve.arrivals.turns = 4;
  serve.arrivals.think_time = seconds(20);
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const ServicePlan plan = service_plans(m, m.design().workloads.front(), false).front();
  std::map<std::uint64_t, std::set<int>> of_talk;
  for (const traffic::Timed& t : window_arrivals(plan.ask, 6, seconds(100), 1)) {
    of_talk[t.spec.session].insert(t.spec.adapter);
  }
  std::set<int> all;
  for (const auto& [talk, adapters] : of_talk) {
    EXPECT_EQ(adapters.size(), 1u);
    all.insert(adapters.begin(), adapters.end());
  }
  EXPECT_GT(all.size(), 5u);
  EXPECT_EQ(all.count(0), 0u);
}

// What all prompts begin with is found only where the adapter's own copy still lies.
TEST(ServiceAdapters, SharedPrefixesAreFoundAsThePlanSays) {
  design::Design d = adapted_design(40, 40);
  auto& serve = std::get<design::Serve>(d.workloads.front().task);
  serve.arrivals.shared_prefix = 0.5;
  const Windowed w(d);
  EXPECT_NEAR(*w.plan.ask.shared, 0.5, 1e-9);
  EXPECT_NEAR(w.found, w.plan.ask.query.request.cached_share, 0.1);
}

}  // namespace
}  // namespace orrery::twin
