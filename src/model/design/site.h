// A site: a hall in a region with its power, cooling and rules. A design has one or several
// (central and edge, zones of a service); entries for fleets and storage name theirs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"

namespace orrery::design {

struct Site {
  std::string name = "main";
  std::string region;  // catalog region id or alias
  // power that the site can supply, IT and cooling together; none: unlimited
  std::optional<Watts> power;
  std::string cooling = "air-contained";  // catalog cooling method
  // power limit of one rack; none: what the cooling method allows
  std::optional<Watts> rack;
  std::optional<int> racks;        // rack positions in the hall; none: as many as needed
  std::string redundancy = "n+1";  // catalog redundancy scheme
  std::vector<std::string>
      power_chain;            // catalog power stages, utility side first; empty: the usual chain
  std::optional<double> pue;  // overrides the computed one
  std::string climate;        // climate in the PUE table; empty: the region's
  std::string hours;          // path of a CSV with hourly values; empty: yearly means
  std::optional<double> supply_c;      // of the supplied air or water, in degrees Celsius
  std::optional<Seconds> outage_mtbf;  // mean time between utility outages
  std::optional<Seconds> outage;       // mean length of an outage
  std::optional<Seconds> battery;      // how long batteries carry the IT at nameplate
  // time until generators carry the site; none: no generators
  std::optional<Seconds> generator;
  std::optional<Watts> cooling_unit;         // heat that one CDU, chiller or air handler removes
  std::optional<int> cooling_spares;         // units beyond those needed
  std::optional<Seconds> cooling_unit_mtbf;  // per unit
  // outdoor dry-bulb temperature of the design point, in degrees Celsius
  std::optional<double> cooling_design;
  bool air_gapped = false;
  bool encryption_at_rest = false;     // every tier of the site encrypts
  bool encryption_in_transit = false;  // every network of the site encrypts
  bool tenant_isolation = false;       // partitions, keys or tenant networks keep tenants apart
  std::vector<std::string>
      // items with a lead time that are already on site ("utility-interconnect")
      ready;
  bool rented_hall = true;  // colocation by the kW; false: the hall is built and owned

  bool operator==(const Site&) const = default;
};

}  // namespace orrery::design
