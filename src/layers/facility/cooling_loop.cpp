#include "layers/facility/cooling_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::facility {
namespace {

constexpr double kJoulesPerLitreKelvin = 60e3 / 15.2;  // PG25 (cdu.h)

Seconds forever() { return Seconds(std::numeric_limits<double>::infinity()); }

}  // namespace

double weather_share(double design_c, double dry_c) {
  if (dry_c <= design_c || design_c >= kHotSideC) return 1;
  return std::max(0.0, (kHotSideC - dry_c) / (kHotSideC - design_c));
}

int CoolingPlant::needed() const {
  return std::max(1, static_cast<int>(std::ceil(heat / unit - 1e-9)));
}

// The units share the heat in equal parts; the last unit is not smaller than the others.
Watts CoolingPlant::carries(int units_out, double dry_c) const {
  const int left = std::max(0, installed() - units_out);
  return heat / needed() * left * weather_share(design_c, dry_c);
}

double CoolingPlant::joules_per_kelvin() const {
  return litres_per_kw * (heat / kilowatts(1)) * kJoulesPerLitreKelvin;
}

Seconds CoolingPlant::throttles_after(int units_out, Watts load) const {
  const Watts over = load - carries(units_out, design_c);
  if (over <= Watts(0)) return forever();
  return Seconds(joules_per_kelvin() * kLoopMarginK / over.base());
}

void CoolingLoop::set(Seconds now, Watts load, Watts carried) {
  warmer_ = warmer_k(now);
  warmest_ = std::max(warmest_, warmer_);
  settled_ = now;
  slope_ = capacity_ > 0 ? (load - carried).base() / capacity_ : 0;
}

// The set point limits it from below; throttling limits it to the margin.
double CoolingLoop::warmer_k(Seconds now) const {
  return std::clamp(warmer_ + slope_ * (now - settled_).base(), 0.0, kLoopMarginK);
}

Seconds CoolingLoop::next_turn(Seconds now) const {
  const double warmer = warmer_k(now);
  if (slope_ > 0 && warmer < kLoopMarginK) return Seconds((kLoopMarginK - warmer) / slope_);
  if (slope_ < 0 && warmer > 0) return Seconds(warmer / -slope_);
  return forever();
}

}  // namespace orrery::facility
