// Reads or writes of one block size at one queue depth, for a limited time: what fio calls a job.
//
// Two engines do the same work: io_uring keeps `depth` requests in flight from one thread; if the
// kernel forbids it, `depth` threads call pread and pwrite. Sequential work wraps around at the end
// of the span; random work draws blocks uniformly from a seeded stream. The time runs from the
// first request to the last completion; nothing is flushed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace orrery::agent {

enum class IoEngine { io_uring, threads };
const char* to_text(IoEngine engine);

// Returns whether this kernel allows io_uring; if not, sets `why` to its error.
bool io_uring_works(std::string& why);

struct IoPlan {
  int file = -1;
  bool write = false;
  bool random = false;
  std::size_t block_bytes = std::size_t{1} << 20;  // with O_DIRECT, a multiple of the sector
  int depth = 8;
  std::uint64_t span_bytes = 0;  // part of the file that is used, from its start; at least one
                                 // block
  double seconds_max = 1;
  std::uint64_t bytes_max = 0;  // 0: limited only by time
  std::uint64_t seed = 1;
  std::function<bool()> stop = {};
};

struct IoRun {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  double latency_p50_s = 0;
  double latency_p99_s = 0;
  double cpu_share = 0;  // CPU time of all our threads divided by wall time: 1 is one busy core
  std::string fault;     // the first request that failed, and why; empty if none failed

  double bytes_per_s() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
  double per_s() const { return seconds > 0 ? static_cast<double>(operations) / seconds : 0; }
};

IoRun run_io(const IoPlan& plan, IoEngine engine);

}  // namespace orrery::agent
