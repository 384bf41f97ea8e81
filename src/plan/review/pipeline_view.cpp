#include "plan/review/pipeline_view.h"

#include <algorithm>

namespace orrery::review {
namespace {

class Filler {
 public:
  Filler(const std::vector<TrainView>& trains, const std::vector<ServeView>& serves,
         const std::vector<BatchView>& batches)
      : trains_(trains), serves_(serves), batches_(batches) {}

  void fill(StageView& s, const jobs::TiersLeft& left) const {
    if (!s.infeasible.empty()) return;
    if (s.moves()) {
      s.time = move_time(s, left);
      return;
    }
    for (const TrainView& t : trains_) {
      if (t.workload == s.workload) train(s, t);
    }
    for (const BatchView& b : batches_) {
      if (b.workload == s.workload) batch(s, b);
    }
    for (const ServeView& v : serves_) {
      if (v.workload == s.workload) serve(s, v);
    }
  }

 private:
  static void train(StageView& s, const TrainView& t) {
    s.time = t.run_time;
    if (!t.feasible()) s.infeasible = t.infeasible;
    if (t.feasible() && t.run_time <= Seconds(0)) s.infeasible = "its run never ends";
  }
  static void batch(StageView& s, const BatchView& b) {
    s.time = b.duration;
    if (b.fleet == nullptr) s.infeasible = "there is no fleet to run on";
  }
  // Zones load new weights at the same time.
  static void serve(StageView& s, const ServeView& v) {
    if (!v.feasible() || v.fleet == nullptr) {
      s.infeasible = v.infeasible.empty() ? "there is no fleet to run on" : v.infeasible;
      return;
    }
    s.time = max(s.time, v.start * v.replicas);
  }

  const std::vector<TrainView>& trains_;
  const std::vector<ServeView>& serves_;
  const std::vector<BatchView>& batches_;
};

}  // namespace

PipelineView view_pipeline(const machine::Machine& m, const std::vector<TrainView>& trains,
                           const std::vector<ServeView>& serves,
                           const std::vector<BatchView>& batches) {
  PipelineView view{.stages = {}, .every = m.design().pipeline.every, .lead = {}};
  const auto plain = jobs::pipeline_of(m);
  std::vector<const jobs::TrainJob*> runs;
  for (const TrainView& t : trains) runs.push_back(&t);
  const auto left = jobs::tiers_left(m, plain, runs);
  const Filler filler(trains, serves, batches);
  for (const jobs::PipelineStage& p : plain) {
    StageView s{p, {}, {}, {}};
    filler.fill(s, left);
    for (const std::size_t before : s.after) {
      const StageView& b = view.stages[before];
      s.start = max(s.start, b.end);
      if (!b.infeasible.empty() && s.infeasible.empty()) {
        s.infeasible = "it waits for " + b.label + ", which never ends";
      }
    }
    s.end = s.start + s.time;
    view.stages.push_back(std::move(s));
  }
  const bool serves_all = std::ranges::all_of(
      view.stages, [](const StageView& s) { return !s.is_served || s.infeasible.empty(); });
  for (const StageView& s : view.stages) {
    if (s.is_served && serves_all) view.lead = max(view.lead.value_or(Seconds(0)), s.end);
  }
  return view;
}

}  // namespace orrery::review
