#include "score/score.h"
#include "score/storage_score.h"
#include "score/training_score.h"

namespace orrery {

std::span<const ScoreKind> score_kinds() {
  static constexpr ScoreKind kKinds[] = {{"training", &score_training},
                                         {"storage", &score_storage}};
  return kKinds;
}

}  // namespace orrery
