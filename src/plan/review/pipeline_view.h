// The pipeline in closed form: stages along the longest way, one cycle alone.
//
//   start = latest end of those it waits for        end = start + time
//   lead  = latest end of the stages that serve     freshness = every + lead
// An event that comes just after a cycle has begun waits for the next, and for that one's model.
// Moving takes jobs/pipeline.h's time, a run its time with losses, a batch its duration, serving
// a start of every replica in turn. Where a stage takes longer than the period, cycles pile up
// before it and freshness has no bound: a rule says so. Waits for hosts are not in it.
#pragma once

#include <optional>
#include <vector>

#include "model/jobs/pipeline.h"
#include "plan/review/serve_view.h"
#include "plan/review/train_view.h"
#include "plan/review/work_view.h"

namespace orrery::review {

struct StageView : jobs::PipelineStage {
  Seconds time;
  Seconds start;  // from the cycle's beginning
  Seconds end;
};

struct PipelineView {
  std::vector<StageView> stages;
  std::optional<Seconds> every;
  std::optional<Seconds> lead;  // none where nothing serves, or a stage never ends
};

PipelineView view_pipeline(const machine::Machine& machine, const std::vector<TrainView>& trains,
                           const std::vector<ServeView>& serves,
                           const std::vector<BatchView>& batches);

}  // namespace orrery::review
