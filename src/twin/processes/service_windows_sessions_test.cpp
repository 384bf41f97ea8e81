// Windows of requests in conversations and tasks, or with adapters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "layers/traffic/talks.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_sessions.h"
#include "twin/processes/service_plan.h"
#include "twin/world/sample_fixture.h"

namespace orrery::processes {

namespace {

struct TalkingService {
  machine::Machine machine;
  ServicePlan plan;
  WindowAsk& ask;
  machine::Costs costs;
  serving::ServingCosts source;

  static design::Design design_of(const std::function<void(design::Serve&)>& change) {
    design::Design d = world::sample_design();
    design::Serve serve;
    serve.model = "llama-3-8b";
    serve.tp = 1;
    serve.replicas = 2;
    serve.arrivals = {.rate = PerSecond(4), .peak = 1.5, .input_tokens = 60, .output_tokens = 6};
    change(serve);
    d.workloads.front().task = serve;
    return d;
  }
  explicit TalkingService(const std::function<void(design::Serve&)>& change)
      : machine(jobs::build_machine(design_of(change), machine::known())),
        plan(service_plans(jobs::serve_jobs(machine, machine.design().workloads.front()), machine,
                           false)
                 .front()),
        ask(plan.ask),
        costs(serving_costs(machine.models(), ask.query)),
        source(serving_source(costs)) {
    EXPECT_EQ(plan.job.infeasible, "");
    ask.replica.limits.max_sequences = 2;
  }
  TalkingService(const TalkingService&) = delete;
  TalkingService& operator=(const TalkingService&) = delete;

  // For requests that hardly meet: with one, and a 1024th of the second, at a time.
  double stay() const {
    const serving::RequestShape& r = ask.query.request;
    const serving::ServingPoint p = closed_loop(ask.replica, r, 1 + 1 / 1024.0, source);
    return (p.ttft + p.tpot * (r.output - 1)).base();
  }
};

struct TalkCase {
  const char* name;
  int visits;
  double pause;
  bool is_agent;
  double rate;  // on one of two replicas
};

// A prompt may use a quarter of the cache, like its answer; a conversation's history half.
traffic::TalkLoad talk_load(const TalkingService& s, const TalkCase& c, double until) {
  const double held = s.ask.replica.memory.kv_tokens;
  traffic::TalkLoad load{.rate = 2 * c.rate, .turns = c.visits, .think = c.pause};
  load.prompt = s.ask.lengths.prompt;
  load.later = s.ask.lengths.later;
  load.output = s.ask.lengths.output;
  load.whole = c.is_agent;
  load.system_share = 0.25;
  load.most_prompt = static_cast<int>(held / 4);
  load.most_output = static_cast<int>(held / 4);
  load.most_held = static_cast<int>(held / 2);
  load.until = until;
  return load;
}

// Conversations fill for three more think times, tasks also for one task; at most 6000 requests.
// For tasks, the requests that count are multiplied by their calls, at most four, and others arrive
// until the last task has ended.
TEST(ServiceWindowsSessions, conversations_and_tasks_fill_a_window_for_longer) {
  for (const TalkCase& c :
       {TalkCase{"talks", 3, 5, false, 0.5}, TalkCase{"tasks", 3, 2, true, 0.5},
        TalkCase{"long tasks", 6, 1, true, 0.5}, TalkCase{"many", 3, 8000, false, 0.5}}) {
    SCOPED_TRACE(c.name);
    TalkingService s([&](design::Serve& serve) {
      if (c.is_agent) {
        serve.arrivals.agent =
            design::AgentLoop{.calls = c.visits, .tool_time = seconds(c.pause), .tool_tokens = 25};
      } else {
        serve.arrivals.turns = c.visits;
        serve.arrivals.think_time = seconds(c.pause);
      }
      serve.prefix_cache = true;
      serve.arrivals.shared_prefix = 0.25;
    });
    s.ask.high = 0.01;  // of the loss, which is not looked at here
    const double stay = s.stay();
    const double all = 2 * c.rate;
    const double task = c.is_agent ? c.visits * stay + (c.visits - 1) * c.pause : 0;
    const double begins = 3 * stay + std::min(3 * c.pause + task, 6000 / all);
    const double counted = 400 * (c.is_agent ? std::min(4, c.visits) : 1);
    const double ends = begins + counted / all;
    const traffic::WindowSpan span{begins, ends, ends + 2 * stay + task};
    traffic::Talks talks(talk_load(s, c, span.last));
    serving::StepClock clock(s.ask.replica, s.source, 1);
    engines::EnginePolicy policy = traffic::policy_of(s.ask.replica);
    policy.prefix_cache = true;
    jobs::coarsen_blocks(policy);
    const traffic::FleetRun done =
        traffic::Fleet({.replicas = 2, .router = s.ask.serve->router}, policy, clock).run(talks);
    const serving::Replica& r = s.ask.replica;
    const LoadWindow wanted =
        traffic::window_of(done, c.rate, span,
                           {.aside = (r.engine.first_token + r.tuning.first_token).base(),
                            .calls = c.is_agent ? c.visits : 0});
    const double rates[] = {c.rate};
    const ServiceWindows got = simulate_windows(s.machine.models(), s.ask, rates);
    ASSERT_EQ(got.levels.size(), 1U);
    const LoadWindow& w = got.levels[0];
    EXPECT_EQ(w.stay, wanted.stay);
    EXPECT_EQ(w.found, wanted.found);
    for (std::size_t i = 0; i < w.parts.size(); ++i) {
      EXPECT_EQ(w.parts[i].requests, wanted.parts[i].requests);
      EXPECT_EQ(w.parts[i].tasks, wanted.parts[i].tasks);
      EXPECT_EQ(w.parts[i].ttft, wanted.parts[i].ttft);
      EXPECT_EQ(w.parts[i].task, wanted.parts[i].task);
    }
  }
}

// 100 tokens of cache: half of it for a prompt, half for its answer.
TEST(ServiceWindowsSessions, lengths_are_limited_to_the_capacity_of_a_replica) {
  TalkingService s([](design::Serve& serve) {
    serve.arrivals.output_tokens = 70;
    serve.arrivals.shared_prefix = 0.3;
    serve.prefix_cache = true;
  });
  s.ask.replica.memory.kv_tokens = 100;
  s.ask.shared = 0.3;
  const auto all = window_arrivals(s.ask, 5, seconds(20), 1);
  ASSERT_GT(all.size(), 50U);
  std::uint64_t session = 0;
  for (const traffic::Timed& t : all) {
    EXPECT_LE(t.at, 20);
    EXPECT_EQ(t.spec.prompt, 50);
    EXPECT_EQ(t.spec.output, 50);
    EXPECT_EQ(t.spec.session, ++session);
    EXPECT_EQ(t.spec.shared, 1U);
    EXPECT_EQ(t.spec.shared_tokens, 15);
    EXPECT_EQ(t.spec.adapter, 0);
  }
  // An engine that takes whole prompts accepts none longer than a step's tokens.
  s.ask.replica.limits.chunked_prefill = false;
  s.ask.replica.limits.token_budget = 40;
  EXPECT_EQ(window_arrivals(s.ask, 5, seconds(20), 1).front().spec.prompt, 40);
  s.ask.replica.limits.token_budget = 51;
  EXPECT_EQ(window_arrivals(s.ask, 5, seconds(20), 1).front().spec.prompt, 50);
  // Two ranks of attention share the cache.
  s.ask.replica.split.attention_dp = 2;
  EXPECT_EQ(window_arrivals(s.ask, 5, seconds(20), 1).front().spec.prompt, 25);
  EXPECT_EQ(window_arrivals(s.ask, 5, seconds(20), 1).front().spec.output, 25);
  s.ask.replica.memory.kv_tokens = 0.5;
  EXPECT_EQ(window_arrivals(s.ask, 5, seconds(20), 1).front().spec.prompt, 1);
  EXPECT_EQ(window_arrivals(s.ask, 5, seconds(20), 1).front().spec.output, 1);
  s.ask.shared = 0;
  EXPECT_EQ(window_arrivals(s.ask, 5, seconds(20), 1).front().spec.shared, 0U);
}

// With two and a half tokens per step, there are that many times fewer steps.
TEST(ServiceWindowsSessions, an_answer_takes_as_many_steps_as_its_tokens_need) {
  TalkingService s([](design::Serve& serve) { serve.arrivals.output_tokens = 50; });
  s.ask.query.request.accepted_per_step = 2.5;
  for (const traffic::Timed& t : window_arrivals(s.ask, 5, seconds(5), 1)) {
    EXPECT_EQ(t.spec.output, 20);
    EXPECT_EQ(t.spec.prompt, 60);
  }
}

// The highest load of its replicas, and the hour in which it grows most.
TEST(ServiceWindowsSessions, an_autoscaled_service_has_a_window_of_its_steepest_hour) {
  TalkingService s([](design::Serve& serve) {
    serve.replicas.reset();
    serve.autoscale = design::Autoscale{.min = 1, .max = 9, .target = 1.5};
    serve.arrivals.rate = PerSecond(60);
    serve.arrivals.peak = 2;
  });
  const ServicePlan& p = s.plan;
  double high = 0, steepest = 0;
  std::size_t hour = 0;
  for (std::size_t h = 0; h < 24; ++h) {
    high = std::max(high, p.job.day[h] / p.called_at(h));
    const double grows = p.job.day[(h + 1) % 24] / p.job.day[h];
    if (grows > steepest) steepest = grows, hour = h;
  }
  EXPECT_DOUBLE_EQ(p.ask.high, high);
  ASSERT_TRUE(p.ask.rise);
  EXPECT_EQ(p.ask.rise->before, p.job.day[hour]);
  EXPECT_EQ(p.ask.rise->after, p.job.day[(hour + 1) % 24]);
  EXPECT_EQ(p.ask.rise->replicas, p.called_at(hour));
  EXPECT_EQ(p.ask.start, p.job.start);
  EXPECT_EQ(p.ask.most, p.most);
  EXPECT_EQ(p.ask.replicas, 9);
  EXPECT_DOUBLE_EQ(p.ask.low, std::ranges::min(p.job.day) / 9);
}

design::Design adapted_design(int count, int slots) {
  design::Design d = world::sample_design();
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
    plan = service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m, false).front();
    EXPECT_TRUE(plan.feasible()) << plan.job.infeasible;
    const double high[] = {plan.ask.high};
    const ServiceWindows w = simulate_windows(m.models(), plan.ask, high);
    const double one[] = {1};
    ttft = sampled(w.levels, one, &WindowPart::ttft, 0).value;
    tpot = sampled(w.levels, one, &WindowPart::tpot, 0).value;
    found = w.levels.front().found;
  }
};

TEST(ServiceWindowsSessions, fewer_adapter_slots_delay_first_tokens) {
  const Windowed all(adapted_design(64, 64));
  const Windowed some(adapted_design(64, 16));
  const Windowed few(adapted_design(64, 4));
  EXPECT_GT(some.ttft, all.ttft);
  EXPECT_GT(few.ttft, 4 * some.ttft);
  EXPECT_GT(few.ttft, 1);
}

TEST(ServiceWindowsSessions, adapters_slow_tokens_slightly) {
  design::Design d = adapted_design(8, 8);
  const Windowed with(d);
  std::get<design::Serve>(d.workloads.front().task).adapters.reset();
  const Windowed without(d);
  EXPECT_GT(with.tpot, 1.05 * without.tpot);
  EXPECT_LT(with.tpot, 1.5 * without.tpot);
}

TEST(ServiceWindowsSessions, the_first_adapters_are_asked_for_most) {
  const machine::Machine m = jobs::build_machine(adapted_design(10, 4), machine::known());
  const ServicePlan plan =
      service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m, false).front();
  const auto load = window_arrivals(plan.ask, 20, seconds(200), 1);
  std::vector<int> asked(11);
  for (const traffic::Timed& t : load) ++asked[static_cast<std::size_t>(t.spec.adapter)];
  EXPECT_EQ(asked[0], 0);
  for (std::size_t i = 1; i <= 10; ++i) EXPECT_GT(asked[i], 0) << i;
  EXPECT_GT(asked[1], 4 * asked[10]);
}

TEST(ServiceWindowsSessions, a_conversation_keeps_its_adapter) {
  design::Design d = adapted_design(10, 4);
  auto& serve = std::get<design::Serve>(d.workloads.front().task);
  serve.arrivals.turns = 4;
  serve.arrivals.think_time = seconds(20);
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const ServicePlan plan =
      service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m, false).front();
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

// The common start of all prompts is found only if the adapter's own copy is still cached.
TEST(ServiceWindowsSessions, shared_prefixes_are_found_as_planned) {
  design::Design d = adapted_design(40, 40);
  auto& serve = std::get<design::Serve>(d.workloads.front().task);
  serve.arrivals.shared_prefix = 0.5;
  const Windowed w(d);
  EXPECT_NEAR(*w.plan.ask.shared, 0.5, 1e-9);
  EXPECT_NEAR(w.found, w.plan.ask.query.request.cached_share, 0.1);
}

}  // namespace
}  // namespace orrery::processes
