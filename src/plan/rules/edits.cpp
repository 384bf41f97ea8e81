#include "plan/rules/edits.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include "model/design/names.h"
#include "model/design_text/write_value.h"

namespace orrery::rules {

const std::string& path_of(const review::Review& r, const design::StorageTier& tier) {
  return find_tier(r.tiers(), std::string(tier.label()))->path;
}

const review::SiteView& site_of(const review::Review& r, const machine::Fleet& fleet) {
  return r.sites[fleet.site_index.value()];
}

Edit edit_nodes(const review::Review& r, const design::Workload& workload,
                const machine::Fleet& fleet, int nodes) {
  const auto& own = workload.terms.nodes;
  double beside = 0;
  for (const machine::Booking& b : r.book_of(fleet).bookings) {
    // A training run without `nodes` takes all nodes that are free.
    const bool takes_all = !b.given && std::holds_alternative<design::Train>(b.workload->task);
    beside += b.workload != &workload && b.held() && !takes_all ? b.nodes : 0;
  }
  const auto wanted = static_cast<std::int64_t>(std::ceil(beside - 1e-9)) + nodes;
  if (own && wanted <= fleet.fleet->count) {
    return {machine::path_of(workload) + ".nodes", std::to_string(nodes)};
  }
  return {fleet.path + ".count", std::to_string(std::min<std::int64_t>(kMostNodes, wanted))};
}

std::optional<Edit> edit_asked(const review::Review& r, const machine::Fleet& fleet) {
  const machine::FleetBook& book = r.book_of(fleet);
  const auto nodes_of = [&](const machine::Booking& b, double left) -> std::optional<Edit> {
    if (left < 1) return std::nullopt;
    return Edit{machine::path_of(*b.workload) + ".nodes",
                std::to_string(static_cast<std::int64_t>(left))};
  };
  for (const machine::Booking& b : book.bookings) {
    if (b.given || !std::holds_alternative<design::Train>(b.workload->task)) continue;
    return nodes_of(b, book.count - book.held_beside(*b.workload) + 1e-9);
  }
  const double booked = std::ceil(book.booked() - 1e-9);
  if (booked <= kMostNodes && site_carries(r, fleet, static_cast<int>(booked) - book.count)) {
    return Edit{fleet.path + ".count", std::to_string(static_cast<std::int64_t>(booked))};
  }
  const machine::Booking* largest = book.largest_given();
  if (largest == nullptr) return std::nullopt;
  return nodes_of(*largest, book.count - (book.booked() - largest->nodes) + 1e-9);
}

bool site_carries(const review::Review& r, const machine::Fleet& fleet, int more_nodes) {
  if (fleet.rented() || fleet.site == nullptr) return true;
  const review::SiteView& v = site_of(r, fleet);
  const auto power =
      std::ranges::find(v.fleets, fleet.fleet, [](const auto& p) { return p.fleet->fleet; });
  if (power == v.fleets.end()) return true;
  const Watts draw = v.draw_peak + power->node.nameplate * more_nodes * v.pue.middle;
  const int racks = v.racks + (power->rack.nodes > 0 ? more_nodes / power->rack.nodes + 1 : 0);
  return (!v.site->power || draw <= *v.site->power) && (!v.site->racks || racks <= *v.site->racks);
}

design::Network separate_storage(const design::Networks& fabric) {
  design::Network own = fabric.storage;
  own.converged = false;
  if (own.topology != design::NamedTopology::none) return own;
  own.topology = design::NamedTopology::fat_tree;
  own.routing = fabric.compute.routing;
  if (own.switch_part.empty()) {
    own.switch_part = fabric.compute.switch_part;
    own.protocol = fabric.compute.protocol;
    own.roce = fabric.compute.roce;
  }
  return own;
}

std::optional<Edit> edit_topology(const review::Review& r, const machine::Networks& here,
                                  const machine::Network& network) {
  using enum design::NamedTopology;
  design::Networks changed = r.design().fabric;
  design::Network& wanted = network.name == "compute"   ? changed.compute
                            : network.name == "storage" ? changed.storage
                                                        : changed.management;
  for (const design::NamedTopology kind : {rail_fat_tree, fat_tree, three_tier}) {
    if (kind == rail_fat_tree && network.name != "compute") continue;
    wanted.topology = kind;
    const machine::Networks built = build_networks(r.design(), changed, r.catalog(), r.fleets(),
                                                   r.machine->tiers)[here.site_index];
    const machine::Network& again = network.name == "compute"   ? built.compute
                                    : network.name == "storage" ? built.storage
                                                                : built.management;
    if (again.topology) {
      return Edit{network.path + ".topology", std::string(word_of(kind))};
    }
  }
  return std::nullopt;
}

}  // namespace orrery::rules
