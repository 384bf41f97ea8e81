#include "layers/training/pipeline.h"

#include <algorithm>

namespace orrery::training {
namespace {

struct Neighbours {
  double before = 0;        // sum of S over the stages before this one
  double after = 0;         // sum of S over the stages after this one
  double wgrad_others = 0;  // sum of W over all others
  int index = 0;
};

PipelineTime seen_from(const StageTimes& stage, const Neighbours& n, int count, int microbatches,
                       int vp, catalog::Schedule schedule) {
  const double warm = std::min(microbatches, count - n.index) - 1;
  const double backward = stage.dgrad + stage.wgrad;
  double idle = n.before + std::max(0.0, n.after - warm * stage.forward) +
                std::max(0.0, n.after - warm * backward);
  if (schedule == catalog::Schedule::zero_bubble) idle = std::max(0.0, idle - 2 * n.wgrad_others);
  if (schedule == catalog::Schedule::dualpipe) {
    const double pairs = std::max(0.0, count / 2.0 - 1);
    idle = pairs * std::max(0.0, stage.total() + backward - 3 * stage.wgrad);
  }
  idle /= std::max(1, vp);
  return {.seconds = microbatches * stage.total() + idle, .bubble = idle};
}

}  // namespace

PipelineTime pipeline_time(const PipelineStages& p, int microbatches, int vp,
                           catalog::Schedule schedule) {
  const int n = p.count;
  if (n == 1) return {.seconds = microbatches * p.first.total()};
  const double middles = (n - 2) * p.middle.total();
  const double middle_wgrad = (n - 2) * p.middle.wgrad;
  PipelineTime slowest = seen_from(p.first,
                                   {.before = 0,
                                    .after = middles + p.last.total(),
                                    .wgrad_others = middle_wgrad + p.last.wgrad,
                                    .index = 0},
                                   n, microbatches, vp, schedule);
  const auto consider = [&](PipelineTime t, SlowestStage stage) {
    if (t.seconds <= slowest.seconds) return;
    slowest = t;
    slowest.slowest = stage;
  };
  if (n > 2) {
    consider(
        seen_from(p.middle,
                  {.before = p.first.total(),
                   .after = middles - p.middle.total() + p.last.total(),
                   .wgrad_others = p.first.wgrad + middle_wgrad - p.middle.wgrad + p.last.wgrad,
                   .index = 1},
                  n, microbatches, vp, schedule),
        SlowestStage::middle);
  }
  consider(seen_from(p.last,
                     {.before = p.first.total() + middles,
                      .after = 0,
                      .wgrad_others = p.first.wgrad + middle_wgrad,
                      .index = n - 1},
                     n, microbatches, vp, schedule),
           SlowestStage::last);
  return slowest;
}

}  // namespace orrery::training
