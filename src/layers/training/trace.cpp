#include "layers/training/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/json_writer.h"

namespace orrery::training {
namespace {

const StageTimes& stage_times(const PipelineStages& s, int stage) {
  if (stage == 0) return s.first;
  return stage == s.count - 1 ? s.last : s.middle;
}

void write_event(JsonWriter& w, std::string_view name, int track, double start_s, double seconds) {
  w.begin_object()
      .field("name", name)
      .field("ph", "X")
      .field("pid", 0)
      .field("tid", track)
      .field("ts", start_s * 1e6)
      .field("dur", seconds * 1e6)
      .end_object();
}

// A stage's progress: forwards and backwards finished, and when it is free.
struct Progress {
  int forward = 0;
  int backward = 0;
  double free_s = 0;
};

}  // namespace

std::vector<TraceBlock> schedule_blocks(const PipelineStages& stages, int microbatches) {
  const int p = stages.count;
  const auto at = [microbatches](int stage, int mb) {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(microbatches) +
           static_cast<std::size_t>(mb);
  };
  std::vector<double> forward(static_cast<std::size_t>(p * microbatches), -1);
  std::vector<double> backward(forward);
  std::vector<Progress> progress(static_cast<std::size_t>(p));
  std::vector<TraceBlock> blocks;
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < p; ++s) {
      Progress& done = progress[static_cast<std::size_t>(s)];
      const StageTimes& t = stage_times(stages, s);
      const bool ahead = done.forward < microbatches &&
                         done.forward - done.backward < std::min(microbatches, p - s);
      const int mb = ahead ? done.forward : done.backward;
      if (mb >= microbatches) continue;
      double ready = 0;
      if (ahead && s > 0) ready = forward[at(s - 1, mb)];
      if (!ahead) ready = s == p - 1 ? forward[at(s, mb)] : backward[at(s + 1, mb)];
      if (ready < 0) continue;
      const double seconds = ahead ? t.forward : t.dgrad + t.wgrad;
      const double start = std::max(done.free_s, ready);
      done.free_s = start + seconds;
      (ahead ? forward : backward)[at(s, mb)] = done.free_s;
      ++(ahead ? done.forward : done.backward);
      blocks.push_back({s, mb, !ahead, start, seconds});
      moved = true;
    }
  }
  return blocks;
}

std::string step_trace_json(const StepEstimate& step, const std::string& title) {
  const int drawn = std::min(step.microbatches, kTracedMicrobatches);
  JsonWriter w(0);
  w.begin_object().key("traceEvents").begin_array();
  double end = 0;
  for (const TraceBlock& b : schedule_blocks(step.stages, drawn)) {
    write_event(w, fmt::format("{} {}", b.backward ? "backward" : "forward", b.microbatch), b.stage,
                b.start_s, b.seconds);
    end = std::max(end, b.start_s + b.seconds);
  }
  for (const StepPhase phase :
       {StepPhase::dp, StepPhase::optimizer, StepPhase::overhead, StepPhase::straggler}) {
    const double seconds = step.part(phase);
    if (seconds <= 0) continue;
    for (int s = 0; s < step.stages.count; ++s) write_event(w, to_text(phase), s, end, seconds);
    end += seconds;
  }
  w.end_array().key("otherData").begin_object();
  w.field("title", title)
      .field("step_time_s", step.seconds)
      .field("microbatches", step.microbatches)
      .field("microbatches_drawn", drawn);
  w.end_object().end_object();
  return w.text() + "\n";
}

}  // namespace orrery::training
