// Which tenants of a cohort may start jobs: guaranteed GPUs, and GPUs borrowed from others' idle
// guarantees. The rule is that of Kueue's ClusterQueues in one cohort (nominalQuota,
// borrowingLimit).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace orrery::cluster {

// A tenant's guaranteed GPUs, what it may borrow from others' idle guarantees, and what it uses.
struct QuotaState {
  std::string tenant;
  int guaranteed = 0;
  int may_borrow = 0;
  int used = 0;
};

enum class QuotaVerdict { within, borrows, must_wait, never };
const char* to_text(QuotaVerdict v);

// Kueue's rule in one cohort: a request fits if the tenant stays within guaranteed + may_borrow,
// and the total use of the cohort stays within the sum of its guarantees.
QuotaVerdict check_quota(std::span<const QuotaState> cohort, std::size_t tenant, int gpus);

}  // namespace orrery::cluster
