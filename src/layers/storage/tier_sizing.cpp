#include "layers/storage/tier_sizing.h"

#include <algorithm>
#include <cmath>

#include "layers/storage/checkpoint.h"

namespace orrery::storage {
namespace {

// Two ports of 200 Gb/s, or one of 400: assumed, typical of servers sold with drives.
constexpr BytesPerSecond kServerNetwork = gbits_per_s(400);

// Rate at which a server is lost with all its drives: one in a thousand per year, assumed.
constexpr PerSecond kServerLosses{0.001 / years(1).base()};

// Rounds up, but tolerates the rounding error of a division that should give a whole number.
double rounded_up(double count) { return std::ceil(count - 1e-9); }

// Returns the devices for a demand; zero if there is no demand, even for a device that could not
// serve any.
template <class Demand>
double devices_for(Demand demand, Demand each) {
  return demand.base() > 0 ? demand / each : 0;
}

// A device's figures as the sizing uses them.
struct DeviceTerms {
  bool bare = true;
  Protection protection;
  double delivered = 1;
  Bytes usable;
  BytesPerSecond read;
  BytesPerSecond write;    // data rate, without the part taken by parity
  BytesPerSecond network;  // per server

  ServerWork work(const TierOptions& options) const {
    return {.data = protection.data, .parity = protection.parity, .encrypted = options.encrypted};
  }
};

DeviceTerms terms_of(const catalog::StorageDevice& device, const TierOptions& options) {
  const DeviceForm form = form_of(device);
  DeviceTerms t{.bare = form == DeviceForm::drive};
  t.protection = form == DeviceForm::appliance ? kApplianceProtection : options.protection;
  t.delivered = t.bare ? options.delivered : 1;
  t.usable = device.capacity * t.protection.usable_share();
  t.read = device.read * t.delivered;
  t.write = device.write * t.delivered / (t.bare ? t.protection.write_overhead() : 1);
  t.network = options.server.network.value_or(t.bare ? kServerNetwork : kUnlimitedRate);
  return t;
}

// Bare drives are put into servers; a device sold as a server or an appliance is one.
void count_servers(TierSize& s, const TierDemand& demand, const DeviceTerms& each,
                   const TierOptions& options) {
  s.servers = each.bare ? rounded_up(s.devices / options.server.devices) : s.devices;
  const auto hold = [&s](double servers, ServersFor why) {
    if (rounded_up(servers) > s.servers) s.servers = rounded_up(servers), s.servers_for = why;
  };
  // Parity crosses the servers' network like data, wherever it is computed.
  const double overhead = each.protection.write_overhead();
  hold(max(demand.read, demand.write * overhead) / each.network, ServersFor::network);
  const ServerWork work = each.work(options);
  hold(demand.read / read_bound(options.server.cores, work), ServersFor::cores);
  hold(demand.write / write_bound(options.server.cores, work), ServersFor::cores);
  // Servers of this kind are bought whole.
  if (!each.bare) s.devices = std::max(s.devices, s.servers);
}

}  // namespace

TierDemand operator+(const TierDemand& a, const TierDemand& b) {
  return {.capacity = a.capacity + b.capacity,
          .read = a.read + b.read,
          .write = a.write + b.write,
          .requests = a.requests + b.requests};
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

const char* to_text(RateLimit limit) {
  switch (limit) {
    case RateLimit::devices:
      return "devices";
    case RateLimit::network:
      return "the servers' network";
    case RateLimit::cores:
      return "the servers' cores";
  }
  return "";
}

TierRates tier_rates(const TierBuild& build, const catalog::StorageDevice& device,
                     const TierOptions& options) {
  const DeviceTerms each = terms_of(device, options);
  TierRates r{.read = each.read * build.devices, .write = each.write * build.devices};
  const auto hold = [&](BytesPerSecond read, BytesPerSecond write, RateLimit limit) {
    if (read < r.read) r.read = read, r.read_limit = limit;
    if (write < r.write) r.write = write, r.write_limit = limit;
  };
  const BytesPerSecond network = each.network * build.servers;
  hold(network, network / each.protection.write_overhead(), RateLimit::network);
  const ServerWork work = each.work(options);
  hold(read_bound(options.server.cores, work) * build.servers,
       write_bound(options.server.cores, work) * build.servers, RateLimit::cores);
  return r;
}

TierSize size_tier(const TierDemand& demand, const catalog::StorageDevice& device,
                   const TierOptions& options) {
  const DeviceTerms each = terms_of(device, options);
  TierSize s;
  s.by_capacity = devices_for(demand.capacity, each.usable);
  s.by_read = devices_for(demand.read, each.read);
  s.by_write = devices_for(demand.write, each.write);
  if (device.random_read_iops && *device.random_read_iops > 0) {
    s.by_requests = demand.requests.base() / (*device.random_read_iops * each.delivered);
  }
  double most = s.by_capacity;
  const auto hold = [&](double count, TierLimit limit) {
    if (count > most) most = count, s.limit = limit;
  };
  hold(s.by_read, TierLimit::read);
  hold(s.by_write, TierLimit::write);
  hold(s.by_requests, TierLimit::requests);
  s.devices = rounded_up(most);
  count_servers(s, demand, each, options);
  s.usable = each.usable * s.devices;
  const TierRates rates = tier_rates({s.devices, s.servers}, device, options);
  s.read = rates.read;
  s.write = rates.write;
  const auto is = [&](RateLimit l) { return rates.read_limit == l || rates.write_limit == l; };
  s.network_limits = is(RateLimit::network);
  s.cores_limit = is(RateLimit::cores);
  s.power = device.active_power * s.devices;
  const double terabytes_bought = device.capacity / terabytes(1) * s.devices;
  s.price = {device.price_per_tb.low * terabytes_bought,
             device.price_per_tb.high * terabytes_bought};
  return s;
}

std::optional<Durability> tier_durability(const TierBuild& build,
                                          const catalog::StorageDevice& device,
                                          const TierOptions& options, double failures) {
  if (!device.annual_failure_rate) return std::nullopt;
  const Protection& p = options.protection;
  const int servers = std::max(1, static_cast<int>(build.servers));
  return durability_of(
      {.shards = p.data + p.parity,
       .losses = p.parity,
       .drive_failures = PerSecond(failures * *device.annual_failure_rate / years(1).base()),
       .rebuild = rebuild_time({.bytes = device.capacity * p.fill,
                                .drive = device.write,
                                .drives = options.server.devices}),
       .server_losses = kServerLosses,
       .shards_on_server = p.shards_on_one(servers),
       .rebuild_reads = gigabytes(1)});
}

}  // namespace orrery::storage
