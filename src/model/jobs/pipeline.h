// The design's pipeline on the machine: which workload or which two tiers a stage uses, how many
// bytes it moves on which path, and which stages it waits for.
//
//   moving   first byte of both tiers + bytes / least of (what is left of the source's
//            reads, of the target's writes, the line between their sites, the rate given)
//   left     a tier's rate less what runs outside the pipeline read and save there, on average
//   served   the stages `serve` have ended; if there are none, `deploy`
// plan/ adds stages up along the critical path and twin/ simulates them; both start here. Where it
// is wrong: runs outside the pipeline are taken at their mean, not burst by burst, and copies do
// not slow them down; two stages on one line between sites do not share it.
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
  const design::Workload* workload = nullptr;  // nullptr for a stage that moves bytes
  const machine::Tier* from = nullptr;         // nullptr: from outside, or no bytes are moved
  const machine::Tier* to = nullptr;
  Bytes in;                        // bytes read per cycle, as far as the design says
  Bytes out;                       // bytes written per cycle
  BytesPerSecond way;              // rate of the line between the sites, or the rate given
  std::vector<std::size_t> after;  // stages above it that it waits for
  bool is_served = false;          // a model serves once all stages with this flag have ended
  std::string infeasible;          // why it can never end; empty if it can

  bool moves() const { return design::moves_bytes(stage->stage); }
};

// The rates of a tier that are left for the pipeline.
struct TierLeft {
  BytesPerSecond read;
  BytesPerSecond write;
};

// Returns the stages; empty if the design has no pipeline. `machine` must outlive them.
std::vector<PipelineStage> pipeline_of(const machine::Machine& machine);
// Returns the index of the stage that a workload belongs to; -1 if there is none.
int stage_of(std::span<const PipelineStage> stages, const design::Workload& workload);
using TiersLeft = IndexedVector<design::TierIndex, TierLeft>;
// Returns what runs outside the pipeline leave of each of the machine's tiers.
TiersLeft tiers_left(const machine::Machine& machine, std::span<const PipelineStage> stages,
                     std::span<const TrainJob* const> runs);
// Returns the time until the last byte has arrived if no other stage moves data. `left` are the
// rates left of the machine's tiers.
Seconds move_time(const PipelineStage& stage, const TiersLeft& left);
// Returns the bytes that the stage's target finally holds.
Bytes kept_by(const PipelineStage& stage, const design::Pipeline& pipeline);

}  // namespace orrery::jobs
