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

// The device a tier is made of: its own, or the usual one of its kind where the design names none.
const catalog::StorageDevice* device_or_usual(const Tier& tier, const catalog::Catalog& catalog);

// What is bought for a tier: enough devices for its capacity and for the rates that the design
// gives it, whichever asks for more, and never fewer than it names.
struct TierPurchase {
  const catalog::StorageDevice* device = nullptr;
  double devices = 0;
  double servers = 0;       // that bare drives stand in; 0 where the device is a server itself
  bool as_counted = false;  // the design names as many, and nothing that it asks for takes more
  storage::TierLimit limit = storage::TierLimit::capacity;  // else
  catalog::PriceRange price;  // of one device, with its share of the server
  Watts power;                // likewise
};
// nullopt where the catalog has no device for it.
std::optional<TierPurchase> purchase_of(const Tier& tier, const catalog::Catalog& catalog);
// Servers of its own that answer for names; none where the design counts none, and none beside an
// appliance, which brings its own. An object store's gateways run on the servers of its drives.
struct MetadataServers {
  const catalog::Node* part = nullptr;
  int count = 0;
};
MetadataServers metadata_of(const Tier& tier, const catalog::Catalog& catalog);
// What of a tier hangs on the networks of its site: servers or appliances with what one of them
// sends, and the servers that answer for names. None for drives in the nodes and a provider's tier.
struct TierServers {
  std::int64_t data = 0;
  BytesPerSecond each;
  std::int64_t metadata = 0;
};
TierServers servers_of(const Tier& tier, const catalog::Catalog& catalog);
// Typical draw of a tier's servers.
Watts tier_power(const Tier& tier, const catalog::Catalog& catalog);

}  // namespace orrery::machine
