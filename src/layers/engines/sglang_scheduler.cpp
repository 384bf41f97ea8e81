#include "layers/engines/sglang_scheduler.h"

#include <algorithm>

namespace orrery::engines {
namespace {

// With more waiting requests than this, the order of arrival is kept, because matching all prefixes
// would cost too much.
constexpr std::size_t kMostMatched = 128;
// After a retraction the estimate looks this many decode steps ahead.
constexpr double kRetractSteps = 20;

}  // namespace

SglangScheduler::SglangScheduler(const EnginePolicy& policy)
    : Scheduler(policy),
      ratio_(policy.new_token_ratio),
      ratio_step_((policy.new_token_ratio - policy.new_token_ratio_min) /
                  std::max(1, policy.new_token_steps)) {}

double SglangScheduler::room() const {
  return static_cast<double>(pool_.free_blocks()) * pool_.block_tokens();
}

void SglangScheduler::order_waiting() {
  if (!policy_.prefix_cache || !policy_.longest_prefix_first || waiting() > kMostMatched) return;
  const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_);
  std::stable_sort(begin, waiting_.end(), [this](int a, int b) {
    return pool_.cached_tokens(sequence(a)) > pool_.cached_tokens(sequence(b));
  });
}

// Follows the cache through the ends of all requests, soonest first; returns false if it would run
// out.
bool SglangScheduler::fits_to_the_end(int id, int fresh) {
  ends_.clear();
  const auto note = [this](const Sequence& s) {
    const double left = s.spec.output - s.generated;
    if (left > 0) ends_.emplace_back(left, s.known());
  };
  note(sequence(id));
  for (const int r : running_) note(sequence(r));
  for (const BatchItem& item : batch_.items) note(sequence(item.id));
  std::ranges::stable_sort(ends_, {}, &std::pair<double, double>::first);
  double room_left = room() - fresh;
  double count = static_cast<double>(ends_.size());
  for (const auto& [left, held] : ends_) {
    if (room_left - left * count <= count) return false;
    room_left += held;
    --count;
  }
  return true;
}

bool SglangScheduler::extend(int id, int tokens, const Found& have) {
  Sequence& s = at(id);
  const bool joins = s.blocks == 0;
  if (!pool_.allocate(s, have.computed + tokens, joins ? have.shared : 0)) return false;
  if (joins) take_found(s, have);
  batch_.add(s, id, tokens);
  return true;
}

SglangScheduler::Added SglangScheduler::add_one(int id, Budget& budget) {
  const Sequence& s = sequence(id);
  const Found have = found(s);
  const int cached = have.computed;
  const int fresh = s.known() - cached;
  const bool followed = policy_.ignores_end && !policy_.prefix_cache;
  const double to_come = std::min(s.spec.output - s.generated, policy_.clip_output);
  if (followed) {
    if (fresh > std::min(room(), room() - budget.promised)) return Added::no_room;
    if (!fits_to_the_end(id, fresh)) return Added::no_room;
  } else if (fresh + to_come + pool_.block_tokens() >= room() - budget.promised) {
    return Added::no_room;
  }
  if (budget.chunk <= 0) return Added::full;
  const bool cut = policy_.chunked_prefill && fresh > budget.chunk;
  if (!policy_.chunked_prefill && fresh >= budget.chunk && !batch_.empty()) return Added::full;
  const int page = pool_.block_tokens();
  const int tokens = cut ? (budget.chunk + cached) / page * page - cached : fresh;
  if (tokens <= 0) return Added::full;
  if (!extend(id, tokens, have)) return Added::no_room;
  budget.chunk -= tokens;
  if (cut) {
    chunked_ = id;
    return Added::full;
  }
  budget.promised += std::min(s.spec.output, policy_.clip_output) + page;
  return budget.chunk > 0 ? Added::more : Added::full;
}

void SglangScheduler::plan_extend() {
  if ((full_ || waiting() == 0) && chunked_ < 0) return;
  const auto places = static_cast<std::size_t>(policy_.max_sequences);
  if (running_.size() >= places && chunked_ < 0) {
    full_ = true;
    return;
  }
  order_waiting();
  Budget budget{.promised = 0, .chunk = policy_.token_budget};
  for (const int r : running_) {
    const Sequence& s = sequence(r);
    budget.promised += std::min(s.spec.output - s.generated, policy_.clip_output) * ratio_;
  }
  if (chunked_ >= 0) {
    const Sequence& s = sequence(chunked_);
    const int left = s.known() - s.computed;
    const int tokens = std::min(left, budget.chunk);
    if (!extend(chunked_, tokens, {.shared = 0, .computed = s.computed})) return;
    budget.chunk -= tokens;
    if (tokens < left) return;
    budget.promised += std::min(s.spec.output, policy_.clip_output);
    chunked_ = -1;
  }
  join_waiting(budget);
}

void SglangScheduler::join_waiting(Budget& budget) {
  const auto places = static_cast<std::size_t>(policy_.max_sequences);
  for (const BatchItem& item : batch_.items) adapters_.hold(sequence(item.id).spec.adapter);
  std::size_t place = 0;
  while (place < waiting() && budget.chunk > 0) {
    const int id = waiting_at(place);
    if (!adapters_.may_join(sequence(id).spec.adapter)) {
      ++place;
      continue;
    }
    if (running_.size() + batch_.items.size() >= places) {
      full_ = true;
      break;
    }
    const std::size_t before = batch_.items.size();
    const Added added = add_one(id, budget);
    if (batch_.items.size() > before) {
      adapters_.hold(sequence(id).spec.adapter);
      take_waiting(place);
    }
    if (added == Added::no_room) full_ = true;
    if (added != Added::more) break;
  }
  no_slot_ = place > 0 && place == waiting();
}

// Keeps the requests that have generated most; among equals, those with shorter prompts.
void SglangScheduler::retract() {
  const auto kept_first = [this](int a, int b) {
    const Sequence& x = sequence(a);
    const Sequence& y = sequence(b);
    if (x.generated != y.generated) return x.generated > y.generated;
    return x.spec.prompt < y.spec.prompt;
  };
  std::vector<int> order = running_;
  std::ranges::stable_sort(order, kept_first);
  const auto needed = [&] {
    int blocks = 0;
    for (const int id : order) {
      const Sequence& s = sequence(id);
      blocks += pool_.blocks_of(s.computed + 1) - s.blocks;
    }
    return blocks;
  };
  while (order.size() > 1 && (batch_.preempted.empty() || needed() > pool_.free_blocks())) {
    const int victim = order.back();
    order.pop_back();
    remove_running(victim);
    preempt(victim);
  }
  double made = 0;
  double asked = 1;
  for (const int id : running_) {
    made += sequence(id).generated + kRetractSteps;
    asked += sequence(id).spec.output;
  }
  ratio_ = std::min(1.0, made / asked);
  full_ = false;
}

void SglangScheduler::plan_decode() {
  int needed = 0;
  for (const int id : running_) {
    const Sequence& s = sequence(id);
    needed += pool_.blocks_of(s.computed + 1) - s.blocks;
  }
  if (needed > pool_.free_blocks()) retract();
  for (const int id : running_) {
    if (!pool_.allocate(at(id), at(id).computed + 1)) continue;
    batch_.add(at(id), id, 1);
  }
}

const Batch& SglangScheduler::plan() {
  batch_.clear();
  no_slot_ = false;
  hold_running_adapters();
  plan_extend();
  decoding_ = batch_.empty();
  if (decoding_) plan_decode();
  count_adapters();
  return batch_;
}

int SglangScheduler::steady() const {
  const bool none_joins = chunked_ < 0 && (waiting() == 0 || full_ || no_slot_);
  return decoding_ && none_joins ? Scheduler::steady() : 1;
}

void SglangScheduler::done(int times) {
  if (decoding_) {
    const bool retracted = !batch_.preempted.empty();
    if (!retracted) {
      for (int i = 0; i < times; ++i) {
        ratio_ = std::max(policy_.new_token_ratio_min, ratio_ - ratio_step_);
      }
    }
    Scheduler::done(times);
    if (!finished_.empty()) full_ = false;
    return;
  }
  for (const BatchItem& item : batch_.items) {
    if (!item.emits) continue;
    at(item.id).state = SequenceState::running;
    running_.push_back(item.id);
  }
  Scheduler::done(times);
  if (!finished_.empty()) full_ = false;
}

}  // namespace orrery::engines
