#include "study/calc/claim_trial.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "layers/cost/rental.h"
#include "model/machine/known_fixture.h"

namespace orrery::calc {
namespace {

void expect_width(const Estimate& e, double below, double above, const std::string& what) {
  if (e.value == 0) return;
  EXPECT_NEAR(e.low / e.value, 1 - below, 1e-9) << what;
  EXPECT_NEAR(e.high / e.value, 1 + above, 1e-9) << what;
}

const ClaimCheck& ledger_entry(std::string_view id) {
  static const std::vector<ClaimCheck> all = check_claims(machine::known()).value();
  for (const ClaimCheck& c : all) {
    if (c.claim.id == id) return c;
  }
  ADD_FAILURE() << "no claim " << id;
  return all.front();
}

TEST(ClaimTrial, intervals_of_tried_figures) {
  const struct {
    const char* id;
    double width;
  } rows[] = {{"hop-order", 0.02},     {"async-stall", 0.1},    {"util-80", 0.05},
              {"util-4060", 0.1},      {"util-90", 0.1},        {"hot-tier", 0.1},
              {"scale-linear", 0.12},  {"tcp-ceiling", 0.3},    {"quant", 0.05},
              {"lowprec-half", 0.02},  {"net-above-8", 0.3},    {"ckpt-fraction", 0.15},
              {"batch-3-10x", 0.3},    {"inference-more", 0.4}, {"power-share-opex", 0.2},
              {"gpt4-cost", 0.4},      {"cooling-half", 0.1},   {"inference-share", 0.2},
              {"campus-mw", 0.15},     {"av-cluster", 0.05},    {"chat-pod", 0.3},
              {"storage-100", 0.1},    {"nic400", 0},           {"pcie5", 0},
              {"state-live", 0},       {"state-saved", 0},      {"ckpt-70b", 0.005},
              {"ckpt-70b-day", 0.005}, {"gqa-llama3", 0},       {"gang-7of8", 0},
              {"slow-ckpt", 0}};
  for (const auto& row : rows) {
    const auto& cases = ledger_entry(row.id).finding.cases;
    for (const ClaimCase& k : cases) {
      expect_width(k.figure.estimate, row.width, row.width, row.id + (": " + k.figure.label));
    }
  }
}

TEST(ClaimTrial, intervals_of_shown_figures) {
  const struct {
    const char* id;
    std::vector<double> below;
    double more;  // above it, in addition to what is below
  } rows[] = {{"async-stall", {0.12}, 0},
              {"slow-ckpt", {0.12}, 0},
              {"failures-weekly", {0.4, 0.4}, 0.3},
              {"scale-linear", {0.3, 0.05, 0.3}, 0},
              {"tcp-ceiling", {0.3, 0.3}, 0},
              {"net-above-8", {0.3, 0.3}, 0},
              {"batch-3-10x", {0.3}, 0},
              {"inference-more", {0.25, 0.3}, 0},
              {"inference-share", {0.25, 0.3}, 0},
              {"gpt4-cost", {0.4}, 0},
              {"campus-mw", {0.15, 0.15}, 0},
              {"chat-pod", {0.3, 0.3, 0.3, 0.3}, 0},
              {"gang-7of8", {0}, 0},
              {"air-limit", {0}, 0},
              {"state-live", {0}, 0},
              {"ckpt-70b", {0.005}, 0}};
  for (const auto& row : rows) {
    const auto& beside = ledger_entry(row.id).finding.beside;
    ASSERT_EQ(beside.size(), row.below.size()) << row.id;
    for (std::size_t i = 0; i < beside.size(); ++i) {
      expect_width(beside[i].estimate, row.below[i], row.below[i] + row.more, beside[i].label);
    }
  }
  const auto& step = ledger_entry("ckpt-fraction").finding.beside;
  ASSERT_EQ(step.size(), 3U);
  expect_width(step[1].estimate, 0.15, 0.15, step[1].label);
  expect_width(step[2].estimate, 0.15, 0.15, step[2].label);
  expect_width(ledger_entry("hot-tier").finding.beside.at(0).estimate, 0.1, 0.1, "hot tier");
}

TEST(ClaimTrial, about_means_within_5_percent_inclusive) {
  const Criterion c = about(200, figures::Unit::count);
  EXPECT_FALSE(c.meets(189.9));
  EXPECT_TRUE(c.meets(190));
  EXPECT_TRUE(c.meets(210));
  EXPECT_FALSE(c.meets(210.1));
  EXPECT_TRUE(about(100, figures::Unit::count, 0.25).meets(76));
  EXPECT_FALSE(at_least(3, figures::Unit::count).meets(2.9));
  EXPECT_FALSE(at_most(3, figures::Unit::count).meets(3.1));
}

TEST(ClaimTrial, a_dated_fact_is_compared_by_its_start) {
  const auto verdict = [](std::string_view fact) {
    ClaimFinding f;
    try_fact(f, "announced", fact, "2025-09", "test");
    return verdict_of(f);
  };
  EXPECT_EQ(verdict("2025-09-01"), ClaimVerdict::as_of);
  EXPECT_EQ(verdict("2025-10-01"), ClaimVerdict::wrong);
  EXPECT_EQ(verdict(""), ClaimVerdict::wrong);
}

}  // namespace
}  // namespace orrery::calc
