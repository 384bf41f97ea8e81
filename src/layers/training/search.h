// The best layouts of a job: every candidate of a space, in one fixed order, over any index range.
//
// A candidate is an index; its layout is the index written in the mixed radix of the space's
// options, so a range can be given to any thread and the merged answer is the same. Candidates are
// dropped without an estimate where a proof needs none:
//   - the layout does not divide (refuse_layout);
//   - its memory is above the limit;
//   - it recomputes although the same layout without recompute fits, which is never slower;
//   - its lower bound, all products at the device's peak divided over all devices and stretched by
//     the bubble (m + (p-1)/v) / m, is above the worst of the best found so far in the range.
// The bound never exceeds the estimate, so no layout that belongs in the answer is dropped.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/training/memory.h"
#include "layers/training/step.h"

namespace orrery::training {

// Options of each dimension, tried in every combination; dp follows from the device count.
struct LayoutSpace {
  std::vector<int> tp;
  std::vector<int> pp;
  std::vector<int> vp;
  std::vector<int> cp;
  std::vector<int> ep;
  std::vector<int> microbatch;
  std::vector<catalog::Sharding> sharding;
  std::vector<catalog::Recompute> recompute;
  std::vector<catalog::Schedule> schedule;
  std::vector<bool> sequence_parallel;
  bool async_tp = false;
  // Full recompute of only as many layers as memory asks for, as frameworks offer it.
  bool partial_recompute = false;

  bool tries_no_recompute() const;
  std::int64_t size() const;
  Layout at(std::int64_t index, int gpus) const;  // dp = 0 where the device count does not divide
};

// All that could be tried: powers of two and the divisors of layers, heads and experts.
LayoutSpace whole_space(const TrainingJob& job);

struct RankedLayout {
  std::int64_t index = 0;
  Layout layout;
  StepEstimate step;
  Bytes memory;
};

struct SearchCounts {
  std::int64_t candidates = 0;
  std::int64_t refused = 0;  // do not divide
  std::int64_t too_large = 0;
  std::int64_t bounded = 0;  // lower bound above the best, or another is never slower
  std::int64_t evaluated = 0;

  SearchCounts& operator+=(const SearchCounts& o);
};

struct SearchResult {
  std::vector<RankedLayout> best;  // fastest first; equal times by index
  SearchCounts counts;
};

struct SearchQuery {
  const TrainingJob& job;
  const LayoutSpace& space;
  const FrameworkModel& framework;
  const CostSource& source;
  Bytes memory_limit;
  double peak_flops = 0;  // of one device in the job's number format; 0: no bound is used
  int keep = 10;
};

SearchResult search_layouts(const SearchQuery& q, std::int64_t begin, std::int64_t end);
// As if the ranges had been searched in one go.
SearchResult merge(const std::vector<SearchResult>& parts, int keep);

// Why `other` is slower than `best`: the part that grew most, in words.
std::string why_slower(const RankedLayout& best, const RankedLayout& other);

}  // namespace orrery::training
