#include "layers/cluster/quota.h"

#include <algorithm>
#include <cmath>

#include "core/base/probability.h"

namespace orrery::cluster {

const char* to_text(QuotaVerdict v) {
  switch (v) {
    case QuotaVerdict::within:
      return "within";
    case QuotaVerdict::borrows:
      return "borrows";
    case QuotaVerdict::must_wait:
      return "must wait";
    case QuotaVerdict::never:
      return "never";
  }
  return "";
}

QuotaVerdict check_quota(std::span<const QuotaState> cohort, std::size_t tenant, int gpus) {
  const QuotaState& own = cohort[tenant];
  if (gpus > own.guaranteed + own.may_borrow) return QuotaVerdict::never;
  int guaranteed = 0;
  int used = 0;
  for (const QuotaState& q : cohort) {
    guaranteed += q.guaranteed;
    used += q.used;
  }
  const int after = own.used + gpus;
  if (after > own.guaranteed + own.may_borrow || used + gpus > guaranteed) {
    return QuotaVerdict::must_wait;
  }
  return after <= own.guaranteed ? QuotaVerdict::within : QuotaVerdict::borrows;
}

}  // namespace orrery::cluster
