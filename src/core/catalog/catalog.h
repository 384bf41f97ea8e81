// The catalog: every fact that data/catalog holds, loaded and checked, found by id.
//
// load_catalog refuses rows that fail a check of checks.h (sparse rates printed as dense, both link
// directions added, GiB as GB ...). It reports all faults at once, with file and line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/bill.h"
#include "core/catalog/check_facts.h"
#include "core/catalog/model_shape.h"
#include "core/catalog/parts.h"
#include "core/catalog/policy_facts.h"
#include "core/catalog/prices.h"
#include "core/catalog/site_facts.h"

namespace orrery::catalog {

struct Catalog {
  std::vector<Accelerator> accelerators;
  std::vector<Node> nodes;
  std::vector<Switch> switches;
  std::vector<Nic> nics;
  std::vector<Optic> optics;
  std::vector<StorageDevice> storage_devices;
  std::vector<StorageProfile> storage_profiles;
  std::vector<EmergingPart> emerging;
  std::vector<MigProfile> mig_profiles;
  std::vector<CoolingMethod> cooling_methods;
  std::vector<AshraeClass> ashrae_classes;
  std::vector<PueByClimate> pue_by_climate;
  std::vector<PowerStage> power_stages;
  std::vector<Redundancy> redundancies;
  std::vector<GridRegion> regions;
  std::vector<LeadTime> lead_times;
  std::vector<CloudPrice> cloud_prices;
  std::vector<ReservedDiscount> reserved_discounts;
  std::vector<StorageCloudPrice> storage_prices;
  std::vector<SpotBand> spot_bands;
  std::vector<TcoParameter> tco_parameters;
  std::vector<ModelShape> models;
  std::vector<ServingEngine> engines;
  std::vector<ExportControl> export_controls;
  std::vector<DenseRatio> dense_ratios;
  std::vector<DenseCeiling> dense_ceilings;
  std::vector<LinkRate> link_rates;

  // Returns nullptr if there is no such id (or alias, for regions and models).
  const Accelerator* accelerator(std::string_view id) const;
  const Node* node(std::string_view id) const;
  const Switch* switch_part(std::string_view id) const;
  const Nic* nic(std::string_view id) const;
  const Optic* optic(std::string_view id) const;
  const StorageDevice* storage_device(std::string_view id) const;
  const StorageProfile* storage_profile(std::string_view id) const;
  const EmergingPart* emerging_part(std::string_view id) const;
  const CoolingMethod* cooling(std::string_view id) const;
  const Redundancy* redundancy(std::string_view id) const;
  const GridRegion* region(std::string_view id_or_alias) const;
  const ModelShape* model(std::string_view id_or_alias) const;
  const TcoParameter* tco(std::string_view id) const;
  const PowerStage* power_stage(std::string_view id) const;
  const ServingEngine* engine(std::string_view id) const;
  // Returns the rule about exporting this accelerator to a country (ISO alpha-3, lower case), or
  // nullptr if there is none.
  const ExportControl* export_control(std::string_view accelerator_id,
                                      std::string_view country) const;
};

// Returns the text of a file below data/ ("catalog/nodes.csv").
using ReadFile = std::function<Result<std::string>(std::string_view path)>;

Result<Catalog> load_catalog(const ReadFile& read);
// Loads the catalog from the files in the binary. A fault here is ours, not the user's; tests/
// checks that there is none.
Result<Catalog> load_embedded_catalog();

}  // namespace orrery::catalog
