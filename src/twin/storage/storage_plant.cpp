#include "twin/storage/storage_plant.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace orrery::twin_storage {
namespace {

using fabric::LinkId;

// Returns the links of a tier, each way: its hosts' drives, its servers, or one for all of them.
int links_of(const PlantTier& tier, int hosts) {
  if (tier.in_hosts) return hosts;
  return tier.stripes > 0 && tier.stripes < tier.servers ? tier.servers : 1;
}

bool is_spread(const PlantTier& tier) { return !tier.in_hosts && links_of(tier, 1) == 1; }

double capacity_of(BytesPerSecond rate) { return std::isfinite(rate.base()) ? rate.base() : 1e18; }

}  // namespace

int PlantShape::all_hosts() const {
  int sum = 0;
  for (const PlantHosts& h : hosts) sum += h.many;
  return sum;
}

StoragePlant::StoragePlant(sim::Kernel& kernel, const PlantShape& shape)
    : kernel_(kernel),
      shape_(shape),
      placement_(shape.seed, "storage/placement"),
      engine_(kernel,
              [&] {
                std::vector<double> links;
                const auto add = [&links](int many, BytesPerSecond rate) {
                  const std::size_t first = links.size();
                  links.insert(links.end(), static_cast<std::size_t>(many), capacity_of(rate));
                  return first;
                };
                // Up and down links of each kind are next to each other, so that a host's index
                // finds them.
                const auto add_wires = [&](BytesPerSecond PlantHosts::* rate) {
                  const std::size_t first = links.size();
                  for (const PlantHosts& h : shape.hosts) {
                    add(h.many, h.*rate > BytesPerSecond(0) ? h.*rate : h.wires);
                  }
                  return first;
                };
                up_ = add_wires(&PlantHosts::wires);
                down_ = add_wires(&PlantHosts::wires);
                out_ = add_wires(&PlantHosts::compute);
                in_ = add_wires(&PlantHosts::compute);
                for (const PlantTier& t : shape.tiers) {
                  const int many = links_of(t, shape.all_hosts());
                  const double part = t.in_hosts ? 1 : 1.0 / many;
                  reads_.push_back(add(many, t.read * part));
                  writes_.push_back(add(many, t.write * part));
                }
                return links;
              }()),
      requests_until_(shape.tiers.size()),
      uses_(shape.tiers.size()),
      at_once_(shape.tiers.size(), 0) {
  engine_.observe(this);
  engine_.keep_finished(false);
}

std::vector<LinkId> StoragePlant::path_of(const Transfer& t, int from_server, int to_server) const {
  std::vector<LinkId> path;
  if (t.from.tier != Spot::kNone) {
    path.push_back(link(reads_[static_cast<std::size_t>(t.from.tier)], from_server));
  }
  if (t.from.host != t.to.host) {
    if (t.from.host != Spot::kNone) path.push_back(link(up_, t.from.host));
    if (t.to.host != Spot::kNone) path.push_back(link(down_, t.to.host));
  }
  if (t.to.tier != Spot::kNone) {
    path.push_back(link(writes_[static_cast<std::size_t>(t.to.tier)], to_server));
  }
  return path;
}

// One queue: waiting requests are served one after the other, those of one instant in turn.
Seconds StoragePlant::wait_for_requests(int tier, std::span<const Transfer> together) {
  const PlantTier& t = shape_.tiers[static_cast<std::size_t>(tier)];
  double files = 0;
  for (const Transfer& transfer : together) files += transfer.files;
  if (files <= 0 || t.in_hosts || !std::isfinite(t.requests.base())) return Seconds(0);
  TierUse& use = uses_[static_cast<std::size_t>(tier)];
  sim::SimTime& until = requests_until_[static_cast<std::size_t>(tier)];
  until = std::max(kernel_.now(), until).after(Seconds(files / t.requests.base()));
  const Seconds served = (until - kernel_.now()).seconds();
  use.requests += files;
  for (const Transfer& transfer : together) {
    const Seconds waits = max(Seconds(0), served - Seconds(transfer.files / t.requests.base()));
    use.waited += waits;
    use.longest_wait = max(use.longest_wait, waits);
  }
  return served;
}

std::vector<int> StoragePlant::servers_for(int tier) {
  if (tier == Spot::kNone) return {0};
  const PlantTier& t = shape_.tiers[static_cast<std::size_t>(tier)];
  if (t.in_hosts || is_spread(t)) return {0};
  std::vector<int> servers;
  for (int i = 0; i < t.stripes; ++i) {
    servers.push_back(static_cast<int>(placement_.below(static_cast<std::uint64_t>(t.servers))));
  }
  return servers;
}

void StoragePlant::count(const Spot& spot, int change) {
  if (spot.tier == Spot::kNone) return;
  const auto i = static_cast<std::size_t>(spot.tier);
  at_once_[i] += change;
  uses_[i].most_at_once = std::max(uses_[i].most_at_once, at_once_[i]);
  if (change > 0) ++uses_[i].transfers;
}

std::uint64_t StoragePlant::begin(const Transfer& t, TransferObserver& observer, int parts) {
  if (free_.empty()) {
    free_.push_back(underway_.size());
    underway_.emplace_back();
  }
  const std::uint64_t slot = free_.back();
  free_.pop_back();
  underway_[slot] = {
      .observer = &observer, .tag = t.tag, .parts = parts, .from = t.from, .to = t.to};
  count(t.from, 1);
  count(t.to, 1);
  return slot;
}

void StoragePlant::launch(const std::vector<LinkId>& path, Bytes bytes, Seconds wait,
                          BytesPerSecond at_most, std::uint64_t slot) {
  engine_.start({.path = path,
                 .bytes = bytes.base(),
                 .latency = wait.base(),
                 .cap = at_most.base(),
                 .tag = slot});
}

Seconds StoragePlant::wait_at(const Spot& spot, std::span<const Transfer> together) {
  if (spot.tier == Spot::kNone) return Seconds(0);
  return wait_for_requests(spot.tier, together) +
         shape_.tiers[static_cast<std::size_t>(spot.tier)].first_byte;
}

void StoragePlant::start_together(std::span<const Transfer> together, TransferObserver& observer) {
  const Spot& from = together.front().from;
  const Spot& to = together.front().to;
  Seconds wait = wait_at(from, together);
  if (from.tier != Spot::kNone) wait += shape_.tiers[static_cast<std::size_t>(from.tier)].restore;
  wait += wait_at(to, together);
  for (const Transfer& t : together) {
    assert(t.from.tier == from.tier && t.to.tier == to.tier);
    start_one(t, wait, observer);
  }
}

void StoragePlant::start_one(const Transfer& t, Seconds wait, TransferObserver& observer) {
  BytesPerSecond at_most = t.at_most;
  const auto join = [&](const Spot& spot, Bytes TierUse::* moved) {
    if (spot.tier == Spot::kNone) return;
    const auto i = static_cast<std::size_t>(spot.tier);
    if (!shape_.tiers[i].in_hosts && (t.from.host != Spot::kNone || t.to.host != Spot::kNone)) {
      at_most = min(at_most, shape_.tiers[i].client);
    }
    uses_[i].*moved += t.bytes;
  };
  join(t.from, &TierUse::read);
  join(t.to, &TierUse::written);
  // Between two tiers whose files are on a few servers each, every stripe here goes to one server
  // there.
  const std::vector<int> from = servers_for(t.from.tier);
  const std::vector<int> to = servers_for(t.to.tier);
  const std::size_t parts = std::max(from.size(), to.size());
  const std::uint64_t slot = begin(t, observer, static_cast<int>(parts));
  const auto server = [&](const Spot& spot, const std::vector<int>& servers, std::size_t part) {
    const bool is_drive =
        spot.tier != Spot::kNone && shape_.tiers[static_cast<std::size_t>(spot.tier)].in_hosts;
    return is_drive ? spot.host : servers[part % servers.size()];
  };
  for (std::size_t p = 0; p < parts; ++p) {
    launch(path_of(t, server(t.from, from, p), server(t.to, to, p)),
           t.bytes / static_cast<double>(parts), wait, at_most / static_cast<double>(parts), slot);
  }
}

bool StoragePlant::can_join(int tier) const {
  return is_spread(shape_.tiers[static_cast<std::size_t>(tier)]);
}

// On wires that no other flow uses, a host gets the lesser of what it asks for and what they carry,
// which is a cap; only the tier's link then remains of the path.
void StoragePlant::start_stream(const Stream& s, fabric::FlowObserver& observer) {
  const bool is_drive = shape_.tiers[static_cast<std::size_t>(s.tier)].in_hosts;
  const Transfer t{.from = {.host = is_drive ? s.host : Spot::kNone, .tier = s.tier},
                   .to = {.host = s.host}};
  const std::vector<int> servers = servers_for(s.tier);
  std::vector<LinkId> path = path_of(t, is_drive ? s.host : servers.front(), 0);
  double cap = s.rate.base();
  if (s.hosts > 1) {
    assert(can_join(s.tier));
    cap = std::min(cap, capacity_of(wires_of(s.host)));
    path.resize(1);
  }
  engine_.start({.path = path,
                 .bytes = (s.rate * s.span).base() * s.hosts,
                 .weight = static_cast<double>(s.hosts),
                 .cap = cap * s.hosts,
                 .tag = s.tag,
                 .observer = &observer});
}

BytesPerSecond StoragePlant::wires_of(int host) const {
  int first = 0;
  for (const PlantHosts& h : shape_.hosts) {
    if (host < first + h.many) return h.wires;
    first += h.many;
  }
  return {};
}

fabric::LinkId StoragePlant::collective_link(int host, std::size_t own, std::size_t shared) const {
  int first = 0;
  for (const PlantHosts& h : shape_.hosts) {
    if (host < first + h.many) return link(h.compute > BytesPerSecond(0) ? own : shared, host);
    first += h.many;
  }
  return link(shared, host);
}

void StoragePlant::send(int from, int to, Bytes bytes, TransferObserver& observer,
                        std::uint64_t tag) {
  const std::uint64_t slot = begin({.bytes = bytes, .tag = tag}, observer, 1);
  launch({collective_link(from, out_, up_), collective_link(to, in_, down_)}, bytes, Seconds(0),
         storage::kUnlimitedRate, slot);
}

void StoragePlant::on_flow_done(sim::Kernel& kernel, fabric::FlowId, std::uint64_t tag) {
  Underway& u = underway_[tag];
  if (--u.parts > 0) return;
  count(u.from, -1);
  count(u.to, -1);
  TransferObserver* observer = u.observer;
  const std::uint64_t own = u.tag;
  free_.push_back(tag);
  observer->on_arrived(kernel, own);
}

}  // namespace orrery::twin_storage
