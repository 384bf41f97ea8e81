// Facts about sites: cooling, climate, power chain, redundancy, regions, lead times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/provenance.h"

namespace orrery::catalog {

struct CoolingMethod {
  std::string id;  // "direct-to-chip-1p": hyphens, as in the design file
  Watts rack_low;
  Watts rack_practical_max;
  double liquid_heat_fraction = 0;
  double supply_temperature_c = 0;
  double pue_low = 1;
  double pue_high = 1;
  double wue_low_l_per_kwh = 0;
  double wue_high_l_per_kwh = 0;
  PriceRange capex_per_kw;  // per kW of IT load
  std::string retrofit;
  std::string note;
  Provenance provenance;
};

struct AshraeClass {
  std::string id;
  std::string kind;
  double low_c = 0;
  double high_c = 0;  // "W+" has no upper limit; 60 is used
  std::string note;
  Provenance provenance;
};

struct PueByClimate {
  std::string climate;     // "cool", "temperate", "hot-dry", "hot-humid"
  std::string cooling_id;  // CoolingMethod::id
  double p10 = 1;
  double p50 = 1;
  double p90 = 1;
  Provenance provenance;
};

struct PowerStage {
  std::string id;
  std::string name;
  double efficiency_low = 1;
  double efficiency_typical = 1;
  double efficiency_high = 1;
  std::string model;
  std::string redundancy_effect;
  Provenance provenance;
};

struct Redundancy {
  std::string id;  // "n", "n+1", "2n", "3n/2", "5/4", "flex"
  std::string name;
  double capacity_multiplier = 1;  // n+1 with k = 4 units has 1.25
  double usable_fraction = 1;
  double extra_capex_low = 0;
  double extra_capex_high = 0;
  std::string note;
  Provenance provenance;
};

struct GridRegion {
  std::string id;
  std::vector<std::string> aliases;
  std::string name;
  std::string country;  // ISO 3166 alpha-3, lower case
  std::string climate;  // a climate of PueByClimate
  GramsPerJoule carbon;
  int carbon_year = 0;
  UsdPerJoule price_low;
  UsdPerJoule price_high;
  std::string price_note;
  Provenance provenance;
  Confidence price_confidence = Confidence::low;
};

struct LeadTime {
  std::string id;
  std::string item;
  Seconds low;
  Seconds typical;
  Seconds high;
  std::string note;
  Provenance provenance;
};

}  // namespace orrery::catalog
