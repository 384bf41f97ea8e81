// Money: the period and the prices that costs are counted with. What is not given comes from the
// catalog's parameters of ownership, with their ranges. US dollars only.
#pragma once

#include <optional>
#include <string>

#include "core/base/quantity.h"
#include "core/base/units.h"

namespace orrery::design {

struct Economics {
  Seconds horizon = years(5);
  std::optional<UsdPerJoule> power_price;  // none: the region's price
  std::optional<double> discount_rate;     // per year
  std::optional<double> residual;          // share of the purchase price left at the horizon
  std::optional<Seconds> depreciation;
  std::optional<UsdPerJoule> colocation;   // "150 USD/kW/month"
  std::optional<double> staff;             // full-time employees
  std::optional<UsdPerSecond> staff_cost;  // per employee
  std::optional<double> utilisation;       // share of hours in which the machines are in use
  std::optional<double> repair;            // per year, share of the purchase price
  std::optional<UsdPerByte> egress_price;
  std::optional<Bytes> egress;  // bytes that leave the site per year

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
