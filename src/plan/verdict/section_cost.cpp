// The section on money: yearly items, cost per useful hour, cost of each run, break-even.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "model/figures/assumptions.h"
#include "model/figures/half_width.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::FigureId;
using figures::assumptions::kCostSpread;
using figures::assumptions::kRentSpread;

struct Spread {
  double below = 0;
  double above = 0;
};

double square(double x) { return x * x; }

// Adds the bars of the tornado in quadrature, each side separately.
Spread spread_of(const cost::Tornado& t) {
  Spread s;
  for (const cost::SensitivityBar& b : t.bars) {
    const double low = std::min(b.at_low, b.at_high);
    const double high = std::max(b.at_low, b.at_high);
    s.below += square(std::max(0.0, t.value - low));
    s.above += square(std::max(0.0, high - t.value));
  }
  if (t.value <= 0) return {kCostSpread, kCostSpread};
  return {std::min(0.9, std::sqrt(s.below) / t.value), std::sqrt(s.above) / t.value};
}

std::vector<figures::Input> items_of(const review::CostView& c) {
  std::vector<figures::Input> inputs;
  const auto add = [&inputs](std::string name, Usd per_year, std::string reference) {
    inputs.push_back({std::move(name), show(per_year.base(), figures::Unit::usd_per_year),
                      std::move(reference)});
  };
  if (c.owned) {
    for (const cost::CostItem& i : c.owned->items) add(i.name, i.per_year, i.reference);
  }
  for (const review::RentedFleet& r : c.rented) {
    add(fmt::format("rent of {} ({})", r.fleet->fleet->name, to_text(r.input.kind)), r.per_year,
        r.reference);
  }
  for (const review::TierRent& t : c.tier_rents) {
    const std::string tier = "tier " + t.tier->label;
    add("rent of " + tier, t.per_year, t.reference);
    if (t.requests_per_year > Usd(0)) add("requests to " + tier, t.requests_per_year, t.reference);
    if (t.egress_per_year > Usd(0)) add("egress of " + tier, t.egress_per_year, t.reference);
  }
  if (c.wan_per_year > Usd(0)) add("lines between sites", c.wan_per_year, "the design");
  if (c.egress_per_year > Usd(0)) add("egress", c.egress_per_year, "catalog storage_prices");
  return inputs;
}

void add_runs(figures::Section& s, const review::CostView& c, const Spread& spread) {
  for (const review::RunCost& r : c.runs) {
    s.figures.push_back({.kind = FigureId::run_cost,
                         .of = r.label,
                         .estimate = within(r.amount.base(), spread.below, spread.above,
                                            Basis::derived, "docs/models/ownership.md"),
                         .formula = fmt::format("{} accelerator-hours",
                                                grouped(std::llround(r.accelerator_hours)))});
  }
}

void add_market(figures::Section& s, const review::CostView& c) {
  if (!c.market) return;
  const auto price = [&s](FigureId id, const cost::MarketPrice& p) {
    s.figures.push_back({.kind = id,
                         .estimate = {p.median.base() * 3600, p.low.base() * 3600,
                                      p.high.base() * 3600, Basis::vendor, p.reference}});
  };
  price(FigureId::market_hour, *c.market);
  if (c.contract) price(FigureId::contract_hour, *c.contract);
  if (c.break_even <= 0) return;
  s.figures.push_back(
      {.kind = FigureId::break_even,
       .estimate = {c.break_even, c.break_even_low, c.break_even_high, Basis::derived,
                    "docs/models/ownership.md"},
       .formula = c.break_even > 1
                      ? "above 100 %: a contract is cheaper at any utilisation"
                      : fmt::format("owned {} per year / (accelerators x 8760 h x rent)",
                                    show(c.owned->annual.base(), figures::Unit::usd_per_year))});
  s.figures.push_back(
      {.kind = FigureId::own_use,
       .estimate = exact(c.use * c.utilisation, Basis::derived, "docs/models/cluster.md"),
       .formula = fmt::format("needed {} x in use {}", show(c.use, figures::Unit::ratio),
                              show(c.utilisation, figures::Unit::ratio))});
}

std::string limit_of(const review::CostView& c) {
  std::string name = "rent";
  Usd most;
  if (c.owned) {
    for (const cost::CostItem& i : c.owned->items) {
      if (i.per_year > most) most = i.per_year, name = i.name;
    }
  }
  for (const review::RentedFleet& r : c.rented) {
    if (r.per_year > most) most = r.per_year, name = "rent of " + r.fleet->fleet->name;
  }
  const double share = c.annual > Usd(0) ? most / c.annual : 0;
  std::string limit =
      fmt::format("{}, {} of the yearly cost", name, show(share, figures::Unit::ratio));
  if (!c.tornado.bars.empty()) limit += "; most sensitive to " + c.tornado.bars.front().name;
  return limit;
}

// No figure if hardly any of the purchased hours make progress: it would only look like a price.
void add_useful_hour(figures::Section& s, const review::CostView& c, Estimate price) {
  if (c.per_useful_hour <= UsdPerSecond(0)) return;
  s.figures.push_back(
      {.kind = FigureId::useful_hour,
       .note = c.in_nodes ? "per node" : "per accelerator",
       .estimate = std::move(price),
       .formula =
           fmt::format("{} / ({} {} x 8760 h x needed {} x in use {} x goodput {})",
                       show(c.annual.base(), figures::Unit::usd_per_year),
                       grouped(std::llround(c.accelerators)), c.in_nodes ? "nodes" : "accelerators",
                       show(c.use, figures::Unit::ratio), show(c.utilisation, figures::Unit::ratio),
                       show(c.goodput, figures::Unit::ratio, 4))});
}

}  // namespace

std::vector<figures::Section> cost_sections(const review::Review& review) {
  const review::CostView& c = review.cost;
  if (c.annual <= Usd(0)) return {};
  const Spread spread = c.owned ? spread_of(c.tornado) : Spread{kRentSpread, kRentSpread};
  const auto money = [&](double value) {
    return within(value, spread.below, spread.above, Basis::derived, "docs/models/ownership.md");
  };
  figures::Section s{.layer = figures::Layer::cost};
  if (c.owned) {
    const double capex = c.bill.price().middle().base();
    s.figures.push_back({.kind = FigureId::capex,
                         .estimate = {capex, capex * c.price_low, capex * c.price_high,
                                      Basis::vendor, "catalog price ranges"}});
  }
  s.figures.push_back({.kind = FigureId::annual,
                       .estimate = money(c.annual.base()),
                       .formula = "sum of the items below",
                       .inputs = items_of(c)});
  const Usd running = c.annual - (c.owned ? c.owned->capital : Usd(0));
  s.figures.push_back({.kind = FigureId::running,
                       .estimate = money(running.base()),
                       .formula = "power, hall, staff, repair, rents and fees"});
  add_useful_hour(s, c, money(c.per_useful_hour.base() * 3600));
  if (c.owned) {
    s.figures.push_back(
        {.kind = FigureId::electricity_share,
         .estimate = figures::estimated(FigureId::electricity_share, c.owned->electricity_of_total,
                                        Basis::derived, "docs/models/ownership.md"),
         .formula = fmt::format("{} of the running cost, depreciation left out",
                                show(c.owned->electricity_of_running, figures::Unit::ratio))});
  }
  add_runs(s, c, spread);
  add_market(s, c);
  if (!c.unpriced.empty()) {
    s.summary = "left out because no price is public: ";
    for (std::size_t i = 0; i < c.unpriced.size(); ++i)
      s.summary += (i ? ", " : "") + c.unpriced[i];
  }
  s.limit = limit_of(c);
  return {std::move(s)};
}

}  // namespace orrery::verdict
