// Sections of the networks: what is built, what it gives, what it costs.
#include <fmt/core.h>

#include "base/text.h"
#include "base/units.h"
#include "machine/links.h"
#include "plan/sections.h"

namespace orrery::plan {
namespace {

machine::Figure counted(std::string id, std::string label, double value) {
  return {.id = std::move(id),
          .label = std::move(label),
          .unit = machine::Unit::count,
          .estimate = exact(value, Basis::derived, "docs/models/fabric.md")};
}

void add_counts(machine::Section& s, const fabric::Topology& t) {
  if (t.switches() == 0) return;
  s.figures.push_back(counted("leaf_switches", "leaf switches", static_cast<double>(t.leaves)));
  if (t.spines > 0) {
    s.figures.push_back(counted("spine_switches", "spine switches", static_cast<double>(t.spines)));
  }
  if (t.cores > 0) {
    s.figures.push_back(counted("core_switches", "core switches", static_cast<double>(t.cores)));
  }
  s.figures.push_back(counted(
      "cables", "cables",
      static_cast<double>(t.node_cables() + t.leaf_spine_cables() + t.spine_core_cables())));
  s.figures.back().formula =
      fmt::format("{} to nodes + {} leaf-spine + {} spine-core", grouped(t.node_cables()),
                  grouped(t.leaf_spine_cables()), grouped(t.spine_core_cables()));
}

void add_rates(machine::Section& s, const machine::Network& n) {
  s.figures.push_back(
      {.id = "per_node",
       .label = "rate of one node, per direction",
       .unit = machine::Unit::bytes_per_s,
       .estimate = exact(n.per_node().base(), Basis::vendor, "the node's catalog row"),
       .formula = fmt::format("{} ports x {}", n.ports_per_node, brief(n.port_rate))});
  const double share = bisection_share(*n.topology);
  s.figures.push_back(
      {.id = "bisection",
       .label = "bisection",
       .unit = machine::Unit::bytes_per_s,
       .estimate = exact(bisection(*n.topology).base(), Basis::derived, "docs/models/fabric.md"),
       .formula = fmt::format("{} of what half the endpoints can send",
                              show(share, machine::Unit::ratio))});
  s.limit = share < 0.999 ? fmt::format("the leaf uplinks, {} of full bisection",
                                        show(share, machine::Unit::ratio))
                          : "the node's own ports: the fabric does not block";
}

void add_money(machine::Section& s, const machine::Network& n) {
  const catalog::PriceRange price = n.bill.price();
  if (price.high > Usd(0)) {
    s.figures.push_back({.id = "price",
                         .label = "price of switches, optics and cables",
                         .unit = machine::Unit::usd,
                         .estimate = {price.middle().base(), price.low.base(), price.high.base(),
                                      Basis::vendor, "catalog price ranges"}});
  }
  s.figures.push_back({.id = "power",
                       .label = "typical power, optics included",
                       .unit = machine::Unit::watts,
                       .estimate = within(n.bill.power().base(), 0.15, 0.15, Basis::vendor,
                                          "catalog switches and optics")});
}

// The yardstick people know: a large all-reduce over everything.
void add_all_reduce(machine::Section& s, const Review& r) {
  const machine::Fleet* fleet = nullptr;
  for (const machine::Fleet& f : r.fleets()) {
    if (fleet == nullptr && f.accelerator() && !f.rented()) fleet = &f;
  }
  if (fleet == nullptr || fleet->accelerators < 2) return;
  const machine::Links links(wiring_of(*fleet, r.networks()), r.models().collectives);
  const workload::CollectiveCall call{workload::Collective::all_reduce, gib(1),
                                      links.group_of(fleet->accelerators)};
  const machine::CollectivePrediction p = links.predict(call);
  s.figures.push_back(
      {.id = "all_reduce_1gib",
       .label = fmt::format("all-reduce of 1 GiB over {} accelerators", grouped(call.group.ranks)),
       .unit = machine::Unit::seconds,
       .estimate = p.seconds,
       .formula =
           fmt::format("{}; bus bandwidth {}; limited by the {}", to_text(p.detail.algorithm),
                       brief(p.detail.bus_bandwidth), to_text(p.detail.limit))});
}

}  // namespace

std::vector<machine::Section> fabric_sections(const Review& review) {
  std::vector<machine::Section> sections;
  for (const machine::Network* n :
       {&review.networks().compute, &review.networks().storage, &review.networks().management}) {
    if (!n->topology) continue;
    machine::Section s{.layer = machine::Layer::fabric, .name = n->name + " network"};
    const fabric::Topology& t = *n->topology;
    s.summary = fmt::format("{}, {} tiers, {} endpoints at {}{}", to_text(t.spec.kind), t.tiers,
                            grouped(t.endpoints), brief(t.spec.link_rate),
                            n->switch_part ? ", " + n->switch_part->name : "");
    add_counts(s, t);
    add_rates(s, *n);
    add_money(s, *n);
    if (n == &review.networks().compute) add_all_reduce(s, review);
    sections.push_back(std::move(s));
  }
  return sections;
}

}  // namespace orrery::plan
