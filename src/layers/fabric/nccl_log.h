// nccl-tests output, read and checked: sizes, times and the rank count that the ratio of bus to
// algorithm bandwidth betrays.
//
//   all_reduce: busbw/algbw = 2(n-1)/n, others (n-1)/n, so n = 2/(2 - ratio) or 1/(1 - ratio)
// A log whose header names one number of ranks and whose ratios another was edited or misread; both
// are told. Lines of the table begin with a size and have 13 columns (12 where there is no root).
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
  std::optional<workload::Collective> kind;  // from the test's name, where the log has it
  std::optional<int> ranks_stated;           // "# Rank" lines of the header
  std::optional<int> ranks_solved;           // from the ratio of the largest messages
  std::vector<NcclLine> lines;
  Diagnostics notes;  // "nccl.ranks": stated and solved differ
};

Result<NcclLog> parse_nccl_log(std::string_view text, const std::string& file,
                               std::optional<workload::Collective> kind = std::nullopt);

// Why a run is slower than expected, most likely first; empty where it is not.
struct GapReason {
  std::string reason;
  std::string check;
};
struct GapFacts {
  double large_ratio = 1;  // measured over expected bandwidth at the largest size
  double small_ratio = 1;  // expected over measured time at the smallest
  bool leaves_domain = false;
  bool roce = false;
  double expected_bus = 0;  // GB/s
  double measured_bus = 0;
  double nic_gbytes = 0;  // of one NIC
  int nics = 0;
};
std::vector<GapReason> likely_reasons(const GapFacts& facts);

}  // namespace orrery::fabric
