// LoRA adapters in the engines' policies: which requests join, which are skipped, what is loaded.
// Situations worked out by hand, then laws over random ones.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "core/base/random.h"
#include "layers/engines/engine_fixture.h"

namespace orrery::engines {
namespace {

EnginePolicy slotted(EngineKind kind, int slots) {
  EnginePolicy p = tiny(kind);
  p.adapter_slots = slots;
  return p;
}

RequestSpec tuned(int adapter, int prompt, int output) {
  return {.prompt = prompt, .output = output, .adapter = adapter};
}

TEST(VllmAdapters, request_without_a_slot_is_skipped_and_others_join) {
  StepwiseEngine e(slotted(EngineKind::vllm, 1));
  e.add(tuned(1, 2, 2));
  e.add(tuned(2, 2, 2));
  e.add(tuned(1, 2, 2));
  EXPECT_EQ(e.step(), "0:2:0 2:2:0");
  EXPECT_EQ(e->waiting(), 1u);
  EXPECT_EQ(e.step(), "0:1:2 2:1:2");
  EXPECT_EQ(e.step(), "1:2:0") << "its slot is free with the last request of the other adapter";
}

TEST(VllmAdapters, base_model_takes_no_slot) {
  StepwiseEngine e(slotted(EngineKind::vllm, 1));
  e.add(tuned(1, 2, 2));
  e.add(tuned(0, 2, 2));
  e.add(tuned(2, 2, 2));
  e.add(tuned(0, 2, 2));
  EXPECT_EQ(e.step(), "0:2:0 1:2:0 3:2:0");
  EXPECT_EQ(e.batch().sums.adapters, 1);
}

TEST(VllmAdapters, running_requests_get_their_slots_first) {
  StepwiseEngine e(slotted(EngineKind::vllm, 2));
  e.add(tuned(1, 2, 4));
  EXPECT_EQ(e.step(), "0:2:0");
  for (const int adapter : {2, 3, 1, 2}) e.add(tuned(adapter, 2, 4));
  EXPECT_EQ(e.step(), "0:1:2 1:2:0 3:2:0 4:2:0");
  EXPECT_EQ(e.batch().sums.adapters, 2);
}

TEST(VllmAdapters, skipped_requests_keep_their_order) {
  StepwiseEngine e(slotted(EngineKind::vllm, 1));
  e.add(tuned(1, 2, 1));
  e.add(tuned(2, 2, 1));
  e.add(tuned(3, 2, 1));
  e.add(tuned(2, 2, 1));
  EXPECT_EQ(e.step(), "0:2:0");
  EXPECT_EQ(e.step(), "1:2:0 3:2:0");
  EXPECT_EQ(e.step(), "2:2:0");
  EXPECT_EQ(e->unfinished(), 0u);
}

// Four blocks of four. Without adapters the preempted request would be first.
TEST(VllmAdapters, preempted_request_queues_behind_skipped_ones) {
  EnginePolicy p = slotted(EngineKind::vllm, 1);
  p.blocks = 5;
  p.token_budget = 20;
  StepwiseEngine e(p);
  e.add(tuned(1, 7, 4));
  e.add(tuned(1, 8, 4));
  e.add(tuned(2, 1, 2));
  EXPECT_EQ(e.step(), "0:7:0 1:8:0");
  EXPECT_EQ(e.step(), "0:1:7");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{1});
  EXPECT_EQ(e.step(), "0:1:8");
  EXPECT_EQ(e.step(), "0:1:9");
  EXPECT_EQ(e.step(), "2:1:0") << "it waited first, and has the slot";
  EXPECT_EQ(e.step(), "2:1:1");
  EXPECT_EQ(e.step(), "1:9:0");
}

// A skipped request that has joined no longer counts among the skipped ones.
TEST(VllmAdapters, preempted_request_is_first_once_none_is_skipped) {
  EnginePolicy p = slotted(EngineKind::vllm, 1);
  p.blocks = 5;
  p.token_budget = 20;
  StepwiseEngine e(p);
  e.add(tuned(1, 1, 1));
  e.add(tuned(2, 7, 4));
  EXPECT_EQ(e.step(), "0:1:0");
  e.add(tuned(2, 8, 4));
  EXPECT_EQ(e.step(), "1:7:0 2:8:0");
  e.add(tuned(2, 1, 1));
  EXPECT_EQ(e.step(), "1:1:7");
  EXPECT_EQ(e.batch().preempted, std::vector<int>{2});
  EXPECT_EQ(e.step(), "1:1:8");
  EXPECT_EQ(e.step(), "1:1:9");
  EXPECT_EQ(e.step(), "2:9:0 3:1:0");
}

TEST(VllmAdapters, request_that_leaves_the_queue_is_not_counted_there) {
  EnginePolicy p = slotted(EngineKind::vllm, 1);
  p.blocks = 5;
  p.token_budget = 20;
  StepwiseEngine e(p);
  e.add(tuned(1, 7, 4));
  e.add(tuned(1, 8, 4));
  const int leaves = e.add(tuned(2, 1, 2));
  e.add(tuned(1, 1, 1));
  EXPECT_EQ(e.step(), "0:7:0 1:8:0");
  (*e).stop(leaves);
  EXPECT_EQ(e.step(), "0:1:7");
  EXPECT_EQ(e.step(), "0:1:8");
  EXPECT_EQ(e.step(), "0:1:9");
  EXPECT_EQ(e.step(), "1:9:0 3:1:0") << "the preempted request is first again";
}

TEST(VllmAdapters, keys_of_one_adapter_do_not_serve_another) {
  EnginePolicy p = slotted(EngineKind::vllm, 4);
  p.prefix_cache = true;
  StepwiseEngine e(p);
  RequestSpec spec = naming(9, 1, 7);
  for (const int adapter : {1, 2, 1, 0, 0}) {
    spec.adapter = adapter;
    e.add(spec);
    e.step();
    EXPECT_EQ(e->unfinished(), 0u);
  }
  EXPECT_EQ(e->sequence(0).cached, 0);
  EXPECT_EQ(e->sequence(1).cached, 0) << "the same words under another adapter";
  EXPECT_EQ(e->sequence(2).cached, 8);
  EXPECT_EQ(e->sequence(3).cached, 0) << "nor under none";
  EXPECT_EQ(e->sequence(4).cached, 8);
}

TEST(SglangAdapters, request_without_a_slot_waits_and_others_extend) {
  StepwiseEngine e(slotted(EngineKind::sglang, 1));
  e.add(tuned(1, 2, 6));
  e.add(tuned(2, 2, 2));
  e.add(tuned(1, 2, 3));
  EXPECT_EQ(e.step(), "0:2:0 2:2:0");
  EXPECT_EQ(e.plan(), "0:1:2 2:1:2");
  EXPECT_EQ(e->steady(), 2) << "no request joins before request 2 has ended";
  e->done(2);
  for (int i = 4; i < 7; ++i) EXPECT_EQ(e.step(), fmt::format("0:1:{}", i));
  EXPECT_EQ(e.step(), "1:2:0");
}

TEST(SglangAdapters, base_model_takes_a_slot) {
  StepwiseEngine e(slotted(EngineKind::sglang, 1));
  e.add(tuned(1, 2, 2));
  e.add(tuned(0, 2, 2));
  EXPECT_EQ(e.step(), "0:2:0");
  EXPECT_EQ(e.step(), "0:1:2");
  EXPECT_EQ(e.step(), "1:2:0");
  StepwiseEngine two(slotted(EngineKind::sglang, 2));
  two.add(tuned(1, 2, 2));
  two.add(tuned(0, 2, 2));
  EXPECT_EQ(two.step(), "0:2:0 1:2:0");
  EXPECT_EQ(two.batch().sums.adapters, 1);
}

TEST(SglangAdapters, prompt_in_chunks_holds_its_slot) {
  StepwiseEngine e(slotted(EngineKind::sglang, 1));
  e.add(tuned(1, 14, 2));
  EXPECT_EQ(e.step(), "0:10:0");
  e.add(tuned(2, 2, 2));
  e.add(tuned(1, 2, 2));
  EXPECT_EQ(e.step(), "0:4:10 2:2:0");
}

TEST(TrtllmAdapters, without_eviction_others_overtake) {
  EnginePolicy p = slotted(EngineKind::tensorrt_llm, 1);
  StepwiseEngine e(p);
  e.add(tuned(1, 2, 2));
  e.add(tuned(2, 2, 2));
  e.add(tuned(1, 2, 2));
  EXPECT_EQ(e.step(), "0:2:0 2:2:0");
  EXPECT_EQ(e.step(), "0:1:2 2:1:2");
  EXPECT_EQ(e.step(), "1:2:0");
}

// Three blocks: one each for requests 0 and 3, none reserved for the skipped request; but a request
// that has neither a slot nor blocks ends the search.
TEST(TrtllmAdapters, skipped_requests_reserve_no_blocks) {
  EnginePolicy p = slotted(EngineKind::tensorrt_llm, 1);
  p.blocks = 2;
  StepwiseEngine e(p);
  e.add(tuned(1, 2, 2));
  e.add(tuned(2, 2, 2));
  e.add(tuned(1, 2, 2));
  EXPECT_EQ(e.step(), "0:2:0 2:2:0");
  StepwiseEngine ends(p);
  ends.add(tuned(1, 2, 2));
  ends.add(tuned(2, 4, 4));
  ends.add(tuned(1, 2, 2));
  EXPECT_EQ(ends.step(), "0:2:0") << "the search ends at a request that finds no blocks";
}

TEST(TrtllmAdapters, first_request_without_pages_ends_the_search_for_utilisation) {
  EnginePolicy p = slotted(EngineKind::tensorrt_llm, 1);
  p.max_utilisation = true;
  StepwiseEngine e(p);
  e.add(tuned(1, 2, 2));
  e.add(tuned(2, 2, 2));
  e.add(tuned(1, 2, 2));
  EXPECT_EQ(e.step(), "0:2:0");
  EXPECT_EQ(e.step(), "0:1:2");
  EXPECT_EQ(e.step(), "1:2:0");
}

TEST(TrtllmAdapters, equal_prompts_of_two_adapters_do_not_wait_for_each_other) {
  EnginePolicy p = slotted(EngineKind::tensorrt_llm, 2);
  p.prefix_cache = true;
  p.token_budget = 40;
  for (const int second : {1, 2}) {
    StepwiseEngine e(p);
    RequestSpec spec = naming(9, 2, 7);
    spec.adapter = 1;
    e.add(spec);
    spec.adapter = second;
    e.add(spec);
    EXPECT_EQ(e.step(), second == 1 ? "0:9:0" : "0:9:0 1:9:0");
  }
}

TEST(AdapterSlots, least_recently_used_adapter_loses_its_slot) {
  StepwiseEngine e(slotted(EngineKind::vllm, 2));
  const auto loads = [&](std::vector<int> adapters) {
    for (const int a : adapters) e.add(tuned(a, 2, 1));
    e.step();
    EXPECT_EQ(e->unfinished(), 0u);
    return e.batch().sums.adapter_loads;
  };
  EXPECT_EQ(loads({1, 2}), 2);
  EXPECT_EQ(loads({1}), 0) << "it is still there";
  EXPECT_EQ(loads({3}), 1) << "in the place of 2";
  EXPECT_EQ(loads({1}), 0);
  EXPECT_EQ(loads({2}), 1) << "in the place of 3";
  EXPECT_EQ(loads({3, 1}), 1) << "1 is older than 2, but of the same step";
  EXPECT_EQ(loads({1, 3}), 0);
  EXPECT_EQ(loads({0}), 0);
}

constexpr EngineKind kEngines[] = {EngineKind::vllm, EngineKind::sglang, EngineKind::tensorrt_llm};

std::vector<RequestSpec> drawn(std::uint64_t seed, int count, int adapters) {
  RandomStream stream(seed, "test");
  std::vector<RequestSpec> all;
  for (int i = 0; i < count; ++i) {
    RequestSpec r =
        asking(1 + static_cast<int>(stream.below(12)), 1 + static_cast<int>(stream.below(9)));
    if (adapters > 0) r.adapter = 1 + static_cast<int>(stream.below(adapters));
    r.shared = 1;
    r.shared_tokens = r.prompt / 2;
    all.push_back(r);
  }
  return all;
}

// Returns all decisions of a run; request n is added before step n.
std::string decisions(const EnginePolicy& policy, const std::vector<RequestSpec>& all,
                      const std::function<void(StepwiseEngine&)>& look = {}) {
  StepwiseEngine e(policy);
  std::string text;
  std::size_t added = 0;
  for (int step = 0; step < 4000 && (added < all.size() || e->unfinished() > 0); ++step) {
    for (int i = 0; i < 2 && added < all.size(); ++i) e.add(all[added++]);
    text += e.plan() + "\n";
    if (look) look(e);
    e->done();
  }
  EXPECT_EQ(added, all.size());
  EXPECT_EQ(e->unfinished(), 0u) << "somebody starves";
  return text;
}

TEST(AdapterLaws, steps_never_exceed_the_slots_and_no_request_starves) {
  for (const EngineKind kind : kEngines) {
    for (const int slots : {1, 2, 3}) {
      for (const bool tight : {false, true}) {
        EnginePolicy p = slotted(kind, slots);
        p.prefix_cache = tight;
        p.max_utilisation = tight;
        if (tight) p.blocks = kind == EngineKind::sglang ? 60 : 12;
        const auto all = drawn(static_cast<std::uint64_t>(slots), 60, 7);
        std::vector<int> served(8);
        decisions(p, all, [&](StepwiseEngine& e) {
          std::set<int> distinct;
          for (const BatchItem& i : e.batch().items) {
            distinct.insert(e->sequence(i.id).spec.adapter);
          }
          EXPECT_LE(static_cast<int>(distinct.size()), slots);
          EXPECT_EQ(static_cast<int>(distinct.size()), e.batch().sums.adapters);
          EXPECT_LE(e.batch().sums.adapter_loads, e.batch().sums.adapters);
        });
      }
    }
  }
}

TEST(AdapterLaws, with_a_slot_for_each_adapter_decisions_are_unchanged) {
  for (const EngineKind kind : kEngines) {
    for (const bool tight : {false, true}) {
      EnginePolicy with = slotted(kind, 7);
      with.max_utilisation = tight;
      if (tight) with.blocks = kind == EngineKind::sglang ? 60 : 12;
      EnginePolicy without = with;
      without.adapter_slots = 0;
      EXPECT_EQ(decisions(with, drawn(3, 60, 7)), decisions(without, drawn(3, 60, 7)));
    }
  }
}

TEST(AdapterLaws, one_adapter_decides_like_the_base_model) {
  for (const EngineKind kind : kEngines) {
    EnginePolicy p = slotted(kind, 1);
    p.prefix_cache = true;
    std::vector<RequestSpec> all = drawn(5, 60, 1);
    const std::string one = decisions(p, all);
    for (RequestSpec& r : all) r.adapter = 0;
    p.adapter_slots = 0;
    EXPECT_EQ(one, decisions(p, all));
  }
}

}  // namespace
}  // namespace orrery::engines
