// Storage tiers, nearest to the accelerators first. Rates are of the tier as a whole.
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
  std::optional<PerSecond> creates;  // of one server

  bool operator==(const Metadata&) const = default;
};

// How what is stored outlives its drives: an erasure code, or copies where `data` is 1.
struct Protection {
  int data = 8;
  int parity = 2;

  bool operator==(const Protection&) const = default;
};

struct StorageTier {
  std::string name;     // empty: the tier's word ("hot")
  std::string profile;  // catalog id; what it sets stands in the fields below already
  Tier tier = Tier::hot;
  TierKind kind = TierKind::parallel_fs;
  std::string site;            // empty: the first site
  std::string region;          // of a cloud store outside the sites; empty: the site's
  std::string provider;        // empty: owned
  std::string place;           // in `orrery store`: a RADOS pool or a bucket; empty: its folders
  std::string device;          // catalog id of drive or appliance
  std::optional<int> servers;  // none: as many as capacity, rates and workloads ask for
  std::optional<int> devices_per_server;
  std::optional<BytesPerSecond> read;            // aggregate; none: from servers and device
  std::optional<BytesPerSecond> write;           // aggregate
  std::optional<BytesPerSecond> server_network;  // of one server, per direction
  std::optional<int> server_cores;               // of one server
  std::optional<Bytes> capacity;                 // usable
  std::optional<Protection> protection;
  std::optional<double> usable;  // of the raw capacity, after parity and reserve
  Metadata metadata;
  std::optional<int> client_streams;  // parallel requests of one node
  std::optional<BytesPerSecond> stream_rate;
  std::optional<Seconds> first_byte;                              // latency of a request
  catalog::EvictionPolicy policy = catalog::EvictionPolicy::lru;  // where the tier caches another
  std::string caches;                     // name of the tier it caches; empty: none
  bool encrypted = false;                 // at rest
  bool versioned = false;                 // copies that deletion cannot reach
  std::optional<UsdPerByteSecond> price;  // rent
  std::optional<UsdPerByte> capex;        // purchase
  std::optional<UsdPerByte> egress_price;

  std::string_view label() const;  // the name, or the tier's word

  bool operator==(const StorageTier&) const = default;
};

}  // namespace orrery::design
