// A service that passes hard requests on to a larger model: what the two give together, and what
// the larger one would give alone.
//
//   answer  = own answer + share x the larger one's, means: the first is made before it is judged
//   quality = (1 - share) q + share Q      if the requests passed on are like the others
//             min(q, 1 - share) + share Q  at best: if they are those answered wrong
//   cost    = own cost per request + share x the larger one's, mean running replicas over mean
//   traffic alone   = the replicas that the larger model needs for this service's peak
// Leaves out the cost of judging answers, and hard questions that the larger model gets wrong more
// often than its test says.
#pragma once

#include <optional>

#include "plan/review/stages.h"

namespace orrery::review {

struct CascadeView {
  const ServeView* large = nullptr;
  Seconds answer;
  std::optional<double> quality;  // if both are given
  std::optional<double> quality_best;
  double usd_here = 0;  // per request
  double usd_large = 0;
  double usd = 0;  // per final answer
  double usd_alone = 0;
  double replicas_alone = 0;
};

// Returns nothing if the service does not escalate, or one of the two cannot be served.
std::optional<CascadeView> view_cascade(const Review& review, const ServeView& small);

}  // namespace orrery::review
