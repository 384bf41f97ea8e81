#include "layers/storage/exposure.h"

#include <algorithm>

#include "core/base/math.h"

namespace orrery::storage {

Exposure expose(const ExposureProblem& problem) {
  const double holders = std::max(1, problem.holders);
  const double one_lost = -math::expm1(-(problem.drain / problem.node_mtbf));
  const double group_lost = math::pow(one_lost, holders);
  const double groups = problem.nodes / holders;

  Exposure e;
  e.window = problem.drain;
  e.loss_per_save = -math::expm1(groups * math::log1p(-group_lost));
  e.share_exposed =
      problem.interval.base() > 0 ? std::min(1.0, problem.drain / problem.interval) : 1;
  e.losses_per_year =
      problem.interval.base() > 0 ? e.loss_per_save * (years(1) / problem.interval) : 0;
  e.rpo = problem.interval;
  e.rpo_holder_lost = problem.interval + problem.drain;
  return e;
}

}  // namespace orrery::storage
