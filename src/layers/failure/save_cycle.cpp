#include "layers/failure/save_cycle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::failure {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t scaled(std::int64_t span, double speed) {
  // A double has 53 bits and a year of nanoseconds 55, so at full speed nothing may be rounded.
  return speed == 1 ? span
                    : static_cast<std::int64_t>(std::floor(static_cast<double>(span) * speed));
}

// Returns the work done in the first `steps` of a cycle's interval.
std::int64_t work_in(const SaveCycle& c, std::int64_t steps, bool is_first) {
  const std::int64_t beside = is_first ? 0 : std::min({c.drain_ns, c.interval_ns, steps});
  return scaled(beside, c.drain_speed) + scaled(steps - beside, c.speed);
}

std::int64_t work_of_cycles(const SaveCycle& c, std::int64_t cycles) {
  if (cycles <= 0) return 0;
  return work_in(c, c.interval_ns, true) + (cycles - 1) * work_in(c, c.interval_ns, false);
}

std::int64_t steps_for(const SaveCycle& c, std::int64_t work, bool is_first) {
  const std::int64_t beside = is_first ? 0 : std::min(c.drain_ns, c.interval_ns);
  const std::int64_t slow_work = scaled(beside, c.drain_speed);
  const auto wall = [](std::int64_t w, double speed) {
    return speed == 1 ? w : static_cast<std::int64_t>(std::ceil(static_cast<double>(w) / speed));
  };
  if (work <= slow_work) return wall(work, c.drain_speed);
  return beside + wall(work - slow_work, c.speed);
}

}  // namespace

Progress progress_after(const SaveCycle& c, std::int64_t elapsed) {
  if (c.interval_ns <= 0) {
    return {.steps_ns = elapsed, .work_ns = scaled(elapsed, c.speed)};
  }
  const std::int64_t cycles = elapsed / c.length();
  const std::int64_t rest = elapsed % c.length();
  const std::int64_t rest_steps = std::min(rest, c.interval_ns);
  const auto taken = [&](std::int64_t after) {
    return std::max<std::int64_t>(0, (elapsed - after)) / c.length();
  };
  return {.steps_ns = cycles * c.interval_ns + rest_steps,
          .stall_ns = cycles * c.stall_ns + (rest - rest_steps),
          .work_ns = work_of_cycles(c, cycles) + work_in(c, rest_steps, cycles == 0),
          .saves = cycles,
          .safe_work_ns = work_of_cycles(c, taken(c.drain_ns)),
          .local_work_ns = work_of_cycles(c, taken(c.local_ns))};
}

std::int64_t wall_for(const SaveCycle& c, std::int64_t work) {
  if (work <= 0) return 0;
  if (c.speed <= 0 || c.drain_speed <= 0 || work > kNever / 4) return kNever;
  if (c.interval_ns <= 0) return steps_for(c, work, true);
  const std::int64_t first = work_in(c, c.interval_ns, true);
  if (work <= first) return steps_for(c, work, true);
  const std::int64_t each = work_in(c, c.interval_ns, false);
  if (each <= 0) return kNever;
  const std::int64_t more = (work - first - 1) / each;
  if (more >= kNever / c.length() - 1) return kNever;
  return (1 + more) * c.length() + steps_for(c, work - first - more * each, false);
}

}  // namespace orrery::failure
