// How a service's router, conversations, KV tier and autoscaler affect it in a run.
#include <gtest/gtest.h>

#include "model/jobs/build_machine.h"
#include "twin/processes/service_plan.h"
#include "twin/run/run_fixture.h"

namespace orrery::run {
namespace {

design::Design talking_design() {
  design::Design d = world::sample_design();
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.tp = 1;
  serve.replicas = 4;
  serve.arrivals = {.rate = PerSecond(6),
                    .peak = 1,
                    .input_tokens = 700,
                    .output_tokens = 100,
                    .turns = 8,
                    .think_time = seconds(40)};
  serve.router = catalog::ServeRouter::prefix;
  d.workloads.front().task = serve;
  return d;
}

design::Serve& talking(design::Design& d) {
  return std::get<design::Serve>(d.workloads.front().task);
}

// Results of request windows at one load, without a surrounding run.
struct Answered {
  double ttft = 0;
  double found = 0;
  double fetched = 0;

  explicit Answered(const design::Design& d) {
    const machine::Machine m = jobs::build_machine(d, machine::known());
    const processes::ServicePlan plan = plan_of(m);
    EXPECT_TRUE(plan.feasible()) << plan.job.infeasible;
    const double high[] = {plan.ask.high};
    const processes::ServiceWindows w = processes::simulate_windows(m.models(), plan.ask, high);
    const double one[] = {1};
    ttft = processes::sampled(w.levels, one, &processes::WindowPart::ttft, 0).value;
    found = w.levels.front().found;
    fetched = w.levels.front().fetched;
  }
};

TEST(ServicesUnderLoad, sticky_routing_finds_more_cached_prefixes) {
  design::Design d = talking_design();
  const Answered home(d);
  talking(d).router = catalog::ServeRouter::round_robin;
  const Answered turns(d);
  EXPECT_GT(home.found, turns.found + 0.1);
  EXPECT_LT(home.ttft, turns.ttft);
}

TEST(ServicesUnderLoad, plan_and_run_agree_on_cached_conversations) {
  design::Design d = talking_design();
  for (const auto router : {catalog::ServeRouter::prefix, catalog::ServeRouter::round_robin}) {
    talking(d).router = router;
    const machine::Machine m = jobs::build_machine(d, machine::known());
    const processes::ServicePlan plan = plan_of(m);
    EXPECT_NEAR(plan.ask.query.request.cached_share, Answered(d).found, 0.12) << word_of(router);
  }
}

TEST(ServicesUnderLoad, a_kv_tier_shortens_first_tokens_if_fetching_is_faster) {
  design::Design d = talking_design();
  talking(d).arrivals.think_time = minutes(2);  // longer than the device keeps the KV cache of a
                                                // conversation
  talking(d).arrivals.input_tokens = 2500;
  talking(d).arrivals.rate = PerSecond(2);
  talking(d).replicas = 2;
  const Answered bare(d);
  ASSERT_LT(bare.found, 0.7);
  talking(d).kv_tier = design::KvTier{.tier = "host", .capacity = gigabytes(800)};
  const Answered host(d);
  EXPECT_GT(host.fetched, 0.1);
  EXPECT_LT(host.ttft, bare.ttft);
  // A tier that is slower than recomputing is not used, and no bytes are moved.
  d.storage.push_back({.name = "slow", .tier = design::Tier::cold});
  d.storage.back().read = megabytes(20) / seconds(1);
  d.storage.back().capacity = terabytes(100);
  talking(d).kv_tier->tier = "slow";
  const Answered slow(d);
  EXPECT_EQ(slow.fetched, 0);
  EXPECT_EQ(slow.ttft, bare.ttft);
}

// Requests answered by a response cache reach no replica.
TEST(ServicesUnderLoad, a_response_cache_leaves_replicas_the_rest) {
  design::Design d = talking_design();
  talking(d).arrivals.turns = 1;
  talking(d).arrivals.think_time.reset();
  const auto plan = [](const design::Design& of) {
    const machine::Machine m = jobs::build_machine(of, machine::known());
    const processes::ServicePlan p = plan_of(m);
    return std::pair(p.job.day, p.ask.high);
  };
  const auto alone = plan(d);
  talking(d).arrivals.rate = talking(d).arrivals.rate * 4.0;
  talking(d).arrivals.cache_hits = 0.75;
  EXPECT_EQ(plan(d), alone);
}

design::Design swinging_design() {
  design::Design d = world::sample_design();
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.tp = 1;
  serve.replicas = 10;
  serve.arrivals = {.rate = PerSecond(40), .peak = 2, .trace = "chat"};
  serve.objective.ttft_p99 = seconds(1);
  d.workloads.front().task = serve;
  d.fleet.front().failures.node_mtbf = years(1e4);
  return d;
}

double figure_of(const run::Run& run, std::string_view id) {
  for (const figures::Section& s : run.sections) {
    for (const figures::Figure& f : s.figures) {
      if (f.id() == id) return f.estimate.value;
    }
  }
  ADD_FAILURE() << "no figure " << id;
  return 0;
}

TEST(ServicesUnderLoad, an_autoscaler_holds_fewer_accelerators_and_answers_later) {
  const RunOptions options{.horizon = days(2), .replications = 1};
  design::Design d = swinging_design();
  const Simulated fixed(d, options);
  talking(d).replicas.reset();
  talking(d).autoscale = design::Autoscale{.min = 2, .max = 10, .target = 40, .image = seconds(60)};
  const Simulated scaled(d, options);
  const run::Run all = fixed.simulation.run_of(fixed.done);
  const run::Run follows = scaled.simulation.run_of(scaled.done);
  ASSERT_TRUE(scaled.done.front().is_sound);
  EXPECT_NEAR(figure_of(all, "replicas_standing"), 10, 0.1);
  EXPECT_LT(figure_of(follows, "replicas_standing"), 8);
  EXPECT_GT(figure_of(follows, "replicas_standing"), 2);
  EXPECT_GT(figure_of(follows, "replicas_called"), 5);
  EXPECT_GT(figure_of(follows, "ttft_p99"), figure_of(all, "ttft_p99"));
  EXPECT_GT(figure_of(follows, "rise_ttft_p99"), figure_of(follows, "ttft_p99"));
  EXPECT_LT(scaled.done.front().services.front().standing_ns,
            fixed.done.front().services.front().standing_ns * 8 / 10);
}

// Zones divide the bounds according to their traffic; a small zone may have fewer replicas than the
// service's minimum.
TEST(ServicesUnderLoad, each_zone_follows_its_own_load) {
  design::Design d = swinging_design();
  talking(d).replicas.reset();
  talking(d).autoscale = design::Autoscale{.min = 6, .max = 10, .target = 40};
  const std::string site = d.sites.front().name;
  const std::string fleet = d.fleet.front().name;
  talking(d).zones = {{.site = site, .fleet = fleet, .share = 0.7},
                      {.site = site, .fleet = fleet, .share = 0.3}};
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const std::vector<processes::ServicePlan> zones =
      processes::service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m);
  ASSERT_EQ(zones.size(), 2U);
  EXPECT_EQ(zones[0].replicas, 7);
  EXPECT_EQ(zones[0].least, 4);
  EXPECT_EQ(zones[1].replicas, 3);
  EXPECT_EQ(zones[1].least, 2);
  EXPECT_TRUE(zones[1].windows.rise.has_value());
}

// At night there are fewer replicas than at the day's peak, and never fewer than the minimum.
TEST(ServicesUnderLoad, replicas_follow_the_hours) {
  design::Design d = swinging_design();
  talking(d).replicas.reset();
  talking(d).autoscale = design::Autoscale{.min = 3, .max = 10, .target = 40};
  const Simulated scaled(d, {.horizon = days(2), .replications = 1});
  std::map<std::size_t, double> standing, time;
  for (const auto& [load, ns] : scaled.done.front().services.front().time_ns) {
    standing[load.hour] += static_cast<double>(ns) * load.standing;
    time[load.hour] += static_cast<double>(ns);
  }
  const double night = standing[4] / time[4];
  const double peak = standing[15] / time[15];
  EXPECT_GE(night, 3 - 1e-9);
  EXPECT_GT(peak, night + 2);
}

}  // namespace
}  // namespace orrery::run
