// Storage tiers, nearest to the accelerators first. Rates are for the whole tier.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/vocabulary.h"

namespace orrery::design {

enum class Tier { gpu_direct, node_nvme, hot, warm, cold };
enum class TierKind { parallel_fs, object, nfs, local_nvme, block };

struct Metadata {
  std::optional<int> servers;
  std::optional<PerSecond> creates;  // per metadata server

  bool operator==(const Metadata&) const = default;
};

// How stored data survives the loss of drives: an erasure code, or copies if `data` is 1.
struct Protection {
  int data = 8;
  int parity = 2;

  bool operator==(const Protection&) const = default;
};

struct StorageTier {
  std::string name;     // empty: the tier's word ("hot")
  std::string profile;  // catalog id; the fields below already hold what it sets
  Tier tier = Tier::hot;
  TierKind kind = TierKind::parallel_fs;
  std::string site;            // empty: the first site
  std::string region;          // region of a cloud store outside the sites; empty: the site's
  std::string provider;        // empty: owned
  std::string place;           // for `orrery store`: a RADOS pool or a bucket; empty: local folders
  std::string device;          // catalog id of drive or appliance
  std::optional<int> servers;  // none: as many as capacity, rates and workloads need
  std::optional<int> devices_per_server;
  // whole tier; none: computed from servers and device
  std::optional<BytesPerSecond> read;
  std::optional<BytesPerSecond> write;           // whole tier
  std::optional<BytesPerSecond> server_network;  // per server and direction
  std::optional<int> server_cores;               // per server
  std::optional<Bytes> capacity;                 // usable capacity
  std::optional<Protection> protection;
  std::optional<double> usable;  // usable share of the raw capacity, after parity and reserve
  Metadata metadata;
  std::optional<int> client_streams;  // parallel requests per node
  std::optional<BytesPerSecond> stream_rate;
  // time to the first byte of a request
  std::optional<Seconds> first_byte;
  catalog::EvictionPolicy policy = catalog::EvictionPolicy::lru;  // if the tier caches another
  std::string caches;                     // name of the tier that it caches; empty: none
  bool encrypted = false;                 // encryption at rest
  bool versioned = false;                 // keeps copies that a deletion cannot reach
  std::optional<UsdPerByteSecond> price;  // rent per byte and second
  std::optional<UsdPerByte> capex;        // purchase price per byte
  std::optional<UsdPerByte> egress_price;

  std::string_view label() const;  // the name, or the tier's word

  bool operator==(const StorageTier&) const = default;
};

}  // namespace orrery::design
