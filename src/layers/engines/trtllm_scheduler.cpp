#include "layers/engines/trtllm_scheduler.h"

#include <algorithm>

namespace orrery::engines {

// If several prompts share a first block that is not in the cache yet, the first computes it and
// the others wait a step.
bool TrtllmScheduler::better_later(int id, std::vector<int>& leaders) const {
  if (!policy_.prefix_cache) return false;
  const Sequence& s = sequence(id);
  const int cached = pool_.cached_tokens(s);
  if (cached + pool_.block_tokens() > s.spec.prompt) return false;
  for (const int other : leaders) {
    const Sequence& o = sequence(other);
    if (s.spec.adapter != o.spec.adapter) continue;
    const bool same_shared = s.spec.shared != 0 && s.spec.shared == o.spec.shared;
    const bool in_shared =
        cached + pool_.block_tokens() <= std::min(s.spec.shared_tokens, o.spec.shared_tokens);
    const bool same_all =
        s.spec.content != 0 && s.spec.content == o.spec.content && s.spec.shared == o.spec.shared;
    if (same_all || (same_shared && in_shared)) return true;
  }
  leaders.push_back(id);
  return false;
}

bool TrtllmScheduler::admit_no_evict(int id, int& free) {
  const Sequence& s = sequence(id);
  const int need = pool_.cost(s, s.spec.prompt + s.spec.output, found(s).shared);
  if (need > free) return false;
  if (!adapters_.may_join(s.spec.adapter)) return true;
  free -= need;
  choose(id);
  return true;
}

void TrtllmScheduler::choose(int id) {
  adapters_.hold(sequence(id).spec.adapter);
  chosen_.push_back(id);
}

void TrtllmScheduler::choose_no_evict() {
  int free = pool_.free_blocks();
  std::vector<int> leaders;
  for (const int id : running_) {
    const Sequence& s = sequence(id);
    free -= std::max(0, pool_.blocks_of(s.spec.prompt + s.spec.output) - s.blocks);
    choose(id);
    if (policy_.prefix_cache && s.computed < s.spec.prompt) leaders.push_back(id);
  }
  for (std::size_t i = waiting_head_; i < waiting_.size(); ++i) {
    if (static_cast<int>(chosen_.size()) >= policy_.max_sequences) break;
    if (better_later(waiting_[i], leaders)) continue;
    if (!admit_no_evict(waiting_[i], free)) break;
  }
}

int TrtllmScheduler::next_blocks(const Sequence& s) const {
  if (s.blocks == 0) return pool_.cost(s, s.known(), found(s).shared);
  return std::max(0, pool_.blocks_of(s.known()) - s.blocks);
}

void TrtllmScheduler::choose_max_utilisation() {
  std::vector<int> active = running_;
  active.insert(active.end(), waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_),
                waiting_.end());
  std::size_t started = running_.size();
  std::size_t end = active.size();
  int taken = 0;
  std::vector<int> leaders;
  for (std::size_t i = 0; i < end;) {
    const Sequence& s = sequence(active[i]);
    if (i >= started && better_later(active[i], leaders)) {
      ++i;
      continue;
    }
    const int need = next_blocks(s);
    const bool place = static_cast<int>(chosen_.size()) < policy_.max_sequences &&
                       adapters_.may_join(s.spec.adapter);
    if (place && taken + need <= pool_.free_blocks()) {
      taken += need;
      choose(active[i++]);
      continue;
    }
    if (started == 0 || started - 1 < i) break;
    // The last started request gives its blocks back; requests after it are no longer considered.
    const int victim = active[--started];
    running_.pop_back();
    preempt(victim);
    end = started;
  }
}

void TrtllmScheduler::start(int id) {
  Sequence& s = at(id);
  const Found have = found(s);
  pool_.allocate(s, s.known(), have.shared);
  take_found(s, have);
  s.state = SequenceState::running;
  const auto place =
      std::find(waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_), waiting_.end(), id);
  if (place == waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_)) {
    pop_waiting();
  } else {
    waiting_.erase(place);
  }
  running_.push_back(id);
}

void TrtllmScheduler::give_tokens() {
  int left = policy_.token_budget;
  const auto lacks = [this](int id) {
    const Sequence& s = sequence(id);
    return s.blocks == 0 ? s.known() - found(s).computed : s.known() - s.computed;
  };
  const auto decodes = [this](int id) {
    const Sequence& s = sequence(id);
    return s.blocks > 0 && s.computed >= s.spec.prompt && s.known() - s.computed == 1;
  };
  // With chunking, decodes are counted first; without it, requests count in their order.
  int asked = 0;
  for (const int id : chosen_) {
    if (decodes(id))
      left -= policy_.chunked_prefill ? 1 : 0;
    else
      asked += lacks(id);
  }
  const bool all_fit = asked <= left;
  for (const int id : chosen_) {
    if (decodes(id)) {
      if (!policy_.chunked_prefill && --left < 0) return;
      if (!pool_.allocate(at(id), at(id).known())) continue;
      batch_.add(at(id), id, 1);
      continue;
    }
    int tokens = lacks(id);
    if (!policy_.chunked_prefill && tokens > left) {
      blocked_ = false;
      return;
    }
    if (!all_fit && tokens > left)
      tokens = std::max(0, left) / policy_.chunk_unit * policy_.chunk_unit;
    if (tokens <= 0) {
      blocked_ = false;
      continue;
    }
    if (sequence(id).blocks == 0) start(id);
    batch_.add(at(id), id, tokens);
    left -= tokens;
  }
}

const Batch& TrtllmScheduler::plan() {
  batch_.clear();
  chosen_.clear();
  blocked_ = true;
  adapters_.begin();
  if (policy_.max_utilisation) {
    choose_max_utilisation();
  } else {
    choose_no_evict();
  }
  give_tokens();
  count_adapters();
  return batch_;
}

int TrtllmScheduler::steady() const {
  // A prompt that waited for a block of another request may join as soon as that request has
  // computed it.
  const bool may_join = waiting() > 0 && (policy_.prefix_cache || policy_.max_utilisation);
  return blocked_ && !may_join ? Scheduler::steady() : 1;
}

}  // namespace orrery::engines
