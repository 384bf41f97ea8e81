// Rules about the networks: separate storage traffic, the RoCE checklist, networks that cannot be
// built.
#include <fmt/core.h>

#include <string_view>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/design_text/write_design.h"
#include "plan/rules/edits.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

// "compute network", with its site if there are several.
std::string noun_of(const review::Review& r, const machine::Networks& here,
                    const machine::Network& n) {
  const bool several = r.machine->networks.size() > 1;
  return several ? fmt::format("{} network of site '{}'", n.name, here.site->name)
                 : n.name + " network";
}

void check_buildable(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Networks& here : r.machine->networks) {
    for (const machine::Network* n : {&here.compute, &here.storage, &here.management}) {
      for (const Diagnostic& d : n->faults) {
        Finding f = finding_at(r, rule, n->path + ".topology");
        f.what = fmt::format("The {} cannot be built: {}", noun_of(r, here, *n), d.what);
        f.why = d.why.empty() ? "Without it there is no cost, no power and no rate to plan with."
                              : d.why;
        f.fix = d.fix;
        f.edit = edit_topology(r, here, *n);
        out.push_back(std::move(f));
      }
    }
  }
}

// Compares the NIC ports of the machines on the compute network with the endpoints that it
// connects.
void check_endpoints(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Networks& here : r.machine->networks) {
    const machine::Network& n = here.compute;
    if (!n.topology) continue;
    const std::int64_t connected = n.topology->endpoints / n.topology->spec.planes;
    if (connected >= n.nic_ports) continue;
    const bool by_rails = n.wanted->rails.has_value();
    Finding f = finding_at(r, rule, n.path + (by_rails ? ".rails" : ".ports_per_node"));
    f.what = fmt::format("The {} has {} endpoints for {} NICs.", noun_of(r, here, n),
                         grouped(connected), grouped(n.nic_ports));
    f.why =
        "NICs without a port are bought and never used; switches, cables and rates are counted "
        "only for the ports. Rails are counted per host: an NVL72 rack has 18 hosts with 4 rails "
        "each.";
    f.fix = fmt::format("Leave `{}` out: then every NIC of a host has its own rail.",
                        by_rails ? "rails" : "ports_per_node");
    f.edit = Edit{n.path + (by_rails ? ".rails" : ".ports_per_node"), ""};
    out.push_back(std::move(f));
  }
}

// Finds tiers in another site that a workload reads or writes although no line joins the two sites.
void check_joined(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design().workloads) {
    const machine::Fleet* fleet = fleet_of(r.fleets(), w);
    if (fleet == nullptr) continue;
    for (const std::string& label : tiers_used(w)) {
      const machine::Tier* tier = find_tier(r.tiers(), label);
      if (tier == nullptr) continue;
      const machine::Crossing way = r.machine->crossing_to(*fleet, *tier);
      if (!way.leaves_site || way.path) continue;
      const design::Site* there = find_site(r.design(), tier->tier->site);
      Finding f = finding_at(r, rule, machine::path_of(w));
      f.what = fmt::format(
          "'{}' runs in site '{}' and uses tier '{}' in site '{}', but no line joins the two "
          "sites.",
          label_of(r.design(), w), fleet->site->name, label, there->name);
      f.why = "Every site has networks of its own; traffic to another site needs a line.";
      f.fix = fmt::format(
          "Use a tier in site '{0}', or declare the line: wan: [{{ between: [{0}, {1}], rate: ..., "
          "latency: ... }}].",
          fleet->site->name, there->name);
      out.push_back(std::move(f));
    }
  }
}

void check_separate(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  if (!r.design().fabric.storage.converged) return;
  double worst = 0;
  for (const review::TrainView& t : r.trains) worst = std::max(worst, t.contention);
  Finding f = finding_at(r, rule, "fabric.storage.converged");
  f.what = fmt::format(
      "Storage traffic shares the compute network; training loses {} of its time to this.",
      show(worst, figures::Unit::ratio));
  f.why =
      "A checkpoint that drains and the collectives of the next step compete for the same links.";
  f.fix = "Give storage its own network, or accept the loss.";
  const bool declared = r.design().fabric.storage.topology != design::NamedTopology::none;
  f.edit = declared ? Edit{"fabric.storage.converged", "false"}
                    : Edit{"fabric.storage",
                           design_text::section_text(separate_storage(r.design().fabric))};
  out.push_back(std::move(f));
}

struct ChecklistItem {
  std::optional<bool> design::RoceChecklist::* field;
  std::string_view key;
  std::string_view what;
  std::string_view why;
};

constexpr ChecklistItem kChecklist[] = {
    {&design::RoceChecklist::pfc, "pfc", "priority flow control for the RDMA class on every hop",
     "a hop without it drops packets, and RDMA falls back to retransmission"},
    {&design::RoceChecklist::ecn, "ecn", "ECN marking below the PFC threshold",
     "without marks, senders learn of congestion only from pauses, which also stop other traffic"},
    {&design::RoceChecklist::dedicated_queue, "dedicated_queue",
     "a dedicated queue for RDMA traffic",
     "in a queue shared with TCP, pauses stop traffic that did not cause the congestion"},
    {&design::RoceChecklist::hash_spread, "hash_spread",
     "enough entropy for the hash, or packet spraying",
     "a few large flows collide on one link: a 1,024-host permutation runs 5.3x slower on its "
     "worst link"},
    {&design::RoceChecklist::pfc_watchdog, "pfc_watchdog", "a watchdog that ends a pause storm",
     "one NIC that never stops pausing blocks every switch behind it"},
    {&design::RoceChecklist::headroom_checked, "headroom_checked",
     "buffer headroom for the length and rate of the cables",
     "packets already on the wire when a pause arrives need buffer space, or they are dropped"},
};

void check_roce(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  const machine::Networks& here = r.networks();
  for (const machine::Network* n : {&here.compute, &here.storage}) {
    if (!n->is_roce || !n->topology) continue;
    for (const ChecklistItem& item : kChecklist) {
      const std::optional<bool>& declared = n->wanted->roce.*item.field;
      if (declared.value_or(false)) continue;
      Finding f = finding_at(r, rule, fmt::format("{}.roce.{}", n->path, item.key));
      f.what = fmt::format("The {} network runs RoCE {} {}.", n->name,
                           declared ? "without" : "and does not declare", item.what);
      f.why = item.why;
      f.fix = fmt::format("Check this on the switches, then write roce: {{ {}: true }}.", item.key);
      f.edit = Edit{fmt::format("{}.roce.{}", n->path, item.key), "true"};
      out.push_back(std::move(f));
    }
  }
}

// The first port is paused when its own queue reaches Xoff; the egress port that two ports fill
// then holds twice as much. If marking begins above that, no sender has been marked yet.
void check_marks_first(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  const machine::Networks& here = r.networks();
  for (const machine::Network* n : {&here.compute, &here.storage}) {
    if (!n->is_roce || !n->topology) continue;
    const fabric::PauseOptions o = machine::pause_options(*n);
    if (!o.marking || !o.pauses || o.marking->kmin < o.xoff * 2) continue;
    Finding f = finding_at(r, rule, n->path + ".roce.ecn_kmin");
    f.what = fmt::format("On the {} network marking begins at {}, and a port is paused at {}.",
                         n->name, brief(o.marking->kmin), brief(o.xoff));
    f.why =
        "Two senders to one port are paused before either is marked. Pauses then control "
        "congestion, and they also stop traffic that shares the path.";
    f.fix = "Start marking at a fifth of xoff.";
    f.edit = Edit{n->path + ".roce.ecn_kmin", at_least(o.xoff / 5)};
    out.push_back(std::move(f));
  }
}

// The fastest port that ConnectX-8 has on Ethernet in one plane.
constexpr BytesPerSecond kOnePlane = gbits_per_s(400);

void check_twin_plane(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  const machine::Network& n = r.networks().compute;
  if (!n.is_roce || !n.topology || n.port_rate <= kOnePlane || n.topology->spec.planes > 1)
    return;
  Finding f = finding_at(r, rule, "fabric.compute.topology");
  f.what = "The network has Ethernet ports of 800 Gb/s in a single plane.";
  f.why =
      "ConnectX-8 reaches 800 Gb/s only on InfiniBand. On Ethernet it has two ports of 400 Gb/s, "
      "and each needs its own plane.";
  f.fix = "Use `topology: twin-plane`.";
  f.edit = Edit{"fabric.compute.topology", "twin-plane"};
  out.push_back(std::move(f));
}

// What the catalog says of a new part: its status and how far the row can be trusted.
std::string standing_of(const review::Review& r, std::string_view id) {
  const auto table = r.models().knowledge->table("catalog/emerging.csv");
  if (!table) return "no row in the catalog";
  for (const CsvRow& row : table->rows()) {
    if (table->text(row, "id") != id) continue;
    return fmt::format("{} (confidence {})", table->text(row, "status"),
                       table->text(row, "confidence"));
  }
  return "no row in the catalog";
}

void check_new_links(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Fleet& f : r.machine->fleets) {
    if (!f.node.rewired) continue;
    const std::string& id = *f.fleet->custom->scale_up;
    Finding note = finding_at(r, rule, f.path + ".custom.scale_up");
    note.what = fmt::format("The accelerators of '{}' are joined by a new kind of link: {}.",
                            f.fleet->name, f.accelerator()->scaleup_link);
    note.why = fmt::format(
        "Catalog emerging/{}: {}. No measured collectives are published for it; they are assumed "
        "to reach the same share of its rate as on other links.",
        id, standing_of(r, id));
    note.fix = "Ask the vendor for measured figures, and for the price of its switches.";
    out.push_back(std::move(note));
  }
}

void check_emerging(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  check_new_links(r, rule, out);
  const machine::Networks& here = r.networks();
  for (const machine::Network* n : {&here.compute, &here.storage, &here.management}) {
    if (!n->topology) continue;
    const bool ultra = n->wanted->protocol == design::Protocol::ultra_ethernet;
    const bool packaged = machine::is_co_packaged(n->switch_part);
    if (!ultra && !packaged) continue;
    const bool infiniband = packaged && n->switch_part->network == "infiniband";
    const std::string_view id = ultra ? "uec-800" : infiniband ? "cpo-quantum-x" : "cpo-spectrum-x";
    Finding f = finding_at(r, rule, n->path + (ultra ? ".protocol" : ".switch"));
    f.what = fmt::format("The {} network uses new parts: {}.", n->name,
                         ultra ? "Ultra Ethernet" : n->switch_part->name);
    f.why =
        fmt::format("Catalog emerging/{}: {}. Its figures are typical of its class, not measured.",
                    id, standing_of(r, id));
    f.fix = "Ask the vendor for measured figures and dates before you order.";
    out.push_back(std::move(f));
  }
}

constexpr Rule kFabricRules[] = {
    {"fabric.buildable", figures::Layer::fabric, Severity::error,
     "every declared network can be built", "docs/models/fabric.md", check_buildable},
    {"fabric.endpoints", figures::Layer::fabric, Severity::error,
     "every NIC has a port on its network", "DGX SuperPOD reference architectures",
     check_endpoints},
    {"fabric.sites-joined", figures::Layer::fabric, Severity::error,
     "a line leads to every other site whose tiers are used", "docs/models/fabric.md",
     check_joined},
    {"fabric.separate-storage", figures::Layer::fabric, Severity::warning,
     "storage has its own network, or the cost of sharing is known",
     "DGX SuperPOD reference architectures; docs/models/collectives.md", check_separate},
    {"fabric.roce-checklist", figures::Layer::fabric, Severity::warning,
     "a RoCE network declares PFC, ECN, a dedicated queue, hash spread, a watchdog and headroom",
     "RDMA over commodity Ethernet at scale (SIGCOMM 2016); models of fabric.md section 4.4",
     check_roce},
    {"fabric.marks-first", figures::Layer::fabric, Severity::warning,
     "senders are marked before they are paused", "DCQCN (SIGCOMM 2015), section 4",
     check_marks_first},
    {"fabric.emerging", figures::Layer::fabric, Severity::note, "new parts are pointed out",
     "catalog emerging", check_emerging},
    {"fabric.ethernet-800g", figures::Layer::fabric, Severity::error,
     "800G Ethernet ports are built as two planes", "ConnectX-8 firmware release notes",
     check_twin_plane},
};

}  // namespace

std::span<const Rule> fabric_rules() { return kFabricRules; }

}  // namespace orrery::rules
