#include "layers/facility/spectrum.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/math.h"
#include "layers/facility/power_cap.h"

namespace orrery::facility {

std::vector<Harmonic> lines_of(std::span<const WaveSegment> wave, int count, Seconds edge) {
  Seconds period;
  for (const WaveSegment& s : wave) period += s.length;
  std::vector<Harmonic> lines;
  if (period <= Seconds(0)) return lines;
  for (int k = 1; k <= count; ++k) {
    const double turn = 2 * std::numbers::pi * k;
    double real = 0;
    double imaginary = 0;
    double at = 0;  // share of the period
    for (const WaveSegment& s : wave) {
      const double end = at + s.length / period;
      real += s.level.base() * (math::sin(turn * end) - math::sin(turn * at));
      imaginary += s.level.base() * (math::cos(turn * end) - math::cos(turn * at));
      at = end;
    }
    const double blur = std::numbers::pi * k * (edge / period);
    const double smooth = blur > 1e-12 ? std::abs(math::sin(blur) / blur) : 1;
    lines.push_back(
        {.hz = k / period.base(),
         .amplitude = Watts(2 / turn * std::sqrt(real * real + imaginary * imaginary) * smooth)});
  }
  return lines;
}

Harmonic strongest_in_band(std::span<const Harmonic> lines) {
  Harmonic best;
  for (const Harmonic& h : lines) {
    if (h.hz >= kBandLowHz && h.hz <= kBandHighHz && h.amplitude > best.amplitude) best = h;
  }
  return best;
}

const char* to_text(CureKind kind) {
  switch (kind) {
    case CureKind::none:
      return "none";
    case CureKind::storage:
      return "storage in the racks";
    case CureKind::floor:
      return "a floor under the low phase";
    case CureKind::cap:
      return "a cap on the accelerators";
  }
  return "none";
}

std::vector<Cure> cures_for(const SwingRequest& request, Watts range, double accelerators) {
  const Watts swing = swing_of(request).amplitude;
  std::vector<Cure> cures;
  if (swing <= range || request.nodes <= 0) return cures;
  if (swing * (1 - kRackStorageShare) <= range) {
    cures.push_back({.kind = CureKind::storage, .setting = kRackStorageShare, .cost = 0});
  }
  SwingRequest held = request;
  held.floor = floor_for(request, {.range = range});
  const Watts mean = request.high * request.duty + request.low * (1 - request.duty);
  cures.push_back({.kind = CureKind::floor,
                   .setting = held.floor,
                   .cost = swing_of(held).ballast / (mean * request.nodes)});
  // A cap lowers the high phase by the power it takes from the accelerators.
  const Watts off = (swing - range) / request.nodes;
  const double cap = 1 - off / (request.high * accelerators);
  if (cap >= kLowestCap) {
    cures.push_back(
        {.kind = CureKind::cap, .setting = cap, .cost = 1 - capped_speed(cap, Boundness::compute)});
  }
  std::ranges::stable_sort(cures, {}, &Cure::cost);
  return cures;
}

}  // namespace orrery::facility
