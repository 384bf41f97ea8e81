// A site's power chain, cooling plant and PUE together, from catalog ids: the call most users want.
//
// The chain is sized for `design` and run at `mean`; its loss is one part of the PUE. Where the
// climate is not one we have hours for, the range of the climate table or of the cooling method
// stands in and `computed` is false.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"
#include "layers/facility/hours.h"
#include "layers/facility/power_chain.h"
#include "layers/facility/pue.h"

namespace orrery::facility {

struct SitePowerRequest {
  std::string cooling_id = "air-contained";
  std::string redundancy_id = "n+1";
  std::string climate;
  std::vector<std::string> chain_ids;  // empty: the usual chain
  Watts design;                        // IT that power and cooling are sized for
  Watts mean;                          // IT drawn on average; 0: the design
  HeatRejection rejection = HeatRejection::dry_cooler;
  std::optional<double> supply_c;
  std::optional<double> pue;                  // given by the user: overrides the computed one
  const catalog::SiteHours* hours = nullptr;  // whose PUE or weather stands before the climate's
  GramsPerJoule grid;                         // of the year, for hours that do not say
};

struct SitePower {
  PueRange pue;
  bool computed = false;
  PueBreakdown breakdown;  // empty parts where not computed
  ChainResult chain;
  Watts site_draw;  // mean * pue
  double wue_l_per_kwh = 0;
  Hours hours;  // empty where none were given
};

// Unknown cooling or redundancy ids are Diagnostics ("site.cooling", "site.redundancy").
Result<SitePower> site_power(const catalog::Catalog& catalog, const SitePowerRequest& request);

}  // namespace orrery::facility
