// A site: a hall in a region with its power, cooling and rules. A design has one or several
// (central and edge, zones of a service); fleet and storage entries name theirs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"

namespace orrery::design {

struct Site {
  std::string name = "main";
  std::string region;          // catalog region id or alias
  std::optional<Watts> power;  // what the site can feed to IT and cooling together; none: unbounded
  std::string cooling = "air-contained";  // catalog cooling method
  std::optional<Watts> rack;              // limit of one rack; none: what the cooling method allows
  std::optional<int> racks;               // positions in the hall; none: as many as needed
  std::string redundancy = "n+1";         // catalog redundancy scheme
  std::vector<std::string>
      power_chain;            // catalog power stages, utility side first; empty: the usual chain
  std::optional<double> pue;  // overrides the computed one
  std::string climate;        // of the PUE table; empty: the region's
  std::string hours;          // path of a CSV of its hours; empty: the year's means
  std::optional<double> supply_c;  // temperature of the air or water supplied, in degrees Celsius
  std::optional<Seconds> outage_mtbf;        // between outages of the utility
  std::optional<Seconds> outage;             // mean length of one
  std::optional<Seconds> battery;            // that carries the IT at nameplate
  std::optional<Seconds> generator;          // until it carries the site; none: there is none
  std::optional<Watts> cooling_unit;         // heat that one CDU, chiller or air handler carries
  std::optional<int> cooling_spares;         // units beyond those that carry the heat
  std::optional<Seconds> cooling_unit_mtbf;  // of one of them
  std::optional<double> cooling_design;      // dry bulb that they are sized for, in degrees Celsius
  bool air_gapped = false;
  bool encryption_at_rest = false;     // what the site offers to every tier in it
  bool encryption_in_transit = false;  // what its networks offer
  bool tenant_isolation = false;       // partitions, keys or tenant networks keep tenants apart
  std::vector<std::string>
      ready;                // lead-time items that are there already ("utility-interconnect")
  bool rented_hall = true;  // colocation by the kW; false: the hall is built and owned

  bool operator==(const Site&) const = default;
};

}  // namespace orrery::design
