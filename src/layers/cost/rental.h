// What a rented accelerator costs per useful hour: on demand, reserved, spot.
//
//   on demand  price (1 + support) / (utilisation goodput)   utilisation 1: billed while used
//   reserved   price (1 - discount) (1 + support) / (utilisation goodput)     always billed
//   spot       price / goodput(mean time between interruptions)
//
// Spot: a share p of instances is interrupted per month (720 h), so one instance's hazard is lambda
// = -ln(1 - p) / 720 h. A gang of n survives t with probability exp(-n lambda t c), and its mean
// time between interruptions is 1 / (n lambda c): 64 nodes at 15 % are interrupted every 69 h. c is
// a correlation factor (1: independent; below 1: whole zones are interrupted together, so the gang
// is hit less often but harder). What an interruption costs (lost work, checkpoint, requeue) comes
// from the failure layer, as a callable from mean time between interruptions to goodput. Wrong if
// capacity is the limit rather than interruption: a gang that cannot be refilled waits.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/base/quantity.h"
#include "core/catalog/prices.h"
#include "core/catalog/vocabulary.h"

namespace orrery::cost {

// Returns the interruption rate of one instance from the share interrupted per month.
PerSecond spot_hazard(double monthly_share);

struct Gang {
  int nodes = 1;
  double monthly_share = 0;
  double correlation = 1;
};

Seconds mean_time_between_interruptions(const Gang& gang);

// Returns the share of time that is useful, given the mean time between interruptions.
using GoodputAt = std::function<double(Seconds mtbi)>;

// A simple model for callers without a failure model: each interruption loses half a checkpoint
// interval and a restart. 1 / (1 + (interval/2 + restart) / mtbi) * interval / (interval + stall).
struct SimpleRestart {
  Seconds checkpoint_interval = hours(1);
  Seconds checkpoint_stall = seconds(30);
  Seconds restart = minutes(10);
};
GoodputAt simple_goodput(const SimpleRestart& restart);

struct RentalInput {
  catalog::Contract kind = catalog::Contract::on_demand;
  UsdPerSecond list;       // per accelerator, on demand
  double discount = 0;     // reserved or spot, relative to the list price
  double support = 0.03;   // added to the bill (catalog: 0 to 10 %)
  double utilisation = 1;  // share of billed hours used
  double goodput = 1;      // without the effect of interruptions
  Gang gang;               // spot only
  GoodputAt spot_goodput;  // spot only; empty: simple_goodput({})
};

struct Rental {
  UsdPerSecond billed;  // per accelerator-hour
  UsdPerSecond useful;  // per useful accelerator-hour
  double goodput = 1;   // including interruptions
  std::optional<Seconds> between_interruptions;
};

Rental rented_cost(const RentalInput& input);

// The median over the matching rows, leaving out rows without the wanted price. An empty provider
// matches all.
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
