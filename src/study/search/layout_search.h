// Finds the fastest layouts of a model on a machine, as work that can be shared, stopped and
// resumed.
//
// The candidates (training/search.h) are cut into chunks of a fixed size. Chunks are searched in
// any order, by any number of threads; joined in their own order they give the same answer. What is
// known after some of them is a LayoutProgress of a few numbers, so a process that ends can leave
// it behind and another can continue from there and give exactly the same answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "model/jobs/predict_training.h"

namespace orrery::search {

// The question of `orrery search layout` or of a job.
struct LayoutQuestion {
  std::string model;
  std::string accelerator = "h100-sxm";
  std::int64_t gpus = 64;
  std::int64_t batch = 512;      // sequences per step
  std::int64_t sequence = 4096;  // tokens
  std::string precision = "bf16";
  std::string framework = "default";
  std::string nic = "400 Gb/s";  // per accelerator
  std::optional<std::int64_t> tp, pp, vp, cp, ep, microbatch;
};

// Returns the text of a file, for a model that is the path of a config.json; empty: no path may be
// given.
using ReadModelFile = std::function<Result<std::string>(const std::string& path)>;

Result<jobs::TrainingQuery> query_of(const LayoutQuestion& question,
                                     const catalog::Catalog& catalog, const ReadModelFile& read);
// Returns the parts of a layout that the question fixes; the rest is searched.
jobs::LayoutWish fixed_by(const LayoutQuestion& question);

// What has been found after the first `chunks` chunks.
struct LayoutProgress {
  std::int64_t chunks = 0;
  training::SearchCounts counts;
  std::vector<std::int64_t> best;  // indices, fastest first
};

struct FoundLayouts {
  int gpus = 0;
  training::SearchResult found;
  std::vector<jobs::TrainingPrediction> described;  // predictions of found.best
  bool whole = true;                                // false: stopped before the end
};

class LayoutSearch {
 public:
  // Candidates per chunk: small enough to stop at, large enough to prune in.
  static constexpr std::int64_t kChunk = 4096;

  LayoutSearch(const machine::Models& models, jobs::TrainingQuery query, int keep);
  ~LayoutSearch();
  LayoutSearch(const LayoutSearch&) = delete;
  LayoutSearch& operator=(const LayoutSearch&) = delete;

  std::int64_t candidates() const;
  std::int64_t chunks() const;
  int keep() const;

  // May be called from any thread.
  training::SearchResult search_chunk(std::int64_t chunk) const;
  training::SearchResult join(const std::vector<training::SearchResult>& parts) const;

  // Converts a result to a few numbers and back: the layouts are then estimated again.
  static LayoutProgress progress_of(const training::SearchResult& result, std::int64_t chunks);
  training::SearchResult result_of(const LayoutProgress& progress) const;

  FoundLayouts describe(training::SearchResult result, bool whole) const;

 private:
  struct Parts;  // the query and what points into it
  std::unique_ptr<Parts> parts_;
};

// Returns `gpus` alone, or also half of it, a quarter ...: each is a point on the front of time
// against GPUs.
std::vector<int> gpu_counts(int gpus, bool halving);

}  // namespace orrery::search
