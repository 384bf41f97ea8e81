// How many drives and servers a tier needs: enough for the bytes, enough for the bandwidth.
//
//   drives = max(raw capacity / drive, read / drive read, write x overhead / drive write,
//                requests / drive IOPS)
//   raw    = usable / ((k/(k+p)) fill),   write overhead = (k+p)/k      erasure code k + p
//   servers = max(drives / drives per server, max(read, write x overhead) / server network,
//                 read or write / what a server's cores sustain (server_work.h))
// Usually one of these dominates by far, and that says which drive to buy: capacity-bound tiers
// need large drives, bandwidth-bound ones need many. The share of a drive's rate that a file system
// delivers is an input (kDeliveredShare, an assumption). Appliances are sold by usable capacity.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/parts.h"
#include "layers/storage/durability.h"
#include "layers/storage/server_work.h"

namespace orrery::storage {

// Share of a drive's sequential rate that remains through RAID or erasure code, network and file
// system. Assumption: four drives of 14.5 GB/s gave 53.0 of 58 GB/s in a local array (0.91), and
// file systems give less.
inline constexpr double kDeliveredShare = 0.8;
// Above this fill level, file systems slow down and rebuilds have no room. Assumption, common
// practice.
inline constexpr double kFillLimit = 0.8;

struct TierDemand {
  Bytes capacity;       // usable
  BytesPerSecond read;  // aggregate
  BytesPerSecond write;
  PerSecond requests;  // random reads per second
};
// Adds the demands of data sets, checkpoints and caches on one tier.
TierDemand operator+(const TierDemand& a, const TierDemand& b);

struct Protection {
  int data = 8;
  int parity = 2;
  double fill = kFillLimit;

  double usable_share() const { return fill * data / static_cast<double>(data + parity); }
  double write_overhead() const { return static_cast<double>(data + parity) / data; }
  // Returns the number of shards of one object on the fullest of `servers` servers.
  int shards_on_one(int servers) const { return (data + parity + servers - 1) / servers; }
  // Returns the fewest servers of which one may be lost; 1 if none may be lost.
  int least_servers() const { return parity > 0 ? (data + parity + parity - 1) / parity : 1; }
};
using catalog::DeviceForm;
using catalog::form_of;
inline constexpr Protection kApplianceProtection{.data = 1, .parity = 0, .fill = 1.0};

struct ServerShape {
  int devices = 24;
  // Per direction; nullopt: 400 Gb/s for a server of drives. Devices sold with their rates include
  // their network.
  std::optional<BytesPerSecond> network;
  int cores = 0;  // 0: not a limit
};

enum class TierLimit { capacity, read, write, requests };
const char* to_text(TierLimit limit);

// What determines the number of servers.
enum class ServersFor { devices, network, cores };

struct TierSize {
  double by_capacity = 0;  // devices required for the capacity, before rounding up
  double by_read = 0;
  double by_write = 0;
  double by_requests = 0;
  double devices = 0;
  double servers = 0;
  ServersFor servers_for = ServersFor::devices;
  TierLimit limit = TierLimit::capacity;
  Bytes usable;
  BytesPerSecond read;  // rate of the devices bought, through their servers' network
  BytesPerSecond write;
  bool network_limits = false;  // the devices could deliver more than the network carries
  bool cores_limit = false;     // the devices could deliver more than the servers' cores sustain
  Watts power;                  // all devices active, without servers
  catalog::PriceRange price;    // price of the devices
};

struct TierOptions {
  Protection protection;
  ServerShape server;
  double delivered = kDeliveredShare;
  bool encrypted = false;
};
// The rates of a number of devices in a number of servers: what the devices deliver, limited by the
// servers' network and cores.
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

// Returns how durable a gigabyte of data is on the drives and servers of such a tier; nullopt if
// the catalog has no failure rate. `failures` scales the drives' failure rate. A rebuild runs at a
// fifth of the rate of the drives of one server.
std::optional<Durability> tier_durability(const TierBuild& build,
                                          const catalog::StorageDevice& device,
                                          const TierOptions& options, double failures = 1);

}  // namespace orrery::storage
