// Claims about parts: bandwidth, memory, draw, price, ports, and two about the state of projects.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/base/text.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

using PartIds = std::initializer_list<std::string_view>;
using AcceleratorFigure = double (*)(const catalog::Accelerator&);

// One case per accelerator: its catalog figure is compared with the criterion.
ClaimFinding try_accelerators(const ClaimContext& c, Criterion criterion, PartIds ids,
                              AcceleratorFigure figure, const char* formula = "catalog row") {
  ClaimFinding f{.criterion = std::move(criterion)};
  for (const std::string_view id : ids) {
    const catalog::Accelerator& a = c.accelerator(id);
    try_case(f, a.name, fact(figure(a), a.provenance), formula);
  }
  return f;
}

double bandwidth(const catalog::Accelerator& a) { return a.memory_bandwidth.base(); }
double memory(const catalog::Accelerator& a) { return a.memory.base(); }
double draw(const catalog::Accelerator& a) { return a.tdp.value_or(Watts()).base(); }
double price(const catalog::Accelerator& a) { return a.price ? a.price->middle().base() : 0; }
double link_both_ways(const catalog::Accelerator& a) {
  return 2 * a.scaleup_per_direction.value_or(BytesPerSecond()).base();
}

ClaimFinding hbm_a100(const ClaimContext& c) {
  return try_accelerators(c, about(2e12, figures::Unit::bytes_per_s),
                          {"a100-80-sxm", "a100-80-pcie"}, bandwidth);
}
ClaimFinding hbm_h100(const ClaimContext& c) {
  return try_accelerators(c, about(3.35e12, figures::Unit::bytes_per_s), {"h100-sxm"}, bandwidth);
}
ClaimFinding nvlink3(const ClaimContext& c) {
  return try_accelerators(c, about(600e9, figures::Unit::bytes_per_s), {"a100-80-sxm"},
                          link_both_ways, "2 directions x 300 GB/s");
}
ClaimFinding nvlink4(const ClaimContext& c) {
  return try_accelerators(c, about(900e9, figures::Unit::bytes_per_s), {"h100-sxm"}, link_both_ways,
                          "2 directions x 450 GB/s");
}
ClaimFinding h100_w(const ClaimContext& c) {
  return try_accelerators(c, about(700, figures::Unit::watts), {"h100-sxm"}, draw);
}
ClaimFinding mi300x_hbm(const ClaimContext& c) {
  return try_accelerators(c, about(192e9, figures::Unit::bytes), {"mi300x"}, memory);
}

// 128b/130b coding uses 128 of 130 bits; x16 lanes, one direction.
BytesPerSecond pcie5_x16(const ClaimContext& c) {
  return gbits_per_s(c.input("pcie5-transfer").number() * 16 * 128 / 130);
}

ClaimFinding pcie5(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(64e9, figures::Unit::bytes_per_s)};
  const ClaimInput& lane = c.input("pcie5-transfer");
  const ClaimInput& copy = c.input("pcie5-copy");
  try_case(f, "the link, one direction",
           exact(pcie5_x16(c).base(), lane.basis, "claims_inputs/pcie5-transfer"),
           "32 GT/s x 16 lanes x 128/130 / 8");
  try_case(f, "a copy as a program measures it",
           exact(copy.number() * 1e9, copy.basis, "claims_inputs/pcie5-copy"),
           "measured on one H200");
  f.only_if = fmt::format("the link's own rate is meant; a program sees {}, {} of it",
                          show(copy.number() * 1e9, figures::Unit::bytes_per_s),
                          show(copy.number() * 1e9 / pcie5_x16(c).base(), figures::Unit::ratio));
  return f;
}

ClaimFinding nic400(const ClaimContext&) {
  ClaimFinding f{.criterion = about(50e9, figures::Unit::bytes_per_s)};
  try_case(f, "400 Gb/s, one direction", exact(gbits_per_s(400).base(), Basis::derived, "units"),
           "400 Gb/s / 8");
  return f;
}

ClaimFinding hop_order(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(5, 20, figures::Unit::factor)};
  f.criterion.text = "ten times less per hop, within a factor of two (5x to 20x)";
  const catalog::Accelerator& a = c.accelerator("h100-sxm");
  const double hbm = bandwidth(a);
  const double link = link_both_ways(a) / 2;
  const double pcie = pcie5_x16(c).base();
  const double nic = c.node("dgx-h100").nic_rate.base();
  const auto hop = [&](const char* label, double near, double far) {
    try_case(f, label, computed(near / far, 0.02, a.provenance.reference),
             fmt::format("{} / {}, one direction", show(near, figures::Unit::bytes_per_s),
                         show(far, figures::Unit::bytes_per_s)));
  };
  hop("HBM to NVLink", hbm, link);
  hop("NVLink to PCIe", link, pcie);
  hop("PCIe to NIC", pcie, nic);
  f.only_if =
      fmt::format("the hop is {}; {} is {}, and HBM to NIC is {} over three hops",
                  labels_of(f, true), labels_of(f, false, "and"),
                  show(pcie / nic, figures::Unit::factor), show(hbm / nic, figures::Unit::factor));
  return f;
}

ClaimFinding gpu_price(const ClaimContext& c) {
  ClaimFinding f = try_accelerators(
      c, between(30e3, 40e3, figures::Unit::usd),
      {"h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm", "gb200", "mi300x", "mi355x"}, price,
      "middle of the catalog's range");
  for (ClaimCase& k : f.cases) {
    for (const catalog::Accelerator& a : c.catalog().accelerators) {
      if (a.name == k.figure.label && a.price) k.figure.estimate = fact(*a.price, a.provenance);
    }
  }
  f.only_if =
      fmt::format("it is {}; outside it are {}", labels_of(f, true), labels_of(f, false, "and"));
  return f;
}

ClaimFinding chip_w(const ClaimContext& c) {
  ClaimFinding f = try_accelerators(
      c, between(400, 700, figures::Unit::watts),
      {"a100-80-sxm", "h100-sxm", "h200-sxm", "mi300x", "b200-sxm", "b300-sxm", "gb200", "mi355x"},
      draw);
  f.only_if = fmt::format("it is {}; {} draw more", labels_of(f, true), labels_of(f, false, "and"));
  return f;
}

double node_watts(const catalog::Node& n) { return n.max_power.value_or(Watts()).base(); }

ClaimFinding dgx_h100_kw(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(10.2e3, figures::Unit::watts)};
  const catalog::Node& n = c.node("dgx-h100");
  try_case(f, n.name + " nameplate", fact(node_watts(n), n.provenance), "catalog row");
  show_beside(f, "typical in training", figures::Unit::watts,
              fact(n.typical_train_power.value_or(Watts()).base(), n.provenance), "catalog row");
  return f;
}

ClaimFinding nvl72_kw(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(120e3, figures::Unit::watts)};
  const catalog::Node& n = c.node("gb200-nvl72");
  const double typical = n.typical_train_power.value_or(Watts()).base();
  try_case(f, "typical in training", fact(typical, n.provenance), "catalog row");
  try_case(f, "nameplate", fact(node_watts(n), n.provenance), "catalog row");
  f.only_if = fmt::format(
      "the draw in training is meant ({}); breakers, busbars and coolant must "
      "carry the nameplate, {}",
      show(typical, figures::Unit::watts), show(node_watts(n), figures::Unit::watts));
  return f;
}

ClaimFinding node_10kw(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(10e3, figures::Unit::watts)};
  for (const catalog::Node& n : c.catalog().nodes) {
    if (n.accelerator_id != "h100-sxm" || n.accelerators != 8 || !n.max_power) continue;
    try_case(f, fmt::format("{} ({})", n.name, n.cooling), fact(node_watts(n), n.provenance),
             "catalog row");
  }
  f.only_if = fmt::format("the node is {}; without fans {} draws {}", labels_of(f, true),
                          labels_of(f, false, "and"),
                          show(node_watts(c.node("hgx-h100-dlc")), figures::Unit::watts));
  return f;
}

ClaimFinding node_700w(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(700, figures::Unit::watts)};
  for (const char* id : {"dgx-a100", "dgx-h100", "dgx-b200", "mi300x-platform", "l40s-8"}) {
    const catalog::Node& n = c.node(id);
    try_case(f, n.name, fact(node_watts(n), n.provenance), "catalog row");
  }
  const catalog::Node& server = c.node("cpu-2s-server");
  const catalog::Accelerator& module = c.accelerator("h100-sxm");
  show_beside(f, "one H100 module", figures::Unit::watts, fact(draw(module), module.provenance));
  show_beside(f, "two-socket server, typical", figures::Unit::watts,
              fact(server.typical_train_power.value_or(Watts()).base(), server.provenance));
  f.instead = fmt::format(
      "700 W is one H100 module: a node of eight draws {}, a two-socket server "
      "{} at work",
      show(node_watts(c.node("dgx-h100")), figures::Unit::watts),
      show(server.typical_train_power.value_or(Watts()).base(), figures::Unit::watts));
  return f;
}

ClaimFinding net_speed(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(gbits_per_s(200).base(), gbits_per_s(800).base(),
                                      figures::Unit::bytes_per_s)};
  f.criterion.text = "200 Gb/s to 800 Gb/s per port";
  for (const char* id : {"dgx-a100", "dgx-h100", "dgx-b200", "dgx-b300", "gb200-nvl72",
                         "vr200-nvl72", "aws-p5", "aws-p4d"}) {
    const catalog::Node& n = c.node(id);
    try_case(f, n.name, fact(n.nic_rate.base(), n.provenance),
             fmt::format("{} Gb/s per port", significant(n.nic_rate / gbits_per_s(1), 4)));
  }
  f.only_if = fmt::format("the node is {}; {} have slower ports in greater number or faster ones",
                          labels_of(f, true), labels_of(f, false, "and"));
  return f;
}

ClaimFinding node_net(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(gbits_per_s(400).base(), gbits_per_s(3200).base(),
                                      figures::Unit::bytes_per_s)};
  f.criterion.text = "400 Gb/s to 3.2 Tb/s per host";
  for (const char* id : {"dgx-a100", "dgx-h100", "dgx-b200", "dgx-b300", "gb200-nvl72",
                         "gb300-nvl72", "aws-p4d", "aws-p5", "l40s-8"}) {
    const catalog::Node& n = c.node(id);
    const double hosts = std::max(1, n.accelerators) / std::max(1.0, 1.0 * n.accelerators_per_host);
    const double nics = n.compute_nics / hosts;
    try_case(f, n.name, fact((n.nic_rate * nics).base(), n.provenance),
             fmt::format("{} NICs per host x {} Gb/s", significant(nics, 3),
                         significant(n.nic_rate / gbits_per_s(1), 4)));
  }
  f.only_if =
      fmt::format("the node is {}; {} has more", labels_of(f, true), labels_of(f, false, "and"));
  return f;
}

ClaimFinding tgi(const ClaimContext& c) {
  ClaimFinding f;
  const catalog::ServingEngine* e = c.catalog().engine("tgi");
  try_fact(f, "in maintenance since", c.input("tgi-maintenance").value, "2025-12-11",
           "claims_inputs/tgi-maintenance");
  try_fact(f, "status", e ? to_text(e->status) : "", "archived", e ? e->provenance.reference : "");
  try_fact(f, "in that state since", e ? std::string_view(e->status_since) : "", "2026-03-21",
           e ? e->provenance.reference : "");
  if (e) f.remark = "Its maintainers point to " + e->replaced_by;
  return f;
}

ClaimFinding dra_ga(const ClaimContext& c) {
  ClaimFinding f;
  try_fact(f, "Kubernetes release", c.input("dra-version").value, "1.34",
           "claims_inputs/dra-version");
  try_fact(f, "announced", c.input("dra-announced").value, "2025-09",
           "claims_inputs/dra-announced");
  return f;
}

constexpr std::array kHardwareClaims = {
    ClaimRule{"hbm-a100", hbm_a100},
    ClaimRule{"hbm-h100", hbm_h100},
    ClaimRule{"nvlink3", nvlink3},
    ClaimRule{"nvlink4", nvlink4},
    ClaimRule{"pcie5", pcie5},
    ClaimRule{"nic400", nic400},
    ClaimRule{"hop-order", hop_order},
    ClaimRule{"h100-w", h100_w},
    ClaimRule{"dgx-h100-kw", dgx_h100_kw},
    ClaimRule{"nvl72-kw", nvl72_kw},
    ClaimRule{"mi300x-hbm", mi300x_hbm},
    ClaimRule{"node-10kw", node_10kw},
    ClaimRule{"node-700w", node_700w},
    ClaimRule{"gpu-price", gpu_price},
    ClaimRule{"chip-w", chip_w},
    ClaimRule{"net-speed", net_speed},
    ClaimRule{"node-net", node_net},
    ClaimRule{"tgi", tgi},
    ClaimRule{"dra-ga", dra_ga},
};

}  // namespace

std::span<const ClaimRule> hardware_claims() { return kHardwareClaims; }

}  // namespace orrery::calc
