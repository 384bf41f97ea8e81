// What each engine decides, step by step: which request computes how many tokens, worked out by
// hand on pools of a few blocks.
#include <gtest/gtest.h>

#include "layers/engines/engine_fixture.h"

namespace orrery::engines {
namespace {

TEST(Vllm, decodes_come_first_and_prompts_are_cut_at_the_budget) {
  StepwiseEngine e(tiny(EngineKind::vllm));
  e.add(asking(6, 3));
  e.add(asking(7, 3));
  EXPECT_EQ(e.step(), "0:6:0 1:4:0");
  EXPECT_EQ(e.batch().sums.prompts, 2);
  EXPECT_EQ(e.batch().sums.prompt_tokens, 10);
  EXPECT_EQ(e.batch().sums.prompt_pairs, 21 + 10);
  EXPECT_EQ(e.batch().sums.sampled, 1) << "a prompt that is cut gives no token";
  EXPECT_EQ(e.step(), "0:1:6 1:3:4");
  EXPECT_EQ(e.batch().sums.prompt_pairs, 3 * 4 + 6);
  EXPECT_EQ(e.batch().sums.decoding, 1);
  EXPECT_EQ(e.batch().sums.decode_keys, 7);
  EXPECT_EQ(e.batch().sums.sampled, 2);
  EXPECT_EQ(e.step(), "0:1:7 1:1:7");
  EXPECT_EQ(e->finished(), std::vector<int>{0});
  EXPECT_EQ(e.step(), "1:1:8");
  EXPECT_EQ(e->finished(), std::vector<int>{1});
  EXPECT_EQ(e.step(), "");
  EXPECT_EQ(e->unfinished(), 0u);
}

TEST(Vllm, long_prompts_are_limited_and_whole_ones_wait) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.long_prompt = 3;
  StepwiseEngine cut(p);
  cut.add(asking(8, 2));
  cut.add(asking(4, 2));
  EXPECT_EQ(cut.step(), "0:3:0 1:3:0");
  EXPECT_EQ(cut.step(), "0:3:3 1:1:3");
  p.long_prompt = 0;
  p.chunked_prefill = false;
  StepwiseEngine whole(p);
  whole.add(asking(6, 3));
  whole.add(asking(5, 3));
  whole.add(asking(1, 3));
  EXPECT_EQ(whole.step(), "0:6:0") << "no request overtakes the one that does not fit";
  EXPECT_EQ(whole.step(), "0:1:6 1:5:0 2:1:0");
  StepwiseEngine just(p);
  just.add(asking(6, 3));
  just.add(asking(4, 3));
  EXPECT_EQ(just.step(), "0:6:0 1:4:0");
}

TEST(Vllm, sequences_and_text_length_are_limited) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.max_sequences = 2;
  StepwiseEngine places(p);
  for (int i = 0; i < 3; ++i) places.add(asking(2, 2));
  EXPECT_EQ(places.step(), "0:2:0 1:2:0");
  EXPECT_EQ(places->waiting(), 1u);
  EXPECT_EQ(places.step(), "0:1:2 1:1:2");
  EXPECT_EQ(places.step(), "2:2:0");
  p.max_length = 9;
  StepwiseEngine e(p);
  e.add(asking(7, 9));
  EXPECT_EQ(e.step(), "0:7:0");
  EXPECT_EQ(e.step(), "0:1:7");
  EXPECT_EQ(e.step(), "") << "the text is as long as it may be";
}

// Four usable blocks of four, and the null block.
TEST(Vllm, last_request_to_join_is_preempted) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.blocks = 5;
  p.token_budget = 20;
  StepwiseEngine e(p);
  EXPECT_EQ(e->pool().blocks(), 4);
  e.add(asking(7, 4));
  e.add(asking(8, 4));
  EXPECT_EQ(e.step(), "0:7:0 1:8:0");
  e.add(asking(1, 1));
  EXPECT_EQ(e.step(), "0:1:7") << "request 1 needs a third block, and no request joins then";
  EXPECT_EQ(e.batch().preempted, std::vector<int>{1});
  EXPECT_EQ(e->sequence(1).preemptions, 1);
  EXPECT_EQ(e.step(), "0:1:8") << "9 tokens need three blocks, of which one is free";
  EXPECT_EQ(e.step(), "0:1:9");
  EXPECT_EQ(e->finished(), std::vector<int>{0});
  EXPECT_EQ(e.step(), "1:9:0 2:1:0") << "the preempted request is first, with its token";
  EXPECT_EQ(e->finished(), std::vector<int>{2});
  EXPECT_EQ(e.step(), "1:1:9");
  EXPECT_EQ(e.step(), "1:1:10");
  EXPECT_EQ(e->finished(), std::vector<int>{1});
}

TEST(Vllm, whole_prompt_must_fit_unless_configured_otherwise) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.blocks = 4;
  p.token_budget = 9;
  for (const bool whole : {true, false}) {
    p.whole_prompt_fits = whole;
    StepwiseEngine e(p);
    e.add(asking(5, 3));
    e.add(asking(8, 3));
    EXPECT_EQ(e.step(), whole ? "0:5:0" : "0:5:0 1:4:0");
  }
}

// The request of lowest priority is preempted, the latest among equals; its planned tokens go to
// others.
TEST(Vllm, priorities_decide_which_request_waits_and_which_is_preempted) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.by_priority = true;
  p.blocks = 5;
  p.token_budget = 20;
  StepwiseEngine e(p);
  e.add({.prompt = 6, .output = 4, .priority = 5});
  EXPECT_EQ(e.step(), "0:6:0");
  e.add({.prompt = 8, .output = 4, .priority = 1});
  EXPECT_EQ(e.step(), "0:1:6 1:8:0");
  EXPECT_EQ(e.step(), "1:1:8");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{0});
  EXPECT_EQ(e.batch().sums.decoding, 1);
  EXPECT_EQ(e.batch().sums.decode_keys, 9);
  p.blocks = 1000;
  StepwiseEngine order(p);
  order.add({.prompt = 1, .output = 1, .priority = 2});
  order.add({.prompt = 2, .output = 1, .priority = 1});
  order.add({.prompt = 3, .output = 1, .priority = 1});
  EXPECT_EQ(order.step(), "1:2:0 2:3:0 0:1:0");
}

TEST(Vllm, latest_of_equal_priorities_is_preempted) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.by_priority = true;
  p.blocks = 7;
  p.token_budget = 30;
  StepwiseEngine e(p);
  for (int i = 0; i < 3; ++i) e.add({.prompt = 8, .output = 4, .priority = 1});
  EXPECT_EQ(e.step(), "0:8:0 1:8:0 2:8:0");
  EXPECT_EQ(e.step(), "0:1:8 1:1:8");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{2});
}

TEST(Vllm, transferred_keys_are_not_computed) {
  StepwiseEngine e(tiny(EngineKind::vllm));
  RequestSpec moved = asking(8, 3);
  moved.transferred = true;
  e.add(moved);
  EXPECT_EQ(e.step(), "0:1:8");
  EXPECT_EQ(e.batch().sums.decoding, 1);
  EXPECT_EQ(e.batch().sums.fetches, 0);
  EXPECT_EQ(e->sequence(0).fetched, 0);
  EXPECT_EQ(e.step(), "0:1:9");
  EXPECT_EQ(e->finished(), std::vector<int>{0}) << "its first token came with it";
}

// Two full blocks of nine tokens are found; the last token is computed even if all blocks are
// there.
TEST(Vllm, found_prefix_is_not_computed_again) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.prefix_cache = true;
  p.token_budget = 40;
  StepwiseEngine e(p);
  e.add(naming(9, 2, 7));
  e.add(naming(9, 2, 7));
  e.add(naming(8, 2, 7));
  e.add(naming(9, 2, 5));
  EXPECT_EQ(e.step(), "0:9:0 1:1:8 2:4:4 3:9:0");
  EXPECT_EQ(e->sequence(1).cached, 8);
  EXPECT_EQ(e->sequence(2).cached, 4);
  EXPECT_EQ(e->pool().blocks() - e->pool().free_blocks(), 3 + 1 + 1 + 3);
}

// Each request needs a new block every fourth step: with two free ones the twelfth step must wait.
TEST(Steady, steps_are_merged_until_blocks_or_an_answer_end) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.blocks = 5;
  StepwiseEngine e(p);
  e.add(asking(4, 20));
  EXPECT_EQ(e.plan(), "0:4:0");
  EXPECT_EQ(e->steady(), 1) << "a prompt";
  e->done();
  EXPECT_EQ(e.plan(), "0:1:4");
  EXPECT_EQ(e->steady(), 12);
  p.blocks = 1000;
  StepwiseEngine free(p);
  free.add(asking(4, 20));
  free.step();
  free.plan();
  EXPECT_EQ(free->steady(), 19);
  free->done(19);
  EXPECT_EQ(free->finished(), std::vector<int>{0});
  p.block_tokens = 129;
  StepwiseEngine wide(p);
  wide.add(asking(4, 20));
  wide.step();
  wide.plan();
  EXPECT_EQ(wide->steady(), 1) << "blocks too long to follow";
  p.block_tokens = 128;
  StepwiseEngine most(p);
  most.add(asking(4, 6000));
  most.step();
  most.plan();
  EXPECT_EQ(most->steady(), 4096);
}

// A request that waits for a place joins only when one is free; one that lacks tokens of the budget
// may join in the next step.
TEST(Steady, steps_are_not_merged_while_a_request_may_join) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.max_sequences = 2;
  StepwiseEngine places(p);
  for (int i = 0; i < 3; ++i) places.add(asking(2, 9));
  places.step();
  EXPECT_EQ(places.plan(), "0:1:2 1:1:2");
  EXPECT_EQ(places->steady(), 8);
  p.max_sequences = 8;
  p.token_budget = 2;
  StepwiseEngine budget(p);
  for (int i = 0; i < 3; ++i) budget.add(asking(1, 9));
  budget.step();
  EXPECT_EQ(budget.plan(), "0:1:1 1:1:1");
  EXPECT_EQ(budget->steady(), 1);
}

TEST(Stop, request_is_stopped_in_any_state) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.max_sequences = 1;
  StepwiseEngine e(p);
  for (int i = 0; i < 3; ++i) e.add(asking(4, 9));
  e.step();
  e->stop(1);
  e->stop(1);
  EXPECT_EQ(e->waiting(), 1u);
  e->stop(0);
  EXPECT_EQ(e->pool().free_blocks(), e->pool().blocks());
  EXPECT_EQ(e.step(), "2:4:0");
  e->recycle(0);
  EXPECT_EQ(e.add(asking(3, 1)), 0) << "a number that is free is used again";
  EXPECT_EQ(e->sequence(0).generated, 0);
  EXPECT_EQ(e->sequence(0).state, SequenceState::waiting);
}

TEST(Sglang, prompts_run_alone_and_are_cut_at_the_chunk) {
  StepwiseEngine e(tiny(EngineKind::sglang));
  e.add(asking(6, 3));
  e.add(asking(7, 3));
  EXPECT_EQ(e.step(), "0:6:0 1:4:0");
  EXPECT_EQ(e.step(), "1:3:4") << "no request decodes beside prompts";
  EXPECT_EQ(e.step(), "0:1:6 1:1:7");
  EXPECT_EQ(e.step(), "0:1:7 1:1:8");
  EXPECT_EQ(e->finished(), (std::vector<int>{0, 1}));
}

TEST(Sglang, whole_prompts_and_places_are_limited) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.chunked_prefill = false;
  StepwiseEngine whole(p);
  whole.add(asking(6, 3));
  whole.add(asking(4, 3));
  EXPECT_EQ(whole.step(), "0:6:0") << "as much as is left of the chunk is too much";
  EXPECT_EQ(whole.step(), "1:4:0");
  StepwiseEngine large(p);
  large.add(asking(30, 3));
  EXPECT_EQ(large.step(), "0:30:0") << "alone it may be longer";
  p.chunked_prefill = true;
  p.max_sequences = 2;
  StepwiseEngine places(p);
  for (int i = 0; i < 3; ++i) places.add(asking(2, 2));
  EXPECT_EQ(places.step(), "0:2:0 1:2:0");
  EXPECT_EQ(places.plan(), "0:1:2 1:1:2");
  EXPECT_EQ(places->steady(), 1) << "the answers end";
  places->done();
  EXPECT_EQ(places.step(), "2:2:0");
}

// Prompt, answer and a page must fit in what is free and not promised.
TEST(Sglang, admission_leaves_room_for_promised_tokens) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.token_budget = 100;
  for (const int blocks : {20, 21}) {
    p.blocks = blocks;
    StepwiseEngine e(p);
    e.add(asking(10, 9));
    EXPECT_EQ(e.step(), blocks == 20 ? "" : "0:10:0");
  }
  // 30 free, of which 0.7 of 19 future tokens are promised: 16.7 are left.
  p.blocks = 40;
  for (const int prompt : {10, 11}) {
    StepwiseEngine e(p);
    e.add(asking(10, 20));
    EXPECT_EQ(e.step(), "0:10:0");
    e.add(asking(prompt, 5));
    EXPECT_EQ(e.step(), prompt == 10 ? "1:10:0" : "0:1:10");
  }
  // In one step: counts what the first has not taken yet, what it is promised, and a page.
  for (const int prompt : {3, 4}) {
    StepwiseEngine e(p);
    e.add(asking(10, 20));
    e.add(asking(prompt, 5));
    EXPECT_EQ(e.step(), prompt == 3 ? "0:10:0" : "0:10:0");
  }
  // Only part of a long answer is counted.
  p.blocks = 20;
  p.clip_output = 8;
  StepwiseEngine clipped(p);
  clipped.add(asking(10, 500));
  EXPECT_EQ(clipped.step(), "0:10:0");
}

// After 100 of 600 decode steps the promise is 0.7 - 0.602 / 6 of the future tokens.
TEST(Sglang, promise_falls_as_requests_decode) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.token_budget = 400;
  p.blocks = 1000;
  // 890 free then, 399 to come: 890 - 399 x 0.59967 = 650.73.
  for (const int prompt : {640, 641}) {
    StepwiseEngine e(p);
    e.add(asking(10, 500));
    e.step();
    for (int i = 0; i < 100; ++i) e.step();
    e.add(asking(prompt, 9));
    const bool joins = e.step() == "1:400:0";
    EXPECT_EQ(joins, prompt == 640);
  }
}

TEST(Sglang, known_ends_are_followed) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.token_budget = 100;
  p.ignores_end = true;
  const auto joins = [&](int blocks, const RequestSpec& first, const RequestSpec& second) {
    p.blocks = blocks;
    StepwiseEngine e(p);
    e.add(first);
    if (e.step() != "0:10:0") return -1;
    e.add(second);
    e.plan();
    return e.batch().items.front().id;
  };
  // Alone: 10 and 10, and room for more than one token beyond.
  p.blocks = 21;
  StepwiseEngine alone(p);
  alone.add(asking(10, 10));
  EXPECT_EQ(alone.step(), "");
  EXPECT_NE(joins(22, asking(10, 10), asking(1, 1)), -1);
  // Nine and four tokens to come: after four steps the second ends; both need 8 and two more, of 11
  // free.
  EXPECT_EQ(joins(29, asking(10, 10), asking(8, 4)), 1);
  EXPECT_EQ(joins(28, asking(10, 10), asking(8, 4)), 0);
  // The first ends after a token and gives its 11 back before the other needs its 30.
  EXPECT_EQ(joins(39, asking(10, 2), asking(8, 30)), 1);
  EXPECT_EQ(joins(38, asking(10, 2), asking(8, 30)), 0);
}

// Room for 20 tokens: after three steps of both, the one with the longer prompt must be retracted.
TEST(Sglang, longer_prompt_is_retracted) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.token_budget = 100;
  p.blocks = 20;
  p.clip_output = 1;
  p.new_token_ratio = p.new_token_ratio_min = 0;
  for (const bool swapped : {false, true}) {
    StepwiseEngine e(p);
    e.add(asking(swapped ? 8 : 6, 60));
    e.add(asking(swapped ? 6 : 8, 60));
    e.step();
    for (int i = 0; i < 3; ++i) {
      e.step();
      EXPECT_EQ(e.batch().items.size(), 2u) << "both decode";
    }
    EXPECT_EQ(e.step(), swapped ? "1:1:9" : "0:1:9");
    EXPECT_EQ(e.batch().preempted, std::vector<int>{swapped ? 0 : 1});
  }
  // The request that has generated more stays, whatever its prompt.
  StepwiseEngine e(p);
  e.add(asking(9, 60));
  e.step();
  e.add(asking(4, 60));
  EXPECT_EQ(e.step(), "1:4:0");
  e->stop(1);
  e.step();
  e.add(asking(4, 60));
  EXPECT_EQ(e.step(), "2:4:0");
  for (int i = 0; i < 3; ++i) e.step();
  EXPECT_EQ(e.step(), "0:1:13");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{2});
}

TEST(Sglang, longest_found_prefix_goes_first) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.prefix_cache = true;
  p.token_budget = 100;
  for (const bool longest : {true, false}) {
    p.longest_prefix_first = longest;
    StepwiseEngine e(p);
    e.add(naming(8, 1, 5));
    e.step();
    e.add(naming(6, 1, 9));
    e.add(naming(8, 1, 5));
    EXPECT_EQ(e.step(), longest ? "2:1:7 1:6:0" : "1:6:0 2:1:7");
  }
}

TEST(Tensorrt, whole_answers_are_reserved) {
  EnginePolicy p = tiny(EngineKind::tensorrt_llm);
  p.blocks = 5;
  for (const int output : {4, 5}) {
    StepwiseEngine e(p);
    e.add(asking(6, 6));
    e.add(asking(4, output));
    EXPECT_EQ(e.step(), output == 4 ? "0:6:0 1:4:0" : "0:6:0");
  }
  // Running requests keep what they will need.
  StepwiseEngine later(p);
  later.add(asking(6, 6));
  later.step();
  later.add(asking(4, 5));
  EXPECT_EQ(later.step(), "0:1:6");
  StepwiseEngine beside(p);
  beside.add(asking(6, 6));
  beside.step();
  beside.add(asking(4, 4));
  EXPECT_EQ(beside.step(), "0:1:6 1:4:0") << "it already holds two of its three blocks";
  p.max_sequences = 1;
  p.blocks = 100;
  StepwiseEngine places(p);
  places.add(asking(2, 1));
  places.add(asking(2, 1));
  EXPECT_EQ(places.step(), "0:2:0");
}

TEST(Tensorrt, prompts_are_cut_at_the_chunk_unit) {
  EnginePolicy p = tiny(EngineKind::tensorrt_llm);
  const auto plan = [&](int unit, int second) {
    p.chunk_unit = unit;
    StepwiseEngine e(p);
    e.add(asking(6, 3));
    e.add(asking(second, 3));
    return e.plan();
  };
  EXPECT_EQ(plan(4, 7), "0:6:0 1:4:0");
  EXPECT_EQ(plan(3, 7), "0:6:0 1:3:0");
  EXPECT_EQ(plan(8, 7), "0:6:0");
  EXPECT_EQ(plan(8, 4), "0:6:0 1:4:0") << "all fit";
  // Decoding requests are counted first, wherever they are in the order.
  p.chunk_unit = 2;
  StepwiseEngine e(p);
  e.add(asking(3, 9));
  e.step();
  e.add(asking(11, 9));
  EXPECT_EQ(e.step(), "0:1:3 1:8:0");
  EXPECT_EQ(e.step(), "0:1:4 1:3:8");
  p.chunked_prefill = false;
  StepwiseEngine whole(p);
  whole.add(asking(3, 9));
  whole.add(asking(8, 9));
  EXPECT_EQ(whole.step(), "0:3:0");
  EXPECT_EQ(whole.step(), "0:1:3 1:8:0");
}

// Equal beginnings are computed once: the other requests come a step later and find them.
TEST(Tensorrt, equal_prompts_wait_for_the_first) {
  EnginePolicy p = tiny(EngineKind::tensorrt_llm);
  p.prefix_cache = true;
  p.token_budget = 100;
  StepwiseEngine e(p);
  e.add(naming(9, 3, 7));
  e.add(naming(9, 3, 7));
  e.add(naming(9, 3, 6));
  EXPECT_EQ(e.plan(), "0:9:0 2:9:0");
  EXPECT_EQ(e->steady(), 1);
  e->done();
  EXPECT_EQ(e.step(), "0:1:9 2:1:9 1:1:8");
  const auto shared = [&](std::uint64_t other, int tokens) {
    StepwiseEngine two(p);
    for (const std::uint64_t name : {std::uint64_t{3}, other}) {
      two.add({.prompt = 9, .output = 3, .shared = name, .shared_tokens = name == 3 ? 8 : tokens});
    }
    return two.step();
  };
  EXPECT_EQ(shared(4, 8), "0:9:0 1:9:0");
  StepwiseEngine two(p);
  two.add({.prompt = 9, .output = 3, .shared = 3, .shared_tokens = 8});
  two.add({.prompt = 9, .output = 3, .shared = 3, .shared_tokens = 4});
  two.add({.prompt = 9, .output = 3, .shared = 3, .shared_tokens = 3});
  EXPECT_EQ(two.step(), "0:9:0 2:9:0") << "less than a block in common is not waited for";
}

TEST(Tensorrt, without_reservation_the_last_request_is_paused) {
  EnginePolicy p = tiny(EngineKind::tensorrt_llm);
  p.max_utilisation = true;
  p.blocks = 4;
  p.token_budget = 20;
  StepwiseEngine e(p);
  e.add(asking(7, 4));
  e.add(asking(8, 4));
  EXPECT_EQ(e.step(), "0:7:0 1:8:0");
  EXPECT_EQ(e.step(), "0:1:7");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{1});
  EXPECT_EQ(e.plan(), "0:1:8");
  EXPECT_EQ(e->steady(), 1) << "the preempted request may come back";
}

}  // namespace
}  // namespace orrery::engines
