// What a running Slurm says of its nodes and its queue, as metrics.
//
// One sinfo and one squeue a look, fields asked for by name and separated by ';'. Lines that cannot
// be read are counted and left out: a metric page with one odd node is worth more than none. A
// job's wait runs from submission; jobs that wait by their own will (held, a dependency, a begin
// time) do not count. The head of a queue is the waiting job of the highest priority, the oldest
// among equals; whether it fits is asked of whole nodes, as Slurm places it.
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
  Seconds submitted;  // since 1970; 0: unknown
  Seconds started;
  std::string reason;

  // Waits for a place, and not for a time, a person or another job.
  bool waits_for_place() const;
};

struct SlurmLook {
  std::vector<SlurmNode> nodes;  // a node in two partitions stands twice
  std::vector<SlurmJob> jobs;
  Diagnostics faults;  // of single lines
};

std::vector<SlurmNode> parse_sinfo(std::string_view text, Diagnostics& faults);
std::vector<SlurmJob> parse_squeue(std::string_view text, Diagnostics& faults);
// GPUs in "gpu:h100:8(S:0-1),shard:4" or "gres:gpu:2"; 0 where there are none.
int gpus_in(std::string_view gres);

struct SlurmQuestion {
  std::string conf;  // slurm.conf; empty: where the programs look themselves
  Seconds timeout = seconds(10);
};
// An error where a program cannot be run or fails.
Result<SlurmLook> look_at_slurm(const SlurmQuestion& question, const CommandRunner& runner);

// Every metric for every partition, 0 where there is nothing, so that absence means a fault.
Result<MetricFamilies> slurm_metrics(const SlurmLook& look, Seconds now);

}  // namespace orrery::agent
