// What an owned accelerator costs per useful hour.
//
//   annual = capex (1 - rv/(1+r)^n) r / (1 - (1+r)^-n)      annuity with residual value rv
//          + kW PUE 8760 price + kW 12 colo + staff + repair capex [+ annuity of an owned hall]
//   $/h    = annual / (accelerators 8760 availability utilisation goodput)
//
// Every item has its yearly amount and the reference behind it. Defaults are the typical values of
// data/catalog/tco_params.csv; read them with ownership_defaults, so that their ranges apply.
// Depreciation is contested (2-3 years economically, 5-6 in the accounts), so vary it with
// sensitivity.h. Wrong if taxes, subsidies or a resale market matter: none is modelled.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/bill.h"
#include "core/catalog/catalog.h"

namespace orrery::cost {

// Returns the yearly payment per dollar of price over n years at rate r, if `residual` of the price
// is left at the end.
double annuity(double rate, double years, double residual);

struct CapexItem {
  std::string name;  // "servers", "network", "storage", "hall"
  Usd amount;
  std::string reference;
};

struct OwnershipInput {
  std::vector<CapexItem> capex;
  double accelerators = 0;
  Watts it_power;    // mean draw of all IT equipment
  Watts contracted;  // power that colocation bills; 0: the mean draw
  double pue = 1.3;
  UsdPerJoule electricity = usd_per_kwh(0.08);
  std::string electricity_reference = "assumed";  // the region's row, or "design"
  UsdPerJoule colocation;                         // USD per kW and month; 0 if the hall is owned
  UsdPerWatt hall;                                // capital cost per watt of IT; 0 if it is rented
  double hall_years = 20;
  double people = 0;
  Usd salary = kilo_usd(200);  // per year, with overheads; assumed
  double repair = 0.04;        // share of capex per year
  double rate = 0.10;
  double years = 5;
  double residual = 0.10;
  double availability = 1;   // share of hours the machines are up
  double utilisation = 0.9;  // share of those hours that are used
  double goodput = 1;        // share of used hours that count: from the failure and training layers
};

struct CostItem {
  std::string name;
  Usd per_year;
  std::string reference;
};

struct Ownership {
  std::vector<CostItem> items;  // capital first, then running costs
  Usd annual;
  Usd capital;                   // part of annual
  Usd running;                   // the rest
  double useful_hours = 0;       // accelerator-hours per year
  UsdPerSecond per_accelerator;  // USD per useful accelerator-hour
  double electricity_of_total = 0;
  double electricity_of_running = 0;  // share of the costs without depreciation
};

Ownership owned_cost(const OwnershipInput& input);

// Returns the capital cost by section of the bills, at the middle of the price ranges.
std::vector<CapexItem> capex_of(std::span<const catalog::Bill> bills);

struct OwnershipRange {
  std::string name;  // field name
  double low = 0;
  double typical = 0;
  double high = 0;
  std::string unit;
  std::string reference;
};

// Returns the ranges that sensitivity varies: rate, life, residual, repair, colocation, staff per
// 1,000 accelerators, and the network and storage adders from the catalog's rows, plus the assumed
// salary.
std::vector<OwnershipRange> ownership_ranges(const catalog::Catalog& catalog);

// Returns an input with the catalog's typical values for `accelerators` at `it_power`; capex is
// left empty.
OwnershipInput ownership_defaults(const catalog::Catalog& catalog, double accelerators,
                                  Watts it_power);

// Returns the servers' cost with the catalog's adders for network and storage, for use when there
// is no bill.
std::vector<CapexItem> capex_with_adders(const catalog::Catalog& catalog, Usd servers);

}  // namespace orrery::cost
