#include "storage/tier_sizing.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace orrery::storage {
namespace {

// Rounding up, forgiving what division leaves of a whole number.
double rounded_up(double count) { return std::ceil(count - 1e-9); }

// Devices for a demand; none where nothing is asked, even of a device that cannot do it.
template <class Demand>
double devices_for(Demand demand, Demand each) {
  return demand.base() > 0 ? demand / each : 0;
}

}  // namespace

TierDemand operator+(const TierDemand& a, const TierDemand& b) {
  return {.capacity = a.capacity + b.capacity,
          .read = a.read + b.read,
          .write = a.write + b.write,
          .requests = a.requests + b.requests};
}

TierDemand larger_of(const TierDemand& a, const TierDemand& b) {
  return {.capacity = a.capacity + b.capacity,
          .read = max(a.read, b.read),
          .write = max(a.write, b.write),
          .requests = max(a.requests, b.requests)};
}

DeviceForm form_of(const catalog::StorageDevice& device) {
  if (device.device_class.starts_with("object")) return DeviceForm::server;
  for (const std::string_view drive : {"TLC", "QLC", "NL-SSD", "HDD", "tape"}) {
    if (device.device_class.starts_with(drive)) return DeviceForm::drive;
  }
  return DeviceForm::appliance;
}

const char* to_text(TierLimit limit) {
  switch (limit) {
    case TierLimit::capacity:
      return "capacity";
    case TierLimit::read:
      return "read bandwidth";
    case TierLimit::write:
      return "write bandwidth";
    case TierLimit::requests:
      return "requests";
  }
  return "";
}

TierSize size_tier(const TierDemand& demand, const catalog::StorageDevice& device,
                   const TierOptions& options) {
  const DeviceForm form = form_of(device);
  const bool bare = form == DeviceForm::drive;
  const Protection protection =
      form == DeviceForm::appliance ? kApplianceProtection : options.protection;
  const double delivered = bare ? options.delivered : 1;
  const BytesPerSecond device_read = device.read * delivered;
  const BytesPerSecond device_write = device.write * delivered / protection.write_overhead();
  const Bytes device_usable = device.capacity * protection.usable_share();

  TierSize s;
  s.by_capacity = devices_for(demand.capacity, device_usable);
  s.by_read = devices_for(demand.read, device_read);
  s.by_write = devices_for(demand.write, device_write);
  if (device.random_read_iops && *device.random_read_iops > 0) {
    s.by_requests = demand.requests.base() / (*device.random_read_iops * delivered);
  }
  double most = s.by_capacity;
  const auto hold = [&](double count, TierLimit limit) {
    if (count > most) most = count, s.limit = limit;
  };
  hold(s.by_read, TierLimit::read);
  hold(s.by_write, TierLimit::write);
  hold(s.by_requests, TierLimit::requests);

  s.devices = rounded_up(most);
  const double for_devices = bare ? rounded_up(s.devices / options.server.devices) : s.devices;
  // Parity crosses the servers' network as data does, wherever it is computed.
  const double overhead = protection.write_overhead();
  const BytesPerSecond carried = max(demand.read, demand.write * overhead);
  const double for_network = bare ? rounded_up(carried / options.server.network) : 0;
  s.servers = std::max(for_devices, for_network);
  s.network_bound = for_network > for_devices;
  s.usable = device_usable * s.devices;
  s.read = device_read * s.devices;
  s.write = device_write * s.devices;
  if (bare) {
    const BytesPerSecond network = options.server.network * s.servers;
    s.network_limits = network < max(s.read, s.write * overhead);
    s.read = min(s.read, network);
    s.write = min(s.write, network / overhead);
  }
  s.power = device.active_power * s.devices;
  const double terabytes_bought = device.capacity / terabytes(1) * s.devices;
  s.price = {device.price_per_tb.low * terabytes_bought,
             device.price_per_tb.high * terabytes_bought};
  return s;
}

PerSecond bandwidth_density(const catalog::StorageDevice& device) {
  return device.read / device.capacity;
}

}  // namespace orrery::storage
