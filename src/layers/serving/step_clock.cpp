#include "layers/serving/step_clock.h"

#include <algorithm>

namespace orrery::serving {
namespace {

// Larger sizes are rounded up to a multiple of kCoarse, so that the tables stay small.
constexpr int kFine = 1 << 15;
constexpr int kCoarse = 256;

int rounded(int size) { return size <= kFine ? size : (size + kCoarse - 1) / kCoarse * kCoarse; }

std::size_t place_of(int size) {
  if (size <= kFine) return static_cast<std::size_t>(size);
  const int coarse = (size - kFine) / kCoarse;
  return static_cast<std::size_t>(kFine) + static_cast<std::size_t>(coarse);
}

bool is_attention(const workload::Operation& op) {
  return std::holds_alternative<workload::Attention>(op);
}

}  // namespace

StepClock::StepClock(const Replica& replica, const ServingCosts& costs, double tokens_per_step)
    : replica_(replica), costs_(costs), tokens_per_step_(tokens_per_step) {
  const Iteration both{.decoding = 1,
                       .context = 1024,
                       .prompts = 1,
                       .prompt_tokens = 1024,
                       .tokens_per_step = tokens_per_step};
  const IterationWork work =
      iteration_work(replica_.model, replica_.split, replica_.precision, both);
  for (const WorkGroup& group : work.groups) {
    for (std::size_t i = 0; i < group.kernels.size(); ++i) {
      if (!is_attention(group.kernels[i])) continue;
      attention_.push_back({.kernel = std::get<workload::Attention>(group.kernels[i]),
                            .repeats = group.repeats,
                            .decode = group.parts[i] == WorkPart::decode});
    }
  }
}

Iteration StepClock::sized(WorkPart part, int size) const {
  if (part == WorkPart::prefill) return {.prompts = 1, .prompt_tokens = 1.0 * size};
  if (part == WorkPart::decode) {
    return {.decoding = 1.0 * size, .context = 1, .tokens_per_step = tokens_per_step_};
  }
  return {.decoding = 1.0 * size, .context = 1};
}

StepClock::Cost StepClock::cost_of(WorkPart part, int size) const {
  Cost sum{.kernels = {}, .messages = 0};
  const IterationWork work =
      iteration_work(replica_.model, replica_.split, replica_.precision, sized(part, size));
  for (const WorkGroup& group : work.groups) {
    for (std::size_t i = 0; i < group.kernels.size(); ++i) {
      if (group.parts[i] != part || is_attention(group.kernels[i])) continue;
      sum.kernels +=
          kernel_with(replica_, group.kernels[i], group.expert[i], costs_) * group.repeats;
    }
    if (part != WorkPart::tokens) continue;
    for (const workload::CollectiveCall& call : group.messages) {
      sum.messages += message_with(replica_, call, costs_).base() * group.repeats;
    }
  }
  return sum;
}

const StepClock::Cost& StepClock::table(std::vector<Cost>& costs, WorkPart part, int size) {
  const std::size_t place = place_of(rounded(size));
  if (place >= costs.size()) costs.resize(std::max(place + 1, 2 * costs.size()));
  if (costs[place].messages < 0) costs[place] = cost_of(part, rounded(size));
  return costs[place];
}

ServingOpCost StepClock::attention(const engines::StepSums& sums) const {
  ServingOpCost cost;
  const double ranks = replica_.split.attention_dp;
  for (const Attention& a : attention_) {
    workload::Attention kernel = a.kernel;
    if (a.decode) {
      if (sums.decoding == 0) continue;
      kernel.batch = sums.decoding / ranks;
      kernel.kv_len = std::max(sums.decode_keys / sums.decoding, kernel.q_len);
    } else {
      if (sums.prompts == 0) continue;
      kernel.batch = sums.prompts / ranks;
      kernel.q_len = static_cast<double>(sums.prompt_tokens) / sums.prompts;
      kernel.kv_len = chunk_keys(sums.prompt_pairs, sums.prompt_tokens, sums.prompts);
    }
    cost += kernel_with(replica_, kernel, false, costs_) * a.repeats;
  }
  return cost;
}

StepTime StepClock::split(const engines::StepSums& sums) {
  if (sums.decoding + sums.prompts == 0) return {};
  const int checked = static_cast<int>(sums.decoding * tokens_per_step_);
  const Cost& all = table(tokens_, WorkPart::tokens, checked + sums.prompt_tokens);
  ServingOpCost kernels = all.kernels;
  const double messages = all.messages;
  if (sums.decoding > 0) kernels += table(decode_, WorkPart::decode, sums.decoding).kernels;
  if (sums.prompts > 0) kernels += table(prefill_, WorkPart::prefill, sums.prompt_tokens).kernels;
  const int sampled = checked + std::max(0, sums.sampled - sums.decoding);
  if (sampled > 0) kernels += table(sampled_, WorkPart::sampled, sampled).kernels;
  kernels += attention(sums);
  if (sums.adapters > 0) {
    kernels += adapter_cost(replica_.adapters,
                            1.0 * (checked + sums.prompt_tokens) / replica_.split.attention_dp,
                            sums.adapters, costs_);
  }
  return settled_step(replica_, kernels, Seconds(messages), sums.prompts,
                      sums.decoding + sums.prompts, costs_);
}

Seconds StepClock::time(const engines::StepSums& sums) { return split(sums).total; }

}  // namespace orrery::serving
