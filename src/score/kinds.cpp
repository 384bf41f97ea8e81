#include "score/score.h"
#include "score/training_score.h"

namespace orrery {

std::span<const ScoreKind> score_kinds() {
  static constexpr ScoreKind kKinds[] = {{"training", &score_training}};
  return kKinds;
}

}  // namespace orrery
