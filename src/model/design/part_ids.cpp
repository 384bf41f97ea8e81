#include "model/design/part_ids.h"

#include <algorithm>
#include <array>

#include "core/base/text.h"

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

// The EU member states that have a region in the catalog.
constexpr std::string_view kEuropeanUnion[] = {"fra", "deu", "swe", "irl", "pol",
                                               "nld", "esp", "ita", "fin"};

}  // namespace

std::vector<std::string> part_ids(const catalog::Catalog& c, Part part) {
  std::vector<std::string> ids;
  switch (part) {
    case Part::none:
      break;
    case Part::region:
      add(ids, c.regions, &catalog::GridRegion::id);
      add_aliases(ids, c.regions);
      break;
    case Part::cooling:
      add(ids, c.cooling_methods, &catalog::CoolingMethod::id);
      break;
    case Part::redundancy:
      add(ids, c.redundancies, &catalog::Redundancy::id);
      break;
    case Part::power_stage:
      add(ids, c.power_stages, &catalog::PowerStage::id);
      break;
    case Part::climate:
      add(ids, c.pue_by_climate, &catalog::PueByClimate::climate);
      break;
    case Part::lead_time:
      add(ids, c.lead_times, &catalog::LeadTime::id);
      break;
    case Part::node:
      add(ids, c.nodes, &catalog::Node::id);
      break;
    case Part::accelerator:
      add(ids, c.accelerators, &catalog::Accelerator::id);
      break;
    case Part::scale_up_link:
      for (const catalog::EmergingPart& p : c.emerging) {
        if (p.kind == catalog::kScaleUpLink) ids.push_back(p.id);
      }
      break;
    case Part::switch_part:
      add(ids, c.switches, &catalog::Switch::id);
      break;
    case Part::nic:
      add(ids, c.nics, &catalog::Nic::id);
      break;
    case Part::optic:
      add(ids, c.optics, &catalog::Optic::id);
      break;
    case Part::storage_device:
      add(ids, c.storage_devices, &catalog::StorageDevice::id);
      break;
    case Part::storage_profile:
      add(ids, c.storage_profiles, &catalog::StorageProfile::id);
      break;
    case Part::model:
      add(ids, c.models, &catalog::ModelShape::id);
      add_aliases(ids, c.models);
      break;
    case Part::provider:
      add(ids, c.cloud_prices, &catalog::CloudPrice::provider);
      add(ids, c.storage_prices, &catalog::StorageCloudPrice::provider);
      break;
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

std::string_view noun_of(Part part) {
  static constexpr std::array<std::string_view, 17> kNouns = {
      "id",
      "region",
      "cooling method",
      "redundancy scheme",
      "power stage",
      "climate",
      "lead-time item",
      "node",
      "accelerator",
      "scale-up link",
      "switch",
      "NIC",
      "optic or cable",
      "storage device",
      "storage profile",
      "model",
      "provider",
  };
  return kNouns[static_cast<std::size_t>(part)];
}

bool is_residency(std::string_view residency, const catalog::Catalog& catalog) {
  if (residency == "eu" || catalog.region(residency)) return true;
  return std::ranges::find(catalog.regions, residency, &catalog::GridRegion::country) !=
         catalog.regions.end();
}

bool is_inside(std::string_view residency, const catalog::GridRegion* region) {
  if (residency.empty()) return true;
  if (region == nullptr) return false;
  const std::string tag = lowered(residency);
  if (tag == region->id || tag == region->country) return true;
  if (tag == "eu")
    return std::ranges::find(kEuropeanUnion, region->country) != std::end(kEuropeanUnion);
  return std::ranges::find(region->aliases, tag) != region->aliases.end();
}

}  // namespace orrery::design
