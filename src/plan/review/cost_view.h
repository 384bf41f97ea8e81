// The money of a design: what is bought, what is rented, what a useful hour and a run cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"
#include "layers/cost/ownership.h"
#include "layers/cost/ownership_sensitivity.h"
#include "layers/cost/rental.h"
#include "model/design/design.h"
#include "model/figures/assumptions.h"
#include "model/machine/machine.h"
#include "plan/review/site_view.h"
#include "plan/review/train_view.h"

namespace orrery::review {

struct RentedFleet {
  const machine::Fleet* fleet = nullptr;
  cost::RentalInput input;
  cost::Rental rental;
  Usd per_year;  // billed: the hours that workloads hold, all hours of a reservation
  std::string reference;
};

struct TierRent {
  const machine::Tier* tier = nullptr;
  Usd per_year;
  Usd requests_per_year;
  Usd egress_per_year;  // what runs elsewhere read of it
  std::string reference;

  Usd total() const { return per_year + requests_per_year + egress_per_year; }
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
  Usd wan_per_year;          // lines between sites
  Usd annual;                // owned, rented and fees
  double accelerators = 0;   // owned and rented; nodes where the design has none
  bool in_nodes = false;     // the latter
  double goodput = 1;        // of the accelerators that train, weighted; 1 where none does
  // Share of the booked hours in which somebody computes.
  double utilisation = figures::assumptions::kUseUsual;
  double use = 1;            // of the bought hours, those that some workload needs: the ledger's
  UsdPerSecond per_useful_hour;  // per accelerator
  double price_low = 1;          // of the capital items, as factors of the middle
  double price_high = 1;
  std::vector<RunCost> runs;
  std::optional<cost::MarketPrice> market;    // on demand, list prices
  std::optional<cost::MarketPrice> contract;  // for one to three years, by the usual discounts
  // The use at which owning costs what renting does, against the contract price: above 1 where
  // owning never pays. Low and high from the contract's and the bill's intervals, which are
  // independent: base/estimate.h has the rule.
  double break_even = 0;
  double break_even_low = 0;
  double break_even_high = 0;
  double break_even_earliest = 0;  // the cheapest bill against the dearest list price: at the least
  cost::Tornado tornado;
  std::vector<std::string> unpriced;
};

struct CostContext {
  const machine::Machine& machine;
  const machine::Ledger& ledger;
  const std::vector<TrainView>& trains;
  const IndexedVector<design::TierIndex, Bytes>& used;
  const std::vector<SiteView>& sites;
};

CostView view_cost(const CostContext& context);

}  // namespace orrery::review
