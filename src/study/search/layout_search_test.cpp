#include "study/search/layout_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/text.h"
#include "model/machine/known_fixture.h"

namespace orrery::search {
namespace {

// All that a search says, to the last bit.
std::string told(const FoundLayouts& found) {
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
    return told(search.describe(search.join(parts), true));
  }

  const catalog::Catalog& catalog = machine::known().catalog();
  const machine::Models& models = machine::known();
};

TEST_F(LayoutSearches, taken_up_again_anywhere_gives_the_same_answer) {
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
    EXPECT_EQ(told(second.describe(std::move(result), true)), whole) << "cut after chunk " << cut;
  }
}

TEST_F(LayoutSearches, progress_that_names_no_candidate_is_passed_over) {
  const LayoutSearch search(models, query(), 5);
  const training::SearchResult result = search.result_of({.best = {-1, search.candidates()}});
  EXPECT_TRUE(result.best.empty());
}

TEST_F(LayoutSearches, refuses_what_it_does_not_know) {
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

TEST_F(LayoutSearches, refuses_sizes_whose_products_overflow) {
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

TEST(GpuCounts, halve_until_odd) {
  EXPECT_THAT(gpu_counts(24, true), testing::ElementsAre(24, 12, 6, 3));
  EXPECT_THAT(gpu_counts(24, false), testing::ElementsAre(24));
}

}  // namespace
}  // namespace orrery::search
