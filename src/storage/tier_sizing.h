// How many drives and servers a tier needs: enough for the bytes, enough for the bandwidth.
//
//   drives = max(raw capacity / drive, read / drive read, write x overhead / drive write,
//                requests / drive IOPS)
//   raw    = usable / ((k/(k+p)) fill),   write overhead = (k+p)/k      erasure code k + p
//   servers = max(drives / drives a server, max(read, write x overhead) / server network)
// Usually one of them binds by far, and that says which drive to buy: capacity-bound tiers want
// large drives, bandwidth-bound ones want many. The share of a drive's rate that a file system
// delivers is an input (kDeliveredShare, an assumption). Appliances sell usable capacity.
#pragma once

#include <string>
#include <vector>

#include "base/quantity.h"
#include "catalog/parts.h"

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
// Demands of data sets, checkpoints and caches on one tier, added; bursts that never coincide may
// be joined by larger_of.
TierDemand operator+(const TierDemand& a, const TierDemand& b);
TierDemand larger_of(const TierDemand& a, const TierDemand& b);

struct Protection {
  int data = 8;
  int parity = 2;
  double fill = kFillLimit;

  double usable_share() const { return fill * data / static_cast<double>(data + parity); }
  double write_overhead() const { return static_cast<double>(data + parity) / data; }
};
// How a catalog device is sold: a bare drive; a server of drives whose capacity is raw ("object
// HDD" nodes); an appliance, whose capacity is usable and whose rates are delivered.
enum class DeviceForm { drive, server, appliance };
DeviceForm form_of(const catalog::StorageDevice& device);
inline constexpr Protection kApplianceProtection{.data = 1, .parity = 0, .fill = 1.0};

struct ServerShape {
  int devices = 24;
  BytesPerSecond network = gbits_per_s(400);  // per direction
};

enum class TierLimit { capacity, read, write, requests };
const char* to_text(TierLimit limit);

struct TierSize {
  double by_capacity = 0;  // devices, before rounding up
  double by_read = 0;
  double by_write = 0;
  double by_requests = 0;
  double devices = 0;
  double servers = 0;
  bool network_bound = false;  // more servers for their network than for their drives
  TierLimit limit = TierLimit::capacity;
  Bytes usable;
  BytesPerSecond read;  // what the devices bought deliver through their servers' network
  BytesPerSecond write;
  bool network_limits = false;  // the devices could deliver more than the network carries
  Watts power;                // all devices active; servers apart
  catalog::PriceRange price;  // of the devices
};

struct TierOptions {
  Protection protection;
  ServerShape server;
  double delivered = kDeliveredShare;
};
TierSize size_tier(const TierDemand& demand, const catalog::StorageDevice& device,
                   const TierOptions& options);

// A drive's bandwidth for each byte: below demand.read / demand.capacity it is bought for speed.
PerSecond bandwidth_density(const catalog::StorageDevice& device);

}  // namespace orrery::storage
