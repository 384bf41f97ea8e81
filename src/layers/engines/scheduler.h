// What a serving engine decides: which requests compute how many tokens in the next iteration.
//
// A policy is pure: it receives requests, plans an iteration, and is notified when that was
// executed. It knows no clock and no device, so two drivers use it: ReplicaSim takes the time of a
// planned
// iteration from StepClock; PolicyPipe (`orrery probe policy`) passes it to a process that runs it
// on real kernels. A driver calls, in turn:
//   add(...)   for every request that arrived since the last plan
//   plan()     returns the next iteration; an empty one means that nothing can run
//   done(n)    it was executed, n times in a row if steady() allowed that
// After done(), `finished()` lists the requests that have produced their last token. Merging: while
// a batch only decodes and no request can join, `steady()` says how many following iterations
// differ from it only by one more token of context per request.
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

// The settings on which decisions depend; the defaults per engine and version are data
// (data/calibration/serving_engines.csv).
struct EnginePolicy {
  EngineKind kind = EngineKind::vllm;
  int blocks = 1 << 20;
  int block_tokens = 16;
  int token_budget =
      8192;  // tokens per iteration; SGLang: prompt tokens per iteration (chunked_prefill_size)
  int max_sequences = 256;
  int max_length = 1 << 30;
  bool chunked_prefill = true;
  bool prefix_cache = false;
  bool by_priority = false;
  int long_prompt = 0;            // vLLM: maximum tokens of one prompt in an iteration; 0: no limit
  bool whole_prompt_fits = true;  // vLLM: admit a request only if its whole prompt fits
  bool longest_prefix_first = true;  // SGLang's order of waiting requests
  // SGLang: share of the outputs still to come that admission reserves.
  double new_token_ratio = 0.7;
  double new_token_ratio_min = 0.098;
  int new_token_steps = 600;     // decode steps over which the ratio falls
  int clip_output = 4096;        // SGLang counts at most this many tokens of an output
  bool ignores_end = false;      // requests run to their full length, and the engine knows it
  bool max_utilisation = false;  // TensorRT-LLM: evict instead of reserving whole outputs
  int chunk_unit = 32;           // TensorRT-LLM cuts prompts at multiples of this
  KvTierLaw kv_tier;             // where evicted blocks of a prefix cache go
  int adapter_slots = 0;         // adapters on the device at a time; 0: no adapters
  double adapter_load = 0;       // seconds to load an adapter
};

struct BatchItem {
  int id = 0;
  int tokens = 0;
  int context = 0;  // tokens already in the cache
  bool emits = false;
};

// The sums on which the time of an iteration depends.
struct StepSums {
  int decoding = 0;        // requests that advance by one token
  double decode_keys = 0;  // sum of their contexts, including the new token
  int prompts = 0;         // prompts, or chunks of prompts
  int prompt_tokens = 0;
  double prompt_pairs = 0;  // sum of query-key pairs of the chunks
  int sampled = 0;          // tokens produced
  int fetches = 0;          // requests whose blocks are fetched from a tier
  int fetched = 0;          // tokens fetched
  int adapters = 0;         // distinct adapters of the requests
  int adapter_loads = 0;    // adapters of the batch that had to be loaded
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
  // Returns how often the planned batch may run in a row before another decision is possible; 1:
  // once.
  virtual int steady() const;
  virtual void done(int times = 1);
  // The request ended before its length: the executor saw an end token, or the client left.
  void stop(int id);
  const std::vector<int>& finished() const { return finished_; }

  const Sequence& sequence(int id) const { return sequences_[static_cast<std::size_t>(id)]; }
  const std::vector<int>& running() const { return running_; }
  std::size_t waiting() const { return waiting_.size() - waiting_head_; }
  std::size_t unfinished() const { return running_.size() + waiting(); }
  const BlockPool& pool() const { return pool_; }
  const EnginePolicy& policy() const { return policy_; }
  std::string check() const { return pool_.check(sequences_); }
  // Makes the id of a finished request reusable, so that a long run does not grow; other ids stay
  // valid.
  void recycle(int id) { free_ids_.push_back(id); }

 protected:
  // What a joining request need not compute: blocks that it shares, or keys and values transferred
  // with it.
  struct Found {
    int shared = 0;    // tokens in shared blocks of the pool
    int computed = 0;  // tokens in total
  };
  Found found(const Sequence& s) const;
  // Admits the request with what was found.
  void take_found(Sequence& s, const Found& have);
  Sequence& at(int id) { return sequences_[static_cast<std::size_t>(id)]; }
  int pop_waiting();
  void push_waiting_front(int id);
  // waiting_at returns the request at a place in the queue; take_waiting removes it when it joins.
  int waiting_at(std::size_t place) const { return waiting_[waiting_head_ + place]; }
  int take_waiting(std::size_t place);
  // Called when a plan begins: reserves the slots of running requests' adapters.
  void hold_running_adapters();
  // Called when the planned batch is complete: counts the adapters that it uses.
  void count_adapters();
  virtual void put_waiting(int id);
  void preempt(int id);
  void finish(int id);
  void remove_running(int id);
  // Returns true if steps may be merged: all requests are running and decoding, and none was
  // postponed.
  bool only_decodes() const;
  int steady_by_blocks() const;

  EnginePolicy policy_;
  BlockPool pool_;
  std::vector<Sequence> sequences_;
  std::vector<int> running_;
  std::vector<int> finished_;
  Batch batch_;

  std::vector<int> waiting_;  // valid from waiting_head_ on
  std::size_t waiting_head_ = 0;
  // Length of the queue prefix that later requests have overtaken; preempted requests are inserted
  // after it.
  std::size_t passed_by_ = 0;
  AdapterSlots adapters_;

 private:
  void grow_blocks(int times);

  std::vector<int> free_ids_;
};

std::unique_ptr<Scheduler> make_scheduler(const EnginePolicy& policy);

}  // namespace orrery::engines
