// Reads and checks nccl-tests output: sizes, times, and the rank count implied by the ratio of bus
// bandwidth to algorithm bandwidth.
//
//   all_reduce: busbw/algbw = 2(n-1)/n, others (n-1)/n, so n = 2/(2 - ratio) or 1/(1 - ratio)
// The bandwidths have two decimals, so a ratio fits a range of ranks: 253 to 259 for 256 at 170
// GB/s. The header's rank lines are exact. A log whose header is outside the range of its table was
// edited or misread; both numbers are reported. Lines of the table begin with a size and have 13
// columns (12 without a root).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/workload/message.h"

namespace orrery::fabric {

struct NcclLine {
  double bytes = 0;
  double time_us = 0;  // out of place
  double algbw = 0;    // GB/s
  double busbw = 0;
};

struct NcclLog {
  std::optional<workload::Collective> kind;  // from the test's name, if the log has it
  std::optional<int> ranks_stated;           // "# Rank" lines of the header
  std::optional<int> ranks_solved;           // computed from the ratio of the largest messages
  int ranks_least = 0;                       // fewest and most that the printed digits allow
  int ranks_most = 0;
  std::vector<NcclLine> lines;
  Diagnostics notes;  // "nccl.ranks": stated and computed differ
};

// Returns the header's ranks; without a header, of the numbers that the table allows, the whole
// hosts nearest to the computed number, or that number. 0 if the log says nothing.
int ranks_of(const NcclLog& log, int per_host);

Result<NcclLog> parse_nccl_log(std::string_view text, const std::string& file,
                               std::optional<workload::Collective> kind = std::nullopt);

// Reasons why a run is slower than expected, most likely first; empty if it is not slower.
struct GapReason {
  std::string reason;
  std::string check;
};
struct GapFacts {
  double large_ratio = 1;  // measured divided by expected bandwidth at the largest size
  double small_ratio = 1;  // expected divided by measured time at the smallest size
  bool leaves_domain = false;
  bool roce = false;
  double expected_bus = 0;  // GB/s
  double measured_bus = 0;
  double nic_gbytes = 0;  // rate of one NIC
  int nics = 0;
};
std::vector<GapReason> likely_reasons(const GapFacts& facts);

}  // namespace orrery::fabric
