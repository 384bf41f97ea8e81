// The time of one training step, with every second attributed to a part.
//
//   step = pipeline(F, B, W of the stages) + exposed dp + optimizer + overhead + straggler
//   F, B, W   sum of a stage's kernels, at least the host's time to launch them,
//             plus exposed tp, cp, ep and (ZeRO-3) the gathers that no compute hides
//   dp        reduce-scatter behind B and all-gather behind F, chunk by chunk if interleaved
//   straggler step * sigma * sqrt(2 ln n): the slowest of n ranks sets the pace
// The clock under the power limit follows from the whole step's work and waiting; the parts are
// then composed again at that clock. The time to compute an estimate does not depend on the number
// of microbatches. Kernel and collective times come from the caller (costs.h), so closed forms and
// simulation both work.
#pragma once

#include <array>
#include <iterator>

#include "core/base/words.h"
#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layer_cost.h"
#include "layers/training/layout.h"
#include "layers/training/pipeline.h"

namespace orrery::training {

enum class StepPhase {
  matrix,
  attention,
  passes,
  recompute,
  host,
  tp,
  cp,
  ep,
  pp,
  bubble,
  dp,
  optimizer,
  overhead,
  straggler,
};
// The id in JSON, then the label in reports.
inline constexpr Word<StepPhase> kStepPhaseWords[] = {
    {StepPhase::matrix, "matrix", "matrix products"},
    {StepPhase::attention, "attention"},
    {StepPhase::passes, "passes", "memory passes"},
    {StepPhase::recompute, "recompute"},
    {StepPhase::host, "host", "host launch"},
    {StepPhase::tp, "tp", "exposed tp"},
    {StepPhase::cp, "cp", "exposed cp"},
    {StepPhase::ep, "ep", "exposed ep"},
    {StepPhase::pp, "pp", "stage transfers"},
    {StepPhase::bubble, "bubble", "pipeline bubble"},
    {StepPhase::dp, "dp", "exposed dp"},
    {StepPhase::optimizer, "optimizer"},
    {StepPhase::overhead, "overhead", "step overhead"},
    {StepPhase::straggler, "straggler", "stragglers"},
};
constexpr WordTable<StepPhase> words_of(StepPhase) { return kStepPhaseWords; }
constexpr std::string_view to_text(StepPhase p) { return other_word_of(p); }
inline constexpr int kStepPhaseCount = std::size(kStepPhaseWords);

struct StepEstimate {
  double seconds = 0;
  std::array<double, kStepPhaseCount> parts{};  // sum to seconds
  double clock = 1;
  double watts = 0;            // mean draw per device; 0 if no clock model was given
  double communication_s = 0;  // hidden or not, on the slowest stage
  int microbatches = 0;
  PipelineStages stages;  // times of one microbatch on the first, a middle and the last stage

  double part(StepPhase p) const { return parts[static_cast<std::size_t>(p)]; }
};

// `layout` must be one that refuse_layout accepts.
StepEstimate estimate_step(const TrainingJob& job, const Layout& layout,
                           const FrameworkModel& framework, const CostSource& source,
                           StepScratch& scratch);

}  // namespace orrery::training
