#include "twin/processes/service_windows.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/statistics.h"
#include "layers/traffic/fleet.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/serving_query.h"
#include "twin/processes/service_plan.h"
#include "twin/world/sample_fixture.h"

namespace orrery::processes {
namespace {

design::Design service_design() {
  design::Design d = world::sample_design();
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.tp = 1;
  serve.replicas = 4;
  serve.arrivals = {.rate = PerSecond(20), .peak = 1.5, .trace = "chat"};
  serve.objective.ttft_p99 = seconds(1);
  serve.objective.tpot_p99 = milliseconds(50);
  d.workloads.front().task = serve;
  return d;
}

design::Serve& serve_of(design::Design& d) {
  return std::get<design::Serve>(d.workloads.front().task);
}

// A plan keeps the machine that it was made from.
struct Planned {
  machine::Machine machine;
  ServicePlan plan;

  explicit Planned(design::Design d)
      : machine(jobs::build_machine(std::move(d), machine::known())),
        plan(service_plans(jobs::serve_jobs(machine, machine.design().workloads.front()), machine)
                 .front()) {}

  // For a day without failures.
  std::vector<double> day() const {
    std::vector<double> weights(plan.windows.levels.size());
    for (const double rate : plan.job.day) {
      add_weight(weights, plan.windows.levels, rate / plan.replicas, rate * 3600);
    }
    return weights;
  }
  Sampled figure(LatencyPoints WindowPart::* of, double share) const {
    return sampled(plan.windows.levels, day(), of, share);
  }
  Sampled at_loss(LatencyPoints WindowPart::* of, double share) const {
    const std::vector<double> one{1};
    return sampled(std::span(&plan.windows.loss, 1), one, of, share);
  }
};

TEST(ServiceWindows, a_lost_replica_raises_time_to_first_token) {
  const Planned p(service_design());
  ASSERT_TRUE(p.plan.feasible()) << p.plan.job.infeasible;
  const Sampled calm = p.figure(&WindowPart::ttft, 0.99);
  EXPECT_GT(calm.value, p.figure(&WindowPart::ttft, 0.5).value);
  EXPECT_GT(good_share(p.plan.windows.levels, p.day()), 0.9);
  EXPECT_GT(p.at_loss(&WindowPart::ttft, 0.99).value, calm.value);
  EXPECT_GT(p.plan.windows.restarted, 0);
}

// Loads of a day, of the others while one is lost, and at most what a replica carries.
TEST(ServiceWindows, levels_include_the_load_after_a_replica_is_lost) {
  const Planned p(service_design());
  const std::vector<LoadWindow>& levels = p.plan.windows.levels;
  ASSERT_GE(levels.size(), 2U);
  const double highest = std::ranges::max(p.plan.job.day) / 4;
  EXPECT_NEAR(levels.back().rate, highest * 4 / 3, 1e-9);
  EXPECT_NEAR(levels.front().rate, std::ranges::min(p.plan.job.day) / 4, 1e-9);
}

// A third of every prompt is the same for all.
TEST(ServiceWindows, shared_prompt_prefixes_shorten_first_tokens) {
  design::Design d = service_design();
  serve_of(d).prefix_cache = true;
  serve_of(d).arrivals.shared_prefix = 0.3;
  const Planned p(d);
  const auto all = window_arrivals(p.plan.ask, 5, seconds(60), 1);
  ASSERT_GT(all.size(), 200U);
  double shared = 0;
  double prompts = 0;
  for (const traffic::Timed& t : all) {
    EXPECT_EQ(t.spec.shared, all.front().spec.shared);
    shared += t.spec.shared_tokens;
    prompts += t.spec.prompt;
  }
  EXPECT_NEAR(shared / prompts, p.plan.ask.query.request.cached_share, 0.01);
  EXPECT_GT(shared / prompts, 0.2);
  EXPECT_LE(shared / prompts, 0.3);
}

TEST(ServiceWindows, fewer_replicas_answer_later) {
  design::Design d = service_design();
  const Planned four(d);
  serve_of(d).replicas = 2;
  EXPECT_GT(Planned(d).figure(&WindowPart::whole, 0.99).value,
            four.figure(&WindowPart::whole, 0.99).value);
}

TEST(ServiceWindows, separate_prefill_keeps_time_per_token_even) {
  design::Design d = service_design();
  const Planned joined(d);
  serve_of(d).disaggregated = true;
  serve_of(d).prefill_replicas = 2;
  const Planned apart(d);
  EXPECT_EQ(apart.plan.prefill, 2);
  EXPECT_LT(apart.figure(&WindowPart::tpot, 0.99).value,
            joined.figure(&WindowPart::tpot, 0.99).value);
}

TEST(ServiceWindows, speculative_decoding_shortens_time_per_token) {
  design::Design d = service_design();
  serve_of(d).model = "llama-3-70b";
  serve_of(d).tp = 4;
  serve_of(d).arrivals.rate = PerSecond(2);
  const Planned plain(d);
  serve_of(d).draft_model = "llama-3-8b";
  EXPECT_LT(Planned(d).figure(&WindowPart::tpot, 0).value,
            plain.figure(&WindowPart::tpot, 0).value);
}

TEST(ServiceWindows, a_service_without_requests_has_no_windows) {
  design::Design d = service_design();
  serve_of(d).arrivals.rate = PerSecond(0);
  EXPECT_TRUE(Planned(d).plan.windows.levels.empty());
}

// A non-transformer network waits in closed form, which has no sampling.
TEST(ServiceWindows, a_closed_form_has_no_sampling_error) {
  design::Design d = service_design();
  serve_of(d).model.clear();
  serve_of(d).network = design::PlainNetwork{.params = 1e8, .forward = Flops(1e13)};
  const Sampled p99 = Planned(d).figure(&WindowPart::whole, 0.99);
  EXPECT_GT(p99.value, 0);
  EXPECT_LT(p99.error, 1e-6);
}

TEST(ServiceWindows, a_load_between_two_levels_weights_both) {
  const std::vector<LoadWindow> levels{{.rate = 1}, {.rate = 2}};
  std::vector<double> weights(2);
  add_weight(weights, levels, 0.5, 10);
  add_weight(weights, levels, 1.25, 4);
  add_weight(weights, levels, 9, 1);
  EXPECT_DOUBLE_EQ(weights[0], 13);
  EXPECT_DOUBLE_EQ(weights[1], 2);
}

// Every request of `hours` of the day, on all replicas.
struct FullRun {
  std::vector<double> ttft, tpot, whole;
};

FullRun full_run(const Planned& p, std::size_t hours, double seconds) {
  const design::Serve& serve = *p.plan.job.serve;
  const machine::Models& models = p.machine.models();
  const machine::Fleet& fleet = p.machine.fleets[p.plan.fleet];
  const catalog::ModelShape* model =
      find_model(p.machine.design(), p.machine.catalog(), serve.model);
  jobs::ServingQuery q =
      jobs::serving_query(models, serve, *model, fleet, jobs::request_of(p.machine, serve));
  q.split.tp = *serve.tp;
  const serving::Replica replica = replica_of(models, q).value();
  const machine::Costs costs = serving_costs(models, q);
  serving::StepClock clock(replica, serving_source(costs));
  const jobs::ServeLengths lengths = jobs::lengths_of(serve);
  std::vector<traffic::Timed> arrivals;
  for (std::size_t h = 0; h < hours; ++h) {
    const double rate = p.plan.job.day[h * 24 / hours];
    for (traffic::Timed t : traffic::open_load({.rate = rate,
                                                .requests = static_cast<int>(rate * seconds * 1.2),
                                                .prompt = lengths.prompt,
                                                .output = lengths.output,
                                                .seed = 1000 + h})) {
      if (t.at > seconds) break;
      t.at += static_cast<double>(h) * seconds;
      arrivals.push_back(t);
    }
  }
  traffic::FleetOptions options{.replicas = p.plan.replicas};
  const double aside = (replica.engine.first_token + replica.tuning.first_token).base();
  FullRun full;
  for (const traffic::RequestRecord& r :
       traffic::Fleet(options, traffic::policy_of(replica), clock).run(arrivals).records) {
    const double later = aside + serving::kAheadSteps * r.tpot();
    full.ttft.push_back(r.ttft() + later);
    if (r.output > 1) full.tpot.push_back(r.tpot());
    full.whole.push_back(r.e2e() + later);
  }
  return full;
}

void expect_near(const char* name, const Sampled& windows, double full) {
  // 80 % intervals of the sampling, doubled: one figure in a hundred is outside.
  const double width = 2 * windows.error;
  std::printf("%s windows %.4f +- %.1f %%, full %.4f (%+.1f %%)\n", name, windows.value,
              100 * windows.error, full, 100 * (windows.value / full - 1));
  EXPECT_NEAR(windows.value, full, width * windows.value) << name;
}

struct Case {
  const char* name;
  const char* model;
  int tp;
  int replicas;
  double rate;
  double peak;
};

design::Design design_of(const Case& c) {
  design::Design d = service_design();
  design::Serve& serve = serve_of(d);
  serve.model = c.model;
  serve.tp = c.tp;
  serve.replicas = c.replicas;
  serve.arrivals.rate = PerSecond(c.rate);
  serve.arrivals.peak = c.peak;
  return d;
}

class AgainstFullRuns : public testing::TestWithParam<Case> {};

TEST_P(AgainstFullRuns, windows_agree_within_their_interval) {
  const bool whole_day = std::getenv("ORRERY_FULL") != nullptr;
  const Planned p(design_of(GetParam()));
  ASSERT_TRUE(p.plan.feasible()) << p.plan.job.infeasible;
  const FullRun full = full_run(p, 24, whole_day ? 3600 : 60);
  expect_near("first token, mean", p.figure(&WindowPart::ttft, 0), mean(full.ttft));
  expect_near("first token, p99", p.figure(&WindowPart::ttft, 0.99), quantile(full.ttft, 0.99));
  expect_near("token, mean", p.figure(&WindowPart::tpot, 0), mean(full.tpot));
  expect_near("token, p99", p.figure(&WindowPart::tpot, 0.99), quantile(full.tpot, 0.99));
  expect_near("request, p99", p.figure(&WindowPart::whole, 0.99), quantile(full.whole, 0.99));
}

// Independent windows of one load: a stated interval contains the mean of all of them in four of
// five or more, but not in all.
TEST_P(AgainstFullRuns, the_stated_error_covers_the_spread_of_windows) {
  if (std::getenv("ORRERY_FULL") == nullptr) GTEST_SKIP() << "forty windows of each service";
  constexpr int kWindows = 40;
  const Planned p(design_of(GetParam()));
  const ServiceWindows all = simulate_windows(p.machine.models(), p.plan.ask,
                                              std::vector<double>(kWindows, p.plan.ask.high));
  const std::vector<double> one{1};
  double covered = 0;
  constexpr struct {
    const char* name;
    LatencyPoints WindowPart::* of;
    double share;
  } kFigures[] = {{"first token, mean", &WindowPart::ttft, 0},
                  {"first token, p99", &WindowPart::ttft, 0.99},
                  {"token, mean", &WindowPart::tpot, 0},
                  {"token, p99", &WindowPart::tpot, 0.99},
                  {"request, p99", &WindowPart::whole, 0.99}};
  for (const auto& figure : kFigures) {
    std::vector<Sampled> drawn;
    std::vector<double> values;
    for (const LoadWindow& w : all.levels) {
      drawn.push_back(sampled(std::span(&w, 1), one, figure.of, figure.share));
      values.push_back(drawn.back().value);
    }
    const double middle = mean(values);
    double inside = 0, width = 0;
    for (const Sampled& s : drawn) {
      inside += std::abs(s.value - middle) <= s.error * s.value ? 1.0 / kWindows : 0;
      width += s.error / kWindows;
    }
    std::printf("%s: %.0f %% of windows hold the mean within +- %.1f %%\n", figure.name,
                100 * inside, 100 * width);
    EXPECT_GE(inside, 0.65) << figure.name;
    covered += inside / std::size(kFigures);
  }
  EXPECT_GE(covered, 0.75);
  EXPECT_LE(covered, 0.97);
}

INSTANTIATE_TEST_SUITE_P(ServiceWindows, AgainstFullRuns,
                         testing::Values(Case{"flat", "llama-3-8b", 1, 1, 8, 1},
                                         Case{"swings", "llama-3-8b", 1, 2, 12, 2},
                                         Case{"wide", "llama-3-70b", 4, 4, 6, 1.5}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace orrery::processes
