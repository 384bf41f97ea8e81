#include "model/machine/tier.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "layers/storage/economics.h"
#include "model/design/names.h"
#include "model/figures/assumptions.h"
#include "model/machine/tier_purchase.h"
#include "model/machine/tier_size.h"

namespace orrery::machine {
namespace {

using figures::assumptions::kColdLatency;
using figures::assumptions::kCreatesLocal;
using figures::assumptions::kCreatesNfs;
using figures::assumptions::kCreatesObject;
using figures::assumptions::kCreatesParallelFs;
using figures::assumptions::kErrorDeviceRates;
using figures::assumptions::kErrorGivenRates;
using figures::assumptions::kFetchedMedia;
using figures::assumptions::kFirstByteFile;
using figures::assumptions::kFirstByteLocal;
using figures::assumptions::kFirstByteObject;
using figures::assumptions::kGpuDirectLatency;
using figures::assumptions::kHotLatency;
using figures::assumptions::kNodeDrive;
using figures::assumptions::kNodeNvmeLatency;
using figures::assumptions::kServiceDirect;
using figures::assumptions::kServiceFile;
using figures::assumptions::kServiceLocal;
using figures::assumptions::kServiceObject;
using figures::assumptions::kStorageRoundTrip;
using figures::assumptions::kStreamFile;
using figures::assumptions::kStreamObject;
using figures::assumptions::kStreams;
using figures::assumptions::kWarmLatency;

// Drives of nodes are taken as this kind (Gen4 TLC, catalog tlc-gen4).
constexpr const char* kNodeDevice = "tlc-gen4";

PerSecond default_creates(design::TierKind kind) {
  switch (kind) {
    case design::TierKind::parallel_fs:
      return kCreatesParallelFs;
    case design::TierKind::object:
      return kCreatesObject;
    case design::TierKind::nfs:
      return kCreatesNfs;
    case design::TierKind::local_nvme:
    case design::TierKind::block:
      return kCreatesLocal;
  }
  return kCreatesNfs;
}

void fill_latency(Tier& v) {
  const bool object = v.tier->kind == design::TierKind::object;
  const bool local = v.tier->kind == design::TierKind::local_nvme;
  v.first_byte = v.tier->first_byte.value_or(object  ? kFirstByteObject
                                             : local ? kFirstByteLocal
                                                     : kFirstByteFile);
  v.stream_rate = v.tier->stream_rate.value_or(object ? kStreamObject : kStreamFile);
  v.client_streams = v.tier->client_streams.value_or(kStreams);
}

// Fills in the latency of a read of an open file or object. A first byte that the design gives, or
// that of a rented object store, is the whole latency except the copies.
void fill_access(Tier& v, const catalog::Catalog& catalog) {
  const design::StorageTier& t = *v.tier;
  const bool is_direct = t.tier == design::Tier::gpu_direct;
  v.gpu_path = is_direct ? storage::GpuPath::direct : storage::GpuPath::pinned;
  storage::AccessQuestion q{
      .request = kLatencyRequest, .stream = v.stream_rate, .path = v.gpu_path};
  const catalog::StorageDevice* device = device_or_usual(v, catalog);
  const bool is_object = t.kind == design::TierKind::object && !is_direct;
  const bool is_told = t.first_byte.has_value() || (is_object && !t.provider.empty());
  if (is_told || device == nullptr || !device->read_latency) {
    q.media = v.first_byte;
  } else {
    const bool is_bare = storage::form_of(*device) == storage::DeviceForm::drive;
    q.media = *device->read_latency;
    q.network = v.per_node ? Seconds(0) : kStorageRoundTrip;
    q.service = is_direct    ? kServiceDirect
                : v.per_node ? kServiceLocal
                : !is_bare   ? Seconds(0)
                : is_object  ? kServiceObject
                             : kServiceFile;
    if (t.encrypted) q.service += storage::encrypt_time(kLatencyRequest);
    // Without the kernel and its copy, a request begins as soon as the media answer; an object has
    // no open file before it.
    if (is_direct || is_object) v.first_byte = q.media + q.network + q.service;
  }
  v.latency = access_latency(q);
}

// The servers' network and cores also limit a rate that is only promised.
void hold_by_servers(Tier& v) {
  const storage::TierOptions o = options_of(v);
  const storage::ServerWork work{
      .data = o.protection.data, .parity = o.protection.parity, .encrypted = o.encrypted};
  const auto hold = [&](BytesPerSecond read, BytesPerSecond write, storage::RateLimit limit) {
    if (read * v.servers < v.read) v.read = read * v.servers, v.read_limit = limit;
    if (write * v.servers < v.write) v.write = write * v.servers, v.write_limit = limit;
  };
  if (const auto network = v.tier->server_network) {
    hold(*network, *network, storage::RateLimit::network);
  }
  const int cores = v.tier->server_cores.value_or(0);
  hold(read_bound(cores, work), write_bound(cores, work), storage::RateLimit::cores);
}

// Fills in the tier's rates: as given, else servers x devices x the device's own, never above the
// network and the cores of the servers.
void fill_rates(Tier& v) {
  const design::StorageTier& t = *v.tier;
  v.rates_given = t.read.has_value() || t.write.has_value();
  if (v.device) {
    const storage::TierRates r = tier_rates({v.devices, v.servers}, *v.device, options_of(v));
    v.read = r.read;
    v.write = r.write;
    v.read_limit = r.read_limit;
    v.write_limit = r.write_limit;
    v.rate_basis = v.device->provenance.reference;
    if (t.device.empty()) v.rate_basis += ", the usual device for its kind: the design names none";
  }
  if (t.read) v.read = *t.read;
  if (t.write) v.write = *t.write;
  if (t.read && !t.write && !v.device)
    v.write = *t.read / 2;  // DGX guidance: half of the read rate
  if (t.write && !t.read && !v.device) v.read = *t.write * 2;
  if (v.rates_given && t.servers) hold_by_servers(v);
  if (v.rates_given) v.rate_basis = "the design";
  v.rate_error = v.rates_given ? kErrorGivenRates : kErrorDeviceRates;
}

void fill_node_drives(Tier& v, const Fleets& fleets, const catalog::Catalog& catalog) {
  v.per_node = true;
  if (v.device == nullptr) v.device = catalog.storage_device(kNodeDevice);
  for (const Fleet& f : fleets) {
    if (v.device == nullptr || f.node.part.local_nvme.value_or(Bytes(0)) <= Bytes(0)) continue;
    // A rack of many hosts lists the drives of all of them; each host writes its save to its own.
    const Bytes of_host = *f.node.part.local_nvme / f.hosts_per_node();
    v.devices = std::max(1.0, of_host / kNodeDrive);
    v.capacity = max(v.capacity, of_host);
    v.read = max(v.read, v.device->read * v.devices);
    v.write = max(v.write, v.device->write * v.devices);
    v.rate_basis = v.device->provenance.reference;
  }
}

// Returns the tier of the nodes' drives if no entry of the design describes it.
std::optional<Tier> implied_node_tier(const Tiers& views, const Fleets& fleets,
                                      const catalog::Catalog& catalog) {
  for (const Tier& v : views) {
    if (v.tier->tier == design::Tier::node_nvme) return std::nullopt;
  }
  auto entry = std::make_shared<design::StorageTier>();
  entry->tier = design::Tier::node_nvme;
  entry->kind = design::TierKind::local_nvme;
  Tier v{.index = design::TierIndex(views.size()),
         .tier = entry.get(),
         .implied = entry,
         .path = "fleet[0]"};
  v.label = std::string(entry->label());
  fill_latency(v);
  fill_node_drives(v, fleets, catalog);
  v.creates = kCreatesLocal;
  fill_access(v, catalog);
  if (v.capacity <= Bytes(0)) return std::nullopt;
  return v;
}

}  // namespace

Tiers build_tiers(const design::Design& design, const catalog::Catalog& catalog,
                  const Fleets& fleets, const std::vector<TierAsk>& asks) {
  Tiers views;
  for (std::size_t i = 0; i < design.storage.size(); ++i) {
    const design::StorageTier& t = design.storage[i];
    Tier v{.index = design::TierIndex(i),
           .tier = &t,
           .path = fmt::format("storage[{}]", i),
           .label = std::string(t.label())};
    v.device = t.device.empty() ? nullptr : catalog.storage_device(t.device);
    // If nothing says how fast it is, it is as fast as the usual device for its kind.
    const bool in_nodes = t.tier == design::Tier::node_nvme;
    if (!in_nodes && !t.read && !t.write) v.device = device_or_usual(v, catalog);
    v.per_node = in_nodes;
    fill_latency(v);
    count_servers(v, asks);
    fill_rates(v);
    if (in_nodes && !v.rates_given) fill_node_drives(v, fleets, catalog);
    if (t.capacity) v.capacity = *t.capacity;
    // A rented tier without a capacity in the design has no limit.
    if (!t.capacity && v.device && !v.per_node && (t.provider.empty() || !t.device.empty())) {
      v.capacity = v.device->capacity * v.devices * usable_share(v);
    }
    const PerSecond per_server = creates_of_one(t);
    v.creates = per_server * std::max(1, v.metadata_servers);
    fill_access(v, catalog);
    views.push_back(std::move(v));
  }
  if (auto drives = implied_node_tier(views, fleets, catalog)) views.push_back(std::move(*drives));
  return views;
}

void lay_over(Tiers& tiers, const std::vector<TierMeasurement>& measured) {
  for (const TierMeasurement& m : measured) {
    const Tier* found = find_tier(tiers, m.tier);
    if (found == nullptr) continue;
    Tier& v = tiers[found->index];
    v.read = m.read.value_or(v.read);
    v.write = m.write.value_or(v.write);
    v.creates = m.creates.value_or(v.creates);
    if (m.first_byte) {
      v.first_byte = *m.first_byte;
      v.latency = storage::access_latency(
          {.media = v.first_byte, .request = kLatencyRequest, .path = v.gpu_path});
    }
    v.stream_rate = m.stream_rate.value_or(v.stream_rate);
    if (!m.read && !m.write) continue;
    v.measured = true;
    v.rate_error = m.error;
    v.rate_basis = m.source;
  }
}

bool stands_in(const Tier& tier, const Fleet& fleet) {
  return !tier.per_node || tier.rates_given || tier.measured ||
         fleet.node.part.local_nvme.value_or(Bytes(0)) > Bytes(0);
}

Seconds latency_target(design::Tier tier) {
  switch (tier) {
    case design::Tier::gpu_direct:
      return kGpuDirectLatency;
    case design::Tier::node_nvme:
      return kNodeNvmeLatency;
    case design::Tier::hot:
      return kHotLatency;
    case design::Tier::warm:
      return kWarmLatency;
    case design::Tier::cold:
      return kColdLatency;
  }
  return kColdLatency;
}

Seconds mount_time(const Tier& tier) {
  const auto latency = tier.device ? tier.device->read_latency : std::nullopt;
  return latency && *latency >= kFetchedMedia ? *latency : Seconds(0);
}

const Tier* find_tier(const Tiers& tiers, const std::string& label) {
  for (const Tier& v : tiers) {
    if (v.label == label) return &v;
  }
  for (const Tier& v : tiers) {
    if (word_of(v.tier->tier) == label) return &v;
  }
  return nullptr;
}

PerSecond creates_of_one(const design::StorageTier& t) {
  return t.metadata.creates.value_or(default_creates(t.kind));
}

}  // namespace orrery::machine
