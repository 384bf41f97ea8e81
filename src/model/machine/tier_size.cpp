#include "model/machine/tier_size.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "layers/storage/checkpoint.h"
#include "model/figures/assumptions.h"
#include "model/machine/tier_purchase.h"

namespace orrery::machine {
namespace {

using figures::assumptions::kServerCores;
using figures::assumptions::kServerDrives;
// An object node of the catalog has 24 disks of this kind, as its name says.
constexpr const char* kNodeDisk = "hdd-cmr24";

bool is_drive(const Tier& tier) {
  return tier.device != nullptr && form_of(*tier.device) == storage::DeviceForm::drive;
}
bool is_appliance(const Tier& tier) {
  return tier.device != nullptr && form_of(*tier.device) == storage::DeviceForm::appliance;
}

storage::Protection protection_of(const Tier& tier) {
  const design::StorageTier& t = *tier.tier;
  if (tier.per_node) return {.data = 1, .parity = 0, .fill = 1};
  storage::Protection p;
  if (t.protection) {
    p.data = t.protection->data;
    p.parity = t.protection->parity;
    if (t.usable) p.fill = *t.usable * (p.data + p.parity) / p.data;
  } else if (t.usable) {
    // `usable` gives the share that is left, but not how; writes are then taken without parity.
    p = {.data = 1, .parity = 0, .fill = *t.usable};
  }
  return p;
}

// Returns what a tier must deliver: its own fields first, and the workloads' needs where it has
// none.
storage::TierDemand demand_on(const design::StorageTier& t,
                              const std::vector<const TierAsk*>& own) {
  storage::TierDemand d;
  for (const TierAsk* ask : own) d = d + ask->demand;
  if (t.capacity) d.capacity = *t.capacity;
  if (t.read) d.read = *t.read;
  if (t.write) d.write = *t.write;
  return d;
}

// Names the workload with the largest part of the need that sets the size.
std::string largest(const std::vector<const TierAsk*>& own, storage::TierLimit limit,
                    const design::StorageTier& t) {
  const auto part = [limit](const TierAsk& a) {
    switch (limit) {
      case storage::TierLimit::capacity:
        return a.demand.capacity.base();
      case storage::TierLimit::read:
        return a.demand.read.base();
      case storage::TierLimit::write:
        return a.demand.write.base();
      case storage::TierLimit::requests:
        return a.demand.requests.base();
    }
    return 0.0;
  };
  const bool is_own = (limit == storage::TierLimit::capacity && t.capacity) ||
                      (limit == storage::TierLimit::read && t.read) ||
                      (limit == storage::TierLimit::write && t.write);
  if (is_own) return "the tier's own field";
  const TierAsk* most = nullptr;
  for (const TierAsk* ask : own) {
    if (part(*ask) > 0 && (most == nullptr || part(*ask) > part(*most))) most = ask;
  }
  return most ? most->what : "no workload needs more";
}

double least_servers(const Tier& tier, const storage::TierOptions& options) {
  const bool spreads = is_drive(tier) && tier.tier->kind != design::TierKind::nfs &&
                       (tier.tier->protection || !tier.tier->usable);
  return spreads ? options.protection.least_servers() : 1;
}

TierNeed need_of(const Tier& tier, const std::vector<const TierAsk*>& own) {
  const storage::TierOptions options = options_of(tier);
  TierNeed n{.size = size_tier(demand_on(*tier.tier, own), *tier.device, options)};
  n.least = least_servers(tier, options);
  n.for_durability = n.least > n.size.servers;
  const bool asked = n.size.devices > 0;
  if (n.for_durability) {
    n.bound_by = fmt::format("durability: one of {} servers may be lost with its shards of {} + {}",
                             n.least, options.protection.data, options.protection.parity);
  } else if (!asked) {
    n.bound_by = "no workload needs anything from it";
  } else {
    n.bound_by =
        fmt::format("{}: {}", to_text(n.size.limit), largest(own, n.size.limit, *tier.tier));
    if (n.size.servers_for == storage::ServersFor::network) {
      n.bound_by += "; the servers' network needs more of them than the drives do";
    } else if (n.size.servers_for == storage::ServersFor::cores) {
      n.bound_by += "; the servers' cores need more of them than the drives do";
    }
  }
  return n;
}

void count_metadata(Tier& tier, const std::vector<const TierAsk*>& own) {
  tier.metadata_servers = tier.tier->metadata.servers.value_or(0);
  if (!tier.need || tier.tier->metadata.servers) return;
  PerSecond asked{0};
  for (const TierAsk* ask : own) asked += ask->creates;
  if (asked <= PerSecond(0)) return;
  tier.metadata_servers = static_cast<int>(std::ceil(asked / creates_of_one(*tier.tier) - 1e-9));
}

}  // namespace

bool is_automatic(const Tier& tier) {
  return !tier.tier->servers && !tier.per_node && tier.tier->provider.empty() &&
         tier.device != nullptr && !tier.implied;
}

storage::TierOptions options_of(const Tier& tier) {
  const design::StorageTier& t = *tier.tier;
  storage::TierOptions o{.protection = protection_of(tier), .encrypted = t.encrypted};
  if (tier.per_node) o.delivered = 1;
  o.server.network = t.server_network.value_or(storage::kUnlimitedRate);
  o.server.devices = t.devices_per_server.value_or(is_drive(tier) ? kServerDrives : 1);
  const bool as_sold = tier.per_node || is_appliance(tier) || !t.provider.empty();
  o.server.cores = t.server_cores.value_or(as_sold ? 0 : kServerCores);
  return o;
}

storage::TierOptions purchase_options(const Tier& tier, const catalog::StorageDevice& device) {
  Tier bought = tier;
  bought.device = &device;
  storage::TierOptions o = options_of(bought);
  o.server.network = tier.tier->server_network;
  return o;
}

double usable_share(const Tier& tier) {
  if (is_appliance(tier)) return tier.tier->usable.value_or(1);
  return options_of(tier).protection.usable_share();
}

void count_servers(Tier& tier, const std::vector<TierAsk>& asks) {
  const design::StorageTier& t = *tier.tier;
  std::vector<const TierAsk*> own;
  for (const TierAsk& ask : asks) {
    if (ask.tier == tier.label) own.push_back(&ask);
  }
  if (!is_automatic(tier)) {
    tier.metadata_servers = t.metadata.servers.value_or(0);
    tier.servers = std::max(1, t.servers.value_or(1));
    if (tier.device) tier.devices = tier.servers * std::max(1, t.devices_per_server.value_or(1));
    return;
  }
  tier.need = need_of(tier, own);
  tier.servers = std::max({1.0, tier.need->least, tier.need->size.servers});
  tier.devices = tier.servers * options_of(tier).server.devices;
  count_metadata(tier, own);
}

std::optional<storage::Durability> durability_of(const Tier& tier, const catalog::Catalog& catalog,
                                                 double failures) {
  const bool is_built = !tier.per_node && tier.tier->provider.empty() && tier.servers > 0;
  const catalog::StorageDevice* device = device_or_usual(tier, catalog);
  if (!is_built || device == nullptr) return std::nullopt;
  storage::TierOptions options = options_of(tier);
  const storage::DeviceForm form = form_of(*device);
  if (form == storage::DeviceForm::server) {
    const catalog::StorageDevice* disk = catalog.storage_device(kNodeDisk);
    if (disk == nullptr) return std::nullopt;
    options.server.devices = std::max(1, static_cast<int>(device->capacity / disk->capacity));
    device = disk;
  } else if (form == storage::DeviceForm::appliance) {
    return std::nullopt;
  }
  // A design without `protection` is taken to use 8 + 2 if it has servers to spread it over.
  if (!tier.tier->protection) options.protection = {};
  if (!tier.tier->protection && tier.servers < options.protection.least_servers()) {
    return std::nullopt;
  }
  return tier_durability({tier.devices, tier.servers}, *device, options, failures);
}

}  // namespace orrery::machine
