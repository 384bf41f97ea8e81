// What a byte costs to keep, to move and to fetch, by tier, and when moving it pays.
//
//   owned $/B/s   price/(usable life) (1 + AFR life) + W/B PUE tariff
//   rented        the provider's rent + requests x fee + egress (in bands)
//   break-even    age = move cost / (hot - cold)   the shortest stay for which a transition pays
//   HDD or QLC    devices for max(capacity, bandwidth); the tariff and the price at which they tie
// No drive type is assumed to be better: the order changes with generation, price and tariff. A
// 2023 analysis found disk ahead per watt, 245 TB flash of 2026 claims the reverse; both follow
// from their inputs here. Prices are inputs with dates (data/catalog/storage_devices.csv).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/parts.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {

// "23 USD/TB-month" in base units.
constexpr UsdPerByteSecond usd_per_tb_month(double v) {
  return UsdPerByteSecond(v / 1e12 / 2628000.0);
}
constexpr double in_usd_per_tb_month(UsdPerByteSecond v) { return v.base() * 1e12 * 2628000.0; }

struct OwnTerms {
  Seconds life = years(5);
  UsdPerJoule tariff = usd_per_kwh(0.08);
  double pue = 1.3;
  double active_share = 1;          // share of time that a drive is busy; idle power for the rest
  double server_power_share = 0.5;  // fans, CPUs and NICs per watt of drives; assumption
  double server_price_share = 0.3;  // chassis per dollar of drives; assumption
  double price_position = 0.5;      // 0: the low price, 1: the high price
};

struct HoldingCost {
  UsdPerByteSecond capital;
  UsdPerByteSecond replacement;  // drives that fail within their service life
  UsdPerByteSecond energy;
  UsdPerByteSecond total;
  double watts_per_tb = 0;  // per usable TB, including servers and PUE
  double usd_per_tb = 0;    // purchase price per usable TB
};
// Returns the cost for a tier of this demand, sized by size_tier: a drive bought for speed pays for
// its idle bytes too.
HoldingCost holding_cost(const TierDemand& demand, const catalog::StorageDevice& device,
                         const TierOptions& sizing, const OwnTerms& terms);

enum class Cheaper { first, second, tie };
struct DeviceComparison {
  HoldingCost first;
  HoldingCost second;
  Cheaper per_byte = Cheaper::tie;  // the cheaper one by whole cost
  Cheaper per_watt = Cheaper::tie;
  // The tariff at which the whole costs are equal; nullopt if no tariff above zero does that.
  std::optional<UsdPerJoule> tie_tariff;
  // The second device's price (USD/TB) at which they are equal; nullopt if it would have to be
  // negative.
  std::optional<double> tie_price_second;
};
DeviceComparison compare_devices(const TierDemand& demand, const catalog::StorageDevice& first,
                                 const catalog::StorageDevice& second, const TierOptions& sizing,
                                 const OwnTerms& terms);

// One transition of a lifecycle, for objects of a given size.
struct Transition {
  UsdPerByteSecond from;
  UsdPerByteSecond to;
  Bytes object;
  Usd per_object;        // lifecycle or PUT fee
  UsdPerByte per_byte;   // network, and the write into the colder tier
  UsdPerByte retrieval;  // fee for reading a byte back
  double read_back = 0;  // expected reads per byte after the move
  Seconds minimum_stay;  // charged even if deleted earlier
};
// Returns the shortest stay in the colder tier for which the move pays; nullopt if it never does.
std::optional<Seconds> break_even_age(const Transition& t);

}  // namespace orrery::storage
