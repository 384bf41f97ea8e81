// The design's pipeline against the machine: which workload or which two tiers a stage is, how many
// bytes it moves over which way, and for which stages it waits.
//
//   moving   first byte of both tiers + bytes / least of (what is left of the source's
//            reads, of the target's writes, the line between their sites, the rate given)
//   left     a tier's rate less what runs outside the pipeline read and save there, on average
//   served   the stages `serve` have ended; where there is none, `deploy`
// plan/ adds stages up along the longest way and twin/ lives through them; both start here.
// Where it is wrong: runs outside the pipeline are taken at their mean, not burst by burst, and are
// not slowed by the copies; two stages on one line between sites do not share it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/jobs/train_job.h"

namespace orrery::jobs {

struct PipelineStage {
  const design::Stage* stage = nullptr;
  std::string label;
  std::string path;
  const design::Workload* workload = nullptr;  // of a stage that moves no bytes
  const machine::Tier* from = nullptr;         // none: from outside, or no bytes are moved
  const machine::Tier* to = nullptr;
  Bytes in;                        // read in a cycle, as far as the design says
  Bytes out;                       // written
  BytesPerSecond way;              // the line between the sites, or the rate given
  std::vector<std::size_t> after;  // stages above it
  bool is_served = false;          // a model serves once it and others like it have ended
  std::string infeasible;          // why it can never end

  bool moves() const { return design::moves_bytes(stage->stage); }
};

// What is left of a tier's rates.
struct TierLeft {
  BytesPerSecond read;
  BytesPerSecond write;
};

// `machine` outlives it; no stages where the design has no pipeline.
std::vector<PipelineStage> pipeline_of(const machine::Machine& machine);
// The number of the stage that a workload is; -1: none.
int stage_of(std::span<const PipelineStage> stages, const design::Workload& workload);
using TiersLeft = IndexedVector<design::TierIndex, TierLeft>;
// By tier of the machine, beside runs that are no stages.
TiersLeft tiers_left(const machine::Machine& machine, std::span<const PipelineStage> stages,
                     std::span<const TrainJob* const> runs);
// Until its last byte is there, alone. `left` are the machine's tiers'.
Seconds move_time(const PipelineStage& stage, const TiersLeft& left);
// What the stage's target holds in the end.
Bytes kept_by(const PipelineStage& stage, const design::Pipeline& pipeline);

}  // namespace orrery::jobs
