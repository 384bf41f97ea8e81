// Ownership inputs with known results, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include "layers/cost/ownership.h"

namespace orrery::cost {

inline OwnershipInput small_hall() {
  return {.capex = {{"servers", usd(1e6), "nodes/a"}, {"network", usd(1.3e5), "switches/b"}},
          .accelerators = 16,
          .it_power = kilowatts(23),
          .contracted = kilowatts(31),
          .pue = 1.37,
          .electricity = usd_per_kwh(0.071),
          .electricity_reference = "grid_regions/c",
          .colocation = usd(143) / (kilowatts(1) * months(1)),
          .hall = usd(9.3) / watts(1),
          .hall_years = 2,
          .people = 0.7,
          .salary = kilo_usd(187),
          .repair = 0.037,
          .rate = 0.08,
          .years = 4,
          .residual = 0.13,
          .availability = 0.97,
          .utilisation = 0.83,
          .goodput = 0.91};
}

inline double hourly(const OwnershipInput& in) {
  return owned_cost(in).per_accelerator / usd_per_hour(1);
}

// Returns a catalog of just these rows, each with different values.
inline catalog::Catalog rows_of(const std::vector<std::string>& ids) {
  catalog::Catalog c;
  double n = 1;
  for (const std::string& id : ids) {
    catalog::TcoParameter p{.id = id, .low = n, .typical = n + 0.25, .high = n + 0.75};
    p.unit = "unit of " + id;
    p.provenance.reference = "tco_params/" + id;
    c.tco_parameters.push_back(p);
    n += 1;
  }
  return c;
}

inline const catalog::Catalog& shipped() {
  static const catalog::Catalog catalog = [] {
    auto loaded = catalog::load_embedded_catalog();
    if (!loaded) ADD_FAILURE() << to_text(loaded.error());
    return loaded ? std::move(*loaded) : catalog::Catalog{};
  }();
  return catalog;
}

// 5 years, 10 %, residual 10 %, 8 c/kWh, 150 USD/kW-month, 2.5 people per 1,000 accelerators, 90 %
// utilisation. The source leaves the rest open; we take PUE 1.3, 200 kUSD per person, repair 4 %,
// network 15 % and storage 6 % on top of the servers, and typical training power (all typical rows
// of tco_params).
inline OwnershipInput worked(double node_kusd, double node_kw, double accelerators) {
  OwnershipInput in = ownership_defaults(shipped(), accelerators, kilowatts(node_kw));
  in.capex = capex_with_adders(shipped(), kilo_usd(node_kusd));
  in.colocation = usd(150) / (kilowatts(1) * months(1));
  return in;
}

}  // namespace orrery::cost
