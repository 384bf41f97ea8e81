// Hedged reads: when a block of a slow drive is also read from the other drives of its stripe.
//
//   seen      read times as counts per factor of two; all counts are halved at kMost, so that the
//             last few thousand reads count
//   slow      a read that took at least `slow_factor` times the p95 of what was seen, and
//   `slow_min` suspect   a drive whose last read was slow, until `forgiven` reads in a row were not
//   delay     p95 of what was seen: time a suspect drive has before the others are read too
//
// After the 95th percentile few requests are sent twice and the tail is cut off (Dean and Barroso,
// The Tail at Scale, CACM 56(2), 2013). Drives that are not suspect are read without another
// thread, so the first slow read of a drive is waited for. All drives share one `seen`: a flash
// drive beside disks is found slow only once it is slower than the disks. If all drives become slow
// at once, all are suspect and nothing is read twice.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace orrery::drives {

using Micros = std::chrono::microseconds;

class SeenTimes {
 public:
  void add(Micros took);
  // Returns the time within which this share of reads ended, to a factor of two; zero if there were
  // none.
  Micros within(double share) const;

 private:
  static constexpr std::uint32_t kMost = 4096;
  std::array<std::uint32_t, 40> counts_ = {};  // entry i counts reads of less than 2^i microseconds
  std::uint32_t total_ = 0;
};

struct HedgeRule {
  double share = 0.95;
  Micros delay_min{2'000};
  Micros slow_min{20'000};
  int slow_factor = 4;
  int forgiven = 8;
  int at_once_max = 8;  // hedged reads at the same time
};

struct DriveTrust {
  bool suspect = false;
  int quick = 0;  // fast reads in a row
};

DriveTrust trust_after(const HedgeRule& rule, const SeenTimes& seen, DriveTrust before,
                       Micros took);
// Returns how long to wait for the drive before other drives are read; nullopt: wait without limit.
std::optional<Micros> hedge_delay(const HedgeRule& rule, const SeenTimes& seen, DriveTrust trust,
                                  int at_once);

}  // namespace orrery::drives
