#include "study/search/rank.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "model/machine/known_fixture.h"

namespace orrery::search {
namespace {

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

TEST(rank, decides_no_measured_pair_wrongly) {
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

TEST(rank, an_order_is_decided_where_the_intervals_leave_no_doubt) {
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

TEST(rank, yields_follow_from_the_node_and_the_price) {
  RankQuery q{.model = *machine::known().catalog().model("llama-3-8b"),
              .accelerators = {"h100-sxm"},
              .rack = kilowatts(21)};
  const auto ranking = rank_accelerators(machine::known(), q);
  ASSERT_TRUE(ranking);
  const RankRow& r = ranking->rows.at(0);
  ASSERT_NE(r.node, nullptr);
  const double watts = r.node->max_power->base() / r.node->accelerators;
  EXPECT_NEAR(r.per_watt, r.tokens_per_s.value / watts, 1e-9);
  EXPECT_NEAR(r.per_rack, 2 * 8 * r.tokens_per_s.value, 1e-6) << "two of 10.2 kW in 21 kW";
  EXPECT_GT(r.per_usd, 0);
  q.accelerators = {"no-such-part"};
  EXPECT_FALSE(rank_accelerators(machine::known(), q));
}

}  // namespace
}  // namespace orrery::search
