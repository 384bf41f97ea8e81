// The pipeline in closed form: stages along the critical path, with no other cycle running.
//
//   start = latest end of those it waits for        end = start + time
//   lead  = latest end of the stages that serve     freshness = every + lead
// An event that arrives just after a cycle has begun waits for the next cycle, and for its model.
// Moving takes jobs/pipeline.h's time, a run its time with losses, a batch its duration, serving
// one start after the other of all replicas. If a stage takes longer than the period, cycles pile
// up before it and freshness has no bound: a rule says so. Waits for hosts are left out.
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
  Seconds start;  // from the start of the cycle
  Seconds end;
};

struct PipelineView {
  std::vector<StageView> stages;
  std::optional<Seconds> every;
  std::optional<Seconds> lead;  // none if no stage serves, or a stage never ends
};

PipelineView view_pipeline(const machine::Machine& machine, const std::vector<TrainView>& trains,
                           const std::vector<ServeView>& serves,
                           const std::vector<BatchView>& batches);

}  // namespace orrery::review
