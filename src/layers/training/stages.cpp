#include "layers/training/stages.h"

#include <algorithm>
#include <cmath>

#include "core/workload/model_math.h"

namespace orrery::training {

StageLayers stage_layers(int layers, int pp, int vp, double head_layers) {
  const double even = static_cast<double>(layers) / pp;
  if (pp == 1) return {.first = even, .middle = 0, .last = even};
  if (layers % (pp * vp) == 0) return {.first = even, .middle = even, .last = even};
  // If embedding and loss take slots of their own, the end stages have one layer less.
  if ((layers + 2) % (pp * vp) == 0) {
    const double slots = static_cast<double>(layers + 2) / pp;
    return {.first = slots - 1, .middle = slots, .last = slots - 1};
  }
  const double fullest = std::ceil((layers + head_layers) / pp);
  const double last = std::clamp(std::floor(fullest - head_layers), 0.0, fullest);
  const double rest = layers - last;
  if (pp == 2) return {.first = rest, .middle = 0, .last = last};
  const double most = std::ceil(rest / (pp - 1));
  return {.first = rest - most * (pp - 2) > 0 ? rest - most * (pp - 2) : most,
          .middle = most,
          .last = last};
}

StageParameters stage_parameters(const TrainingJob& job, const Layout& l, StagePlace place,
                                 double layers) {
  const catalog::ModelShape& m = job.model;
  const workload::ParameterCount c = workload::count_parameters(m);
  const bool has_first = place == StagePlace::only || place == StagePlace::first;
  const bool has_last = place == StagePlace::only || place == StagePlace::last;
  double dense_layers = layers;
  double moe_layers = 0;
  if (m.is_moe()) {
    dense_layers = has_first ? std::min<double>(m.first_dense_layers, layers) : 0;
    moe_layers = layers - dense_layers;
  }
  StageParameters p;
  p.layer_dense = (m.is_moe() ? c.moe_layer(0) : c.dense_layer()) / l.tp;
  p.layer_expert = m.is_moe() ? c.expert * m.experts / l.ep : 0;
  p.dense = dense_layers * c.dense_layer() / l.tp + moe_layers * p.layer_dense;
  p.expert = moe_layers * p.layer_expert;
  if (has_last && job.train_mtp && m.mtp_layers > 0) {
    p.dense += m.mtp_layers * (p.layer_dense + 2 * m.hidden * m.hidden / l.tp);
    p.expert += m.mtp_layers * p.layer_expert;
  }
  if (has_first) p.dense += c.embedding / l.tp;
  // A tied head on a stage other than the embedding's is a copy of it.
  if (has_last && (!m.tied_embeddings || place == StagePlace::last)) p.dense += c.embedding / l.tp;
  p.largest_tensor = std::max(m.hidden * m.ffn, c.embedding) / l.tp;
  return p;
}

}  // namespace orrery::training
