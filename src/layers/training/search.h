// The best layouts of a job: every candidate of a space, in one fixed order, over any index range.
//
// A candidate is an index; its layout is the index written in the mixed radix of the space's
// options, so ranges can be given to any threads and the merged answer is the same. Candidates are
// dropped without an estimate if one of these holds:
//   - the layout does not divide (refuse_layout);
//   - its memory is above the limit;
//   - it recomputes although the same layout without recompute fits, which is never slower;
//   - its lower bound is above the worst of the best found so far in the range. The bound is the
//     time of all products at peak rate on all devices, stretched by the bubble (m + (p-1)/v) / m.
// The bound never exceeds the estimate, so no layout that belongs in the answer is dropped.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/training/memory.h"
#include "layers/training/step.h"

namespace orrery::training {

// The options of each dimension, tried in every combination; dp follows from the device count.
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
  // Recomputes only as many layers as memory requires, as frameworks offer it.
  bool partial_recompute = false;

  bool tries_no_recompute() const;
  std::int64_t size() const;
  Layout at(std::int64_t index, int gpus) const;  // dp = 0 if the device count does not divide
};

// Returns everything worth trying: powers of two and the divisors of layers, heads and experts.
LayoutSpace whole_space(const TrainingJob& job);

struct RankedLayout {
  std::int64_t index = 0;
  Layout layout;
  StepEstimate step;
  Bytes memory;
};

struct SearchCounts {
  std::int64_t candidates = 0;
  std::int64_t refused = 0;  // candidates that do not divide
  std::int64_t too_large = 0;
  std::int64_t bounded = 0;  // dropped by the lower bound, or because another is never slower
  std::int64_t evaluated = 0;

  SearchCounts& operator+=(const SearchCounts& o);
};

struct SearchResult {
  std::vector<RankedLayout> best;  // fastest first; ties by index
  SearchCounts counts;
};

struct SearchQuery {
  const TrainingJob& job;
  const LayoutSpace& space;
  const FrameworkModel& framework;
  const CostSource& source;
  Bytes memory_limit;
  double peak_flops = 0;  // per device in the job's number format; 0: no bound is used
  int keep = 10;
};

SearchResult search_layouts(const SearchQuery& q, std::int64_t begin, std::int64_t end);
// Merges results as if the ranges had been searched together.
SearchResult merge(const std::vector<SearchResult>& parts, int keep);

// Returns in words why `other` is slower than `best`: the part that grew most.
std::string why_slower(const RankedLayout& best, const RankedLayout& other);

}  // namespace orrery::training
