#include "model/jobs/speculation.h"

#include "core/workload/model_math.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {

using figures::assumptions::kAcceptedTokens;
using figures::assumptions::kDraftedTokens;

void add_speculation(serving::RequestShape& r, const machine::Machine& m,
                     const design::Serve& serve) {
  if (serve.draft_model.empty() || serve.model.empty()) return;
  const catalog::ModelShape* model = find_model(m.design(), m.catalog(), serve.model);
  const catalog::ModelShape* draft = find_model(m.design(), m.catalog(), serve.draft_model);
  if (draft == nullptr || model == nullptr) return;
  const double share =
      workload::count_parameters(*draft).active / workload::count_parameters(*model).active;
  r.checked_per_step = 1 + kDraftedTokens;
  r.accepted_per_step = kAcceptedTokens / (1 + kDraftedTokens * share);
}

}  // namespace orrery::jobs
