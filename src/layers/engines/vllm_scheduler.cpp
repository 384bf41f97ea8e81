#include "layers/engines/vllm_scheduler.h"

#include <algorithm>

namespace orrery::engines {
namespace {

EnginePolicy without_null_block(EnginePolicy p) {
  p.blocks = std::max(0, p.blocks - 1);
  return p;
}

}  // namespace

VllmScheduler::VllmScheduler(const EnginePolicy& policy) : Scheduler(without_null_block(policy)) {}

// Evicts until the request fits or is itself evicted; returns false in the latter case.
bool VllmScheduler::make_room(int id, int tokens, std::size_t& place, int& budget) {
  while (!pool_.allocate(at(id), at(id).computed + tokens)) {
    int victim = running_.back();
    if (policy_.by_priority) {
      victim = *std::ranges::max_element(running_, [this](int a, int b) {
        const Sequence& x = sequence(a);
        const Sequence& y = sequence(b);
        if (x.spec.priority != y.spec.priority) return x.spec.priority < y.spec.priority;
        return x.arrived < y.arrived;
      });
    }
    const auto where =
        static_cast<std::size_t>(std::ranges::find(running_, victim) - running_.begin());
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(where));
    if (where < place) {  // it was already planned in this step, so its tokens return to the budget
      --place;
      const auto item = std::ranges::find(batch_.items, victim, &BatchItem::id);
      budget += item->tokens;
      batch_.items.erase(item);
    }
    preempt(victim);
    if (victim == id) return false;
  }
  return true;
}

int VllmScheduler::plan_running(int budget) {
  for (std::size_t place = 0; place < running_.size() && budget > 0;) {
    const int id = running_[place];
    const Sequence& s = at(id);
    int tokens = s.known() - s.computed;
    if (policy_.long_prompt > 0) tokens = std::min(tokens, policy_.long_prompt);
    tokens = std::min({tokens, budget, policy_.max_length - 1 - s.computed});
    if (tokens <= 0) {
      ++place;
      continue;
    }
    if (!make_room(id, tokens, place, budget)) break;
    batch_.add(at(id), id, tokens);
    budget -= tokens;
    ++place;
  }
  return budget;
}

void VllmScheduler::plan_waiting(int budget) {
  for (std::size_t place = 0; place < waiting() && budget > 0;) {
    if (static_cast<int>(running_.size()) >= policy_.max_sequences) return;
    const int id = waiting_at(place);
    Sequence& s = at(id);
    if (!adapters_.may_join(s.spec.adapter)) {
      passed_by_ = std::max(passed_by_, ++place);
      continue;
    }
    const Found have = found(s);
    int tokens = s.known() - have.computed;
    if (policy_.long_prompt > 0) tokens = std::min(tokens, policy_.long_prompt);
    if (!policy_.chunked_prefill && tokens > budget) return;
    tokens = std::min(tokens, budget);
    if (policy_.whole_prompt_fits && pool_.cost(s, s.known(), have.shared) > pool_.free_blocks()) {
      return;
    }
    if (!pool_.allocate(s, have.computed + tokens, have.shared)) return;
    take_waiting(place);
    adapters_.hold(s.spec.adapter);
    take_found(s, have);
    s.state = SequenceState::running;
    running_.push_back(id);
    batch_.add(s, id, tokens);
    budget -= tokens;
  }
}

const Batch& VllmScheduler::plan() {
  batch_.clear();
  const int left = plan_running(policy_.token_budget);
  const bool put_off = !batch_.preempted.empty();
  if (put_off && policy_.by_priority) {
    // The sums must no longer include what was taken back.
    const std::vector<BatchItem> items = std::move(batch_.items);
    batch_.items.clear();
    batch_.sums = {};
    for (const BatchItem& item : items) batch_.add(at(item.id), item.id, item.tokens);
  }
  if (adapters_.is_there()) {
    adapters_.begin();
    for (const BatchItem& item : batch_.items) adapters_.hold(sequence(item.id).spec.adapter);
  }
  if (!put_off) plan_waiting(left);
  count_adapters();
  // If budget is left, requests that still wait do so for a place, for blocks or for an adapter
  // slot, which only a finished request can free.
  blocked_ = waiting() == 0 || left > static_cast<int>(batch_.sums.prompt_tokens);
  return batch_;
}

int VllmScheduler::steady() const { return blocked_ ? Scheduler::steady() : 1; }

}  // namespace orrery::engines
