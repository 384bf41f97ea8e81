#include "twin/world/world_spec.h"

#include <algorithm>

#include "layers/fabric/storm_study.h"

namespace orrery::world {
namespace {

// Returns the power of one host: the hosts of a node share its draw equally.
facility::NodePower host_power_of(const machine::Fleet& f) {
  const auto node = facility::node_power_of(f.node.part, f.accelerator());
  if (!node) return {};
  facility::NodePower host = *node;
  if (f.fleet->power_cap && f.accelerator() && f.accelerator()->tdp) {
    host = capped(host, *f.fleet->power_cap * f.node.part.accelerators);
  }
  const double part = 1.0 / f.hosts_per_node();
  host.nameplate *= part;
  host.peak *= part;
  host.idle *= part;
  host.accelerators *= part;
  return host;
}

// Catalog rows begin with the provider's name; if none does, the shortest known notice is used.
failure::FaultCause taken_back(const machine::Machine& m, const machine::Fleet& f) {
  failure::FaultCause cause{
      .name = "spot host taken back", .scope = failure::FaultScope::host, .keeps_disk = false};
  if (!f.rented()) return cause;
  std::optional<Seconds> shortest;
  for (const catalog::SpotBand& band : m.catalog().spot_bands) {
    if (band.notice <= Seconds(0)) continue;
    shortest = shortest ? min(*shortest, band.notice) : band.notice;
    const std::string& provider = f.fleet->rent->provider;
    if (!provider.empty() && band.family.starts_with(provider)) cause.notice = band.notice;
  }
  if (cause.notice <= Seconds(0)) cause.notice = shortest.value_or(Seconds(0));
  return cause;
}

// A network without pauses, or one that is not a tree, stops no other hosts. InfiniBand drops
// packets that wait too long at the head of a queue within milliseconds.
StormPlan storm_of(const machine::Machine& m, const machine::Fleet& f) {
  StormPlan plan;
  const machine::Network& n = m.networks_of(f).compute;
  if (m.failures_of(f).storms <= PerSecond(0) || !n.is_roce || !n.topology) return plan;
  const fabric::PauseOptions options = machine::pause_options(n);
  plan.watchdog = options.watchdog;
  const auto storm = fabric::study_storm(*n.topology, {.routing = {.kind = n.wanted->routing},
                                                       .queue_pairs = n.wanted->queue_pairs,
                                                       .options = options});
  if (!storm || !options.pauses) return plan;
  plan.reach = storm->reach;
  plan.left = storm->left;
  return plan;
}

FleetPart part_of(const machine::Machine& m, const machine::Fleet& f) {
  const design::Failures& own = f.fleet->failures;
  FleetPart p{.fleet = &f, .failures = &m.failures_of(f), .site = f.site_index};
  p.hosts = f.hosts;
  p.spares = f.fleet->spares * f.hosts_per_node();
  p.accelerators_per_host = f.accelerators_per_host;
  p.slots_per_host = std::max(1, f.accelerators_per_host);
  p.lemons = {.share = own.lemon_share.value_or(0), .multiplier = own.lemon_factor.value_or(1)};
  p.repair_given = own.repair;
  p.straggler_share = own.straggler_share.value_or(0);
  p.straggler_slowdown = own.straggler_slowdown.value_or(0);
  p.host_power = host_power_of(f);
  p.taken_back = taken_back(m, f);
  const machine::SharedParts parts = shared_parts(m, f);
  p.hosts_per_rack = parts.hosts_per_rack;
  p.racks_per_pdu = own.racks_per_pdu.value_or(1);
  p.rack_limit = parts.rack_limit;
  p.pdu_rating = f.fleet->pdu_rating.value_or(Watts(0));
  p.storm = storm_of(m, f);
  return p;
}

}  // namespace

WorldSpec world_spec_of(const machine::Machine& m, Seconds horizon) {
  WorldSpec spec{.machine = &m, .fleets = {}, .horizon = horizon};
  for (const machine::Fleet& f : m.fleets) spec.fleets.push_back(part_of(m, f));
  return spec;
}

}  // namespace orrery::world
