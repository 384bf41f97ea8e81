// Steps and saves of a job between two events, in closed form: nothing is stepped that can be
// skipped.
//
//   |-- steps: interval --|- stall -|-- steps --|- stall -| ...        one save a cycle
// The first cycle follows a start, so no drain runs beside it; in the others the drain of the save
// before it slows the first `drain` of the interval. After a wall time T
//   n = T / (interval + stall) saves are taken, those older than `drain` are safe,
// and those older than `local` can be read back from the hosts that wrote them, if they live.
// All spans are whole nanoseconds and work is rounded down in each stretch, so that what is booked
// adds up. Wrong where a save itself fails (storage/ in time has that).
#pragma once

#include <cstdint>

namespace orrery::failure {

struct SaveCycle {
  std::int64_t interval_ns = 0;  // 0: never saves
  std::int64_t stall_ns = 0;
  std::int64_t drain_ns = 0;  // from a stall's end until the copy outlives its hosts
  std::int64_t local_ns = 0;  // likewise, until it can be read on them
  double speed = 1;           // work done in a second of steps
  double drain_speed = 1;     // likewise, beside a drain

  std::int64_t length() const { return interval_ns + stall_ns; }
};

struct Progress {
  std::int64_t steps_ns = 0;  // wall time in steps
  std::int64_t stall_ns = 0;  // in saves
  std::int64_t work_ns = 0;   // at the step's own speed
  std::int64_t saves = 0;
  std::int64_t safe_work_ns = 0;   // of it, in the newest copy that outlives its hosts
  std::int64_t local_work_ns = 0;  // in the newest copy at all
};

Progress progress_after(const SaveCycle& cycle, std::int64_t elapsed_ns);

// The wall time until so much work is done; the most there is where it never is.
std::int64_t wall_for(const SaveCycle& cycle, std::int64_t work_ns);

}  // namespace orrery::failure
