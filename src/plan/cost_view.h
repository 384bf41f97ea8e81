// The money of a design: what is bought, what is rented, what a useful hour and a run cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "cost/ownership.h"
#include "cost/ownership_sensitivity.h"
#include "cost/rental.h"
#include "design/design.h"
#include "machine/machine.h"
#include "plan/site_view.h"
#include "plan/train_view.h"

namespace orrery::plan {

struct RentedFleet {
  const machine::Fleet* fleet = nullptr;
  cost::RentalInput input;
  cost::Rental rental;
  Usd per_year;  // billed, all year
  std::string reference;
};

struct TierRent {
  const machine::Tier* tier = nullptr;
  Usd per_year;
  Usd requests_per_year;
  std::string reference;
};

struct RunCost {
  std::string label;
  double accelerator_hours = 0;
  Usd amount;
  UsdPerSecond per_useful_hour;
};

struct CostView {
  catalog::Bill bill;
  cost::OwnershipInput input;            // of what is owned
  std::optional<cost::Ownership> owned;  // none where all is rented
  std::vector<RentedFleet> rented;
  std::vector<TierRent> tier_rents;
  Usd egress_per_year;
  Usd wan_per_year;         // lines between sites
  Usd annual;               // owned, rented and fees
  double accelerators = 0;  // owned and rented
  double goodput = 1;       // of the accelerators that train, weighted; 1 where none does
  double utilisation = 0.9;
  UsdPerSecond per_useful_hour;  // per accelerator
  double price_low = 1;          // of the capital items, as factors of the middle
  double price_high = 1;
  std::vector<RunCost> runs;
  std::optional<double> break_even_utilisation;  // against the market's on-demand median
  std::optional<cost::MarketPrice> market;
  cost::Tornado tornado;
  std::vector<std::string> unpriced;
};

struct CostContext {
  const machine::Machine& machine;
  const std::vector<TrainView>& trains;
  const std::vector<Bytes>& used;  // of each tier
  const std::vector<SiteView>& sites;
};

CostView view_cost(const CostContext& context);

}  // namespace orrery::plan
