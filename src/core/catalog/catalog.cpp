#include "core/catalog/catalog.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/catalog/checks.h"
#include "core/catalog/embedded_table.h"
#include "core/catalog/tables.h"

namespace orrery::catalog {
namespace {

template <class Row>
const Row* find_by_id(const std::vector<Row>& rows, std::string_view id) {
  const auto at = std::ranges::find(rows, id, &Row::id);
  return at == rows.end() ? nullptr : &*at;
}

// Users write "meta-llama/Llama-3.1-70B" in any case; ids are lower case already.
template <class Row>
const Row* find_by_alias(const std::vector<Row>& rows, std::string_view name) {
  const std::string wanted = lowered(name);
  if (const Row* row = find_by_id(rows, wanted)) return row;
  for (const Row& row : rows) {
    for (const std::string& alias : row.aliases) {
      if (alias.size() == wanted.size() && lowered(alias) == wanted) return &row;
    }
  }
  return nullptr;
}

class Loader {
 public:
  explicit Loader(const ReadFile& read) : read_(read) {}

  template <class Row>
  void load(std::string_view name, std::vector<Row>& rows) {
    const std::string path = "catalog/" + std::string(name) + ".csv";
    const auto text = read_(path);
    if (!text) return note(text.error());
    note(scan_csv(*text, path, [&](const CsvView& row) {
      RowReader reader(row, name, path, faults_);
      read_row(reader, rows.emplace_back());
    }));
  }

  Diagnostics take_faults() { return std::move(faults_); }

 private:
  void note(const Diagnostics& more) { faults_.insert(faults_.end(), more.begin(), more.end()); }

  const ReadFile& read_;
  Diagnostics faults_;
};

}  // namespace

const Accelerator* Catalog::accelerator(std::string_view id) const {
  return find_by_id(accelerators, id);
}
const Node* Catalog::node(std::string_view id) const { return find_by_id(nodes, id); }
const Switch* Catalog::switch_part(std::string_view id) const { return find_by_id(switches, id); }
const Nic* Catalog::nic(std::string_view id) const { return find_by_id(nics, id); }
const Optic* Catalog::optic(std::string_view id) const { return find_by_id(optics, id); }
const StorageDevice* Catalog::storage_device(std::string_view id) const {
  return find_by_id(storage_devices, id);
}
const StorageProfile* Catalog::storage_profile(std::string_view id) const {
  return find_by_id(storage_profiles, id);
}
const EmergingPart* Catalog::emerging_part(std::string_view id) const {
  return find_by_id(emerging, id);
}
const CoolingMethod* Catalog::cooling(std::string_view id) const {
  return find_by_id(cooling_methods, id);
}
const Redundancy* Catalog::redundancy(std::string_view id) const {
  return find_by_id(redundancies, id);
}
const GridRegion* Catalog::region(std::string_view id_or_alias) const {
  return find_by_alias(regions, id_or_alias);
}
const ModelShape* Catalog::model(std::string_view id_or_alias) const {
  return find_by_alias(models, id_or_alias);
}
const TcoParameter* Catalog::tco(std::string_view id) const {
  return find_by_id(tco_parameters, id);
}
const PowerStage* Catalog::power_stage(std::string_view id) const {
  return find_by_id(power_stages, id);
}
const ServingEngine* Catalog::engine(std::string_view id) const { return find_by_id(engines, id); }

const ExportControl* Catalog::export_control(std::string_view accelerator_id,
                                             std::string_view country) const {
  for (const ExportControl& row : export_controls) {
    if (row.accelerator_id == accelerator_id && row.covers(std::string(country))) return &row;
  }
  return nullptr;
}

Result<Catalog> load_catalog(const ReadFile& read) {
  Catalog c;
  Loader loader(read);
  loader.load("accelerators", c.accelerators);
  loader.load("nodes", c.nodes);
  loader.load("switches", c.switches);
  loader.load("nics", c.nics);
  loader.load("optics_cables", c.optics);
  loader.load("storage_devices", c.storage_devices);
  loader.load("storage_profiles", c.storage_profiles);
  loader.load("emerging", c.emerging);
  loader.load("mig_profiles", c.mig_profiles);
  loader.load("cooling_methods", c.cooling_methods);
  loader.load("ashrae_classes", c.ashrae_classes);
  loader.load("pue_model_by_climate", c.pue_by_climate);
  loader.load("power_chain", c.power_stages);
  loader.load("redundancy", c.redundancies);
  loader.load("grid_regions", c.regions);
  loader.load("lead_times", c.lead_times);
  loader.load("cloud_prices", c.cloud_prices);
  loader.load("reserved_discounts", c.reserved_discounts);
  loader.load("storage_cloud_prices", c.storage_prices);
  loader.load("spot_interruption", c.spot_bands);
  loader.load("tco_params", c.tco_parameters);
  loader.load("models", c.models);
  loader.load("engines", c.engines);
  loader.load("export_controls", c.export_controls);
  loader.load("dense_ratios", c.dense_ratios);
  loader.load("dense_ceilings", c.dense_ceilings);
  loader.load("link_rates", c.link_rates);
  Diagnostics faults = loader.take_faults();
  // If a row could not be read, the checks would fail for the wrong reason, so they are skipped.
  if (!has_errors(faults)) faults = check_catalog(c);
  if (has_errors(faults)) return std::unexpected(std::move(faults));
  return c;
}

Result<Catalog> load_embedded_catalog() { return load_catalog(embedded_text); }

}  // namespace orrery::catalog
