// Who of a cohort of tenants may start what: guaranteed GPUs, and those borrowed of others' idle
// guarantee. The rule is that of Kueue's ClusterQueues in one cohort (nominalQuota,
// borrowingLimit).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace orrery::cluster {

// A tenant's guaranteed GPUs, what it may borrow of others' idle guarantee, and what it uses.
struct QuotaState {
  std::string tenant;
  int guaranteed = 0;
  int may_borrow = 0;
  int used = 0;
};

enum class QuotaVerdict { within, borrows, must_wait, never };
const char* to_text(QuotaVerdict v);

// Kueue's rule, in one cohort: a request fits if the tenant stays within guaranteed + may_borrow
// and the cohort's guarantees together cover what all then use.
QuotaVerdict check_quota(std::span<const QuotaState> cohort, std::size_t tenant, int gpus);

}  // namespace orrery::cluster
