// What a search and a ranking promise: fixed stays fixed, what is found fits, figures of a device
// are of one device, and what has no answer says so and is in no pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/cost/rental.h"
#include "model/machine/known_fixture.h"
#include "study/search/layout_search.h"
#include "study/search/rank.h"

namespace orrery::search {
namespace {

using testing::HasSubstr;

const catalog::Catalog& shelf() { return machine::known().catalog(); }

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

// The narrowest asked for, or the next wider that the part multiplies in; never a narrower one.
TEST(RankLaws, a_part_takes_the_format_asked_for_or_the_next_wider_it_has) {
  using enum catalog::Dtype;
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"b200-sxm"}, fp4)).format, fp4);
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"b200-sxm"}, fp8)).format, fp8);
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"b200-sxm"}, bf16)).format, bf16);
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"h100-sxm"}, fp4)).format, fp8);
  EXPECT_EQ(ranked(asked_of("llama-3-8b", {"a100-80-sxm"}, fp4)).format, bf16);
}

// A model of 8 GB on a device of 80 is served by one: two give less than twice as much.
TEST(RankLaws, a_rate_is_of_one_device_and_of_the_best_split) {
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

TEST(RankLaws, yields_are_per_watt_of_one_device_and_per_dollar_of_an_hour) {
  RankQuery q = asked_of("llama-3-8b", {"h100-sxm"});
  q.rack = kilowatts(35);
  const RankRow r = ranked(q);
  ASSERT_NE(r.node, nullptr);
  EXPECT_EQ(r.node->accelerators, 8) << "the node that most are in, not the largest";
  EXPECT_NEAR(r.per_watt * r.node->max_power->base() / 8, r.tokens_per_s.value, 1e-6);
  EXPECT_NEAR(r.per_rack / (8 * r.tokens_per_s.value), 3, 1e-9) << "three of 10.2 kW in 35";
  const auto price = cost::market_price(shelf().cloud_prices, "h100-sxm", "", false);
  ASSERT_TRUE(price);
  const double usd_an_hour = price->median.base() * 3600;
  EXPECT_GT(usd_an_hour, 0.5);
  EXPECT_LT(usd_an_hour, 20);
  EXPECT_NEAR(r.per_usd, r.tokens_per_s.value * 3600 / usd_an_hour, 1e-6 * r.per_usd);
}

TEST(RankLaws, what_cannot_serve_says_why_stands_last_and_is_in_no_pair) {
  const auto r = rank_accelerators(machine::known(),
                                   asked_of("llama-3.1-405b", {"l40s", "h200-sxm", "b200-sxm"}));
  ASSERT_TRUE(r);
  ASSERT_EQ(r->rows.size(), 3U);
  EXPECT_EQ(r->rows[2].accelerator->id, "l40s");
  EXPECT_THAT(r->rows[2].refused, HasSubstr("do not fit 8"));
  ASSERT_EQ(r->pairs.size(), 1U);
  EXPECT_EQ(r->pairs[0].faster, 0U);
  EXPECT_EQ(r->pairs[0].slower, 1U);
  EXPECT_GE(r->rows[0].tokens_per_s.value, r->rows[1].tokens_per_s.value);
  EXPECT_DOUBLE_EQ(r->pairs[0].ratio,
                   r->rows[0].tokens_per_s.value / r->rows[1].tokens_per_s.value);
  RankQuery quick = asked_of("llama-3-8b", {"h100-sxm"});
  quick.target.tpot_p99 = Seconds(1e-6);
  EXPECT_EQ(ranked(quick).refused, "not even one request meets the target");
}

TEST(RankLaws, a_tight_target_costs_rate) {
  const RankQuery free = asked_of("llama-3-70b", {"h100-sxm"});
  RankQuery bound = free;
  bound.target.tpot_p99 = Seconds(0.02);
  const RankRow r = ranked(bound);
  EXPECT_EQ(r.refused, "");
  EXPECT_LT(r.tokens_per_s.value, ranked(free).tokens_per_s.value);
}

TEST(RankLaws, all_are_those_that_are_sold_in_a_node) {
  const auto r = rank_accelerators(machine::known(), asked_of("llama-3-8b", {}));
  ASSERT_TRUE(r);
  ASSERT_GT(r->rows.size(), 5U);
  for (const RankRow& row : r->rows) {
    ASSERT_NE(row.node, nullptr) << row.accelerator->id;
    EXPECT_EQ(row.node->accelerator_id, row.accelerator->id);
    EXPECT_GT(row.node->accelerators, 0);
  }
}

// Of the faster it counts how far it may fall, of the slower how far it may rise.
TEST(RankLaws, the_error_of_a_ratio_is_of_the_sides_that_meet) {
  const Estimate faster{200, 100, 201}, slower{100, 99, 300};
  EXPECT_NEAR(ratio_error(faster, slower, false), 0.74 * std::hypot(std::log(2), std::log(3)),
              1e-9);
  EXPECT_NEAR(ratio_error(faster, slower, true), 1.22 * std::hypot(std::log(2), std::log(3)), 1e-9);
  EXPECT_TRUE(std::isinf(ratio_error({0, 0, 0}, slower, false)));
  EXPECT_TRUE(std::isinf(ratio_error(faster, {0, 0, 0}, false)));
}

LayoutQuestion fixed_question() {
  return {.model = "llama-3-8b",
          .gpus = 64,
          .batch = 128,
          .sequence = 2048,
          .tp = 2,
          .pp = 4,
          .vp = 3,
          .cp = 5,
          .ep = 6,
          .microbatch = 7};
}

TEST(LayoutLaws, what_is_asked_reaches_the_search) {
  const jobs::LayoutWish w = fixed_by(fixed_question());
  EXPECT_EQ(w.tp, 2);
  EXPECT_EQ(w.pp, 4);
  EXPECT_EQ(w.vp, 3);
  EXPECT_EQ(w.cp, 5);
  EXPECT_EQ(w.ep, 6);
  EXPECT_EQ(w.microbatch, 7);
  EXPECT_FALSE(fixed_by({}).tp);
  LayoutQuestion q = fixed_question();
  q.nic = "200 Gb/s";
  q.precision = "mxfp8";
  q.framework = "torchtitan";
  const auto query = query_of(q, shelf(), nullptr);
  ASSERT_TRUE(query);
  EXPECT_EQ(query->gpus, 64);
  EXPECT_EQ(query->batch, 128);
  EXPECT_EQ(query->sequence, 2048);
  EXPECT_EQ(query->nic, gbits_per_s(200));
  EXPECT_EQ(query->precision, catalog::Precision::mxfp8);
  EXPECT_EQ(query->framework, "torchtitan");
}

TEST(LayoutLaws, every_number_has_its_bounds) {
  const auto code = [](LayoutQuestion q) {
    q.model = "llama-3-8b";
    const auto query = query_of(q, shelf(), nullptr);
    return query ? std::string("none") : query.error().front().code;
  };
  EXPECT_EQ(code({.batch = 0}), "search.range");
  EXPECT_EQ(code({.sequence = 0}), "search.range");
  EXPECT_EQ(code({.sequence = 100'000'001}), "search.range");
  EXPECT_EQ(code({.gpus = 8, .tp = 0}), "search.range");
  EXPECT_EQ(code({.gpus = 8, .tp = 4, .cp = 4}), "search.range");
  EXPECT_EQ(code({.gpus = 8, .ep = 9}), "search.range");
  EXPECT_EQ(code({.gpus = 8, .ep = 8}), "none");
  EXPECT_EQ(code({.vp = 1025}), "search.range");
  EXPECT_EQ(code({.vp = 1024}), "none");
  EXPECT_EQ(code({.microbatch = 1025}), "search.range");
  EXPECT_EQ(code({.microbatch = 1024}), "none");
}

// Every candidate is looked at once: chunks of the space together are the space.
TEST(LayoutLaws, chunks_cover_the_space_and_what_is_found_fits) {
  const LayoutQuestion q{
      .model = "llama-3-70b", .gpus = 64, .batch = 64, .sequence = 4096, .vp = 1};
  const LayoutSearch search(machine::known(), query_of(q, shelf(), nullptr).value(), 4);
  std::int64_t looked = 0;
  std::vector<training::SearchResult> parts;
  for (std::int64_t c = 0; c < search.chunks(); ++c) {
    parts.push_back(search.search_chunk(c));
    looked += parts.back().counts.candidates;
  }
  EXPECT_EQ(looked, search.candidates());
  EXPECT_EQ((search.candidates() + LayoutSearch::kChunk - 1) / LayoutSearch::kChunk,
            search.chunks());
  const FoundLayouts found = search.describe(search.join(parts), true);
  ASSERT_FALSE(found.described.empty());
  const Bytes memory = shelf().accelerator("h100-sxm")->memory;
  for (const jobs::TrainingPrediction& p : found.described) {
    EXPECT_LE(p.memory.peak, memory) << to_text(p.layout);
    EXPECT_TRUE(p.fits) << to_text(p.layout);
  }
  // Taken up again, what was counted is still counted.
  const LayoutProgress progress = LayoutSearch::progress_of(found.found, search.chunks());
  EXPECT_EQ(search.result_of(progress).counts.candidates, search.candidates());
}

TEST(LayoutLaws, half_of_an_odd_number_is_not_tried) {
  EXPECT_THAT(gpu_counts(12, true), testing::ElementsAre(12, 6, 3));
  EXPECT_THAT(gpu_counts(7, true), testing::ElementsAre(7));
  EXPECT_THAT(gpu_counts(4, true), testing::ElementsAre(4, 2, 1));
}

}  // namespace
}  // namespace orrery::search
