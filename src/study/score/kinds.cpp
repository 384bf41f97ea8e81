#include "study/score/collectives_score.h"
#include "study/score/offline_score.h"
#include "study/score/open_loop_score.h"
#include "study/score/requests_score.h"
#include "study/score/score.h"
#include "study/score/serving_score.h"
#include "study/score/steps_score.h"
#include "study/score/storage_score.h"
#include "study/score/training_score.h"

namespace orrery::score {

std::span<const ScoreKind> score_kinds() {
  static constexpr ScoreKind kKinds[] = {
      {"training", &score_training}, {"collectives", &score_collectives},
      {"storage", &score_storage},   {"serving", &score_serving},
      {"offline", &score_offline},   {"open-loop", &score_open_loop},
      {"requests", &score_requests}, {"steps", &score_steps}};
  return kKinds;
}

}  // namespace orrery::score
