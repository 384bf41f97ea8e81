#include "model/jobs/predict_sessions.h"

#include <algorithm>

#include "core/workload/model_math.h"
#include "layers/serving/step_clock.h"
#include "model/figures/assumptions.h"
#include "model/machine/links.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kCopyShare;
using figures::assumptions::kPromptTokens;
constexpr double kMostBlocks = 1e8;
constexpr int kLeastBlock = 16;

}  // namespace

void coarsen_blocks(engines::EnginePolicy& policy) {
  if (policy.block_tokens >= kLeastBlock) return;
  policy.blocks = static_cast<int>(1LL * policy.blocks * policy.block_tokens / kLeastBlock);
  policy.block_tokens = kLeastBlock;
}

engines::KvTierLaw kv_tier_law(const ServingQuery& query, const KvRoom& kv,
                               const serving::Replica& replica, int block_tokens,
                               const serving::ServingCosts& costs) {
  engines::KvTierLaw law;
  const Bytes token = workload::kv_bytes(query.model, 1, query.precision.kv);
  const serving::StepTime prompt =
      step_time(replica, {.prompts = 1, .prompt_tokens = kPromptTokens}, costs);
  law.compute_per_token = prompt.total.base() / kPromptTokens;
  if (kv.room <= Bytes(0) || kv.rate <= BytesPerSecond(0)) return law;
  law.blocks = static_cast<int>(
      std::min(kMostBlocks, kv.room / (token * static_cast<double>(block_tokens))));
  law.first_byte = kv.first_byte.base();
  law.fetch_per_token = (token / kv.rate).base();
  return law;
}

BytesPerSecond host_memory_rate(const ServingQuery& query) {
  return machine::pcie_rate(query.accelerator->pcie_generation) *
         (kCopyShare * query.accelerators());
}

Result<SessionsPrediction> predict_sessions(const machine::Models& models, const SessionsAsk& ask) {
  auto replica = replica_of(models, ask.query);
  if (!replica) return std::unexpected(replica.error());
  const machine::Costs costs = serving_costs(models, ask.query);
  const serving::ServingCosts source = serving_source(costs);
  serving::StepClock clock(*replica, source);
  engines::EnginePolicy policy = traffic::policy_of(*replica);
  policy.prefix_cache = true;
  coarsen_blocks(policy);
  policy.kv_tier = kv_tier_law(ask.query, ask.kv, *replica, policy.block_tokens, source);
  traffic::ReplicaSim sim(policy, clock);
  traffic::SessionRun run = run_sessions(sim, ask.load);
  // A request is seen one step after it arrives, and its first token passes through the server.
  const double aside = (replica->engine.first_token + replica->tuning.first_token).base();
  for (traffic::RequestRecord& r : run.records) {
    const double later = aside + serving::kAheadSteps * r.tpot();
    r.first += later;
    r.last += later;
  }
  const double history = std::max(1.0, run.history_tokens);
  return SessionsPrediction{.latency = summarise(run.records),
                            .error = serving_error(costs.device(), ask.query),
                            .on_device = run.found_tokens / history,
                            .fetched = run.fetched_tokens / history,
                            .device_tokens = replica->memory.kv_tokens,
                            .tier_tokens = 1.0 * policy.kv_tier.blocks * policy.block_tokens,
                            .fetch_of_token = Seconds(policy.kv_tier.fetch_per_token),
                            .compute_of_token = Seconds(policy.kv_tier.compute_per_token)};
}

}  // namespace orrery::jobs
