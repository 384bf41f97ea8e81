// Money: over how long, at what prices. What is not given comes from the catalog's parameters of
// ownership, with their ranges. US dollars only.
#pragma once

#include <optional>
#include <string>

#include "core/base/quantity.h"
#include "core/base/units.h"

namespace orrery::design {

struct Economics {
  Seconds horizon = years(5);
  std::optional<UsdPerJoule> power_price;  // none: the region's
  std::optional<double> discount_rate;     // a year
  std::optional<double> residual;          // of the purchase price at the horizon
  std::optional<Seconds> depreciation;
  std::optional<UsdPerJoule> colocation;   // "150 USD/kW/month"
  std::optional<double> staff;             // full-time people
  std::optional<UsdPerSecond> staff_cost;  // of one
  std::optional<double> utilisation;       // share of bought hours that somebody uses
  std::optional<double> repair;            // of the purchase price, a year
  std::optional<UsdPerByte> egress_price;
  std::optional<Bytes> egress;  // leaving the site in a year

  bool operator==(const Economics&) const = default;
};

enum class Comparison { less, at_most, at_least, greater };

// `goodput >= 0.90`, `cost <= 12 MUSD/y`. The metrics are listed by goal_metrics().
struct Goal {
  std::string metric;
  Comparison comparison = Comparison::at_least;
  double bound = 0;  // in base units of the metric's dimension
  Dimension dimension{};

  bool operator==(const Goal&) const = default;
};

}  // namespace orrery::design
