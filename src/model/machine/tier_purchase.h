// What is bought for a tier: drives or appliances, the servers that bare drives stand in and the
// servers that answer for names, with their prices and watts.
//
//   devices = enough for the capacity and for the rates that the design gives
//   price of one = the drive, with its share of the server (storage/economics.h)
// A provider's tier and drives in the nodes are bought elsewhere, and have none.
#pragma once

#include <cstdint>
#include <optional>

#include "model/machine/tier.h"

namespace orrery::machine {

// Returns the tier's own device, or the usual one for its kind if the design names none.
const catalog::StorageDevice* device_or_usual(const Tier& tier, const catalog::Catalog& catalog);

// What is bought for a tier: enough devices for its capacity and for the rates that the design
// gives, whichever needs more, and never fewer than the design names.
struct TierPurchase {
  const catalog::StorageDevice* device = nullptr;
  double devices = 0;
  double servers = 0;       // servers for bare drives; 0 if the device is a server itself
  bool as_counted = false;  // the design names this number, and it covers the design's other fields
  storage::TierLimit limit = storage::TierLimit::capacity;  // what sets the number otherwise
  catalog::PriceRange price;  // per device, with its share of the server
  Watts power;                // per device, with its share of the server
};
// Returns nullopt if the catalog has no device for the tier.
std::optional<TierPurchase> purchase_of(const Tier& tier, const catalog::Catalog& catalog);
// Metadata servers of a tier; none if the design counts none, and none for an appliance, which has
// its own. An object store's gateways run on the servers of its drives.
struct MetadataServers {
  const catalog::Node* part = nullptr;
  int count = 0;
};
MetadataServers metadata_of(const Tier& tier, const catalog::Catalog& catalog);
// What of a tier connects to its site's networks: servers or appliances with the rate that one
// sends, and metadata servers. None for drives in the nodes and for a provider's tier.
struct TierServers {
  std::int64_t data = 0;
  BytesPerSecond each;
  std::int64_t metadata = 0;
};
TierServers servers_of(const Tier& tier, const catalog::Catalog& catalog);
// Returns the typical draw of a tier's servers.
Watts tier_power(const Tier& tier, const catalog::Catalog& catalog);

}  // namespace orrery::machine
