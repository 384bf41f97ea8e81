#include "model/machine/tier_purchase.h"

#include <algorithm>
#include <cmath>

#include "layers/storage/economics.h"
#include "model/machine/tier_size.h"

namespace orrery::machine {
namespace {

// The server that a metadata service runs on: a plain one.
constexpr const char* kMetadataServer = "cpu-2s-server";

const char* usual_device(design::TierKind kind) {
  switch (kind) {
    case design::TierKind::parallel_fs:
      return "pfs-ddn-ai400x2";
    case design::TierKind::object:
      return "obj-hdd-node";
    case design::TierKind::nfs:
      return "ontap-a1k";
    case design::TierKind::local_nvme:
    case design::TierKind::block:
      return "tlc-gen4";
  }
  return "obj-hdd-node";
}

}  // namespace

const catalog::StorageDevice* device_or_usual(const Tier& tier, const catalog::Catalog& catalog) {
  return tier.device ? tier.device : catalog.storage_device(usual_device(tier.tier->kind));
}

std::optional<TierPurchase> purchase_of(const Tier& tier, const catalog::Catalog& catalog) {
  const catalog::StorageDevice* device = device_or_usual(tier, catalog);
  if (device == nullptr) return std::nullopt;
  const design::StorageTier& t = *tier.tier;
  // Counts only capacities that the design asks for; a capacity that follows from the devices is
  // bought with them.
  const bool counted = t.servers.has_value() && tier.device != nullptr;
  const storage::TierSize size =
      size_tier({.capacity = counted ? Bytes(0) : t.capacity.value_or(Bytes(0)),
                 .read = t.read.value_or(BytesPerSecond(0)),
                 .write = t.write.value_or(BytesPerSecond(0)),
                 .requests = PerSecond(0)},
                *device, purchase_options(tier, *device));
  TierPurchase p{.device = device, .limit = tier.need ? tier.need->size.limit : size.limit};
  p.devices = tier.need ? tier.devices : std::max(tier.devices, size.devices);
  p.as_counted = counted && tier.devices >= size.devices;
  const storage::OwnTerms terms;
  const bool bare = storage::form_of(*device) == storage::DeviceForm::drive;
  p.servers = !bare       ? 0
              : tier.need ? tier.servers
                          : std::max<double>(t.servers.value_or(0), size.servers);
  const double tb = device->capacity / terabytes(1) * (bare ? 1 + terms.server_price_share : 1);
  p.price = {device->price_per_tb.low * tb, device->price_per_tb.high * tb};
  p.power = device->active_power * (bare ? 1 + terms.server_power_share : 1);
  return p;
}

MetadataServers metadata_of(const Tier& tier, const catalog::Catalog& catalog) {
  const catalog::StorageDevice* device = device_or_usual(tier, catalog);
  const bool owned = !tier.per_node && tier.tier->provider.empty();
  if (!owned || device == nullptr || tier.metadata_servers == 0) return {};
  if (storage::form_of(*device) == storage::DeviceForm::appliance) return {};
  return {.part = catalog.node(kMetadataServer), .count = tier.metadata_servers};
}

TierServers servers_of(const Tier& tier, const catalog::Catalog& catalog) {
  const auto bought = purchase_of(tier, catalog);
  if (tier.per_node || !tier.tier->provider.empty() || !bought) return {};
  const double servers =
      std::ceil(std::max(1.0, bought->servers > 0 ? bought->servers : bought->devices));
  return {.data = static_cast<std::int64_t>(servers),
          .each = tier.tier->server_network.value_or(max(tier.read, tier.write) / servers),
          .metadata = metadata_of(tier, catalog).count};
}

Watts tier_power(const Tier& tier, const catalog::Catalog& catalog) {
  const auto bought = purchase_of(tier, catalog);
  const MetadataServers names = metadata_of(tier, catalog);
  const Watts drives = bought ? bought->power * bought->devices : Watts(0);
  if (names.part == nullptr) return drives;
  return drives + names.part->typical_train_power.value_or(Watts(0)) * names.count;
}

}  // namespace orrery::machine
