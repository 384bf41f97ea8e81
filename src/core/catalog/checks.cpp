#include "core/catalog/checks.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/catalog/row_reader.h"

namespace orrery::catalog {

Diagnostic row_fault(const Provenance& row, std::string code, std::string what, std::string why) {
  const auto slash = row.reference.find('/');
  const std::string id = row.reference.substr(slash + 1);
  return {.code = std::move(code),
          .place = {"catalog/" + row.reference.substr(0, slash) + ".csv", row.line, 1},
          .what = id + ": " + std::move(what),
          .why = std::move(why)};
}

namespace {

template <class Row>
void check_ids(const std::vector<Row>& rows, Diagnostics& faults) {
  std::vector<const std::string*> seen;
  seen.reserve(rows.size());
  for (const Row& row : rows) seen.push_back(&row.provenance.reference);
  std::ranges::sort(seen, {}, [](const std::string* s) -> const std::string& { return *s; });
  for (std::size_t i = 1; i < seen.size(); ++i) {
    if (*seen[i] != *seen[i - 1]) continue;
    const auto later = std::ranges::find_if(rows.rbegin(), rows.rend(), [&](const Row& row) {
      return row.provenance.reference == *seen[i];
    });
    faults.push_back(row_fault(later->provenance, "catalog.duplicate-id", "the id is used twice",
                               "a lookup would silently take the first"));
  }
}

template <class Row>
void check_aliases(const std::vector<Row>& rows, Diagnostics& faults) {
  std::set<std::string> names;
  for (const Row& row : rows) names.insert(row.id);
  for (const Row& row : rows) {
    for (const std::string& alias : row.aliases) {
      if (names.insert(lowered(alias)).second) continue;
      faults.push_back(row_fault(row.provenance, "catalog.duplicate-id",
                                 "the alias '" + alias + "' is used twice",
                                 "a lookup would silently take the first"));
    }
  }
}

void check_all_ids(const Catalog& c, Diagnostics& faults) {
  check_ids(c.accelerators, faults);
  check_ids(c.nodes, faults);
  check_ids(c.switches, faults);
  check_ids(c.nics, faults);
  check_ids(c.optics, faults);
  check_ids(c.storage_devices, faults);
  check_ids(c.emerging, faults);
  check_ids(c.mig_profiles, faults);
  check_ids(c.cooling_methods, faults);
  check_ids(c.ashrae_classes, faults);
  check_ids(c.pue_by_climate, faults);
  check_ids(c.power_stages, faults);
  check_ids(c.redundancies, faults);
  check_ids(c.regions, faults);
  check_ids(c.lead_times, faults);
  check_ids(c.cloud_prices, faults);
  check_ids(c.reserved_discounts, faults);
  check_ids(c.storage_prices, faults);
  check_ids(c.spot_bands, faults);
  check_ids(c.tco_parameters, faults);
  check_ids(c.models, faults);
  check_ids(c.engines, faults);
  check_ids(c.export_controls, faults);
  check_ids(c.dense_ratios, faults);
  check_ids(c.dense_ceilings, faults);
  check_ids(c.link_rates, faults);
  check_aliases(c.models, faults);
  check_aliases(c.regions, faults);
}

}  // namespace

Diagnostics check_catalog(const Catalog& catalog) {
  Diagnostics faults;
  check_all_ids(catalog, faults);
  check_accelerators(catalog, faults);
  check_nodes(catalog, faults);
  check_network_parts(catalog, faults);
  check_models(catalog, faults);
  check_site_facts(catalog, faults);
  check_prices(catalog, faults);
  return faults;
}

}  // namespace orrery::catalog
