#include "layers/traffic/talks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "layers/serving/test_costs.h"

namespace orrery::traffic {
namespace {

engines::EnginePolicy talk_policy(int blocks) {
  engines::EnginePolicy p;
  p.blocks = blocks;
  p.token_budget = 2048;
  p.max_sequences = 64;
  p.prefix_cache = true;
  return p;
}

TalkLoad talk_load(double rate) {
  return {.rate = rate,
          .turns = 6,
          .think = 5,
          .prompt = {.length = 200},
          .output = {.length = 50},
          .until = 120};
}

FleetRun run_talks(const TalkLoad& load, Router router, int blocks = 20000, int replicas = 4) {
  serving::StepClock clock = serving::toy_clock();
  Talks talks(load);
  return Fleet({.replicas = replicas, .router = router}, talk_policy(blocks), clock).run(talks);
}

double found_of(const FleetRun& run) { return run.cached_tokens / run.prompt_tokens; }

TEST(Talks, turns_arrive_at_their_rate_from_the_beginning) {
  const FleetRun run = run_talks(talk_load(20), Router::least_requests);
  double early = 0, late = 0, longest = 0;
  for (const RequestRecord& r : run.records) {
    (r.arrived < 60 ? early : late) += 1;
    longest = std::max<double>(longest, r.prompt);
  }
  // 1,200 per half, in whole conversations of six turns: within three standard deviations of the
  // number of conversations, times six.
  EXPECT_NEAR(early, 1200, 3 * 6 * std::sqrt(200.0));
  EXPECT_NEAR(late, 1200, 3 * 6 * std::sqrt(200.0));
  EXPECT_EQ(longest, 5 * 250 + 200);
  EXPECT_EQ(run.refused, 0);
}

// The next turn of a conversation comes after the answer and not before.
TEST(Talks, turn_follows_the_previous_answer) {
  serving::StepClock clock = serving::toy_clock();
  struct Watched final : Askers {
    Talks talks;
    std::map<std::uint64_t, double> answered_at;
    std::vector<std::uint64_t> whose;
    explicit Watched(const TalkLoad& load) : talks(load) {}
    double next() const override { return talks.next(); }
    Timed take() override {
      const Timed t = talks.take();
      const auto before = answered_at.find(t.spec.content);
      if (before != answered_at.end()) EXPECT_GT(t.at, before->second);
      whose.push_back(t.spec.content);
      return t;
    }
    double patience() const override { return talks.patience(); }
    void answered(const RequestRecord& r) override {
      answered_at[whose[static_cast<std::size_t>(r.id)]] = r.last;
      talks.answered(r);
    }
    void refused(int id) override { talks.refused(id); }
  };
  Watched watched(talk_load(20));
  const FleetRun run = Fleet({.replicas = 4}, talk_policy(20000), clock).run(watched);
  EXPECT_EQ(static_cast<std::size_t>(run.served), watched.whose.size());
  EXPECT_GT(run.served, 1500);
}

TEST(Talks, sticky_routers_find_more_history_and_answer_sooner) {
  TalkLoad load = talk_load(120);
  load.until = 40;
  const FleetRun turns = run_talks(load, Router::round_robin);
  for (const Router router : {Router::session, Router::prefix}) {
    const FleetRun home = run_talks(load, router);
    EXPECT_GT(found_of(home), found_of(turns) + 0.2) << word_of(router);
    EXPECT_LT(home.latency.ttft_mean, turns.latency.ttft_mean) << word_of(router);
  }
}

TEST(Talks, longer_thinking_finds_less_in_a_full_cache) {
  TalkLoad load = talk_load(20);
  const double soon = found_of(run_talks(load, Router::session, 1500));
  load.think = 40;
  EXPECT_LT(found_of(run_talks(load, Router::session, 1500)), soon - 0.1);
}

// The same conversations for any router, and the same records in every run.
TEST(Talks, equal_seeds_give_equal_runs) {
  const FleetRun one = run_talks(talk_load(20), Router::prefix);
  const FleetRun two = run_talks(talk_load(20), Router::prefix);
  ASSERT_EQ(one.records.size(), two.records.size());
  for (std::size_t i = 0; i < one.records.size(); ++i) {
    ASSERT_EQ(one.records[i].last, two.records[i].last);
    ASSERT_EQ(one.records[i].cached, two.records[i].cached);
  }
}

TEST(Talks, system_prompt_is_shared_between_conversations) {
  TalkLoad load = talk_load(20);
  load.turns = 1;
  EXPECT_EQ(found_of(run_talks(load, Router::least_requests)), 0);
  load.system_share = 0.5;
  // 100 of 200 tokens, six whole blocks of sixteen.
  EXPECT_NEAR(found_of(run_talks(load, Router::least_requests)), 96.0 / 200, 0.02);
}

// Three thinking times after the beginning the closed form and the run agree.
TEST(Talks, closed_form_finds_what_the_run_finds) {
  struct Case {
    Router router;
    int blocks;
    double think;
  };
  for (const Case& c : {Case{Router::session, 20000, 5}, Case{Router::session, 1500, 5},
                        Case{Router::session, 1500, 20}, Case{Router::round_robin, 20000, 5},
                        Case{Router::round_robin, 2000, 10}}) {
    TalkLoad load = talk_load(40);
    load.think = c.think;
    load.until = 20 + 5 * c.think;
    const FleetRun run = run_talks(load, c.router, c.blocks);
    double cached = 0, history = 0, stay = 0, n = 0;
    for (const RequestRecord& r : run.records) {
      if (r.arrived < 3 * c.think) continue;
      cached += r.cached, history += r.prompt - 200, stay += r.e2e(), ++n;
    }
    const TalkCase form{.turns = 6,
                        .think = c.think,
                        .prompt = 200,
                        .output = 50,
                        .rate = 10,
                        .stay = stay / n,
                        .tokens = 16.0 * c.blocks,
                        .replicas = 4,
                        .at_home = c.router == Router::session};
    EXPECT_NEAR(history / n, talk_history(form), 60);
    EXPECT_NEAR(cached / history, talk_found(form), 0.1)
        << word_of(c.router) << ' ' << c.blocks << ' ' << c.think;
  }
}

TEST(Talks, closed_form_has_its_limits) {
  TalkCase c{.turns = 1};
  EXPECT_EQ(talk_found(c), 0);
  c = {.turns = 4, .tokens = 1e12, .at_home = true};
  EXPECT_NEAR(talk_found(c), 1, 1e-9);
  c.tokens = 0;
  EXPECT_EQ(talk_found(c), 0);
}

// Three calls of 1,000, 100 and 100 new tokens, each answered with 50: the history before the
// second and third is 1,050 and 1,200.
TEST(Talks, later_calls_may_have_other_lengths_than_the_first) {
  const TalkCase c{.turns = 3, .prompt = 1000, .later = 100, .output = 50};
  EXPECT_DOUBLE_EQ(talk_fresh(c), 400);
  EXPECT_DOUBLE_EQ(talk_history(c), 750);
  TalkCase even = c;
  even.later = 1000;
  const TalkCase plain{.turns = 3, .prompt = 1000, .output = 50};
  EXPECT_DOUBLE_EQ(talk_history(even), talk_history(plain));
  EXPECT_NEAR(talk_found(even), talk_found(plain), 1e-9);

  TalkLoad load = talk_load(5);
  load.turns = 3;
  load.prompt.length = 1000;
  load.later = LengthLaw{.length = 100};
  std::map<int, int> prompts;
  for (const RequestRecord& r : run_talks(load, Router::session).records) ++prompts[r.prompt];
  ASSERT_EQ(prompts.size(), 3u);
  EXPECT_TRUE(prompts.contains(1000) && prompts.contains(1150) && prompts.contains(1300));
}

// Calls of 2 s, tools of 1 s: 3 x 2 + 2 x 1; one in a hundred pairs of tools takes 6.638 s.
TEST(Tasks, task_time_has_its_mean_and_tail) {
  TaskCase c{.calls = 3, .call = seconds(2), .call_p99 = seconds(2), .tool = seconds(1)};
  EXPECT_DOUBLE_EQ(task_mean(c).base(), 8);
  EXPECT_NEAR(task_p99(c).base(), 6 + 6.63835, 1e-4);
  c.tool = Seconds(0);
  c.call_p99 = seconds(4);
  EXPECT_NEAR(task_p99(c).base(), 6 + 2 * std::sqrt(3.0), 1e-9);
  c.calls = 1;
  c.tool = seconds(9);
  EXPECT_DOUBLE_EQ(task_mean(c).base(), 2);
  EXPECT_DOUBLE_EQ(task_p99(c).base(), 4);
}

// If replicas have room, a task takes the sum of its calls and its tools.
TEST(Tasks, closed_form_matches_the_run_at_low_load) {
  TalkLoad load = talk_load(4);
  load.turns = 5;
  load.think = 2;
  load.until = 2000;
  load.whole = true;
  const FleetRun run = run_talks(load, Router::session);
  struct Task {
    int calls = 0;
    double began = 0;
    double last = 0;
  };
  std::map<std::uint64_t, Task> tasks;
  std::vector<double> calls;
  for (const RequestRecord& r : run.records) {
    Task& t = tasks[r.session];
    if (t.calls++ == 0) t.began = r.arrived;
    t.last = r.last;
    calls.push_back(r.e2e());
  }
  std::vector<double> times;
  for (const auto& [name, t] : tasks) {
    if (t.calls == 5) times.push_back(t.last - t.began);
  }
  ASSERT_GT(times.size(), 1400u);
  // Conversations in progress at the very beginning had fewer calls; no others did.
  for (const auto& [name, t] : tasks) EXPECT_TRUE(t.calls == 5 || t.began < 30) << t.began;
  std::ranges::sort(times);
  std::ranges::sort(calls);
  const double call = run.latency.e2e_mean;
  const TaskCase form{.calls = 5,
                      .call = Seconds(call),
                      .call_p99 = Seconds(calls[calls.size() * 99 / 100]),
                      .tool = seconds(2)};
  double sum = 0;
  for (const double t : times) sum += t;
  EXPECT_NEAR(sum / static_cast<double>(times.size()) / task_mean(form).base(), 1, 0.03);
  EXPECT_NEAR(times[times.size() * 99 / 100] / task_p99(form).base(), 1, 0.08);
}

// Three turns of 150 tokens, a thinking time of 10 s. With a time T that idle blocks stay and x = T
// over the thinking time, a turn comes in time with probability 1 - e^-x; the number of idle tokens
// follows.
TEST(TalkFound, found_share_at_home_matches_hand_calculation) {
  TalkCase c{
      .turns = 3, .think = 10, .prompt = 100, .output = 50, .rate = 2, .stay = 4, .at_home = true};
  EXPECT_EQ(talk_history(c), 150);
  for (const double t : {2.0, 9.0, 30.0}) {
    const double below = 1 - std::exp(-t / 10);
    const double idle = 2 / 3.0 * (3 * 10 * below + 3 * t) * 150;
    c.tokens = idle + 2 * 4 * (150 + 100 + 25.0);
    EXPECT_NEAR(talk_found(c), below, 1e-6) << t;
  }
}

// A quarter of the turns come to the same replica; a turn that went elsewhere lengthens the gap.
TEST(TalkFound, found_share_of_four_replicas_matches_hand_calculation) {
  TalkCase c{
      .turns = 3, .think = 10, .prompt = 100, .output = 50, .rate = 2, .stay = 4, .replicas = 4};
  for (const double t : {5.0, 20.0}) {
    const double x = t / 14;
    const double one = 1 - std::exp(-x), two = 1 - std::exp(-x) * (1 + x);
    const double first = 14 * one, second = first + 14 * two;
    const double sum = 0.25 * first + 0.75 * 0.25 * second + 0.5625 * t  // after the first turn
                       + 2 * (0.25 * first + 0.75 * t) + 3 * t;
    c.tokens = 2 / 3.0 * sum * 150 + 2 * 4 * (150 + 100 + 25.0);
    const double found = (0.25 * one + 2 * 0.25 * one + 0.75 * 0.25 * two) / 3;
    EXPECT_NEAR(talk_found(c), found, 1e-6) << t;
  }
}

struct Heard {
  int turns = 0;
  int prompt = 0;  // of the last turn
  double answered = 0;
  double think = 0;
};

// Every turn includes its history; thinking times have the right mean; no requests come after the
// end.
TEST(Talks, turns_match_hand_calculation) {
  Talks talks({.rate = 2,
               .turns = 3,
               .think = 8,
               .prompt = {.length = 40},
               .output = {.length = 10},
               .until = 6000});
  std::map<std::uint64_t, Heard> heard;
  double thought = 0, thoughts = 0, asked = 0;
  int id = 0;
  while (talks.next() < kForever) {
    const double next = talks.next();
    const Timed t = talks.take();
    ASSERT_EQ(t.at, next);
    ASSERT_LE(t.at, 6000);
    ++asked;
    Heard& h = heard[t.spec.content];
    EXPECT_EQ(t.spec.session, t.spec.content);
    EXPECT_TRUE(t.spec.talks);
    EXPECT_EQ(t.spec.shared_tokens, 0);
    EXPECT_EQ(t.spec.output, 10);
    if (h.turns > 0) {
      EXPECT_EQ(t.spec.prompt, h.prompt + 50);
      thought += t.at - h.answered, ++thoughts;
      EXPECT_DOUBLE_EQ(t.at, h.answered + h.think);
    } else {
      EXPECT_EQ(t.spec.prompt % 50, 40);
    }
    // No other request is being answered, so its own thinking time is the smallest.
    h = {.turns = h.turns + 1,
         .prompt = t.spec.prompt,
         .answered = t.at + 0.5,
         .think = talks.patience()};
    talks.answered({.id = id++, .prompt = t.spec.prompt, .output = 10, .last = t.at + 0.5});
    EXPECT_EQ(talks.patience(), kForever) << "no request waits for an answer";
  }
  EXPECT_NEAR(asked, 12000, 400);
  EXPECT_NEAR(thought / thoughts, 8, 0.3);
  int whole = 0, begun = 0;
  for (const auto& [name, h] : heard) {
    EXPECT_LE(h.prompt, 140);
    whole += h.prompt == 140 ? 1 : 0;
    begun += h.prompt - 50 * (h.turns - 1) == 40 ? 0 : 1;
  }
  EXPECT_GT(whole, 3800);
  // In progress at the start: per turn but the first, as many as are thinking at any time, 2 / 3 x
  // 8.
  EXPECT_NEAR(begun, 2 * 16 / 3.0, 1.01);
}

TEST(Talks, lengths_are_cut_and_too_long_conversations_end) {
  TalkLoad load{.rate = 1,
                .turns = 4,
                .think = 1,
                .prompt = {.length = 40},
                .output = {.length = 10},
                .system_share = 0.25,
                .most_prompt = 30,
                .most_output = 8,
                .most_held = 76,
                .until = 200};
  Talks talks(load);
  int id = 0;
  std::map<std::uint64_t, std::vector<int>> prompts;
  while (talks.next() < kForever) {
    const Timed t = talks.take();
    EXPECT_EQ(t.spec.output, 8);
    prompts[t.spec.content].push_back(t.spec.prompt);
    const std::vector<int>& said = prompts[t.spec.content];
    if (said.front() == 30 && said.size() <= 2) {
      EXPECT_EQ(t.spec.shared, 1u);
      EXPECT_EQ(t.spec.shared_tokens, 7) << "a quarter of the first 30";
    }
    talks.answered({.id = id++, .prompt = t.spec.prompt, .output = 8, .last = t.at});
  }
  // 30 + 8, then 68 + 8 = 76 just fits; the third starts a new conversation.
  int checked = 0;
  for (const auto& [name, p] : prompts) {
    if (p.size() < 4 || p[0] != 30) continue;
    EXPECT_EQ(p, (std::vector<int>{30, 68, 30, 68}));
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

TEST(Talks, refused_requests_are_not_waited_for) {
  Talks talks({.rate = 1, .turns = 2, .think = 5, .until = 50});
  talks.take();
  EXPECT_LT(talks.patience(), kForever);
  talks.refused(0);
  EXPECT_EQ(talks.patience(), kForever);
}

// For each turn but the first, as many are in progress at the start as are thinking at any time: 2
// / 3 x 8 of two turns.
TEST(Talks, conversations_in_progress_at_the_start_match_those_thinking) {
  double met = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Talks talks({.rate = 2,
                 .turns = 3,
                 .think = 8,
                 .prompt = {.length = 40},
                 .output = {.length = 10},
                 .until = 1000,
                 .seed = seed});
    int id = 0;
    for (int i = 0; i < 60; ++i) {
      const Timed t = talks.take();
      met += t.spec.prompt > 40 ? 1 : 0;
      talks.refused(id++);
    }
  }
  EXPECT_NEAR(met / 100, 32 / 3.0, 0.2);
}

}  // namespace
}  // namespace orrery::traffic
