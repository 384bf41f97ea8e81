// Engines' own limits and tables, and rare decisions of their schedulers, worked out by hand.
#include <gtest/gtest.h>

#include "layers/engines/engine.h"
#include "layers/engines/engine_fixture.h"

namespace orrery::engines {
namespace {

TEST(EngineCases, limits_follow_the_device_size) {
  const auto of = [](EngineKind kind, double size_gib) {
    const EngineLimits l = default_limits(Engine{.kind = kind}, gib(size_gib));
    EXPECT_TRUE(l.chunked_prefill);
    return std::pair(l.token_budget, l.max_sequences);
  };
  using Limits = std::pair<double, double>;
  EXPECT_EQ(of(EngineKind::vllm, 160), Limits(16384, 1024));
  EXPECT_EQ(of(EngineKind::vllm, 159.9), Limits(8192, 1024));
  EXPECT_EQ(of(EngineKind::vllm, 70), Limits(8192, 1024));
  EXPECT_EQ(of(EngineKind::vllm, 69.9), Limits(2048, 256));
  for (const double size : {24.0, 80.0, 180.0}) {
    EXPECT_EQ(of(EngineKind::tensorrt_llm, size), Limits(8192, 2048));
  }
  EXPECT_EQ(of(EngineKind::sglang, 160), Limits(16384, 2048));
  EXPECT_EQ(of(EngineKind::sglang, 70), Limits(8192, 2048));
  EXPECT_EQ(of(EngineKind::sglang, 69.9), Limits(4096, 2048));
  EXPECT_EQ(of(EngineKind::sglang, 35), Limits(4096, 2048));
  EXPECT_EQ(of(EngineKind::sglang, 34.9), Limits(2048, 2048));
  EXPECT_EQ(EngineLimits{}.token_budget, 8192);
  EXPECT_EQ(EngineLimits{}.max_sequences, 1024);
}

constexpr const char* kEngineColumns =
    "id,also,policy,memory_share,block_tokens,reserve_gib,host_step_us,eager_layer_us,"
    "first_token_ms,kernels_hidden,keeps_all_output\n";

Result<std::vector<Engine>> engines_of(const std::string& rows) {
  return read_engines(CsvTable::parse(kEngineColumns + rows, "e.csv").value());
}

TEST(EngineCases, engine_row_is_read) {
  const auto read =
      engines_of("a,b,sglang,0.85,64,2.5,210,3,17,0.4,1\nc,,vllm,0.01,1,0,0,0,0,0,0\n");
  ASSERT_TRUE(read);
  const Engine& a = read->at(0);
  EXPECT_EQ(a.id, "a");
  EXPECT_EQ(a.also, "b");
  EXPECT_EQ(a.kind, EngineKind::sglang);
  EXPECT_EQ(a.memory_share, 0.85);
  EXPECT_EQ(a.block_tokens, 64);
  EXPECT_EQ(a.reserve, gib(2.5));
  EXPECT_EQ(a.host_step, microseconds(210));
  EXPECT_EQ(a.eager_layer, microseconds(3));
  EXPECT_EQ(a.first_token, milliseconds(17));
  EXPECT_EQ(a.kernels_hidden, 0.4);
  EXPECT_TRUE(a.keeps_all_output);
  const Engine& least = read->at(1);
  EXPECT_EQ(least.memory_share, 0.01);
  EXPECT_EQ(least.reserve, gib(0));
  EXPECT_EQ(least.host_step, microseconds(0));
  EXPECT_EQ(least.eager_layer, microseconds(0));
  EXPECT_EQ(least.first_token, milliseconds(0));
  EXPECT_FALSE(least.keeps_all_output);
  EXPECT_EQ(find_engine(*read, "b"), &a);
  EXPECT_EQ(find_engine(*read, "c"), &least);
  EXPECT_EQ(find_engine(*read, ""), nullptr);
  EXPECT_EQ(find_engine(*read, "d"), nullptr);
}

TEST(EngineCases, missing_engine_values_are_reported) {
  const auto what = [](const std::string& row) {
    const auto read = engines_of(row);
    std::vector<std::string> said;
    if (!read) {
      for (const Diagnostic& d : read.error()) said.push_back(d.what);
    }
    return said;
  };
  using Said = std::vector<std::string>;
  EXPECT_EQ(what("a,,own,0.9,16,3,300,0,8,0.3,0\n"), Said{"a: 'own' is not a policy"});
  EXPECT_EQ(what("a,,vllm,1.01,16,3,300,0,8,0.3,0\n"),
            Said{"a: '1.01' is not a valid memory_share"});
  EXPECT_EQ(what("a,,vllm,0.009,0,3,300,0,8,0.3,0\n"),
            (Said{"a: '0.009' is not a valid memory_share", "a: '0' is not a valid block_tokens"}));
  EXPECT_EQ(what("a,,vllm,1,16,3,300,0,8,1,1\n"), Said{});
  EXPECT_EQ(what("a,,vllm,1,16,-1,-1,-1,-1,1.1,2\n").size(), 6u);
  const std::string good = "a,,vllm,0.9,16,3,300,0,8,0.3,0\n";
  EXPECT_EQ(what(good + good), Said{"an engine needs a unique id"});
}

constexpr const char* kTuningColumns =
    "accelerator,engine,products,experts,decoding,latent,prefill,messages,layer_us,expert_layer_us,"
    "state_layer_us,step_us,sequence_us,expert_first_us,first_token_ms,poll_steps,prompt_wait\n";

TEST(EngineCases, tuning_row_is_read) {
  const std::string rows =
      "*,x,0.01,0.01,0.01,0.01,0.01,0.01,0,0,0,0,0,0,0,0,0.1\n"
      "h,x,1.1,1.2,1.3,1.4,1.5,1.6,7,8,9,10,11,12,13,1.4,1.5\n";
  const auto read = read_tunings(CsvTable::parse(kTuningColumns + rows, "t.csv").value());
  ASSERT_TRUE(read) << "the least of each is allowed";
  const ServingTuning t = find_tuning(*read, "h", "g", "x");
  EXPECT_EQ(t.products, 1.1);
  EXPECT_EQ(t.experts, 1.2);
  EXPECT_EQ(t.decoding, 1.3);
  EXPECT_EQ(t.latent, 1.4);
  EXPECT_EQ(t.prefill, 1.5);
  EXPECT_EQ(t.messages, 1.6);
  EXPECT_EQ(t.layer, microseconds(7));
  EXPECT_EQ(t.expert_layer, microseconds(8));
  EXPECT_EQ(t.state_layer, microseconds(9));
  EXPECT_EQ(t.step, microseconds(10));
  EXPECT_EQ(t.sequence, microseconds(11));
  EXPECT_EQ(t.expert_first, microseconds(12));
  EXPECT_EQ(t.first_token, milliseconds(13));
  EXPECT_EQ(t.poll_steps, 1.4);
  EXPECT_EQ(t.prompt_wait, 1.5);
  EXPECT_EQ(find_tuning(*read, "g", "h", "x").products, 1.1) << "by what it borrows";
  EXPECT_EQ(find_tuning(*read, "g", "i", "x").products, 0.01) << "anywhere";
  const ServingTuning none = find_tuning(*read, "h", "h", "y");
  EXPECT_EQ(none.products, 1);
  EXPECT_EQ(none.prompt_wait, 1);
  EXPECT_EQ(none.poll_steps, 0);
  EXPECT_FALSE(read_tunings(
      CsvTable::parse(std::string(kTuningColumns) + "h,x,0.009,1,1,1,1,1,0,0,0,0,0,0,0,0,1\n",
                      "t.csv")
          .value()));
  EXPECT_FALSE(read_tunings(
      CsvTable::parse(std::string(kTuningColumns) + "h,x,1,1,1,1,1,1,0,0,0,0,0,0,0,0,0.09\n",
                      "t.csv")
          .value()));
}

TEST(EngineCases, policy_has_its_defaults) {
  const EnginePolicy p;
  EXPECT_EQ(p.block_tokens, 16);
  EXPECT_EQ(p.token_budget, 8192);
  EXPECT_EQ(p.max_sequences, 256);
  EXPECT_EQ(p.long_prompt, 0);
  EXPECT_EQ(p.new_token_ratio, 0.7);
  EXPECT_EQ(p.new_token_ratio_min, 0.098);
  EXPECT_EQ(p.new_token_steps, 600);
  EXPECT_EQ(p.clip_output, 4096);
  EXPECT_EQ(p.chunk_unit, 32);
  EXPECT_EQ(p.adapter_slots, 0);
  EXPECT_EQ(p.adapter_load, 0);
  const RequestSpec r;
  EXPECT_EQ(r.prompt, 1);
  EXPECT_EQ(r.output, 1);
  EXPECT_EQ(r.priority, 0);
  EXPECT_EQ(r.shared_tokens, 0);
  EXPECT_EQ(r.shared + r.content + r.session, 0u);
  EXPECT_EQ(r.adapter, 0);
  EXPECT_FALSE(r.transferred || r.talks);
}

// Keys transferred from another replica are lost if the request is preempted: they are computed
// here.
TEST(EngineCases, transferred_keys_are_lost_when_the_request_is_preempted) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.blocks = 5;
  p.token_budget = 20;
  StepwiseEngine e(p);
  e.add(asking(8, 6));
  e.add({.prompt = 7, .output = 6, .transferred = true});
  EXPECT_EQ(e.step(), "0:8:0 1:1:7");
  EXPECT_EQ(e.step(), "0:1:8");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{1});
  EXPECT_EQ(e->sequence(1).computed, 0);
  EXPECT_EQ(e->sequence(1).preemptions, 1);
  for (const char* next : {"0:1:9", "0:1:10", "0:1:11", "0:1:12"}) EXPECT_EQ(e.step(), next);
  EXPECT_EQ(e.step(), "1:9:0");
}

// Two requests of 3 tokens in blocks of four, five blocks: each takes its second block at step 1
// and its third at step 5, when only one is left.
TEST(EngineCases, steps_are_merged_until_the_blocks_run_out) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.blocks = 6;
  StepwiseEngine e(p);
  e.add(asking(3, 20));
  e.add(asking(3, 20));
  EXPECT_EQ(e.step(), "0:3:0 1:3:0");
  EXPECT_EQ(e->pool().free_blocks(), 3);
  EXPECT_EQ(e.plan(), "0:1:3 1:1:3");
  EXPECT_EQ(e->steady(), 5);
  e->done(5);
  EXPECT_EQ(e->check(), "");
  EXPECT_EQ(e->sequence(0).computed, 8);
  EXPECT_EQ(e->sequence(0).generated, 6);
  EXPECT_EQ(e->sequence(0).blocks, 2);
  EXPECT_EQ(e->pool().free_blocks(), 1);
}

TEST(EngineCases, steps_are_merged_until_the_first_ends) {
  StepwiseEngine e(tiny(EngineKind::vllm));
  e.add(asking(3, 9));
  e.add(asking(3, 7));
  e.step();
  e.plan();
  EXPECT_EQ(e->steady(), 6);
  e->done(6);
  EXPECT_EQ(e->finished(), std::vector<int>{1});
}

// Eight of the twenty tokens are cached: the cut is at a page boundary, counted from the beginning.
TEST(EngineCases, sglang_cuts_a_prompt_at_a_page) {
  for (const int page : {1, 4}) {
    EnginePolicy p = tiny(EngineKind::sglang);
    p.block_tokens = page;
    p.prefix_cache = true;
    StepwiseEngine e(p);
    e.add(naming(9, 1, 5));
    EXPECT_EQ(e.step(), "0:9:0");
    EXPECT_EQ(e->finished(), std::vector<int>{0});
    e.add(naming(21, 2, 5));
    EXPECT_EQ(e.step(), page == 1 ? "1:10:9" : "1:8:8");
  }
}

// No request can join before one ends, so steps are merged until then.
TEST(EngineCases, sglang_merges_steps_while_its_cache_is_full) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.blocks = 20;
  p.clip_output = 4;
  StepwiseEngine e(p);
  e.add(asking(6, 9));
  EXPECT_EQ(e.step(), "0:6:0");
  e.add(asking(10, 9));  // 10 + 4 + 1 of 14, minus what the first is promised
  EXPECT_EQ(e.plan(), "0:1:6");
  EXPECT_EQ(e->waiting(), 1u);
  EXPECT_EQ(e->steady(), 8);
}

// Room for 20 tokens, two prompts of 6. If at most one output token is counted, both join. After
// four decodes the cache is full. Both have generated equally much from equally long prompts, so
// the later one is retracted.
TEST(EngineCases, sglang_retracts_the_later_of_equals) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.blocks = 20;
  p.token_budget = 20;
  p.clip_output = 1;
  StepwiseEngine e(p);
  e.add(asking(6, 10));
  e.add(asking(6, 10));
  EXPECT_EQ(e.step(), "0:6:0 1:6:0");
  for (const char* next : {"0:1:6 1:1:6", "0:1:7 1:1:7", "0:1:8 1:1:8", "0:1:9 1:1:9"}) {
    EXPECT_EQ(e.step(), next);
  }
  EXPECT_EQ(e.step(), "0:1:10");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{1});
}

TEST(EngineCases, sglang_does_not_retract_the_only_request) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.blocks = 10;
  p.clip_output = 1;
  StepwiseEngine e(p);
  e.add(asking(6, 100));
  EXPECT_EQ(e.step(), "0:6:0");
  for (const char* next : {"0:1:6", "0:1:7", "0:1:8", "0:1:9"}) EXPECT_EQ(e.step(), next);
  EXPECT_EQ(e.step(), "") << "nothing is free, and there is no request to preempt";
  EXPECT_TRUE(e.batch().preempted.empty());
}

TEST(EngineCases, tensorrt_lets_equal_prompts_wait_for_the_first) {
  for (const bool max_utilisation : {false, true}) {
    EnginePolicy p = tiny(EngineKind::tensorrt_llm);
    p.prefix_cache = true;
    p.max_utilisation = max_utilisation;
    p.token_budget = 30;
    StepwiseEngine e(p);
    e.add(naming(8, 2, 5));
    e.add(naming(8, 2, 5));
    e.add(naming(8, 2, 6));
    EXPECT_EQ(e.step(), "0:8:0 2:8:0");
    EXPECT_EQ(e.step(), "0:1:8 2:1:8 1:4:4");
  }
}

// Without chunking, a prompt that fits beside a decode joins and a longer one waits. Steps are not
// merged, because it may join in the next step.
TEST(EngineCases, tensorrt_without_chunking_admits_whole_prompts) {
  EnginePolicy p = tiny(EngineKind::tensorrt_llm);
  p.chunked_prefill = false;
  StepwiseEngine fits(p);
  fits.add(asking(4, 5));
  fits.step();
  fits.add(asking(9, 2));
  EXPECT_EQ(fits.plan(), "0:1:4 1:9:0");
  StepwiseEngine waits(p);
  waits.add(asking(4, 5));
  waits.step();
  waits.add(asking(10, 2));
  EXPECT_EQ(waits.plan(), "0:1:4");
  EXPECT_EQ(waits->steady(), 1);
}

// Ten tokens: five and five fit whole, nothing is left for the third; a cut is a multiple of four.
TEST(EngineCases, tensorrt_cuts_only_what_does_not_fit) {
  StepwiseEngine e(tiny(EngineKind::tensorrt_llm));
  e.add(asking(5, 2));
  e.add(asking(5, 2));
  e.add(asking(8, 2));
  EXPECT_EQ(e.step(), "0:5:0 1:5:0");
  EXPECT_EQ(e.step(), "0:1:5 1:1:5 2:8:0");
  StepwiseEngine cut(tiny(EngineKind::tensorrt_llm));
  cut.add(asking(3, 2));
  cut.add(asking(9, 2));
  EXPECT_EQ(cut.step(), "0:3:0 1:4:0");
}

// Two blocks of four that are reused for another request: without a tier their tokens are lost.
TEST(EngineCases, pool_without_a_tier_keeps_nothing_elsewhere) {
  BlockPool pool(2, 4, true);
  Sequence first{.spec = naming(9, 1, 5)};
  Sequence other{.spec = naming(8, 1, 6)};
  ASSERT_TRUE(pool.allocate(first, 8));
  pool.release(first);
  EXPECT_EQ(pool.cached_tokens(first), 8);
  ASSERT_TRUE(pool.allocate(other, 8));
  EXPECT_EQ(pool.cached_tokens(first), 0);
  EXPECT_EQ(pool.tier_tokens(first, 0), 0);
  BlockPool tiered(2, 4, true, 2);
  Sequence kept{.spec = naming(9, 1, 5)};
  ASSERT_TRUE(tiered.allocate(kept, 8));
  tiered.release(kept);
  Sequence next{.spec = naming(4, 1, 6)};
  ASSERT_TRUE(tiered.allocate(next, 4));  // takes the second of the two
  EXPECT_EQ(tiered.cached_tokens(kept), 4);
  EXPECT_EQ(tiered.tier_tokens(kept, 4), 4);
  EXPECT_EQ(tiered.tier_tokens(kept, 8), 0);
}

TEST(EngineCases, freed_name_is_used_once) {
  StepwiseEngine e(tiny(EngineKind::vllm));
  EXPECT_EQ(e.add(asking(2, 1)), 0);
  e.step();
  e->recycle(0);
  EXPECT_EQ(e.add(asking(3, 1)), 0);
  EXPECT_EQ(e.add(asking(4, 1)), 1);
  EXPECT_EQ(e.step(), "0:3:0 1:4:0");
}

// One slot: a request with the running adapter overtakes one that waits for another adapter.
TEST(EngineCases, request_waiting_for_a_slot_is_overtaken) {
  EnginePolicy p = tiny(EngineKind::vllm);
  p.adapter_slots = 1;
  StepwiseEngine e(p);
  e.add({.prompt = 2, .output = 5, .adapter = 1});
  e.add({.prompt = 2, .output = 5, .adapter = 2});
  e.add({.prompt = 2, .output = 5, .adapter = 1});
  EXPECT_EQ(e.step(), "0:2:0 2:2:0");
  EXPECT_EQ(e->waiting(), 1u);
  EXPECT_EQ(e.step(), "0:1:2 2:1:2");
}

// 10 tokens, 5 to come and a page of 4 are 19 of 20.
TEST(EngineCases, sglang_counts_its_room_in_tokens) {
  EnginePolicy p = tiny(EngineKind::sglang);
  p.block_tokens = 4;
  p.blocks = 5;
  StepwiseEngine fits(p);
  fits.add(asking(10, 5));
  EXPECT_EQ(fits.step(), "0:10:0");
  StepwiseEngine wide(p);
  wide.add(asking(10, 6));
  EXPECT_EQ(wide.step(), "") << "20 of 20";
}

// Two blocks with the same tokens: they are found while one of them is kept, whichever is freed
// first.
TEST(EngineCases, tokens_are_found_while_any_block_of_them_is_kept) {
  for (const bool is_first_freed : {true, false}) {
    BlockPool pool(4, 4, true);
    Sequence a{.spec = naming(5, 1, 5)};
    Sequence b{.spec = naming(5, 1, 5)};
    ASSERT_TRUE(pool.allocate(a, 4));
    ASSERT_TRUE(pool.allocate(b, 4));
    pool.release(is_first_freed ? a : b);
    pool.release(is_first_freed ? b : a);
    Sequence c{.spec = naming(12, 1, 6)};
    ASSERT_TRUE(pool.allocate(c, 12));
    EXPECT_EQ(pool.check({c}), "");
    EXPECT_EQ(pool.cached_tokens(a), 4);
    Sequence d{.spec = naming(4, 1, 7)};
    ASSERT_TRUE(pool.allocate(d, 4));
    EXPECT_EQ(pool.check({c, d}), "");
    EXPECT_EQ(pool.cached_tokens(a), 0);
  }
}

TEST(EngineCases, fetch_is_worth_its_time) {
  const KvTierLaw free_of_charge{.blocks = 1, .compute_per_token = 1e-3};
  EXPECT_EQ(free_of_charge.fetch_time(3, 10), 0);
  EXPECT_TRUE(free_of_charge.is_worth(1));
  EXPECT_FALSE(free_of_charge.is_worth(0));
  EXPECT_FALSE(KvTierLaw{.fetch_per_token = 1e-6}.is_worth(10));
  const KvTierLaw law{
      .blocks = 1, .first_byte = 0.5, .fetch_per_token = 0.25, .compute_per_token = 0.5};
  EXPECT_DOUBLE_EQ(law.fetch_time(3, 10), 4);
  EXPECT_FALSE(law.is_worth(2)) << "as long either way";
  EXPECT_TRUE(law.is_worth(3));
}

TEST(EngineCases, adapters_in_two_slots) {
  AdapterSlots slots(2);
  slots.begin();
  slots.use(3);
  slots.use(3);
  slots.use(0);
  EXPECT_EQ(slots.used(), 1);
  EXPECT_EQ(slots.loaded(), 1);
  EXPECT_TRUE(slots.may_join(5));
  slots.use(5);
  EXPECT_FALSE(slots.may_join(4)) << "both are of this plan";
  EXPECT_TRUE(slots.may_join(3));
  EXPECT_TRUE(slots.may_join(0));
  slots.begin();
  slots.use(3);
  EXPECT_EQ(slots.loaded(), 0);
  slots.use(4);  // replaces 5, which this plan does not use
  EXPECT_EQ(slots.loaded(), 1);
  slots.begin();
  slots.use(3);
  EXPECT_EQ(slots.loaded(), 0);
  slots.use(5);
  EXPECT_EQ(slots.loaded(), 1);
  EXPECT_EQ(slots.used(), 2);
}

}  // namespace
}  // namespace orrery::engines
