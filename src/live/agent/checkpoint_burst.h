// A checkpoint as storage sees it: several writers, large files, and two clocks.
//
//   stall end   the last write() returned: the bytes are handed over and a job may compute again
//   safe        every file is flushed (fsync), has its final name, and the folder is flushed too:
//               the checkpoint survives a loss of power
// Between the two the page cache holds the only copy. The writes are buffered, as frameworks write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace orrery::agent {

struct BurstPlan {
  std::string folder;  // must exist; the files of the burst are removed afterwards
  int writers = 4;
  std::uint64_t bytes = 0;  // total of all writers
  std::size_t write_bytes = std::size_t{8} << 20;
  std::uint64_t seed = 1;
  std::function<bool()> stop = {};
};

struct BurstTimes {
  double stall_end_s = 0;
  double safe_s = 0;
  std::uint64_t bytes = 0;  // bytes written, total of all writers
  std::string fault;        // empty if nothing failed
};

BurstTimes run_burst(const BurstPlan& plan);

}  // namespace orrery::agent
