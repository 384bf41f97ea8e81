#include "design/part_ids.h"

#include <algorithm>
#include <array>

namespace orrery::design {
namespace {

template <class Rows, class Member>
void add(std::vector<std::string>& ids, const Rows& rows, Member member) {
  for (const auto& row : rows) ids.push_back(row.*member);
}

template <class Rows>
void add_aliases(std::vector<std::string>& ids, const Rows& rows) {
  for (const auto& row : rows) ids.insert(ids.end(), row.aliases.begin(), row.aliases.end());
}

}  // namespace

std::vector<std::string> part_ids(const Catalog& c, Part part) {
  std::vector<std::string> ids;
  switch (part) {
    case Part::none:
      break;
    case Part::region:
      add(ids, c.regions, &GridRegion::id);
      add_aliases(ids, c.regions);
      break;
    case Part::cooling:
      add(ids, c.cooling_methods, &CoolingMethod::id);
      break;
    case Part::redundancy:
      add(ids, c.redundancies, &Redundancy::id);
      break;
    case Part::power_stage:
      add(ids, c.power_stages, &PowerStage::id);
      break;
    case Part::climate:
      add(ids, c.pue_by_climate, &PueByClimate::climate);
      break;
    case Part::lead_time:
      add(ids, c.lead_times, &LeadTime::id);
      break;
    case Part::node:
      add(ids, c.nodes, &Node::id);
      break;
    case Part::accelerator:
      add(ids, c.accelerators, &Accelerator::id);
      break;
    case Part::switch_part:
      add(ids, c.switches, &Switch::id);
      break;
    case Part::nic:
      add(ids, c.nics, &Nic::id);
      break;
    case Part::optic:
      add(ids, c.optics, &Optic::id);
      break;
    case Part::storage_device:
      add(ids, c.storage_devices, &StorageDevice::id);
      break;
    case Part::model:
      add(ids, c.models, &ModelShape::id);
      add_aliases(ids, c.models);
      break;
    case Part::provider:
      add(ids, c.cloud_prices, &CloudPrice::provider);
      add(ids, c.storage_prices, &StorageCloudPrice::provider);
      break;
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

std::string_view noun_of(Part part) {
  static constexpr std::array<std::string_view, 15> kNouns = {
      "id",
      "region",
      "cooling method",
      "redundancy scheme",
      "power stage",
      "climate",
      "lead-time item",
      "node",
      "accelerator",
      "switch",
      "NIC",
      "optic or cable",
      "storage device",
      "model",
      "provider",
  };
  return kNouns[static_cast<std::size_t>(part)];
}

bool is_residency(std::string_view residency, const Catalog& catalog) {
  if (residency == "eu" || catalog.region(residency)) return true;
  return std::ranges::find(catalog.regions, residency, &GridRegion::country) !=
         catalog.regions.end();
}

}  // namespace orrery::design
