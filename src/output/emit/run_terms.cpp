#include "output/emit/run_terms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "model/figures/assumptions.h"

namespace orrery::emit {
namespace {

using figures::assumptions::kSaveMargin;
using figures::assumptions::kSaveUsual;

std::string in_seconds(Seconds t) { return significant(t / seconds(1), 4); }

}  // namespace

std::vector<RunVariable> run_variables(const review::TrainView& train) {
  std::vector<RunVariable> all = {{"ORRERY_LAYOUT", train.step.layout},
                                  {"ORRERY_STEP_S", in_seconds(train.step.step)}};
  // torchrun takes its options from variables with this prefix.
  if (const auto& e = train.elastic) {
    all.push_back({"PET_NNODES", fmt::format("{}:{}", e->least * e->unit_hosts, train.hosts)});
  }
  const auto add_profile = [&all](std::string_view name, const machine::Tier* tier) {
    if (tier && !tier->tier->profile.empty()) all.push_back({name, tier->tier->profile});
  };
  if (train.feed.known) add_profile("ORRERY_DATA_PROFILE", train.feed.tier);
  if (!train.checkpoint) return all;
  const jobs::SavePlan& c = *train.checkpoint;
  const long steps = std::max(1L, std::lround(c.interval / train.step.step));
  all.push_back({"ORRERY_CHECKPOINT_INTERVAL_S", in_seconds(c.interval)});
  all.push_back({"ORRERY_CHECKPOINT_STEPS", std::to_string(steps)});
  all.push_back({"ORRERY_CHECKPOINT_MODE", c.async ? "async" : "sync"});
  if (c.first) all.push_back({"ORRERY_CHECKPOINT_TIER", c.first->label});
  if (c.safe) all.push_back({"ORRERY_CHECKPOINT_SAFE_TIER", c.safe->label});
  const bool first_has = c.first && !c.first->tier->profile.empty();
  add_profile("ORRERY_CHECKPOINT_PROFILE", first_has ? c.first : c.safe);
  return all;
}

Seconds time_to_save(const review::TrainView& train) {
  return train.checkpoint ? train.checkpoint->stall.safe + kSaveMargin : kSaveUsual;
}

}  // namespace orrery::emit
