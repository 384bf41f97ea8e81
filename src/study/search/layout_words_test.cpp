// What a question for layouts says in vain: every sentence, each number on both sides of its bound;
// and what reaches the search of one that can be answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/search/layout_search.h"
#include "study/search/rank.h"

namespace orrery::search::layout_words_tests {
namespace {

using testing::ElementsAre;

const catalog::Catalog& parts_shelf() { return machine::known().catalog(); }

// Code, what and fix of the first fault; "good" where there is none.
std::string said_of(const LayoutQuestion& q, const ReadModelFile& read = nullptr) {
  const auto query = query_of(q, parts_shelf(), read);
  if (query) return "good";
  const Diagnostic& first = query.error().front();
  return first.code + ": " + first.what + (first.fix.empty() ? "" : " | " + first.fix);
}

TEST(LayoutWords, what_is_not_known_is_named_with_what_is) {
  EXPECT_EQ(said_of({.model = "none"}),
            "search.unknown: no model none | `orrery catalog models` lists them");
  const ReadModelFile no_file = [](const std::string& path) -> Result<std::string> {
    return fail({.code = "file", .what = "no " + path});
  };
  EXPECT_EQ(said_of({.model = "none"}, no_file),
            "search.unknown: no model none | an id of the catalog or the path of a config.json");
  EXPECT_EQ(said_of({.model = "llama-3-8b", .accelerator = "abacus"}),
            "search.unknown: no accelerator abacus | `orrery catalog accelerators` lists them");
  EXPECT_EQ(said_of({.model = "llama-3-8b", .precision = "roman"}),
            "search.unknown: no precision roman | bf16, fp8, mxfp8, nvfp4 ...");
  EXPECT_EQ(said_of({.model = "llama-3-8b", .nic = "400"}),
            "search.unknown: \"400\" is no rate | 400 Gb/s");
  EXPECT_EQ(said_of({.model = "llama-3-8b"}), "good");
}

TEST(LayoutWords, a_model_may_be_the_file_that_is_read) {
  const ReadModelFile file = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "my/config.json");
    return std::string(
        R"({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 7,
            "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 2816,
            "vocab_size": 32000})");
  };
  const auto query = query_of({.model = "my/config.json"}, parts_shelf(), file);
  ASSERT_TRUE(query);
  EXPECT_EQ(query->model.layers, 7);
  const ReadModelFile rubbish = [](const std::string&) -> Result<std::string> { return "{"; };
  EXPECT_NE(said_of({.model = "x"}, rubbish).substr(0, 14), "search.unknown");
}

TEST(LayoutWords, every_number_has_its_sentence_and_its_bound) {
  const auto said = [](LayoutQuestion q) {
    q.model = "llama-3-8b";
    return said_of(q);
  };
  const std::string gpus = "search.range: GPUs are 1 to 1,000,000";
  EXPECT_EQ(said({.gpus = 0}), gpus);
  EXPECT_EQ(said({.gpus = 1'000'001}), gpus);
  EXPECT_EQ(said({.gpus = 1'000'000}), "good");
  EXPECT_EQ(said({.gpus = 1}), "good");
  const std::string batch = "search.range: the batch is 1 to 1,000,000,000 sequences";
  EXPECT_EQ(said({.batch = 0}), batch);
  EXPECT_EQ(said({.batch = 1'000'000'001}), batch);
  EXPECT_EQ(said({.batch = 1'000'000'000}), "good");
  EXPECT_EQ(said({.batch = 1}), "good");
  const std::string sequence = "search.range: a sequence is 1 to 100,000,000 tokens";
  EXPECT_EQ(said({.sequence = 0}), sequence);
  EXPECT_EQ(said({.sequence = 100'000'001}), sequence);
  EXPECT_EQ(said({.sequence = 100'000'000}), "good");
  EXPECT_EQ(said({.sequence = 1}), "good");
  const std::string together = "search.range: the fixed tp, pp and cp are 1 to the GPUs together";
  EXPECT_EQ(said({.gpus = 30, .tp = 2, .pp = 3, .cp = 5}), "good");
  EXPECT_EQ(said({.gpus = 29, .tp = 2, .pp = 3, .cp = 5}), together);
  EXPECT_EQ(said({.gpus = 30, .tp = 31}), together);
  EXPECT_EQ(said({.gpus = 30, .pp = 0}), together);
  EXPECT_EQ(said({.gpus = 30, .cp = -1}), together);
  EXPECT_EQ(said({.gpus = 30, .tp = 30}), "good");
  EXPECT_EQ(said({.gpus = 30, .ep = 31}), "search.range: ep is 1 to the GPUs");
  EXPECT_EQ(said({.gpus = 30, .ep = 0}), "search.range: ep is 1 to the GPUs");
  EXPECT_EQ(said({.gpus = 30, .ep = 30}), "good");
  EXPECT_EQ(said({.vp = 0}), "search.range: vp is 1 to 1,024");
  EXPECT_EQ(said({.vp = 1025}), "search.range: vp is 1 to 1,024");
  EXPECT_EQ(said({.vp = 1024}), "good");
  EXPECT_EQ(said({.microbatch = 0}), "search.range: a microbatch is 1 to 1,024");
  EXPECT_EQ(said({.microbatch = 1025}), "search.range: a microbatch is 1 to 1,024");
  EXPECT_EQ(said({.microbatch = 1024}), "good");
}

TEST(LayoutWords, what_is_not_said_is_64_h100_and_4096_tokens) {
  const LayoutQuestion q{.model = "llama-3-8b"};
  EXPECT_EQ(q.accelerator, "h100-sxm");
  EXPECT_EQ(q.gpus, 64);
  EXPECT_EQ(q.batch, 512);
  EXPECT_EQ(q.sequence, 4096);
  EXPECT_EQ(q.precision, "bf16");
  EXPECT_EQ(q.framework, "default");
  const auto query = query_of(q, parts_shelf(), nullptr);
  ASSERT_TRUE(query);
  EXPECT_EQ(query->model.id, "llama-3-8b");
  EXPECT_EQ(query->accelerator->id, "h100-sxm");
  EXPECT_EQ(query->nic, gbytes_per_s(50));
  EXPECT_EQ(query->gpus, 64);
  EXPECT_EQ(query->batch, 512);
  EXPECT_DOUBLE_EQ(query->sequence, 4096);
  EXPECT_THAT(gpu_counts(1, true), ElementsAre(1));
  EXPECT_THAT(gpu_counts(2, true), ElementsAre(2, 1));
}

// Candidates in chunks of 4096: the last has what is left, and there is none behind it.
TEST(LayoutWords, a_search_is_cut_into_chunks_and_goes_on_from_any) {
  const LayoutQuestion q{.model = "llama-3-8b", .gpus = 8, .batch = 32, .vp = 1, .microbatch = 1};
  const LayoutSearch search(machine::known(), query_of(q, parts_shelf(), nullptr).value(), 3);
  EXPECT_EQ(LayoutSearch::kChunk, 4096);
  EXPECT_EQ(search.keep(), 3);
  ASSERT_GT(search.candidates(), 3);
  std::int64_t looked = 0;
  training::SearchResult result;
  for (std::int64_t c = 0; c < search.chunks(); ++c) {
    const training::SearchResult part = search.search_chunk(c);
    looked += part.counts.candidates;
    result = search.join({result, part});
  }
  EXPECT_EQ(looked, search.candidates());
  ASSERT_EQ(result.best.size(), 3u);
  const LayoutProgress progress = LayoutSearch::progress_of(result, 5);
  EXPECT_EQ(progress.chunks, 5);
  EXPECT_EQ(progress.counts.candidates, search.candidates());
  EXPECT_THAT(progress.best,
              ElementsAre(result.best[0].index, result.best[1].index, result.best[2].index));
  // The first and the last candidate are candidates; before and behind them there are none.
  const training::SearchResult again =
      search.result_of({.best = {result.best[1].index, -1, search.candidates()}});
  ASSERT_EQ(again.best.size(), 1u);
  EXPECT_EQ(again.best[0].index, result.best[1].index);
  EXPECT_EQ(again.best[0].layout, result.best[1].layout);
  const FoundLayouts found = search.describe(again, false);
  EXPECT_EQ(found.gpus, 8);
  EXPECT_FALSE(found.whole);
  ASSERT_EQ(found.described.size(), 1u);
  EXPECT_EQ(found.described[0].layout, result.best[1].layout);
  EXPECT_TRUE(found.described[0].fits);
}

RankRow only_row(const RankQuery& q) {
  return rank_accelerators(machine::known(), q).value().rows.at(0);
}

TEST(RankWords, a_part_that_is_not_there_or_does_not_fit_is_told_so) {
  RankQuery q{.model = *parts_shelf().model("llama-3.1-405b"),
              .request = {.input = 512, .output = 128},
              .accelerators = {"l40s"}};
  const RankRow small = only_row(q);
  EXPECT_EQ(small.refused, "weights and one request do not fit 8 of them");
  EXPECT_EQ(small.per_watt, 0);
  EXPECT_EQ(small.per_rack, 0);
  EXPECT_EQ(small.per_usd, 0);
  EXPECT_EQ(small.tokens_per_s.value, 0);
  q.accelerators = {"h100-sxm", "abacus"};
  const auto none = rank_accelerators(machine::known(), q);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().code, "rank.accelerator");
  EXPECT_EQ(none.error().front().what, "the catalog has no accelerator `abacus`");
  EXPECT_EQ(none.error().front().why, "`orrery catalog accelerators` lists them");
  const RankQuery usual;
  EXPECT_EQ(usual.format, catalog::Dtype::fp8);
  EXPECT_EQ(usual.engine, "vllm");
  EXPECT_EQ(usual.rack, kilowatts(40));
}

// A part that multiplies in nothing that is served.
TEST(RankWords, a_part_without_the_formats_is_told_so) {
  machine::Models models = machine::known();
  auto knowledge = std::make_shared<catalog::Knowledge>(*models.knowledge);
  for (catalog::Accelerator& a : knowledge->catalog.accelerators) {
    if (a.id == "h100-sxm") a.dense_peak = {};
  }
  models.knowledge = knowledge;
  const auto ranking = rank_accelerators(models, {.model = *parts_shelf().model("llama-3-8b"),
                                                  .request = {.input = 512, .output = 128},
                                                  .accelerators = {"h100-sxm", "h200-sxm"}});
  ASSERT_TRUE(ranking);
  EXPECT_EQ(ranking->rows.at(0).accelerator->id, "h200-sxm");
  EXPECT_EQ(ranking->rows.at(0).refused, "");
  EXPECT_EQ(ranking->rows.at(1).refused, "it has none of the number formats");
  EXPECT_EQ(ranking->pairs.size(), 0u);
}

// A rack that feeds exactly one node of 10.2 kW, and one that feeds none.
TEST(RankWords, a_rack_holds_whole_nodes) {
  RankQuery q{.model = *parts_shelf().model("llama-3-8b"),
              .request = {.input = 512, .output = 128},
              .accelerators = {"h100-sxm"},
              .rack = kilowatts(10.2)};
  const RankRow one = only_row(q);
  EXPECT_EQ(one.node->id, "dgx-h100") << "the first of those with eight";
  EXPECT_DOUBLE_EQ(one.per_rack, 8 * one.tokens_per_s.value);
  EXPECT_DOUBLE_EQ(one.per_watt, one.tokens_per_s.value / 1275) << "10.2 kW / 8";
  q.rack = kilowatts(10.1);
  EXPECT_EQ(only_row(q).per_rack, 0);
}

// The interval of a replica of several is divided with its value.
TEST(RankWords, pairs_say_how_far_apart_and_how_sure) {
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

}  // namespace
}  // namespace orrery::search::layout_words_tests
