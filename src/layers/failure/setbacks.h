// Time that a stretch of a run's steps loses while it continues: paused by the network, slowed by
// heat.
//
//   lost(now) = sum over setbacks of share x (min(now, to) - from)      whole nanoseconds
// The steps and saves of the stretch (save_cycle.h) are delayed by that; nothing is done again.
// Windows may overlap; together they never take more than the time that passes.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::failure {

struct Setback {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  double share = 0;  // share of the time in the window that is lost
  int cause = 0;     // the owner's number of the cause

  std::int64_t lost_ns(std::int64_t now_ns) const;
};

class Setbacks {
 public:
  void add(const Setback& setback) { all_.push_back(setback); }
  // Ends the windows of this cause now.
  void end(int cause, std::int64_t now_ns);
  void clear() { all_.clear(); }

  const std::vector<Setback>& all() const { return all_; }
  std::int64_t lost_ns(std::int64_t now_ns) const;
  // Returns the time at which `left_ns` more of the stretch's own time will have passed.
  std::int64_t time_after(std::int64_t now_ns, std::int64_t left_ns) const;

 private:
  double share_at(std::int64_t now_ns) const;

  std::vector<Setback> all_;
};

}  // namespace orrery::failure
