// What an engine decides: which requests compute how many tokens in the next iteration.
//
// A policy is pure: it sees requests arrive, plans an iteration, and is told that it was done. It
// knows no clock and no device, so that two drivers use it: ReplicaSim takes the time of a planned
// iteration from StepClock; PolicyPipe (`orrery probe policy`) hands it to whoever runs it on real
// kernels. A driver calls, in turn:
//   add(...)   for every request that arrived since the last plan
//   plan()     the next iteration; an empty one says that nothing can run
//   done(n)    it was executed, n times in a row where steady() allowed it
// After done() `finished()` names the requests whose last token that was.
// Merging: while a batch only decodes and nobody can join, `steady()` says how many iterations
// follow that differ from it in nothing but one token of context a request each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/words.h"
#include "layers/engines/adapter_slots.h"
#include "layers/engines/block_pool.h"
#include "layers/engines/sequence.h"

namespace orrery::engines {

enum class EngineKind { vllm, sglang, tensorrt_llm };
inline constexpr Word<EngineKind> kEngineKindWords[] = {{EngineKind::vllm, "vllm"},
                                                        {EngineKind::sglang, "sglang"},
                                                        {EngineKind::tensorrt_llm, "tensorrt-llm"}};
constexpr WordTable<EngineKind> words_of(EngineKind) { return kEngineKindWords; }

// The settings that decide; the defaults of each engine and version are data
// (data/calibration/serving_engines.csv).
struct EnginePolicy {
  EngineKind kind = EngineKind::vllm;
  int blocks = 1 << 20;
  int block_tokens = 16;
  int token_budget =
      8192;  // of one iteration; SGLang: of the prompts in one (chunked_prefill_size)
  int max_sequences = 256;
  int max_length = 1 << 30;
  bool chunked_prefill = true;
  bool prefix_cache = false;
  bool by_priority = false;
  int long_prompt = 0;  // vLLM: the most tokens of one prompt in an iteration; 0: no such limit
  bool whole_prompt_fits = true;     // vLLM: admit only what fits with its whole prompt
  bool longest_prefix_first = true;  // SGLang's order of waiting requests
  double new_token_ratio = 0.7;      // SGLang: of the outputs still to come, reserved at admission
  double new_token_ratio_min = 0.098;
  int new_token_steps = 600;     // decode steps over which the ratio falls
  int clip_output = 4096;        // SGLang counts no more of an output than this
  bool ignores_end = false;      // the requests run to their length, and the engine knows
  bool max_utilisation = false;  // TensorRT-LLM: evict rather than reserve whole outputs
  int chunk_unit = 32;           // TensorRT-LLM cuts prompts at multiples of this
  KvTierLaw kv_tier;             // where evicted blocks of a prefix cache go
  int adapter_slots = 0;         // adapters on the device at a time; 0: requests have none
  double adapter_load = 0;       // seconds until one is there that was not
};

struct BatchItem {
  int id = 0;
  int tokens = 0;
  int context = 0;  // in the cache before it
  bool emits = false;
};

// The sums that the time of an iteration depends on.
struct StepSums {
  int decoding = 0;        // requests that advance by one token
  double decode_keys = 0;  // sum of their contexts, the new token included
  int prompts = 0;         // prompts, or chunks of them
  int prompt_tokens = 0;
  double prompt_pairs = 0;  // sum of query-key pairs of the chunks
  int sampled = 0;          // tokens that come out
  int fetches = 0;          // requests whose blocks come out of a tier
  int fetched = 0;          // tokens of them
  int adapters = 0;         // distinct ones of its requests
  int adapter_loads = 0;    // of them, not on the device before
};

struct Batch {
  std::vector<BatchItem> items;
  std::vector<int> preempted;
  StepSums sums;

  void clear();
  void add(const Sequence& s, int id, int tokens);
  bool empty() const { return items.empty(); }
};

class Scheduler {
 public:
  explicit Scheduler(const EnginePolicy& policy);
  virtual ~Scheduler() = default;

  int add(const RequestSpec& spec, double arrived);
  virtual const Batch& plan() = 0;
  // How often the planned batch may run in a row before another decision could be taken; 1: once.
  virtual int steady() const;
  virtual void done(int times = 1);
  // It ended before its length: the executor met the end of the text, or the client left.
  void stop(int id);
  const std::vector<int>& finished() const { return finished_; }

  const Sequence& sequence(int id) const { return sequences_[static_cast<std::size_t>(id)]; }
  const std::vector<int>& running() const { return running_; }
  std::size_t waiting() const { return waiting_.size() - waiting_head_; }
  std::size_t unfinished() const { return running_.size() + waiting(); }
  const BlockPool& pool() const { return pool_; }
  const EnginePolicy& policy() const { return policy_; }
  std::string check() const { return pool_.check(sequences_); }
  // Forgets finished requests so that a long run does not grow; ids of others stay valid.
  void recycle(int id) { free_ids_.push_back(id); }

 protected:
  // What a request need not compute when it joins: blocks that it shares, or keys that came with
  // it.
  struct Found {
    int shared = 0;    // tokens in blocks of the pool
    int computed = 0;  // tokens, all in all
  };
  Found found(const Sequence& s) const;
  // It joins with what was found.
  void take_found(Sequence& s, const Found& have);
  Sequence& at(int id) { return sequences_[static_cast<std::size_t>(id)]; }
  int pop_waiting();
  void push_waiting_front(int id);
  // Whoever waits behind so many others, and what becomes of the queue when it joins.
  int waiting_at(std::size_t place) const { return waiting_[waiting_head_ + place]; }
  int take_waiting(std::size_t place);
  // A plan begins: the adapters of whoever runs have their slots.
  void hold_running_adapters();
  // The planned batch is whole: which adapters it uses.
  void count_adapters();
  virtual void put_waiting(int id);
  void preempt(int id);
  void finish(int id);
  void remove_running(int id);
  // Only decoding, everybody runs, nobody was put off: what must hold before steps can be merged.
  bool only_decodes() const;
  int steady_by_blocks() const;

  EnginePolicy policy_;
  BlockPool pool_;
  std::vector<Sequence> sequences_;
  std::vector<int> running_;
  std::vector<int> finished_;
  Batch batch_;

  std::vector<int> waiting_;  // from waiting_head_ on
  std::size_t waiting_head_ = 0;
  // Of the first of them: others have passed them by, and nobody who gives way stands before them.
  std::size_t passed_by_ = 0;
  AdapterSlots adapters_;

 private:
  void grow_blocks(int times);

  std::vector<int> free_ids_;
};

std::unique_ptr<Scheduler> make_scheduler(const EnginePolicy& policy);

}  // namespace orrery::engines
