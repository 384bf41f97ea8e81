// When a read of a slow drive is asked again of the drives beside it.
//
//   seen      the times of reads as counts by factors of two, halved at kMost, so that the last
//             few thousand count
//   slow      a read that took `slow_factor` times p95 of what was seen, and `slow_min` at least
//   suspect   a drive whose last read was slow, until `forgiven` reads in a row were not
//   delay     p95 of what was seen: so long a suspect drive has before the others are asked
//
// After the 95th percentile few requests are sent twice and the tail is cut off (Dean and Barroso,
// The Tail at Scale, CACM 56(2), 2013). Drives that are not suspect are read without another
// thread, so the first slow read of a drive is waited for. All drives are one in `seen`: beside
// disks a flash drive is found slow only once it is slower than they. Where all drives become
// slow at once all are suspect, and nothing is asked twice.
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
  // At most so long took this share of them, to a factor of two; zero where nothing was seen.
  Micros within(double share) const;

 private:
  static constexpr std::uint32_t kMost = 4096;
  std::array<std::uint32_t, 40> counts_ = {};  // the one at i took less than 2^i microseconds
  std::uint32_t total_ = 0;
};

struct HedgeRule {
  double share = 0.95;
  Micros delay_min{2'000};
  Micros slow_min{20'000};
  int slow_factor = 4;
  int forgiven = 8;
  int at_once_max = 8;  // reads of suspect drives that others may be asked for
};

struct DriveTrust {
  bool suspect = false;
  int quick = 0;  // reads in a row
};

DriveTrust trust_after(const HedgeRule& rule, const SeenTimes& seen, DriveTrust before,
                       Micros took);
// How long the drive is waited for before others are asked; nullopt: as long as it takes.
std::optional<Micros> hedge_delay(const HedgeRule& rule, const SeenTimes& seen, DriveTrust trust,
                                  int at_once);

}  // namespace orrery::drives
