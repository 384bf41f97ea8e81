// The money of a design: what is bought, what is rented, and the cost per useful hour and per run.
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
  Usd per_year;  // hours billed: those that workloads hold, or all hours of a reservation
  std::string reference;
};

struct TierRent {
  const machine::Tier* tier = nullptr;
  Usd per_year;
  Usd requests_per_year;
  Usd egress_per_year;  // for data that workloads elsewhere read from it
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
  cost::OwnershipInput input;            // for what is owned
  std::optional<cost::Ownership> owned;  // none if everything is rented
  std::vector<RentedFleet> rented;
  std::vector<TierRent> tier_rents;
  Usd egress_per_year;
  Usd wan_per_year;          // rent of lines between sites
  Usd annual;                // owned, rented and fees
  double accelerators = 0;   // owned and rented; nodes if the design has no accelerators
  bool in_nodes = false;     // `accelerators` counts nodes
  double goodput = 1;        // weighted mean of the accelerators that train; 1 if none does
  // Share of booked hours in which the machines compute.
  double utilisation = figures::assumptions::kUseUsual;
  double use = 1;            // share of purchased hours that some workload needs, from the ledger
  UsdPerSecond per_useful_hour;  // per accelerator
  double price_low = 1;          // interval of the capital items, as a factor of the middle
  double price_high = 1;
  std::vector<RunCost> runs;
  std::optional<cost::MarketPrice> market;    // on demand, list prices
  std::optional<cost::MarketPrice> contract;  // for one to three years, with the usual discounts
  // The use at which owning costs as much as the contract price: above 1, owning never pays. Low
  // and high combine the intervals of contract and bill, which are independent: base/estimate.h has
  // the rule.
  double break_even = 0;
  double break_even_low = 0;
  double break_even_high = 0;
  double break_even_earliest = 0;  // lower bound: the cheapest bill against the dearest list price
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
