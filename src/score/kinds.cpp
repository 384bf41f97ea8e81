#include "score/collectives_score.h"
#include "score/score.h"
#include "score/serving_score.h"
#include "score/steps_score.h"
#include "score/storage_score.h"
#include "score/training_score.h"

namespace orrery::score {

std::span<const ScoreKind> score_kinds() {
  static constexpr ScoreKind kKinds[] = {{"training", &score_training},
                                         {"collectives", &score_collectives},
                                         {"storage", &score_storage},
                                         {"serving", &score_serving},
                                         {"steps", &score_steps}};
  return kKinds;
}

}  // namespace orrery::score
