// The output of squeue and sinfo, as the recovery policy's view of jobs and nodes.
//
// The fields are requested by name and separated by ';' (kJobFields, kNodeFields). Names that users
// choose are not among them: a job may be named "x JobState=FAILED", and `scontrol show job` prints
// that unquoted. Times are read as UTC, so the programs must run with TZ=UTC.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "layers/failure/recovery.h"

namespace orrery::agent {

inline constexpr const char* kJobFields =
    "JobID:;,State:;,RestartCnt:;,Requeue:;,EligibleTime:;,EndTime:;,NodeList:;,Reason:;";
inline constexpr const char* kNodeFields = "NodeList:;,StateComplete:;,Reason:;";

struct SlurmMarks {
  // First words of the reason of a drained node:
  std::string spare = "spare";    // kept in reserve
  std::string broken = "fatal:";  // unfit although its daemon answers
};

// Lines that continue a reason with a line break are skipped. A line that begins like a row but
// cannot be read makes the whole look fail, because a job that is missing from a look counts as
// gone.
Result<std::vector<failure::JobView>> parse_jobs(std::string_view text);
Result<std::vector<failure::NodeView>> parse_nodes(std::string_view text,
                                                   const SlurmMarks& marks = {});

// Expands "n[1-3,07],m9" to n1 n2 n3 n07 m9, at most kHostsMax names.
inline constexpr std::size_t kHostsMax = 200'000;
Result<std::vector<std::string>> expand_hosts(std::string_view list);

// Returns "2026-11-15T05:28:59" as seconds since 1970 in UTC, or 0 for "N/A", "NONE" and anything
// else.
Seconds parse_slurm_time(std::string_view text);

}  // namespace orrery::agent
