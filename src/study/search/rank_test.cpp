#include "study/search/rank.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <map>

#include "layers/cost/rental.h"
#include "model/machine/known_fixture.h"
#include "study/search/search_fixture.h"

namespace orrery::search {
namespace {

using testing::HasSubstr;

RankRow only_row(const RankQuery& q) {
  return rank_accelerators(machine::known(), q).value().rows.at(0);
}

// A rack that feeds exactly one node of 10.2 kW, and one that feeds none.
TEST(Rank, a_rack_holds_whole_nodes) {
  RankQuery q{.model = *parts_shelf().model("llama-3-8b"),
              .request = {.input = 512, .output = 128},
              .accelerators = {"h100-sxm"},
              .rack = kilowatts(10.2)};
  const RankRow one = only_row(q);
  EXPECT_EQ(one.node->id, "dgx-h100");
  EXPECT_DOUBLE_EQ(one.per_rack, 8 * one.tokens_per_s.value);
  EXPECT_DOUBLE_EQ(one.per_watt, one.tokens_per_s.value / 1275) << "10.2 kW / 8";
  q.rack = kilowatts(10.1);
  EXPECT_EQ(only_row(q).per_rack, 0);
}

// The interval of a rate over several devices is divided with its value.
TEST(Rank, pairs_have_ratio_and_certainty) {
  RankQuery q{.model = *parts_shelf().model("llama-3-70b"),
              .request = {.input = 512, .output = 128},
              .accelerators = {"h100-sxm", "b200-sxm"}};
  const auto ranking = rank_accelerators(machine::known(), q);
  ASSERT_TRUE(ranking && ranking->rows.size() == 2);
  EXPECT_EQ(ranking->rows[0].accelerator->id, "b200-sxm");
  const Estimate& fast = ranking->rows[0].tokens_per_s;
  const Estimate& slow = ranking->rows[1].tokens_per_s;
  ASSERT_EQ(ranking->pairs.size(), 1u);
  EXPECT_DOUBLE_EQ(ranking->pairs[0].ratio, fast.value / slow.value);
  // A dense model: 0.74 of what two independent rates would have.
  const double error =
      0.74 * std::hypot(std::log(fast.value / fast.low), std::log(slow.high / slow.value));
  EXPECT_NEAR(ranking->pairs[0].factor, std::exp(error), 1e-9);
  EXPECT_EQ(ranking->pairs[0].decided, std::log(fast.value / slow.value) > error);
}

struct Measured {
  RankQuery query;
  std::map<std::string, double> rates;  // by accelerator
};

// Three models of MLPerf Inference v5.1, each with the best closed result of an accelerator. The
// lengths are the means of the benchmarks' data sets.
std::map<std::string, Measured> measured() {
  std::map<std::string, Measured> all;
  const CsvTable table = machine::known().knowledge->table("validation/rank_serving.csv").value();
  for (const CsvRow& row : table.rows()) {
    const std::string model(table.text(row, "model"));
    Measured& m = all[model];
    m.query.model = *machine::known().catalog().model(model);
    m.query.request = {.input = table.number(row, "input").value(),
                       .output = table.number(row, "output").value()};
    m.query.format = catalog::Dtype::fp4;
    const std::string id(table.text(row, "accelerator"));
    m.query.accelerators.push_back(id);
    m.rates[id] = table.number(row, "tokens_per_s").value();
  }
  return all;
}

TEST(Rank, no_measured_pair_is_decided_wrongly) {
  int pairs = 0;
  int decided = 0;
  int apart = 0;
  int apart_decided = 0;
  for (const auto& [model, m] : measured()) {
    const auto ranking = rank_accelerators(machine::known(), m.query);
    ASSERT_TRUE(ranking) << model;
    for (const RankRow& r : ranking->rows) {
      EXPECT_EQ(r.refused, "") << model << " on " << r.accelerator->id;
      std::printf("%s %s predicted %.0f [%.0f .. %.0f] measured %.0f\n", model.c_str(),
                  r.accelerator->id.c_str(), r.tokens_per_s.value, r.tokens_per_s.low,
                  r.tokens_per_s.high, m.rates.at(r.accelerator->id));
    }
    for (const RankPair& p : ranking->pairs) {
      const std::string& fast = ranking->rows[p.faster].accelerator->id;
      const std::string& slow = ranking->rows[p.slower].accelerator->id;
      const double ratio = m.rates.at(fast) / m.rates.at(slow);
      ++pairs;
      decided += p.decided;
      if (p.decided) {
        EXPECT_GT(ratio, 1) << model << ": " << fast << " over " << slow;
      }
      if (ratio > 1.25 || ratio < 0.8) ++apart, apart_decided += p.decided;
    }
  }
  std::printf("%d of %d pairs decided, %d of %d that are 25 %% apart\n", decided, pairs,
              apart_decided, apart);
  EXPECT_GE(decided, 0.7 * pairs);
  EXPECT_GE(apart_decided, 0.85 * apart);
}

TEST(Rank, pairs_are_decided_if_intervals_allow) {
  const Estimate fast{200, 160, 250};
  EXPECT_TRUE(is_decided(fast, {100, 80, 125}, false));
  EXPECT_FALSE(is_decided(fast, {160, 128, 200}, false));
  EXPECT_FALSE(is_decided(fast, {0, 0, 0}, false));
  // Two intervals of 25 %: ln 1.25 x sqrt 2 = 0.3156; a ratio of 1.263 and of 1.47.
  EXPECT_NEAR(ratio_error(fast, {100, 80, 125}, false), 0.3156 * 0.74, 1e-3);
  EXPECT_TRUE(is_decided(fast, {158, 126.4, 197.5}, false)) << "0.2357 against 0.2335";
  EXPECT_FALSE(is_decided(fast, {158, 126.4, 197.5}, true)) << "0.2357 against 0.385";
  EXPECT_TRUE(is_decided(fast, {136, 108.8, 170}, true)) << "0.3857 against 0.385";
}

TEST(Rank, yields_follow_from_node_and_price) {
  RankQuery q{.model = *machine::known().catalog().model("llama-3-8b"),
              .accelerators = {"h100-sxm"},
              .rack = kilowatts(21)};
  const auto ranking = rank_accelerators(machine::known(), q);
  ASSERT_TRUE(ranking);
  const RankRow& r = ranking->rows.at(0);
  ASSERT_NE(r.node, nullptr);
  const double watts = r.node->max_power->base() / r.node->accelerators;
  EXPECT_NEAR(r.per_watt, r.tokens_per_s.value / watts, 1e-9);
  EXPECT_NEAR(r.per_rack, 2 * 8 * r.tokens_per_s.value, 1e-6);
  EXPECT_GT(r.per_usd, 0);
  q.accelerators = {"no-such-part"};
  EXPECT_FALSE(rank_accelerators(machine::known(), q));
}

RankQuery asked_of(const char* model, std::vector<std::string> accelerators,
                   catalog::Dtype format = catalog::Dtype::fp8) {
  return {.model = *shelf().model(model),
          .request = {.input = 512, .output = 512},
          .format = format,
          .accelerators = std::move(accelerators)};
}

RankRow ranked(const RankQuery& q) {
  return rank_accelerators(machine::known(), q).value().rows.at(0);
}

// The narrowest format asked for, or the next wider one that the part multiplies in; never a
// narrower one.
TEST(Rank, the_next_wider_format_is_used) {
  using enum catalog::Dtype;
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"b200-sxm"}, fp4)).format, fp4);
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"b200-sxm"}, fp8)).format, fp8);
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"b200-sxm"}, bf16)).format, bf16);
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"h100-sxm"}, fp4)).format, fp8);
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"a100-80-sxm"}, fp4)).format, bf16);
}

// A model of 8 GB on a device of 80 GB is served by one device: two give less than twice as much.
TEST(Rank, rates_are_per_device_of_the_best_split) {
  const RankRow r = ranked(asked_of("llama-3-8b", {"h100-sxm"}));
  EXPECT_EQ(r.devices, 1);
  const RankRow wide = ranked(asked_of("llama-3.1-405b", {"h200-sxm"}));
  ASSERT_GT(wide.devices, 1);
  // The interval goes with the value: it is of the same device.
  for (const RankRow* row : {&r, &wide}) {
    EXPECT_LT(row->tokens_per_s.low, row->tokens_per_s.value);
    EXPECT_GT(row->tokens_per_s.high, row->tokens_per_s.value);
    EXPECT_LT(row->tokens_per_s.high, 3 * row->tokens_per_s.value);
    EXPECT_GT(row->tokens_per_s.low, row->tokens_per_s.value / 3);
  }
}

TEST(Rank, yields_are_per_watt_and_per_dollar) {
  RankQuery q = asked_of("llama-3-8b", {"h100-sxm"});
  q.rack = kilowatts(35);
  const RankRow r = ranked(q);
  ASSERT_NE(r.node, nullptr);
  EXPECT_EQ(r.node->accelerators, 8);
  EXPECT_NEAR(r.per_watt * r.node->max_power->base() / 8, r.tokens_per_s.value, 1e-6);
  EXPECT_NEAR(r.per_rack / (8 * r.tokens_per_s.value), 3, 1e-9);
  const auto price = cost::market_price(shelf().cloud_prices, "h100-sxm", "", false);
  ASSERT_TRUE(price);
  const double usd_an_hour = price->median.base() * 3600;
  EXPECT_GT(usd_an_hour, 0.5);
  EXPECT_LT(usd_an_hour, 20);
  EXPECT_NEAR(r.per_usd, r.tokens_per_s.value * 3600 / usd_an_hour, 1e-6 * r.per_usd);
}

TEST(Rank, infeasible_parts_are_last_and_unpaired) {
  const auto r = rank_accelerators(machine::known(),
                                   asked_of("llama-3.1-405b", {"l40s", "h200-sxm", "b200-sxm"}));
  ASSERT_TRUE(r);
  ASSERT_EQ(r->rows.size(), 3U);
  EXPECT_EQ(r->rows[2].accelerator->id, "l40s");
  EXPECT_THAT(r->rows[2].refused, HasSubstr("do not fit on 8"));
  ASSERT_EQ(r->pairs.size(), 1U);
  EXPECT_EQ(r->pairs[0].faster, 0U);
  EXPECT_EQ(r->pairs[0].slower, 1U);
  EXPECT_GE(r->rows[0].tokens_per_s.value, r->rows[1].tokens_per_s.value);
  EXPECT_DOUBLE_EQ(r->pairs[0].ratio,
                   r->rows[0].tokens_per_s.value / r->rows[1].tokens_per_s.value);
  RankQuery quick = asked_of("llama-3-8b", {"h100-sxm"});
  quick.target.tpot_p99 = Seconds(1e-6);
  EXPECT_NE(ranked(quick).refused, "");
}

TEST(Rank, a_tight_target_costs_throughput) {
  const RankQuery free = asked_of("llama-3-70b", {"h100-sxm"});
  RankQuery bound = free;
  bound.target.tpot_p99 = Seconds(0.02);
  const RankRow r = ranked(bound);
  EXPECT_EQ(r.refused, "");
  EXPECT_LT(r.tokens_per_s.value, ranked(free).tokens_per_s.value);
}

TEST(Rank, all_accelerators_with_a_node_are_ranked) {
  const auto r = rank_accelerators(machine::known(), asked_of("llama-3-8b", {}));
  ASSERT_TRUE(r);
  ASSERT_GT(r->rows.size(), 5U);
  for (const RankRow& row : r->rows) {
    ASSERT_NE(row.node, nullptr) << row.accelerator->id;
    EXPECT_EQ(row.node->accelerator_id, row.accelerator->id);
    EXPECT_GT(row.node->accelerators, 0);
  }
}

// The low end of the faster and the high end of the slower count.
TEST(Rank, ratio_errors_use_the_facing_sides) {
  const Estimate faster{200, 100, 201}, slower{100, 99, 300};
  EXPECT_NEAR(ratio_error(faster, slower, false), 0.74 * std::hypot(std::log(2), std::log(3)),
              1e-9);
  EXPECT_NEAR(ratio_error(faster, slower, true), 1.22 * std::hypot(std::log(2), std::log(3)), 1e-9);
  EXPECT_TRUE(std::isinf(ratio_error({0, 0, 0}, slower, false)));
  EXPECT_TRUE(std::isinf(ratio_error(faster, {0, 0, 0}, false)));
}

}  // namespace
}  // namespace orrery::search
