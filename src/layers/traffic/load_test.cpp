// Requests as drawn, and the figures of windows of them, compared with what was specified and with
// sums by hand.
#include "layers/traffic/load.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "layers/serving/test_costs.h"
#include "layers/traffic/load_window.h"

namespace orrery::traffic {
namespace {

// Returns the mean and coefficient of variation of the gaps.
std::pair<double, double> gaps_of(double cv) {
  const auto load = open_load({.rate = 4, .cv = cv, .requests = 40000, .seed = 3});
  double sum = 0, squares = 0, before = 0;
  for (const Timed& t : load) {
    const double gap = t.at - before;
    before = t.at;
    sum += gap;
    squares += gap * gap;
  }
  const double n = static_cast<double>(load.size());
  return {sum / n, std::sqrt(squares / n - sum / n * sum / n) / (sum / n)};
}

TEST(OpenLoad, gaps_have_their_mean_and_variation) {
  EXPECT_NEAR(gaps_of(0).first, 0.25, 1e-12);
  EXPECT_NEAR(gaps_of(0).second, 0, 1e-5);
  for (const double cv : {0.5, 1.0, 2.0}) {
    const auto [mean, variation] = gaps_of(cv);
    EXPECT_NEAR(mean, 0.25, 0.25 * 3 * cv / 200) << cv;
    EXPECT_NEAR(variation, cv, cv * 0.03) << cv;
  }
}

// In a Poisson stream e^-1 of the gaps are longer than the mean; with shape 4, 0.4335.
TEST(OpenLoad, gaps_have_their_shape) {
  const auto longer = [](double cv, double than) {
    const auto load = open_load({.rate = 1, .cv = cv, .requests = 40000, .seed = 5});
    double before = 0, count = 0;
    for (const Timed& t : load) {
      count += t.at - before > than ? 1 : 0;
      before = t.at;
    }
    return count / 40000;
  };
  EXPECT_NEAR(longer(1, 1), std::exp(-1.0), 0.006);
  // Erlang 4: exp(-x) (1 + x + x^2/2 + x^3/6) at x = 4 and at x = 8.
  EXPECT_NEAR(longer(0.5, 1), std::exp(-4.0) * (1 + 4 + 8 + 64 / 6.0), 0.006);
  EXPECT_NEAR(longer(0.5, 2), std::exp(-8.0) * (1 + 8 + 32 + 512 / 6.0), 0.003);
  // Shape 1/4: gamma(1/4) exceeds 1/4 with probability 0.2563 and 1 with 0.0669.
  EXPECT_NEAR(longer(2, 1), 0.2563, 0.009);
}

// A rate of 10 that varies by 0.8 over 100 s: from 2 at the beginning to 18 in the middle.
TEST(OpenLoad, rate_varies_over_the_period) {
  const auto load = open_load(
      {.rate = 10, .swing = 0.8, .period = 100, .requests = 40000, .prompt = {}, .seed = 2});
  std::array<double, 10> count{};
  for (const Timed& t : load) {
    count[static_cast<std::size_t>(std::fmod(t.at, 100) / 10)] += 1;
  }
  EXPECT_NEAR(load.back().at, 4000, 60);
  const double periods = load.back().at / 100;
  for (std::size_t i = 0; i < count.size(); ++i) {
    const double from = 2 * M_PI * static_cast<double>(i) / 10, to = from + 2 * M_PI / 10;
    const double mean = 10 * (1 - 0.8 * (std::sin(to) - std::sin(from)) / (to - from));
    EXPECT_NEAR(count[i] / periods / 10, mean, 0.15 + 0.05 * mean) << i;
  }
}

TEST(Lengths, lengths_follow_their_distribution) {
  RandomStream stream(1, "test");
  EXPECT_EQ(draw_length({.length = 700}, stream), 700);
  EXPECT_EQ(draw_length({.length = 0.2}, stream), 1);
  int least = 1000, most = 0;
  double sum = 0;
  for (int i = 0; i < 20000; ++i) {
    const int n = draw_length({.length = 100, .least_share = 0.9}, stream);
    least = std::min(least, n), most = std::max(most, n), sum += n;
  }
  EXPECT_EQ(least, 90);
  EXPECT_EQ(most, 100);
  EXPECT_NEAR(sum / 20000, 95, 0.1);
  EXPECT_EQ(mean_length({.length = 100, .least_share = 0.9}), 95);
  EXPECT_EQ(mean_length({.length = 100}), 100);
}

TEST(Lengths, log_normal_lengths_have_their_median_tail_and_mean) {
  const LengthLaw law{.length = 1000, .p99 = 8000};
  RandomStream stream(4, "test");
  double above_median = 0, above_p99 = 0, sum = 0;
  constexpr int kMany = 40000;
  for (int i = 0; i < kMany; ++i) {
    const int n = draw_length(law, stream);
    above_median += n >= 1000 ? 1 : 0;
    above_p99 += n > 8000 ? 1 : 0;
    sum += n;
  }
  EXPECT_NEAR(above_median / kMany, 0.5, 0.008);
  EXPECT_NEAR(above_p99 / kMany, 0.01, 0.0015);
  const double sigma = std::log(8.0) / 2.3263479;
  EXPECT_NEAR(mean_length(law), 1000 * std::exp(sigma * sigma / 2), 1e-3);
  EXPECT_NEAR(sum / kMany / mean_length(law), 1, 0.02);
}

TEST(Lengths, equal_seeds_draw_equal_requests) {
  const auto a = draw_requests(50, {.length = 100, .least_share = 0}, {.length = 9}, 1);
  const auto b = draw_requests(50, {.length = 100, .least_share = 0}, {.length = 30}, 1);
  const auto c = draw_requests(50, {.length = 100, .least_share = 0}, {.length = 9}, 2);
  int differ = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(a[i].prompt, b[i].prompt);
    EXPECT_EQ(a[i].output, 9);
    differ += a[i].prompt != c[i].prompt ? 1 : 0;
  }
  EXPECT_GT(differ, 40);
}

RequestRecord latency_record(double arrived, double first, double last, int output,
                             int prompt = 100) {
  RequestRecord r;
  r.prompt = prompt;
  r.output = output;
  r.arrived = arrived;
  r.first = first;
  r.last = last;
  return r;
}

TEST(Summary, summary_matches_hand_calculation) {
  const LatencySummary s =
      summarise({latency_record(1, 2, 4, 5), latency_record(2, 5, 5, 1),
                 latency_record(3, 3.5, 9.5, 13), latency_record(4, 8, 10, 2)});
  EXPECT_EQ(s.count, 4);
  EXPECT_DOUBLE_EQ(s.ttft_mean, (1 + 3 + 0.5 + 4) / 4);
  EXPECT_DOUBLE_EQ(s.ttft_p50, 2);
  EXPECT_NEAR(s.ttft_p99, 4, 0.04);
  EXPECT_DOUBLE_EQ(s.tpot_mean, (0.5 + 0.5 + 2) / 3) << "one token has no time between";
  EXPECT_DOUBLE_EQ(s.tpot_p50, 0.5);
  EXPECT_NEAR(s.tpot_p99, 2, 0.04);
  EXPECT_DOUBLE_EQ(s.e2e_mean, (3 + 3 + 6.5 + 6) / 4);
  EXPECT_DOUBLE_EQ(s.e2e_p50, 4.5);
  EXPECT_NEAR(s.e2e_p99, 6.5, 0.02);
  EXPECT_DOUBLE_EQ(s.output_tokens_per_s, 21 / 9.0);
  EXPECT_DOUBLE_EQ(s.requests_per_s, 4 / 9.0);
  EXPECT_EQ(summarise({}).count, 0);
}

// Three clients, one place: each sends its next request a second after its answer.
TEST(ClosedClients, clients_ask_again_after_thinking) {
  serving::StepClock clock = serving::toy_clock({.step = 0.01});
  engines::EnginePolicy policy;
  policy.blocks = 100;
  ReplicaSim replica(policy, clock);
  const auto records =
      run_closed(replica, draw_requests(9, {.length = 10}, {.length = 3}, 1), 3, 1);
  ASSERT_EQ(records.size(), 9u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(records[i].arrived, 0);
  for (std::size_t i = 3; i < 9; ++i) EXPECT_DOUBLE_EQ(records[i].arrived, records[i - 3].last + 1);
}

// Sixteen requests over [100, 108): two in each part, the second of them late.
FleetRun sixteen() {
  FleetRun run;
  for (int i = 0; i < 16; ++i) {
    const double at = 100 + 0.5 * i;
    const double ttft = i % 2 == 0 ? 1 : 3;
    run.records.push_back(latency_record(at, at + ttft, at + ttft + 2, 5));
    run.records.back().cached = 20;
    run.records.back().fetched = 5;
  }
  run.records.push_back(latency_record(99.9, 150, 250, 5));
  run.records.push_back(latency_record(108, 150, 250, 5));
  return run;
}

constexpr WindowSpan kSpan{.begins = 100, .ends = 108, .last = 110};

TEST(Window, window_matches_hand_calculation) {
  const ClientView view{.aside = 0.1, .accepted = 2, .ttft = 2, .tpot = 1, .whole = 100};
  const LoadWindow w = window_of(sixteen(), 2, kSpan, view);
  EXPECT_EQ(w.rate, 2);
  EXPECT_DOUBLE_EQ(w.stay, 4);
  EXPECT_DOUBLE_EQ(w.busy, 1 - std::exp(-8.0));
  EXPECT_DOUBLE_EQ(w.found, 0.2);
  EXPECT_DOUBLE_EQ(w.fetched, 0.05);
  for (const WindowPart& part : w.parts) {
    EXPECT_EQ(part.requests, 2);
    EXPECT_EQ(part.good, 0.5);
    EXPECT_DOUBLE_EQ(part.ttft[99], 1 + 0.1 + 0.5);
    EXPECT_DOUBLE_EQ(part.ttft[100], 3 + 0.1 + 0.5);
    EXPECT_DOUBLE_EQ(part.tpot[0], 0.25) << "two tokens a step";
    EXPECT_DOUBLE_EQ(part.whole[0], 3 + 0.6);
    EXPECT_DOUBLE_EQ(part.whole[199], 5 + 0.6);
  }
}

TEST(Window, every_objective_counts) {
  const auto good = [](const ClientView& view) {
    return window_of(sixteen(), 2, kSpan, view).parts[3].good;
  };
  EXPECT_EQ(good({}), 1);
  EXPECT_EQ(good({.ttft = 1.5}), 0.5) << "1.5 with the step ahead is in time";
  EXPECT_EQ(good({.ttft = 1.49}), 0);
  EXPECT_EQ(good({.tpot = 0.5}), 1);
  EXPECT_EQ(good({.tpot = 0.49}), 0);
  EXPECT_EQ(good({.whole = 3.5}), 0.5);
  EXPECT_EQ(good({.whole = 3.49}), 0);
  EXPECT_EQ(window_of({}, 2, kSpan, {}).parts[0].good, 1) << "no request was late";
}

LoadWindow level_window(double rate, double value, double requests) {
  LoadWindow w{.rate = rate};
  for (WindowPart& part : w.parts) {
    part.requests = requests;
    part.good = value < 5 ? 1 : 0;
    part.ttft.fill(value);
  }
  return w;
}

TEST(Weights, weights_are_split_between_neighbouring_loads) {
  const std::vector<LoadWindow> levels{level_window(1, 1, 10), level_window(2, 2, 10),
                                       level_window(4, 8, 10)};
  std::vector<double> weights(3, 0.0);
  add_weight(weights, levels, 0.5, 1);
  EXPECT_EQ(weights, (std::vector<double>{1, 0, 0}));
  add_weight(weights, levels, 2, 1);
  EXPECT_EQ(weights, (std::vector<double>{1, 1, 0}));
  add_weight(weights, levels, 2.5, 4);
  EXPECT_EQ(weights, (std::vector<double>{1, 4, 1}));
  add_weight(weights, levels, 9, 2);
  EXPECT_EQ(weights, (std::vector<double>{1, 4, 3}));
  EXPECT_DOUBLE_EQ(good_share(levels, weights), 5 / 8.0);
  EXPECT_NEAR(sampled(levels, weights, &WindowPart::ttft, 0).value, (1 + 8 + 24) / 8.0, 1e-9);
  EXPECT_DOUBLE_EQ(sampled(levels, weights, &WindowPart::ttft, 0.12).value, 1);
  EXPECT_DOUBLE_EQ(sampled(levels, weights, &WindowPart::ttft, 0.13).value, 2);
  EXPECT_DOUBLE_EQ(sampled(levels, weights, &WindowPart::ttft, 0.62).value, 2);
  EXPECT_DOUBLE_EQ(sampled(levels, weights, &WindowPart::ttft, 0.63).value, 8);
  EXPECT_EQ(sampled(levels, std::vector<double>(3, 0.0), &WindowPart::ttft, 0).value, 0);
  std::vector<double> none;
  add_weight(none, {}, 1, 1);
}

// Parts with means 1 to 8: without part i the mean is (36 - i) / 7, and the squares of their
// deviations add up to 42/49.
TEST(SamplingError, error_of_a_mean_is_the_jackknife) {
  LoadWindow w = level_window(1, 1, 10);
  for (std::size_t i = 0; i < kWindowParts; ++i) w.parts[i].ttft.fill(static_cast<double>(i + 1));
  const std::vector<LoadWindow> levels{w};
  const std::vector<double> weights{1};
  const Sampled s = sampled(levels, weights, &WindowPart::ttft, 0);
  EXPECT_NEAR(s.value, 4.5, 1e-9);
  const double ones = 1.415 * std::sqrt(42.0 / 49 * 7 / 8);
  // Pairs 3, 7, 11, 15: without one of them (36 - x) / 6.
  const double pairs = 1.638 * std::sqrt((36.0 + 4 + 4 + 36) / 36 * 3 / 4);
  EXPECT_NEAR(s.error, std::max(ones, pairs) / 4.5, 1e-9);
  // Parts that alternate: single parts give the larger error.
  for (std::size_t i = 0; i < kWindowParts; ++i) w.parts[i].ttft.fill(i % 2 == 0 ? 3 : 6);
  const Sampled swings = sampled(std::vector<LoadWindow>{w}, weights, &WindowPart::ttft, 0);
  EXPECT_NEAR(swings.error, 1.415 * std::sqrt(8 * std::pow(1.5 / 7, 2) * 7 / 8) / 4.5, 1e-12);
}

// All parts alike, 25 requests each: the share below the p90 has the error of 200 independent
// requests.
TEST(SamplingError, error_of_a_quantile_is_that_of_its_share) {
  LoadWindow w = level_window(1, 1, 25);
  for (WindowPart& part : w.parts) {
    for (std::size_t i = 0; i < kLatencyPoints; ++i) part.ttft[i] = static_cast<double>(i + 1);
  }
  const std::vector<LoadWindow> levels{w};
  const Sampled s = sampled(levels, std::vector<double>{3}, &WindowPart::ttft, 0.8925);
  EXPECT_DOUBLE_EQ(s.value, 179);
  // 1.2816 sqrt(0.8925 x 0.1075 / 200) = 0.02807: from 0.86443 to 0.92057 of 200 values.
  EXPECT_DOUBLE_EQ(s.error, 6 / 179.0);
  const Sampled high = sampled(levels, std::vector<double>{3}, &WindowPart::ttft, 0.9925);
  EXPECT_DOUBLE_EQ(high.value, 199);
  // 0.00782 more is beyond all values; 0.98468 is the 197th.
  EXPECT_DOUBLE_EQ(high.error, 2 / 199.0);
}

}  // namespace
}  // namespace orrery::traffic
