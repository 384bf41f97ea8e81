#include "layers/cost/ownership.h"

#include <algorithm>

#include "core/base/math.h"

namespace orrery::cost {

namespace {

constexpr const char* kFormula = "docs/models/ownership.md";

// Converts USD per kW and month to the unit used here, a price of power held for a time.
UsdPerJoule per_kw_month(double value) { return usd(value) / (kilowatts(1) * months(1)); }

double typical(const catalog::Catalog& catalog, const char* id, double otherwise) {
  const catalog::TcoParameter* p = catalog.tco(id);
  return p != nullptr ? p->typical : otherwise;
}

void add(Ownership& result, bool capital, CostItem item) {
  result.annual += item.per_year;
  (capital ? result.capital : result.running) += item.per_year;
  result.items.push_back(std::move(item));
}

void add_capital(Ownership& result, const OwnershipInput& in) {
  const double payment = annuity(in.rate, in.years, in.residual);
  for (const CapexItem& item : in.capex) {
    add(result, true, {item.name, item.amount * payment, item.reference});
  }
  const Watts contracted = in.contracted > Watts() ? in.contracted : in.it_power;
  if (in.hall > UsdPerWatt()) {
    const Usd hall = in.hall * contracted;
    add(result, true,
        {"hall", hall * annuity(in.rate, in.hall_years, 0), "tco_params/facility-capex"});
  }
}

void add_running(Ownership& result, const OwnershipInput& in) {
  const Watts contracted = in.contracted > Watts() ? in.contracted : in.it_power;
  Usd capex;
  for (const CapexItem& item : in.capex) capex += item.amount;
  const Usd electricity = in.it_power * in.pue * years(1) * in.electricity;
  add(result, false, {"electricity", electricity, in.electricity_reference});
  if (in.colocation > UsdPerJoule()) {
    add(result, false,
        {"colocation", contracted * years(1) * in.colocation, "tco_params/colocation"});
  }
  add(result, false, {"staff", in.salary * in.people, "tco_params/staff"});
  add(result, false, {"repair", capex * in.repair, "tco_params/server-failure-repair-opex"});
  if (result.annual > Usd()) result.electricity_of_total = electricity / result.annual;
  if (result.running > Usd()) result.electricity_of_running = electricity / result.running;
}

}  // namespace

double annuity(double rate, double years, double residual) {
  if (years <= 0) return 0;
  // The limit of the formula as the rate approaches zero: straight-line depreciation.
  if (rate < 1e-9) return (1 - residual) / years;
  const double discount = math::pow(1 + rate, -years);
  return (1 - residual * discount) * rate / (1 - discount);
}

Ownership owned_cost(const OwnershipInput& input) {
  Ownership result;
  add_capital(result, input);
  add_running(result, input);
  result.useful_hours =
      input.accelerators * 8760 * input.availability * input.utilisation * input.goodput;
  if (result.useful_hours > 0) result.per_accelerator = result.annual / hours(result.useful_hours);
  return result;
}

std::vector<CapexItem> capex_of(std::span<const catalog::Bill> bills) {
  std::vector<CapexItem> items;
  for (const catalog::Bill& bill : bills) {
    for (const catalog::BillLine& line : bill.lines) {
      if (!line.unit_price) continue;
      const auto same = [&](const CapexItem& i) { return i.name == line.section; };
      auto found = std::find_if(items.begin(), items.end(), same);
      if (found == items.end()) {
        items.push_back({line.section, Usd(), line.reference});
        found = std::prev(items.end());
      }
      found->amount += line.unit_price->middle() * line.count;
    }
  }
  return items;
}

std::vector<OwnershipRange> ownership_ranges(const catalog::Catalog& catalog) {
  std::vector<OwnershipRange> ranges;
  const auto row = [&](const char* name, const char* id) {
    const catalog::TcoParameter* p = catalog.tco(id);
    if (p == nullptr) return;
    ranges.push_back({name, p->low, p->typical, p->high, p->unit, p->provenance.reference});
  };
  row("rate", "wacc");
  row("years", "server-depreciation");
  row("residual", "residual");
  row("repair", "server-failure-repair-opex");
  row("colocation", "colocation");
  row("staff", "staff");
  row("network adder", "network-capex-adder");
  row("storage adder", "storage-capex-adder");
  row("hall", "facility-capex");
  row("goodput loss", "goodput-loss");
  ranges.push_back({"salary", 120, 200, 300, "kUSD per year", kFormula});
  return ranges;
}

OwnershipInput ownership_defaults(const catalog::Catalog& catalog, double accelerators,
                                  Watts it_power) {
  OwnershipInput in;
  in.accelerators = accelerators;
  in.it_power = it_power;
  in.colocation = per_kw_month(typical(catalog, "colocation", 160));
  in.people = accelerators / 1000 * typical(catalog, "staff", 2.5);
  in.repair = typical(catalog, "server-failure-repair-opex", in.repair);
  in.rate = typical(catalog, "wacc", in.rate);
  in.years = typical(catalog, "server-depreciation", in.years);
  in.hall_years = typical(catalog, "facility-life", in.hall_years);
  return in;
}

std::vector<CapexItem> capex_with_adders(const catalog::Catalog& catalog, Usd servers) {
  return {{"servers", servers, "nodes"},
          {"network", servers * typical(catalog, "network-capex-adder", 0.15),
           "tco_params/network-capex-adder"},
          {"storage", servers * typical(catalog, "storage-capex-adder", 0.06),
           "tco_params/storage-capex-adder"}};
}

}  // namespace orrery::cost
