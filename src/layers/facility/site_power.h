// Computes a site's power chain, cooling plant and PUE from catalog ids: the call that most callers
// want.
//
// The chain is sized for `design` and run at `mean`; its loss is one part of the PUE. If we have no
// hours for the climate, the range of the climate table or of the cooling method is used and
// `computed` is false.
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
  Watts design;                        // IT load that power and cooling are sized for
  Watts mean;                          // mean IT draw; 0: the design load
  HeatRejection rejection = HeatRejection::dry_cooler;
  std::optional<double> supply_c;
  std::optional<double> pue;                  // given by the user; overrides the computed one
  const catalog::SiteHours* hours = nullptr;  // if given, its PUE or weather replaces the climate's
  GramsPerJoule grid;                         // yearly mean, for hours without an intensity
};

struct SitePower {
  PueRange pue;
  bool computed = false;
  PueBreakdown breakdown;  // no parts if it was not computed
  ChainResult chain;
  Watts site_draw;  // mean * pue
  double wue_l_per_kwh = 0;
  Hours hours;  // empty if none were given
};

// Returns Diagnostics for unknown cooling or redundancy ids ("site.cooling", "site.redundancy").
Result<SitePower> site_power(const catalog::Catalog& catalog, const SitePowerRequest& request);

}  // namespace orrery::facility
