#include "layers/engines/scheduler.h"

#include <algorithm>
#include <array>

#include "layers/engines/sglang_scheduler.h"
#include "layers/engines/trtllm_scheduler.h"
#include "layers/engines/vllm_scheduler.h"

namespace orrery::engines {
namespace {

// Merged runs are at most this long, so that a driver checks its other work now and then.
constexpr int kMostMerged = 4096;
// For blocks of more tokens than this, boundary crossings are counted one by one.
constexpr int kMostBlockTokens = 128;

}  // namespace

void Batch::clear() {
  items.clear();
  preempted.clear();
  sums = {};
}

void Batch::add(const Sequence& s, int id, int tokens) {
  const bool emits = s.computed + tokens == s.known();
  items.push_back({.id = id, .tokens = tokens, .context = s.computed, .emits = emits});
  sums.sampled += emits ? 1 : 0;
  if (tokens == 1 && s.computed >= s.spec.prompt) {
    ++sums.decoding;
    sums.decode_keys += s.computed + 1;
    return;
  }
  ++sums.prompts;
  sums.prompt_tokens += tokens;
  const double n = tokens;
  sums.prompt_pairs += n * s.computed + n * (n + 1) / 2;
}

Scheduler::Scheduler(const EnginePolicy& policy)
    : policy_(policy),
      pool_(policy.blocks, policy.block_tokens, policy.prefix_cache, policy.kv_tier.blocks),
      adapters_(policy.adapter_slots, policy.kind == EngineKind::sglang) {}

int Scheduler::add(const RequestSpec& spec, double arrived) {
  int id = static_cast<int>(sequences_.size());
  if (free_ids_.empty()) {
    sequences_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
    std::vector<int> kept = std::move(at(id).block_ids);
    at(id) = {};
    at(id).block_ids = std::move(kept);
  }
  at(id).spec = spec;
  at(id).arrived = arrived;
  if (spec.transferred) at(id).generated = 1;
  put_waiting(id);
  return id;
}

Scheduler::Found Scheduler::found(const Sequence& s) const {
  if (s.spec.transferred && s.state == SequenceState::waiting) {
    return {.shared = 0, .computed = s.spec.prompt};
  }
  const int cached = pool_.cached_tokens(s);
  const int away = pool_.tier_tokens(s, cached);
  return {.shared = cached, .computed = cached + (policy_.kv_tier.is_worth(away) ? away : 0)};
}

void Scheduler::take_found(Sequence& s, const Found& have) {
  const bool moved = s.spec.transferred && s.state == SequenceState::waiting;
  const int fetched = moved ? 0 : have.computed - have.shared;
  if (fetched > 0) {
    ++batch_.sums.fetches;
    batch_.sums.fetched += fetched;
  }
  if (s.preemptions == 0) {
    s.cached = have.shared;
    s.fetched = fetched;
  }
  s.computed = have.computed;
}

void Scheduler::put_waiting(int id) {
  if (!policy_.by_priority) {
    waiting_.push_back(id);
    return;
  }
  const auto later = [this](int a, int b) {
    const Sequence& x = sequence(a);
    const Sequence& y = sequence(b);
    if (x.spec.priority != y.spec.priority) return x.spec.priority < y.spec.priority;
    return x.arrived < y.arrived;
  };
  const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_);
  waiting_.insert(std::upper_bound(begin, waiting_.end(), id, later), id);
}

int Scheduler::pop_waiting() {
  const int id = waiting_[waiting_head_++];
  if (waiting_head_ == waiting_.size()) {
    waiting_.clear();
    waiting_head_ = 0;
  } else if (waiting_head_ > 4096 && waiting_head_ * 2 > waiting_.size()) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_));
    waiting_head_ = 0;
  }
  return id;
}

int Scheduler::take_waiting(std::size_t place) {
  if (place < passed_by_) --passed_by_;
  if (place == 0) return pop_waiting();
  const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_ + place);
  const int id = *at;
  waiting_.erase(at);
  return id;
}

void Scheduler::push_waiting_front(int id) {
  if (policy_.by_priority) return put_waiting(id);
  if (passed_by_ > 0) {
    waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_ + passed_by_), id);
    return;
  }
  if (waiting_head_ > 0) {
    waiting_[--waiting_head_] = id;
  } else {
    waiting_.insert(waiting_.begin(), id);
  }
}

void Scheduler::preempt(int id) {
  Sequence& s = at(id);
  pool_.release(s);
  s.computed = 0;
  s.state = SequenceState::preempted;
  ++s.preemptions;
  batch_.preempted.push_back(id);
  push_waiting_front(id);
}

void Scheduler::finish(int id) {
  Sequence& s = at(id);
  pool_.release(s);
  s.state = SequenceState::finished;
  finished_.push_back(id);
}

void Scheduler::remove_running(int id) {
  const auto place = std::ranges::find(running_, id);
  if (place != running_.end()) running_.erase(place);
}

void Scheduler::stop(int id) {
  Sequence& s = at(id);
  if (s.state == SequenceState::finished) return;
  if (s.state == SequenceState::running) {
    remove_running(id);
  } else {
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_);
    const auto place = std::find(begin, waiting_.end(), id);
    if (static_cast<std::size_t>(place - begin) < passed_by_) --passed_by_;
    waiting_.erase(place);
  }
  finish(id);
}

void Scheduler::hold_running_adapters() {
  adapters_.begin();
  if (!adapters_.is_there()) return;
  for (const int id : running_) adapters_.hold(sequence(id).spec.adapter);
}

void Scheduler::count_adapters() {
  if (!adapters_.is_there()) return;
  for (const BatchItem& item : batch_.items) adapters_.hold(sequence(item.id).spec.adapter);
  for (const BatchItem& item : batch_.items) adapters_.use(sequence(item.id).spec.adapter);
  batch_.sums.adapters = adapters_.used();
  batch_.sums.adapter_loads = adapters_.loaded();
}

bool Scheduler::only_decodes() const {
  return batch_.preempted.empty() && batch_.sums.prompts == 0 &&
         batch_.items.size() == running_.size() && !batch_.items.empty();
}

// Every request takes a block when its context crosses a block boundary. Counts the steps until the
// free blocks would run out or the first request ends.
int Scheduler::steady_by_blocks() const {
  int most = kMostMerged;
  const int size = pool_.block_tokens();
  if (size > kMostBlockTokens) return 1;
  std::array<int, kMostBlockTokens> crossing{};
  for (const BatchItem& item : batch_.items) {
    const Sequence& s = sequence(item.id);
    most = std::min(most, s.spec.output - s.generated);
    // The block of this step is already allocated; step j (0: this one) computes token context + j.
    ++crossing[static_cast<std::size_t>((s.blocks * size - item.context) % size)];
  }
  int free = pool_.free_blocks();
  for (int j = 1; j < most; ++j) {
    free -= crossing[static_cast<std::size_t>(j % size)];
    if (free < 0) return j;
  }
  return std::max(1, most);
}

int Scheduler::steady() const { return only_decodes() ? steady_by_blocks() : 1; }

// Allocates the blocks of the repeated steps in the order in which single steps would have taken
// them.
void Scheduler::grow_blocks(int times) {
  if (!pool_.sharing()) {
    for (const BatchItem& item : batch_.items) pool_.allocate(at(item.id), item.context + times);
    return;
  }
  for (int j = 2; j <= times; ++j) {
    for (const BatchItem& item : batch_.items) pool_.allocate(at(item.id), item.context + j);
  }
}

void Scheduler::done(int times) {
  finished_.clear();
  if (times > 1) grow_blocks(times);
  bool ended = false;
  for (const BatchItem& item : batch_.items) {
    Sequence& s = at(item.id);
    s.computed += item.tokens * times;
    if (!item.emits) continue;
    s.generated += times;
    // Blocks filled during the repeats get their names now, because their tokens are known.
    if (times > 1 && pool_.sharing()) pool_.allocate(s, s.computed);
    if (s.done()) {
      finish(item.id);
      ended = true;
    }
  }
  if (ended) {
    std::erase_if(running_,
                  [this](int id) { return sequence(id).state == SequenceState::finished; });
  }
  batch_.clear();
}

std::unique_ptr<Scheduler> make_scheduler(const EnginePolicy& policy) {
  switch (policy.kind) {
    case EngineKind::vllm:
      return std::make_unique<VllmScheduler>(policy);
    case EngineKind::sglang:
      return std::make_unique<SglangScheduler>(policy);
    case EngineKind::tensorrt_llm:
      return std::make_unique<TrtllmScheduler>(policy);
  }
  return nullptr;
}

}  // namespace orrery::engines
