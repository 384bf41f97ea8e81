// How many drives and servers a tier needs: enough for the bytes, enough for the bandwidth.
//
//   drives = max(raw capacity / drive, read / drive read, write x overhead / drive write,
//                requests / drive IOPS)
//   raw    = usable / ((k/(k+p)) fill),   write overhead = (k+p)/k      erasure code k + p
//   servers = max(drives / drives a server, max(read, write x overhead) / server network,
//                 read or write / what a server's cores carry (server_work.h))
// Usually one of them binds by far, and that says which drive to buy: capacity-bound tiers want
// large drives, bandwidth-bound ones want many. The share of a drive's rate that a file system
// delivers is an input (kDeliveredShare, an assumption). Appliances sell usable capacity.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/parts.h"
#include "layers/storage/durability.h"
#include "layers/storage/server_work.h"

namespace orrery::storage {

// Of a drive's sequential rate, through RAID or erasure code, network and file system. Assumption:
// four drives of 14.5 GB/s gave 53.0 of 58 GB/s in a local array (0.91), file systems give less.
inline constexpr double kDeliveredShare = 0.8;
// Above this fill, file systems slow down and rebuilds have no room. Assumption, common practice.
inline constexpr double kFillLimit = 0.8;

struct TierDemand {
  Bytes capacity;       // usable
  BytesPerSecond read;  // aggregate
  BytesPerSecond write;
  PerSecond requests;  // random reads
};
// Demands of data sets, checkpoints and caches on one tier, added.
TierDemand operator+(const TierDemand& a, const TierDemand& b);

struct Protection {
  int data = 8;
  int parity = 2;
  double fill = kFillLimit;

  double usable_share() const { return fill * data / static_cast<double>(data + parity); }
  double write_overhead() const { return static_cast<double>(data + parity) / data; }
  // Shards of one object on the fullest of so many servers.
  int shards_on_one(int servers) const { return (data + parity + servers - 1) / servers; }
  // The fewest servers of which one may be lost; 1 where nothing may.
  int least_servers() const { return parity > 0 ? (data + parity + parity - 1) / parity : 1; }
};
using catalog::DeviceForm;
using catalog::form_of;
inline constexpr Protection kApplianceProtection{.data = 1, .parity = 0, .fill = 1.0};

struct ServerShape {
  int devices = 24;
  // Per direction; none: 400 Gb/s of a server of drives, and what is sold with its rates has its
  // network in them.
  std::optional<BytesPerSecond> network;
  int cores = 0;  // 0: they do not bind
};

enum class TierLimit { capacity, read, write, requests };
const char* to_text(TierLimit limit);

// What the count of servers follows from.
enum class ServersFor { devices, network, cores };

struct TierSize {
  double by_capacity = 0;  // devices, before rounding up
  double by_read = 0;
  double by_write = 0;
  double by_requests = 0;
  double devices = 0;
  double servers = 0;
  ServersFor servers_for = ServersFor::devices;
  TierLimit limit = TierLimit::capacity;
  Bytes usable;
  BytesPerSecond read;  // what the devices bought deliver through their servers' network
  BytesPerSecond write;
  bool network_limits = false;  // the devices could deliver more than the network carries
  bool cores_limit = false;     // or than the servers' cores
  Watts power;                  // all devices active; servers apart
  catalog::PriceRange price;    // of the devices
};

struct TierOptions {
  Protection protection;
  ServerShape server;
  double delivered = kDeliveredShare;
  bool encrypted = false;
};
// Rates of so many devices in so many servers: what the devices deliver, through the servers'
// network and cores.
struct TierBuild {
  double devices = 0;
  double servers = 0;
};
enum class RateLimit { devices, network, cores };
const char* to_text(RateLimit limit);
struct TierRates {
  BytesPerSecond read;
  BytesPerSecond write;
  RateLimit read_limit = RateLimit::devices;
  RateLimit write_limit = RateLimit::devices;
};
TierRates tier_rates(const TierBuild& build, const catalog::StorageDevice& device,
                     const TierOptions& options);
TierSize size_tier(const TierDemand& demand, const catalog::StorageDevice& device,
                   const TierOptions& options);

// How long data of a gigabyte outlives drives and servers of such a tier; none where the catalog
// has no failure rate. `failures` scales the drives' rate; a rebuild has a fifth of the rate of the
// drives of one server.
std::optional<Durability> tier_durability(const TierBuild& build,
                                          const catalog::StorageDevice& device,
                                          const TierOptions& options, double failures = 1);

}  // namespace orrery::storage
