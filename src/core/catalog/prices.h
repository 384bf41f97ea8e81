// Prices per hour, per gigabyte and per request, and the parameters of ownership, all dated.
#pragma once

#include <optional>
#include <string>

#include "core/base/quantity.h"
#include "core/catalog/provenance.h"

namespace orrery::catalog {

// Per accelerator-hour. A part sold only on spot has no on-demand price, and vice versa.
struct CloudPrice {
  std::string id;
  std::string provider;
  std::string accelerator_id;
  std::string sku;
  std::optional<UsdPerSecond> on_demand_low;
  std::optional<UsdPerSecond> on_demand_median;
  std::optional<UsdPerSecond> on_demand_high;
  std::optional<UsdPerSecond> spot_low;
  std::optional<UsdPerSecond> spot_median;
  std::optional<UsdPerSecond> spot_high;
  std::optional<double> spot_discount_median;
  Provenance provenance;
};

// Discounts that a commitment gives on the on-demand price, as fractions.
struct ReservedDiscount {
  std::string id;  // "1-year", "3-year"
  Seconds term;
  double low = 0;
  double high = 0;
  std::string note;
  Provenance provenance;
};

struct StorageCloudPrice {
  std::string id;
  std::string provider;
  std::string item;
  std::string service;  // "object", "archive", "file", "requests" or "traffic"
  double usd = 0;
  std::string unit;  // "GB-month", "per 1000", "GB"
  std::string note;
  Provenance provenance;
};

struct SpotBand {
  std::string id;
  std::string family;
  std::string accelerator_id;       // empty if the row is not about one accelerator
  std::optional<double> low_month;  // fraction interrupted per month
  std::optional<double> high_month;
  Seconds notice;
  std::string note;
  Provenance provenance;
};

struct TcoParameter {
  std::string id;  // "colocation", "staff"
  std::string name;
  double low = 0;
  double typical = 0;
  double high = 0;
  std::string unit;
  std::string note;
  Provenance provenance;
};

}  // namespace orrery::catalog
