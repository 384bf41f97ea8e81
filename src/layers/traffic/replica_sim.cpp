#include "layers/traffic/replica_sim.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace orrery::traffic {
namespace {

// Only the build with sanitizers checks the pool after iterations; in other builds it took a
// quarter of a run with long conversations.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ORRERY_LOOKS_AT_POOLS
#endif
#endif
#ifdef ORRERY_LOOKS_AT_POOLS
constexpr bool kLooks = true;
#else
constexpr bool kLooks = false;
#endif

}  // namespace

engines::EnginePolicy policy_of(const serving::Replica& r) {
  const double ranks = r.split.attention_dp;
  engines::EnginePolicy p;
  p.kind = r.engine.kind;
  p.block_tokens = static_cast<int>(r.engine.block_tokens);
  p.blocks = static_cast<int>(std::min(1e9, r.memory.blocks * ranks));
  p.token_budget = static_cast<int>(r.limits.token_budget * ranks);
  p.max_sequences = static_cast<int>(std::min(1e6, r.limits.max_sequences * ranks));
  // TensorRT-LLM chunks prompts only if configured to.
  p.chunked_prefill = r.limits.chunked_prefill;
  if (r.adapters.any()) {
    p.adapter_slots = r.adapters.set.slots;
    p.adapter_load = r.adapters.load.base();
  }
  return p;
}

ReplicaSim::ReplicaSim(const engines::EnginePolicy& policy, serving::StepClock& clock,
                       const Options& options)
    : scheduler_(engines::make_scheduler(policy)), executor_(clock), options_(options) {}

void ReplicaSim::submit(int id, const engines::RequestSpec& spec, double at) {
  const int held = spec.prompt + spec.output;
  if (scheduler_->pool().blocks_of(held) > scheduler_->pool().blocks()) {
    refused_.push_back(id);
    return;
  }
  arriving_.push_back({id, spec, at});
  outstanding_tokens_ += spec.prompt + spec.output;
  stuck_ = false;
}

// Returns true if arrived requests should keep waiting for more, within the limits.
bool ReplicaSim::is_gathering() {
  const Gathering& g = options_.gathering;
  double tokens = 0;
  int prompts = 0;
  for (std::size_t i = head_; i < arriving_.size() && arriving_[i].at <= now_; ++i) {
    tokens += arriving_[i].spec.prompt;
    ++prompts;
  }
  const bool waits = prompts > 0 && scheduler_->unfinished() > 0 && gathered_ < g.iterations &&
                     tokens < g.tokens && prompts < g.prompts;
  gathered_ = waits ? gathered_ + 1 : 0;
  return waits;
}

void ReplicaSim::admit_arrived() {
  if (scheduler_->unfinished() > 0 && since_received_ < options_.receive_every) return;
  if (options_.gathering.iterations > 0 && is_gathering()) return;
  since_received_ = 0;
  while (head_ < arriving_.size() && arriving_[head_].at <= now_) {
    const Arrival& a = arriving_[head_++];
    const auto id = static_cast<std::size_t>(scheduler_->add(a.spec, a.at));
    if (id >= live_.size()) live_.resize(id + 1);
    live_[id] = {
        .record = {.id = a.id, .prompt = a.spec.prompt, .output = a.spec.output, .arrived = a.at}};
  }
  if (head_ == arriving_.size()) {
    arriving_.clear();
    head_ = 0;
  }
}

double ReplicaSim::next_start() const {
  if (scheduler_->unfinished() > 0 && !stuck_) return now_;
  if (head_ < arriving_.size()) return std::max(now_, arriving_[head_].at);
  return kForever;
}

void ReplicaSim::account(double seconds) {
  counts_.requests_integral += seconds * static_cast<double>(scheduler_->unfinished());
  const engines::BlockPool& pool = scheduler_->pool();
  counts_.blocks_integral += seconds * (pool.blocks() - pool.free_blocks());
}

void ReplicaSim::note_batch(const engines::Batch& batch, double start, double end,
                            double end_of_first) {
  counts_.iterations += 1;
  counts_.busy += end - start;
  counts_.prompt_tokens += batch.sums.prompt_tokens;
  counts_.preemptions += static_cast<double>(batch.preempted.size());
  counts_.adapter_loads += batch.sums.adapter_loads;
  // Only prompts produce a first token; pure decode batches have nothing to record.
  if (batch.sums.prompts == 0) return;
  for (const engines::BatchItem& item : batch.items) {
    Live& live = live_[static_cast<std::size_t>(item.id)];
    if (!live.started) {
      live.started = true;
      live.record.scheduled = start;
    }
    if (item.emits && live.record.first == 0) live.record.first = end_of_first;
  }
}

void ReplicaSim::note_finished(double end) {
  for (const int id : scheduler_->finished()) {
    Live& live = live_[static_cast<std::size_t>(id)];
    const engines::Sequence& s = scheduler_->sequence(id);
    live.record.last = end;
    live.record.cached = s.cached;
    live.record.fetched = s.fetched;
    live.record.preemptions = s.preemptions;
    outstanding_tokens_ -= live.record.prompt + live.record.output;
    finished_.push_back(live.record);
    scheduler_->recycle(id);
  }
}

void ReplicaSim::iterate(double until) {
  const engines::Batch& batch = scheduler_->plan();
  if (batch.empty()) {
    stuck_ = true;
    scheduler_->done(1);
    return;
  }
  const double start = now_;
  const double fetching =
      scheduler_->policy().kv_tier.fetch_time(batch.sums.fetches, batch.sums.fetched);
  const double loading = scheduler_->policy().adapter_load * batch.sums.adapter_loads;
  double end = start + fetching + loading + executor_.run(batch);
  const double first = end;
  int times = 1;
  if (options_.merge && batch.sums.prompts == 0) {
    // The next plan would see a request that arrives in between.
    const bool looks = options_.receive_every <= 1;
    const double arrival = head_ < arriving_.size() ? arriving_[head_].at : kForever;
    const double next = looks ? std::min(until, arrival) : until;
    int most = end < next && gathered_ == 0 ? scheduler_->steady() : 1;
    if (!looks) most = std::min(most, options_.receive_every - since_received_);
    account(end - start);
    for (; times < most && end < next; ++times) {
      const double took = executor_.repeat(batch, times);
      end += took;
      account(took);
    }
  } else {
    account(end - start);
  }
  note_batch(batch, start, end, first);
  counts_.iterations += times - 1;
  since_received_ += times;
  counts_.output_tokens += static_cast<double>(batch.sums.sampled) * times;
  scheduler_->done(times);
  now_ = end;
  note_finished(end);
  assert(!kLooks || !is_check_due() || scheduler_->check().empty());
}

// Checking every block of a large pool costs more than the iteration. A block that is leaked or
// wrongly shared stays so, and the next check finds it.
bool ReplicaSim::is_check_due() const {
  constexpr int kSmallPool = 4096;
  constexpr std::int64_t kLookEvery = 101;
  return scheduler_->pool().blocks() <= kSmallPool ||
         static_cast<std::int64_t>(counts_.iterations) % kLookEvery == 0;
}

void ReplicaSim::advance(double until) {
  while (true) {
    const double start = next_start();
    if (start >= until) return;
    now_ = std::max(now_, start);
    admit_arrived();
    iterate(until);
  }
}

void ReplicaSim::advance_to_finish(double until) {
  while (finished_.empty()) {
    const double start = next_start();
    if (start >= until) return;
    now_ = std::max(now_, start);
    admit_arrived();
    iterate(until);
  }
}

std::vector<RequestRecord> ReplicaSim::take_finished() { return std::exchange(finished_, {}); }

std::vector<int> ReplicaSim::drop_all() {
  std::vector<std::pair<double, int>> lost;
  for (std::size_t i = head_; i < arriving_.size(); ++i) {
    lost.emplace_back(arriving_[i].at, arriving_[i].id);
  }
  arriving_.clear();
  head_ = 0;
  for (std::size_t id = 0; id < live_.size(); ++id) {
    const engines::SequenceState state = scheduler_->sequence(static_cast<int>(id)).state;
    if (state == engines::SequenceState::finished) continue;
    lost.emplace_back(live_[id].record.arrived, live_[id].record.id);
    scheduler_->stop(static_cast<int>(id));
    scheduler_->recycle(static_cast<int>(id));
  }
  outstanding_tokens_ = 0;
  std::ranges::sort(lost);
  std::vector<int> ids;
  for (const auto& [at, id] : lost) ids.push_back(id);
  return ids;
}

}  // namespace orrery::traffic
