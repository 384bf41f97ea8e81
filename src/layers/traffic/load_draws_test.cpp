// Drawn loads compared with the distributions written out again here: lengths, gaps, varying rates,
// adapters and the homes of names, each from its own stream.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "layers/serving/adapters.h"
#include "layers/serving/test_costs.h"
#include "layers/traffic/fleet.h"
#include "layers/traffic/load.h"
#include "layers/traffic/talks.h"

namespace orrery::traffic {
namespace {

// The 99th percentile of a standard normal.
constexpr double kTail = 2.3263478740408408;

TEST(DrawnLengths, lengths_follow_their_distribution_draw_by_draw) {
  RandomStream drawn(7, "lengths"), own(7, "lengths");
  const LengthLaw spread{.length = 100, .p99 = 400, .added = 7};
  const LengthLaw even{.length = 50, .least_share = 0.8, .added = 3};
  const LengthLaw tiny{.length = 1.5, .p99 = 90};
  for (int i = 0; i < 200; ++i) {
    const double z = own.normal();
    EXPECT_EQ(draw_length(spread, drawn),
              7 + static_cast<int>(100 * std::exp(std::log(4.0) / kTail * z)))
        << i;
    EXPECT_EQ(draw_length(even, drawn), 3 + 40 + static_cast<int>(own.below(11)));
    const double small = 1.5 * std::exp(std::log(60.0) / kTail * own.normal());
    EXPECT_EQ(draw_length(tiny, drawn), std::max(1, static_cast<int>(small)));
  }
  EXPECT_EQ(draw_length({.length = 50, .added = 3}, drawn), 53);
  EXPECT_EQ(drawn.next(), own.next()) << "a fixed length draws nothing";
  EXPECT_NEAR(mean_length(even), 3 + 45, 1e-12);
  const double sigma = std::log(4.0) / kTail;
  EXPECT_NEAR(mean_length(spread), 7 + 100 * std::exp(sigma * sigma / 2), 1e-9);
}

TEST(DrawnLengths, prompts_and_answers_have_separate_streams) {
  const LengthLaw law{.length = 1000, .least_share = 0.5};
  const auto drawn = draw_requests(50, law, law, 9);
  RandomStream prompts(9, "serving/prompt"), outputs(9, "serving/output");
  ASSERT_EQ(drawn.size(), 50U);
  for (const engines::RequestSpec& r : drawn) {
    EXPECT_EQ(r.prompt, 500 + static_cast<int>(prompts.below(501)));
    EXPECT_EQ(r.output, 500 + static_cast<int>(outputs.below(501)));
  }
}

// Marsaglia and Tsang (2000): d = a - 1/3, v = (1 + x / sqrt(9 d))^3, taken where
// ln u < x^2 / 2 + d - d v + d ln v; below a = 1 the draw of a + 1 times u^(1/a).
double gamma_drawn(double a, RandomStream& s) {
  if (a < 1) {
    const double more = gamma_drawn(a + 1, s);
    return more * std::pow(s.uniform(), 1 / a);
  }
  const double d = a - 1.0 / 3;
  for (;;) {
    const double x = s.normal();
    const double w = 1 + x / std::sqrt(9 * d);
    if (w <= 0) continue;
    const double v = w * w * w;
    const double u = s.uniform();
    if (u > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

TEST(DrawnGaps, gaps_are_constant_exponential_or_gamma) {
  for (const double cv : {0.0, 0.5, 1.0, 2.0}) {
    const auto load = open_load({.rate = 4, .cv = cv, .requests = 300, .seed = 3});
    RandomStream gaps(3, "serving/gap");
    const double shape = cv > 0 ? 1 / (cv * cv) : 0;
    double at = 0;
    for (const Timed& t : load) {
      at += cv == 0   ? 0.25
            : cv == 1 ? gaps.exponential(0.25)
                      : gamma_drawn(shape, gaps) / shape / 4;
      ASSERT_NEAR(t.at, at, 1e-9 * at) << cv;
    }
  }
}

// Arrivals at the highest rate, thinned in proportion to the current rate.
TEST(DrawnGaps, gaps_are_thinned_if_the_rate_varies) {
  const auto load = open_load({.rate = 4, .swing = 0.5, .period = 20, .requests = 300, .seed = 3});
  RandomStream gaps(3, "serving/gap"), kept(3, "serving/swing");
  double at = 0;
  for (const Timed& t : load) {
    do {
      at += gaps.exponential(1 / 6.0);
    } while (kept.uniform() * 6 > 4 * (1 - 0.5 * std::cos(2 * std::numbers::pi * at / 20)));
    ASSERT_NEAR(t.at, at, 1e-9 * at);
  }
}

// Ends of the shares for weights 1, 1/4 and 1/9.
TEST(DrawnAdapters, adapters_are_found_among_the_sums_of_their_shares) {
  const serving::AdapterDraw draw(3, 2);
  RandomStream drawn(5, "adapters"), own(5, "adapters");
  const double all = 1 + 1 / 4.0 + 1 / 9.0;
  for (int i = 0; i < 300; ++i) {
    const double at = own.uniform() * all;
    EXPECT_EQ(draw(drawn), at < 1 ? 1 : at < 1.25 ? 2 : 3);
  }
  EXPECT_EQ(serving::AdapterDraw(0, 1)(drawn), 0) << "no adapters";
  EXPECT_EQ(drawn.next(), own.next());
}

// The replica with the highest of the name's draws, one draw per replica.
TEST(DrawnHomes, home_is_where_the_highest_draw_is) {
  serving::StepClock clock = serving::even_clock(0.01);
  std::vector<Timed> asked;
  for (int i = 0; i < 60; ++i) {
    asked.push_back({.spec = {.prompt = 5, .output = 2}, .at = 1.0 * i});
    asked.back().spec.session = static_cast<std::uint64_t>(i + 1);
  }
  Fleet fleet({.replicas = 5, .router = Router::session}, {}, clock);
  const FleetRun run = fleet.run(asked);
  ASSERT_EQ(run.records.size(), 60U);
  for (const RequestRecord& r : run.records) {
    int home = -1;
    std::uint64_t highest = 0;
    for (std::uint64_t place = 0; place < 5; ++place) {
      const std::uint64_t draw =
          RandomStream(r.session * 0x9e3779b97f4a7c15ULL + place, "serving/home").next();
      if (home < 0 || draw > highest) highest = draw, home = static_cast<int>(place);
    }
    EXPECT_EQ(r.place, home) << r.session;
  }
}

// An agent's calls: P(Erlang of n - 1 tools < x) = 0.99 at x = 4.60517 for one, 6.63835 for two,
// 8.40595 for three (chi-squared with 2, 4 and 6 degrees of freedom at 99 %, halved).
TEST(DrawnTasks, tails_of_tools_and_calls_add_in_quadrature) {
  const double tails[] = {4.605170186, 6.638352068, 8.405946917};
  for (int calls = 2; calls <= 4; ++calls) {
    const TaskCase c{
        .calls = calls, .call = Seconds(3), .call_p99 = Seconds(5), .tool = Seconds(7)};
    const double mean = 3.0 * calls + 7.0 * (calls - 1);
    EXPECT_DOUBLE_EQ(task_mean(c).base(), mean);
    const double tools = 7 * (tails[calls - 2] - (calls - 1));
    EXPECT_NEAR(task_p99(c).base(), mean + std::hypot(2 * std::sqrt(calls), tools), 1e-6);
  }
  const TaskCase one{.calls = 1, .call = Seconds(3), .call_p99 = Seconds(5), .tool = Seconds(7)};
  EXPECT_DOUBLE_EQ(task_mean(one).base(), 3);
  EXPECT_NEAR(task_p99(one).base(), 5, 1e-9);
}

// Two turns of 60 + 40 tokens, ten conversations per second, thinking times of 2 s: blocks of a
// first turn are idle until the thinking time ends or t is over, those of a second until t is over.
//   5 (100 (2 (1 - e^-t/2)) + 200 t) tokens are idle; a turn finds its history with probability
//   1 - e^-t/2
TEST(DrawnTasks, cache_keeps_its_share_of_a_conversation) {
  for (const double t : {0.5, 2.0, 6.0}) {
    TalkCase c{.turns = 2, .think = 2, .prompt = 60, .output = 40, .at_home = true};
    c.rate = 10;
    c.stay = 0.1;
    const double found = 1 - std::exp(-t / 2);
    const double idle = 5 * (100 * 2 * found + 200 * t);
    // Running: 10 x 0.1 requests with 50 tokens of history, 60 new ones and half of the answer.
    c.tokens = idle + 50 + 60 + 20;
    EXPECT_NEAR(talk_found(c), found, 1e-6) << t;
    c.replicas = 4;
    EXPECT_NEAR(talk_found(c), found, 1e-6) << "at home however many there are";
  }
  TalkCase full{.turns = 2, .think = 2, .prompt = 60, .output = 40, .at_home = true};
  full.rate = 10;
  full.stay = 0.1;
  full.tokens = 130;
  EXPECT_EQ(talk_found(full), 0) << "those that run fill it";
  full.turns = 1;
  full.tokens = 1e9;
  EXPECT_EQ(talk_found(full), 0) << "nothing was said before";
}

}  // namespace
}  // namespace orrery::traffic
