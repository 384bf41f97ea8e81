// Rare cases: adapters used about equally often that take turns, conversations that continue after
// the load's end, a request preempted after it was planned, reads drawn one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/base/probability.h"
#include "core/base/random.h"
#include "layers/engines/engine_fixture.h"
#include "layers/serving/adapters.h"
#include "layers/traffic/retrieval.h"
#include "layers/traffic/talks.h"

namespace orrery::traffic {
namespace {

// The equations of adapters.h, written out again.
struct SlotEquations {
  std::vector<serving::AdapterClass> use;
  double slots = 0;
  double running = 0;

  struct Taken {
    double mean = 0, full = 0, release = 0;
  };
  static double runs(double x) { return std::min(1e4, std::expm1(x) / x); }
  Taken taken(double wait) const {
    Taken t;
    double variance = 0;
    for (const serving::AdapterClass& c : use) {
      const double x = c.share * running;
      const double f = runs(x) / (runs(x) + 1 / x + wait);
      t.mean += c.many * f;
      variance += c.many * f * (1 - f);
      t.release += c.many * f / runs(x);
    }
    t.release /= t.mean;
    t.full = normal_above((slots - 0.5 - t.mean) / std::sqrt(variance));
    return t;
  }
  static double settled(const std::function<bool(double)>& longer) {
    double low = 0, high = 1e4;
    for (int i = 0; i < 100; ++i) {
      const double middle = (low + high) / 2;
      (longer(middle) ? low : high) = middle;
    }
    return low;
  }
  double over_requests(const std::function<double(double, double)>& of) const {
    double sum = 0;
    for (const serving::AdapterClass& c : use) {
      const double x = c.share * running;
      sum += c.many * c.share * of(x, runs(x));
    }
    return sum;
  }
};

TEST(TurnsByHand, adapters_of_a_class_take_turns_each) {
  for (const double running : {6.0, 12.0, 25.0}) {
    serving::ReplicaAdapters a;
    a.set = {.count = 60, .slots = 9, .skew = 0.7};
    a.use = serving::adapter_use(60, 0.7);
    a.missed = 1;
    ASSERT_GT(a.use.back().many, 1) << "those that are used seldom go together";
    const SlotEquations e{.use = a.use, .slots = 9, .running = running};
    const double wait = SlotEquations::settled([&](double w) {
      const auto t = e.taken(w);
      return t.mean >= 9 || t.full / (t.release * (9 - t.mean)) > w;
    });
    const double even = SlotEquations::settled([&](double w) { return e.taken(w).mean > 9; });
    const auto at_turn = [&](double x, double b) { return 1 / (1 + x * (b + wait)); };
    const double first = e.over_requests(at_turn);
    const double mean = e.over_requests(
        [&](double x, double b) { return (wait + x * wait * wait / 2) * at_turn(x, b); });
    const double waiting = e.taken(wait).full * e.over_requests([&](double x, double b) {
      return (1 + x * wait) * at_turn(x, b);
    });
    const double uneven = std::max(0.0, wait - even) / e.taken(wait).full;
    const double late = even + (waiting > 0.01 ? uneven * 0.5 * std::log(waiting / 0.01) : 0);
    const serving::SlotUse use = serving::slot_use(a, running);
    EXPECT_NEAR(use.loads / first, 1, 1e-6) << running;
    EXPECT_NEAR(use.wait / mean, 1, 1e-6) << running;
    EXPECT_NEAR(use.wait_p99 / std::max(late, mean), 1, 1e-6) << running;
    // R (1 + wait(R)) run or wait.
    const double runs = serving::running_with_slots(a, running);
    EXPECT_NEAR(runs * (1 + serving::slot_use(a, runs).wait), running, 1e-3 * running);
    EXPECT_LT(runs, running);
  }
}

// Adapters that all share a prefix: y fresh tokens, and one prefix for each adapter used among the
// last R + y requests, fill the room.
TEST(TurnsByHand, prefix_is_found_while_the_last_requests_fit) {
  serving::ReplicaAdapters a;
  a.set = {.count = 60, .slots = 9, .skew = 0.7};
  a.use = serving::adapter_use(60, 0.7);
  for (const double y : {3.0, 30.0}) {
    double distinct = 0, alone = 0;
    for (const serving::AdapterClass& c : a.use) {
      distinct += c.many * (1 - std::exp(-c.share * (5 + y)));
      alone += c.many * c.share * std::exp(-c.share * (5 + y));
    }
    const double room = y * 40 + 700 * distinct;
    EXPECT_NEAR(serving::prefix_found(a, {.prefix = 700, .fresh = 40, .room = room, .running = 5}),
                1 - alone, 1e-6);
  }
}

TEST(TurnsByHand, whole_conversations_continue_after_the_end) {
  for (const bool whole : {false, true}) {
    Talks talks({.rate = 2,
                 .turns = 2,
                 .think = 5,
                 .prompt = {.length = 10},
                 .output = {.length = 5},
                 .whole = whole,
                 .until = 20});
    int id = 0;
    while (talks.next() <= 20) {
      const Timed t = talks.take();
      EXPECT_LE(t.at, 20);
      talks.answered({.id = id++, .prompt = t.spec.prompt, .output = 5, .last = 1000.0});
    }
    EXPECT_GT(id, 4);
    if (whole) {
      EXPECT_GT(talks.next(), 1000);
      EXPECT_LT(talks.next(), 2000);
    } else {
      EXPECT_EQ(talks.next(), kForever);
    }
  }
}

// Seven blocks of four: the first request holds two, the others two and three. As the second grows,
// the first is preempted, for which a token was already planned; the third still gets its turn.
TEST(TurnsByHand, request_preempted_after_planning_costs_no_other_its_turn) {
  engines::EnginePolicy p = engines::tiny(engines::EngineKind::vllm);
  p.by_priority = true;
  p.blocks = 8;
  p.token_budget = 30;
  engines::StepwiseEngine e(p);
  e.add({.prompt = 6, .output = 9, .priority = 5});
  EXPECT_EQ(e.step(), "0:6:0");
  e.add({.prompt = 8, .output = 9, .priority = 1});
  e.add({.prompt = 9, .output = 9, .priority = 1});
  EXPECT_EQ(e.step(), "0:1:6 1:8:0 2:9:0");
  EXPECT_EQ(e.step(), "1:1:8 2:1:9");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{0});
  EXPECT_EQ(e.batch().sums.decoding, 2);
  EXPECT_EQ(e.batch().sums.decode_keys, 9 + 10);
}

// One read of a hop: its normal deviate is the one that the uniform draw gives as the upper tail.
TEST(TurnsByHand, reads_are_drawn_by_their_law) {
  const RetrievalLaw law{.reads = 1,
                         .hops = 1,
                         .median = milliseconds(2),
                         .p99 = milliseconds(8),
                         .sending = milliseconds(1)};
  RandomStream drawn(11, "reads"), own(11, "reads");
  const double deviation = std::log(4.0) / 2.3263478740408408;
  for (int i = 0; i < 50; ++i) {
    const double took = (draw_retrieval(law, drawn) - law.sending) / law.median;
    EXPECT_NEAR(normal_above(std::log(took) / deviation), own.uniform(), 1e-9);
  }
  RetrievalLaw hops = law;
  hops.hops = 3;
  RandomStream once(12, "reads"), thrice(12, "reads");
  const Seconds three =
      draw_retrieval(law, once) + draw_retrieval(law, once) + draw_retrieval(law, once);
  EXPECT_NEAR(draw_retrieval(hops, thrice).base(), three.base(), 1e-15);
}

}  // namespace
}  // namespace orrery::traffic
