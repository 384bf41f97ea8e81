#include "study/search/layout_search.h"

#include <gmock/gmock.h>

#include "core/base/text.h"
#include "layers/cost/rental.h"
#include "model/machine/known_fixture.h"
#include "study/search/search_fixture.h"

namespace orrery::search {
namespace {

using testing::ElementsAre;

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

// The whole result of a search, to the last bit.
std::string got(const FoundLayouts& found) {
  const training::SearchCounts& c = found.found.counts;
  std::string out;
  for (const std::int64_t n : {c.candidates, c.refused, c.too_large, c.bounded, c.evaluated}) {
    out += std::to_string(n) + ' ';
  }
  for (std::size_t i = 0; i < found.described.size(); ++i) {
    const jobs::TrainingPrediction& p = found.described[i];
    out += '\n' + std::to_string(found.found.best[i].index) + ' ' + to_text(p.layout) + ' ' +
           shortest(p.step.seconds) + ' ' + shortest(p.memory.peak.base());
    if (i > 0) out += why_slower(found.found.best[0], found.found.best[i]);
  }
  return out;
}

// A space of a few chunks, so that it can be cut in the middle.
LayoutQuestion small_question() {
  return {.model = "llama-3-8b", .gpus = 64, .batch = 256, .sequence = 4096};
}

class LayoutSearches : public testing::Test {
 protected:
  jobs::TrainingQuery query() const { return query_of(small_question(), catalog, nullptr).value(); }

  std::string searched_in_one_go() const {
    const LayoutSearch search(models, query(), 5);
    std::vector<training::SearchResult> parts;
    for (std::int64_t c = 0; c < search.chunks(); ++c) parts.push_back(search.search_chunk(c));
    return got(search.describe(search.join(parts), true));
  }

  const catalog::Catalog& catalog = machine::known().catalog();
  const machine::Models& models = machine::known();
};

TEST_F(LayoutSearches, a_resumed_search_gives_the_same_answer) {
  const std::string whole = searched_in_one_go();
  const LayoutSearch first(models, query(), 5);
  ASSERT_GT(first.chunks(), 3);
  for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{1}, first.chunks() / 2}) {
    training::SearchResult so_far;
    for (std::int64_t c = 0; c < cut; ++c) so_far = first.join({so_far, first.search_chunk(c)});
    const LayoutProgress left = LayoutSearch::progress_of(so_far, cut);

    const LayoutSearch second(models, query(), 5);
    training::SearchResult result = second.result_of(left);
    for (std::int64_t c = left.chunks; c < second.chunks(); ++c) {
      result = second.join({result, second.search_chunk(c)});
    }
    EXPECT_EQ(got(second.describe(std::move(result), true)), whole) << "cut after chunk " << cut;
  }
}

TEST_F(LayoutSearches, invalid_progress_is_ignored) {
  const LayoutSearch search(models, query(), 5);
  const training::SearchResult result = search.result_of({.best = {-1, search.candidates()}});
  EXPECT_TRUE(result.best.empty());
}

TEST_F(LayoutSearches, unknown_names_are_refused) {
  const auto code = [&](const LayoutQuestion& q) {
    const auto query = query_of(q, catalog, nullptr);
    return query ? std::string("none") : query.error().front().code;
  };
  EXPECT_EQ(code(small_question()), "none");
  EXPECT_EQ(code({.model = "no-such-model"}), "search.unknown");
  EXPECT_EQ(code({.model = "llama-3-8b", .accelerator = "abacus"}), "search.unknown");
  EXPECT_EQ(code({.model = "llama-3-8b", .precision = "roman"}), "search.unknown");
  EXPECT_EQ(code({.model = "llama-3-8b", .nic = "fast"}), "search.unknown");
}

TEST_F(LayoutSearches, overflowing_sizes_are_refused) {
  const auto code = [&](LayoutQuestion q) {
    q.model = "llama-3-8b";
    const auto query = query_of(q, catalog, nullptr);
    return query ? std::string("none") : query.error().front().code;
  };
  EXPECT_EQ(code({.gpus = 0}), "search.range");
  EXPECT_EQ(code({.gpus = 1'000'001}), "search.range");
  EXPECT_EQ(code({.batch = 2'000'000'000}), "search.range");
  EXPECT_EQ(code({.gpus = 64, .tp = 8, .pp = 16}), "search.range");
  EXPECT_EQ(code({.gpus = 64, .tp = std::int64_t{1} << 62, .pp = 4}), "search.range");
  EXPECT_EQ(code({.microbatch = 0}), "search.range");
  EXPECT_EQ(code({.gpus = 64, .tp = 8, .pp = 8}), "none");
}

TEST(LayoutSearch, gpu_counts_halve_until_odd) {
  EXPECT_THAT(gpu_counts(24, true), testing::ElementsAre(24, 12, 6, 3));
  EXPECT_THAT(gpu_counts(24, false), testing::ElementsAre(24));
}

// The code of the first fault, or "good".
std::string said_of(const LayoutQuestion& q, const ReadModelFile& read = nullptr) {
  const auto query = query_of(q, parts_shelf(), read);
  if (query) return "good";
  const Diagnostic& first = query.error().front();
  return first.code;
}

TEST(LayoutSearch, unknown_names_have_a_code) {
  EXPECT_EQ(said_of({.model = "none"}), "search.unknown");
  const ReadModelFile no_file = [](const std::string& path) -> Result<std::string> {
    return fail({.code = "file", .what = "no " + path});
  };
  EXPECT_EQ(said_of({.model = "none"}, no_file), "search.unknown");
  EXPECT_EQ(said_of({.model = "llama-3-8b", .accelerator = "abacus"}), "search.unknown");
  EXPECT_EQ(said_of({.model = "llama-3-8b", .precision = "roman"}), "search.unknown");
  EXPECT_EQ(said_of({.model = "llama-3-8b", .nic = "400"}), "search.unknown");
  EXPECT_EQ(said_of({.model = "llama-3-8b"}), "good");
}

TEST(LayoutSearch, a_model_may_be_a_file) {
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
  EXPECT_NE(said_of({.model = "x"}, rubbish), "search.unknown");
}

TEST(LayoutSearch, numbers_have_bounds) {
  const auto said = [](LayoutQuestion q) {
    q.model = "llama-3-8b";
    return said_of(q);
  };
  const std::string gpus = "search.range";
  EXPECT_EQ(said({.gpus = 0}), gpus);
  EXPECT_EQ(said({.gpus = 1'000'001}), gpus);
  EXPECT_EQ(said({.gpus = 1'000'000}), "good");
  EXPECT_EQ(said({.gpus = 1}), "good");
  const std::string batch = "search.range";
  EXPECT_EQ(said({.batch = 0}), batch);
  EXPECT_EQ(said({.batch = 1'000'000'001}), batch);
  EXPECT_EQ(said({.batch = 1'000'000'000}), "good");
  EXPECT_EQ(said({.batch = 1}), "good");
  const std::string sequence = "search.range";
  EXPECT_EQ(said({.sequence = 0}), sequence);
  EXPECT_EQ(said({.sequence = 100'000'001}), sequence);
  EXPECT_EQ(said({.sequence = 100'000'000}), "good");
  EXPECT_EQ(said({.sequence = 1}), "good");
  const std::string together = "search.range";
  EXPECT_EQ(said({.gpus = 30, .tp = 2, .pp = 3, .cp = 5}), "good");
  EXPECT_EQ(said({.gpus = 29, .tp = 2, .pp = 3, .cp = 5}), together);
  EXPECT_EQ(said({.gpus = 30, .tp = 31}), together);
  EXPECT_EQ(said({.gpus = 30, .pp = 0}), together);
  EXPECT_EQ(said({.gpus = 30, .cp = -1}), together);
  EXPECT_EQ(said({.gpus = 30, .tp = 30}), "good");
  EXPECT_EQ(said({.gpus = 30, .ep = 31}), "search.range");
  EXPECT_EQ(said({.gpus = 30, .ep = 0}), "search.range");
  EXPECT_EQ(said({.gpus = 30, .ep = 30}), "good");
  EXPECT_EQ(said({.vp = 0}), "search.range");
  EXPECT_EQ(said({.vp = 1025}), "search.range");
  EXPECT_EQ(said({.vp = 1024}), "good");
  EXPECT_EQ(said({.microbatch = 0}), "search.range");
  EXPECT_EQ(said({.microbatch = 1025}), "search.range");
  EXPECT_EQ(said({.microbatch = 1024}), "good");
}

// Candidates in chunks of 4096: the last chunk has the rest, and there is none after it.
TEST(LayoutSearch, a_search_resumes_at_any_chunk) {
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
  // The first and the last candidate exist; before and after them there are none.
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

TEST(LayoutSearch, options_reach_the_search) {
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

// Every candidate is looked at once: the chunks together are the space.
TEST(LayoutSearch, chunks_cover_the_search_space) {
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
  // After resuming, what was counted is still counted.
  const LayoutProgress progress = LayoutSearch::progress_of(found.found, search.chunks());
  EXPECT_EQ(search.result_of(progress).counts.candidates, search.candidates());
}

}  // namespace
}  // namespace orrery::search
