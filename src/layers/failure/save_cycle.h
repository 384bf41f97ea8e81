// Steps and saves of a job between two events, in closed form, so that no single step is simulated.
//
//   |-- steps: interval --|- stall -|-- steps --|- stall -| ...        one save per cycle
// The first cycle follows a start, so no drain runs during it; in later cycles the drain of the
// previous save slows the first `drain` of the interval. After a wall time T
//   n = T / (interval + stall) saves are taken. Those older than `drain` are safe,
// and those older than `local` can be read back from the hosts that wrote them, if these survive.
// All spans are whole nanoseconds, and work is rounded down in each stretch, so that the booked
// times add up. Wrong if a save itself fails (storage/ simulates that).
#pragma once

#include <cstdint>

namespace orrery::failure {

struct SaveCycle {
  std::int64_t interval_ns = 0;  // 0: never saves
  std::int64_t stall_ns = 0;
  std::int64_t drain_ns = 0;  // from a stall's end until the copy would survive its hosts
  std::int64_t local_ns = 0;  // from a stall's end until it can be read on its hosts
  double speed = 1;           // work done per second of steps
  double drain_speed = 1;     // work done per second of steps during a drain

  std::int64_t length() const { return interval_ns + stall_ns; }
};

struct Progress {
  std::int64_t steps_ns = 0;  // wall time in steps
  std::int64_t stall_ns = 0;  // wall time in saves
  std::int64_t work_ns = 0;   // work in terms of the step's own speed
  std::int64_t saves = 0;
  // Part of work_ns in the newest copy that would survive its hosts.
  std::int64_t safe_work_ns = 0;
  std::int64_t local_work_ns = 0;  // part of work_ns in the newest copy of any kind
};

Progress progress_after(const SaveCycle& cycle, std::int64_t elapsed_ns);

// Returns the wall time until `work_ns` is done; the maximum value if that never happens.
std::int64_t wall_for(const SaveCycle& cycle, std::int64_t work_ns);

}  // namespace orrery::failure
