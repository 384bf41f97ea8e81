// A service that lets a larger model answer what is too hard for it: what the two give together,
// and what the larger one alone would.
//
//   answer  = own answer + share x the larger one's, means: the first is made before it is judged
//   quality = (1 - share) q + share Q      were those that go on like the others
//             min(q, 1 - share) + share Q  at best: they are those that would have been wrong
//   cost    = own cost of a request + share x the larger one's, replicas that stand over mean
//   traffic alone   = the replicas that the larger model takes for this service's peak
// Wrong for: judges that cost something themselves, and hard questions that the larger model gets
// wrong more often than its test says.
#pragma once

#include <optional>

#include "plan/review/stages.h"

namespace orrery::review {

struct CascadeView {
  const ServeView* large = nullptr;
  Seconds answer;
  std::optional<double> quality;  // where both are given
  std::optional<double> quality_best;
  double usd_here = 0;  // of one request
  double usd_large = 0;
  double usd = 0;  // of one answer that stays
  double usd_alone = 0;
  double replicas_alone = 0;
};

// None where the service does not escalate, or one of the two cannot be served.
std::optional<CascadeView> view_cascade(const Review& review, const ServeView& small);

}  // namespace orrery::review
