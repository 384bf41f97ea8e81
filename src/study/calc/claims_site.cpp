// Claims about the hall: what air can cool, how dense racks are, cooling's share, a campus.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"
#include "core/catalog/fact_tables.h"
#include "layers/facility/rack.h"
#include "layers/facility/site_budget.h"
#include "layers/facility/site_power.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

constexpr const char* kCoolingPage = "docs/models/cooling.md";
constexpr const char* kPuePage = "docs/models/pue.md";

std::string kw(Watts w) { return show(w.base(), figures::Unit::watts); }

facility::RackFit full_rack(const ClaimContext& c, const char* node, const char* cooling) {
  const catalog::Node& n = c.node(node);
  return facility::fit_rack({.node_power = n.max_power.value_or(Watts()),
                             .node_units = static_cast<double>(n.rack_units.value_or(0))},
                            c.cooling(cooling));
}

void try_rack(ClaimFinding& f, const ClaimContext& c, const char* node, const char* cooling) {
  const facility::RackFit fit = full_rack(c, node, cooling);
  const catalog::Node& n = c.node(node);
  try_case(f, fmt::format("{}, {}", n.name, cooling), fact(fit.power.base(), n.provenance),
           fmt::format("{} x {}, bound by {}", fit.nodes, kw(n.max_power.value_or(Watts())),
                       to_text(fit.bound)));
}

ClaimFinding air_limit(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(20e3, 30e3, figures::Unit::watts)};
  const catalog::CoolingMethod& m = c.cooling("air-contained");
  try_case(f, "practical limit with containment", fact(m.rack_practical_max.base(), m.provenance),
           "catalog row");
  const facility::RackFit fit = full_rack(c, "dgx-h100", "air-contained");
  show_beside(f, "DGX H100 per rack within it", figures::Unit::count,
              exact(fit.nodes, Basis::derived, kCoolingPage), kw(fit.power));
  return f;
}

ClaimFinding air_30(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_most(30e3, figures::Unit::watts)};
  for (const catalog::CoolingMethod& m : c.catalog().cooling_methods) {
    if (m.liquid_heat_fraction > 0) continue;
    try_case(f, m.id, fact(m.rack_practical_max.base(), m.provenance), "practical limit of a rack");
  }
  const catalog::CoolingMethod* next =
      facility::method_needed(kilowatts(31), c.catalog().cooling_methods);
  if (next != nullptr) {
    show_beside(f, "next method up: " + next->id, figures::Unit::watts,
                fact(next->rack_practical_max.base(), next->provenance));
  }
  return f;
}

ClaimFinding rack_30_70(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(30e3, 70e3, figures::Unit::watts)};
  try_rack(f, c, "dgx-h100", "rear-door-active");
  try_rack(f, c, "dgx-b200", "rear-door-active");
  try_rack(f, c, "dgx-h100", "air-contained");
  try_rack(f, c, "hgx-h100-dlc", "direct-to-chip-1p");
  try_rack(f, c, "gb200-nvl72", "direct-to-chip-1p");
  f.only_if = fmt::format("it is {}; air alone stops at {}, liquid goes to {} and NVL72 to {}",
                          labels_of(f, true), kw(full_rack(c, "dgx-h100", "air-contained").power),
                          kw(full_rack(c, "hgx-h100-dlc", "direct-to-chip-1p").power),
                          kw(c.node("gb200-nvl72").max_power.value_or(Watts())));
  return f;
}

ClaimFinding rack_100(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_least(100e3, figures::Unit::watts)};
  try_rack(f, c, "gb200-nvl72", "direct-to-chip-1p");
  try_rack(f, c, "gb300-nvl72", "direct-to-chip-1p");
  try_rack(f, c, "dgx-h100", "rear-door-active");
  try_rack(f, c, "dgx-b200", "rear-door-active");
  const catalog::CoolingMethod& legacy = c.cooling("air-perimeter");
  show_beside(f, "conventional hall, practical limit", figures::Unit::watts,
              fact(legacy.rack_practical_max.base(), legacy.provenance));
  f.only_if = fmt::format(
      "the rack is a scale-up domain of its own ({}); racks of 8-GPU nodes stay "
      "at {} to {}",
      labels_of(f, true), kw(full_rack(c, "dgx-h100", "rear-door-active").power),
      kw(full_rack(c, "dgx-b200", "rear-door-active").power));
  return f;
}

// Counts all of the overhead as cooling, which is the most that it can be.
void try_cooling_share(ClaimFinding& f, const std::string& label, double pue,
                       std::string reference) {
  try_case(f, label, computed(1 - 1 / pue, 0.1, std::move(reference)),
           fmt::format("1 - 1 / PUE {}", significant(pue, 3)));
}

ClaimFinding cooling_half(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_least(0.5, figures::Unit::ratio)};
  f.criterion.text = "overhead of at least 50 % of the site's power, which takes a PUE of 2.0";
  double mean = 0;  // in the latest survey, which the table lists first
  if (const auto t = catalog_table(*c.models.knowledge, "pue_published")) {
    for (const CsvRow& row : t->rows()) {
      const auto pue = t->number(row, "pue");
      const double year = t->number(row, "year").value_or(0);
      const std::string id(t->text(row, "id"));
      if (!pue || !id.starts_with("uptime")) continue;
      try_cooling_share(f, fmt::format("survey mean of {:.0f}", year), *pue, "pue_published/" + id);
      if (mean == 0) mean = *pue;
    }
  }
  for (const char* climate : {"cool", "hot-humid"}) {
    for (const char* method : {"air-perimeter", "air-contained", "direct-to-chip-1p"}) {
      const auto site = facility::site_power(c.catalog(), {.cooling_id = method,
                                                           .climate = climate,
                                                           .design = megawatts(2),
                                                           .mean = megawatts(1.5)});
      if (!site) continue;
      try_cooling_share(f, fmt::format("{}, {}", method, climate), site->pue.middle, kPuePage);
    }
  }
  f.only_if = fmt::format(
      "the PUE is 2.0 or more, as in the {}; at today's mean of {} all overhead "
      "is {}, power losses included, and computed halls are lower",
      labels_of(f, true), significant(mean, 3), show(1 - 1 / mean, figures::Unit::ratio));
  f.instead = f.only_if;
  return f;
}

ClaimFinding campus_mw(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(50e6, 100e6, figures::Unit::watts)};
  const catalog::Node& n = c.node("dgx-h100");
  const auto site = facility::site_power(
      c.catalog(),
      {.cooling_id = "rear-door-active", .climate = "temperate", .design = megawatts(50)});
  if (!site) return f;
  const double pue = site->pue.middle;
  const Watts each = n.max_power.value_or(Watts()) * (1 + c.input("other-it").number());
  for (const int gpus : {16384, 40000, 100000}) {
    const Watts draw = facility::site_draw({.pue = pue, .power_per_node = each}, gpus / 8);
    try_case(
        f, grouped(gpus) + " H100", computed(draw.base(), 0.15, n.provenance.reference),
        fmt::format("{} nodes x {} x PUE {}", grouped(gpus / 8), kw(each), significant(pue, 3)));
  }
  const auto fits = [&](double mw) {
    return 8 *
           facility::site_budget({.site_power = megawatts(mw), .pue = pue, .power_per_node = each})
               .nodes;
  };
  show_beside(f, "H100 that fit 50 MW", figures::Unit::count,
              computed(fits(50), 0.15, n.provenance.reference));
  show_beside(f, "H100 that fit 100 MW", figures::Unit::count,
              computed(fits(100), 0.15, n.provenance.reference));
  f.only_if =
      fmt::format("the site holds {} to {} H100 at nameplate; 16,384 need less, 100,000 more",
                  grouped(fits(50)), grouped(fits(100)));
  return f;
}

constexpr std::array kSiteClaims = {
    ClaimRule{"air-limit", air_limit},       ClaimRule{"air-30", air_30},
    ClaimRule{"rack-30-70", rack_30_70},     ClaimRule{"rack-100", rack_100},
    ClaimRule{"cooling-half", cooling_half}, ClaimRule{"campus-mw", campus_mw},
};

}  // namespace

std::span<const ClaimRule> site_claims() { return kSiteClaims; }

}  // namespace orrery::calc
