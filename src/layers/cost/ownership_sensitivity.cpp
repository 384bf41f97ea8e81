#include "layers/cost/ownership_sensitivity.h"

#include <algorithm>

namespace orrery::cost {

namespace {

using Set = void (*)(OwnershipInput&, double);

// A field of OwnershipInput: the catalog row that bounds it, and how to read and set it.
struct Axis {
  const char* range;
  double (*get)(const OwnershipInput&);
  Set set;
};

double per_kw_month(UsdPerJoule price) { return price * (kilowatts(1) * months(1)) / usd(1); }

constexpr Axis kAxes[] = {
    {"rate", [](const OwnershipInput& i) { return i.rate; },
     [](OwnershipInput& i, double v) { i.rate = v; }},
    {"years", [](const OwnershipInput& i) { return i.years; },
     [](OwnershipInput& i, double v) { i.years = v; }},
    {"residual", [](const OwnershipInput& i) { return i.residual; },
     [](OwnershipInput& i, double v) { i.residual = v; }},
    {"repair", [](const OwnershipInput& i) { return i.repair; },
     [](OwnershipInput& i, double v) { i.repair = v; }},
    {"colocation", [](const OwnershipInput& i) { return per_kw_month(i.colocation); },
     [](OwnershipInput& i, double v) {
       if (i.colocation > UsdPerJoule()) i.colocation = usd(v) / (kilowatts(1) * months(1));
     }},
    {"staff", [](const OwnershipInput& i) { return i.people / i.accelerators * 1000; },
     [](OwnershipInput& i, double v) { i.people = v * i.accelerators / 1000; }},
    {"salary", [](const OwnershipInput& i) { return i.salary.base() / 1000; },
     [](OwnershipInput& i, double v) { i.salary = kilo_usd(v); }},
};

void scale_capex(OwnershipInput& input, double factor) {
  for (CapexItem& item : input.capex) item.amount *= factor;
}

struct Varied {
  SensitivityInput input;
  std::function<void(OwnershipInput&, double)> set;
};

std::vector<Varied> axes_of(const OwnershipInput& input, const catalog::Catalog& catalog,
                            const ExtraRanges& extra) {
  std::vector<Varied> all;
  for (const OwnershipRange& range : ownership_ranges(catalog)) {
    for (const Axis& axis : kAxes) {
      if (range.name != axis.range) continue;
      all.push_back(
          {{range.name, range.low, axis.get(input), range.high, range.reference}, axis.set});
    }
  }
  const double price = input.electricity * kwh(1) / usd(1);
  all.push_back(
      {{"electricity", extra.electricity_low, price, extra.electricity_high, "grid_regions"},
       [](OwnershipInput& i, double v) { i.electricity = usd_per_kwh(v); }});
  all.push_back({{"utilisation", extra.utilisation_low, input.utilisation, extra.utilisation_high,
                  "docs/models/sensitivity.md"},
                 [](OwnershipInput& i, double v) { i.utilisation = v; }});
  all.push_back(
      {{"capex", 1 - extra.capex_below, 1, 1 + extra.capex_above, "price ranges of the bill"},
       [](OwnershipInput& i, double v) { scale_capex(i, v); }});
  return all;
}

}  // namespace

Tornado ownership_tornado(const OwnershipInput& input, const catalog::Catalog& catalog,
                          const ExtraRanges& extra) {
  const std::vector<Varied> axes = axes_of(input, catalog, extra);
  std::vector<SensitivityInput> inputs;
  for (const Varied& v : axes) inputs.push_back(v.input);
  return tornado(inputs, [&](std::span<const double> values) {
    OwnershipInput varied = input;
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i].set(varied, values[i]);
    return owned_cost(varied).per_accelerator / usd_per_hour(1);
  });
}

}  // namespace orrery::cost
