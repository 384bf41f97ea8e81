// Metrics of a running Slurm: its nodes and its queue.
//
// Each reading is one sinfo and one squeue, with the fields requested by name and separated by ';'.
// Lines that cannot be read are counted and left out: a page without one odd node is better than no
// page. A job's wait begins with its submission; jobs that are held, depend on others or have a
// begin time do not count. The head of a queue is the waiting job with the highest priority, or the
// oldest of several. Whether it fits is computed for whole nodes, as Slurm places it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "live/agent/command.h"
#include "live/agent/exporter_metrics.h"

namespace orrery::agent {

inline constexpr const char* kExporterNodeFields =
    "NodeList:;,PartitionName:;,StateComplete:;,Gres:;,GresUsed:;,Reason:;";
inline constexpr const char* kExporterJobFields =
    "JobID:;,Partition:;,State:;,NumNodes:;,tres-per-node:;,tres-per-job:;,PriorityLong:;,"
    "SubmitTime:;,StartTime:;,Reason:;";

struct SlurmNode {
  std::string name;
  std::string partition;
  std::string state;  // "idle", "mixed", "allocated", "drained", "spare", "down", "other"
  int gpus = 0;
  int gpus_used = 0;

  bool usable() const { return state == "idle" || state == "mixed" || state == "allocated"; }
  int gpus_free() const { return usable() && gpus > gpus_used ? gpus - gpus_used : 0; }
};

struct SlurmJob {
  std::string partition;
  bool pending = false;
  bool running = false;
  int nodes = 1;
  int gpus_per_node = 0;
  std::int64_t priority = 0;
  Seconds submitted;  // time since 1970; 0: unknown
  Seconds started;
  std::string reason;

  // Returns true if the job is waiting for nodes, and not for a time, a person or another job.
  bool waits_for_place() const;
};

struct SlurmLook {
  std::vector<SlurmNode> nodes;  // a node in two partitions appears twice
  std::vector<SlurmJob> jobs;
  Diagnostics faults;  // one for each line that could not be read
};

std::vector<SlurmNode> parse_sinfo(std::string_view text, Diagnostics& faults);
std::vector<SlurmJob> parse_squeue(std::string_view text, Diagnostics& faults);
// Returns the number of GPUs in "gpu:h100:8(S:0-1),shard:4" or "gres:gpu:2", or 0 if there are
// none.
int gpus_in(std::string_view gres);

struct SlurmQuestion {
  std::string conf;  // path of slurm.conf; empty: the programs' default
  Seconds timeout = seconds(10);
};
// Fails if a program cannot be run or ends with an error.
Result<SlurmLook> look_at_slurm(const SlurmQuestion& question, const CommandRunner& runner);

// Returns every metric for every partition, with 0 if there is nothing to count, so that a missing
// metric always means a fault.
Result<MetricFamilies> slurm_metrics(const SlurmLook& look, Seconds now);

}  // namespace orrery::agent
