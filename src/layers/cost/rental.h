// What a rented accelerator costs per useful hour: on demand, reserved, spot.
//
//   on demand  price (1 + support) / (utilisation goodput)       billed only while used:
//   utilisation 1 reserved   price (1 - discount) (1 + support) / (utilisation goodput)     billed
//   always spot       price / goodput(mean time between interruptions)
//
// Spot: a share p of instances is interrupted a month (720 h), so one instance's hazard is
// lambda = -ln(1 - p) / 720 h, a gang of n survives t with exp(-n lambda t c) and its mean time
// between interruptions is 1 / (n lambda c): 64 nodes at 15 % are interrupted every 69 h. c is a
// correlation factor (1: independent; under 1: whole zones go together, so the gang is hit less
// often, harder). What an interruption costs (lost work, checkpoint, requeue) is the failure
// layer's answer: it comes in as a callable from mean time between interruptions to goodput.
// Wrong where capacity, not interruption, is the limit: a gang that cannot be refilled waits.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/base/quantity.h"
#include "core/catalog/prices.h"
#include "core/catalog/vocabulary.h"

namespace orrery::cost {

// Interruptions of one instance, from the monthly share interrupted.
PerSecond spot_hazard(double monthly_share);

struct Gang {
  int nodes = 1;
  double monthly_share = 0;
  double correlation = 1;
};

Seconds mean_time_between_interruptions(const Gang& gang);

// Share of the time that is useful, given the mean time between interruptions.
using GoodputAt = std::function<double(Seconds mtbi)>;

// A plain one for callers without a failure model: half a checkpoint interval lost and a restart
// each time. 1 / (1 + (interval/2 + restart) / mtbi) * interval / (interval + stall).
struct SimpleRestart {
  Seconds checkpoint_interval = hours(1);
  Seconds checkpoint_stall = seconds(30);
  Seconds restart = minutes(10);
};
GoodputAt simple_goodput(const SimpleRestart& restart);

struct RentalInput {
  catalog::Contract kind = catalog::Contract::on_demand;
  UsdPerSecond list;       // per accelerator, on demand
  double discount = 0;     // reserved or spot, off the list price
  double support = 0.03;   // uplift of the bill (catalog: 0 to 10 %)
  double utilisation = 1;  // share of billed hours used
  double goodput = 1;      // without interruptions
  Gang gang;               // spot only
  GoodputAt spot_goodput;  // spot only; empty: simple_goodput({})
};

struct Rental {
  UsdPerSecond billed;  // per accelerator-hour
  UsdPerSecond useful;  // per useful accelerator-hour
  double goodput = 1;   // interruptions included
  std::optional<Seconds> between_interruptions;
};

Rental rented_cost(const RentalInput& input);

// Median over the matching rows; rows without the wanted price are left out. Empty provider: all.
struct MarketPrice {
  UsdPerSecond low;
  UsdPerSecond median;
  UsdPerSecond high;
  std::string reference;
  int rows = 0;
};
std::optional<MarketPrice> market_price(std::span<const catalog::CloudPrice> prices,
                                        std::string_view accelerator_id, std::string_view provider,
                                        bool spot);

}  // namespace orrery::cost
