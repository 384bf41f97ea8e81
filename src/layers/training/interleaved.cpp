#include "layers/training/interleaved.h"

#include <algorithm>

namespace orrery::training {
namespace {

struct Pass {
  int microbatch = 0;
  int chunk = 0;
  bool backward = false;
};

// The forwards of a stage in order: groups of `count` microbatches, chunk by chunk.
std::vector<Pass> forwards(int count, int microbatches, int vp) {
  std::vector<Pass> passes;
  for (int first = 0; first < microbatches; first += count) {
    for (int chunk = 0; chunk < vp; ++chunk) {
      for (int mb = first; mb < std::min(first + count, microbatches); ++mb) {
        passes.push_back({mb, chunk, false});
      }
    }
  }
  return passes;
}

std::vector<Pass> passes_of(int stage, int count, int microbatches, int vp) {
  const std::vector<Pass> ahead = forwards(count, microbatches, vp);
  const auto warm = static_cast<std::size_t>(2 * (count - stage - 1) + (vp - 1) * count);
  std::vector<Pass> passes;
  for (std::size_t k = 0; k < ahead.size() + warm; ++k) {
    if (k < ahead.size()) passes.push_back(ahead[k]);
    if (k < warm || k - warm >= ahead.size()) continue;
    const Pass& p = ahead[k - warm];
    passes.push_back({p.microbatch, vp - 1 - p.chunk, true});
  }
  return passes;
}

const StageTimes& times_of(const PipelineStages& stages, int stage) {
  if (stage == 0) return stages.first;
  return stage == stages.count - 1 ? stages.last : stages.middle;
}

// The end of each pass; below 0 until it is placed.
class Ends {
 public:
  Ends(int count, int microbatches, int vp)
      : count_(count),
        microbatches_(microbatches),
        vp_(vp),
        forward_(static_cast<std::size_t>(count * microbatches * vp), -1),
        backward_(forward_) {}

  double& at(int stage, const Pass& p) {
    return (p.backward ? backward_ : forward_)[index(stage, p)];
  }

  // Returns the end of the pass that this one waits for, 0 if it waits for none, or below 0 if that
  // pass is not placed yet.
  double ready(int stage, const Pass& p) {
    const auto end = [&](int s, int chunk, bool backward) {
      return at(s, {p.microbatch, chunk, backward});
    };
    if (!p.backward) {
      if (stage > 0) return end(stage - 1, p.chunk, false);
      return p.chunk > 0 ? end(count_ - 1, p.chunk - 1, false) : 0;
    }
    if (stage < count_ - 1) return end(stage + 1, p.chunk, true);
    return p.chunk < vp_ - 1 ? end(0, p.chunk + 1, true) : end(stage, p.chunk, false);
  }

 private:
  std::size_t index(int stage, const Pass& p) const {
    return static_cast<std::size_t>((p.chunk * count_ + stage) * microbatches_ + p.microbatch);
  }

  int count_;
  int microbatches_;
  int vp_;
  std::vector<double> forward_;
  std::vector<double> backward_;
};

}  // namespace

std::vector<TraceBlock> interleaved_blocks(const PipelineStages& stages, int microbatches, int vp) {
  const int count = stages.count;
  Ends ends(count, microbatches, vp);
  std::vector<std::vector<Pass>> passes;
  for (int s = 0; s < count; ++s) passes.push_back(passes_of(s, count, microbatches, vp));
  std::vector<std::size_t> next(passes.size(), 0);
  std::vector<double> free_s(passes.size(), 0);
  std::vector<TraceBlock> blocks;
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < count; ++s) {
      const auto i = static_cast<std::size_t>(s);
      if (next[i] == passes[i].size()) continue;
      const Pass& p = passes[i][next[i]];
      const double ready = ends.ready(s, p);
      if (ready < 0) continue;
      const StageTimes& t = times_of(stages, s);
      const double seconds = (p.backward ? t.dgrad + t.wgrad : t.forward) / vp;
      const double start = std::max(free_s[i], ready);
      free_s[i] = start + seconds;
      ends.at(s, p) = free_s[i];
      ++next[i];
      blocks.push_back({s, p.microbatch, p.backward, start, seconds, p.chunk});
      moved = true;
    }
  }
  return blocks;
}

}  // namespace orrery::training
