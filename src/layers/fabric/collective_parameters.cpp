#include "layers/fabric/collective_parameters.h"

#include <limits>

#include "core/base/text.h"

namespace orrery::fabric {
namespace {

struct Row {
  std::string_view group, name, parameter;
  double value = 0;
  bool fitted = false;
};

template <class Entry>
Entry& entry(std::vector<Entry>& all, std::string Entry::* key, std::string_view name) {
  for (Entry& e : all) {
    if (e.*key == name) return e;
  }
  all.emplace_back();
  all.back().*key = std::string(name);
  return all.back();
}

bool set_scaleup(CollectiveParameters& p, const Row& r) {
  auto& e = entry(p.scaleups, &CollectiveParameters::ScaleUp::link, r.name);
  e.fitted = e.fitted || r.fitted;
  if (r.parameter == "ring_share") return e.curve.ring_share = r.value, true;
  if (r.parameter == "nvls_share") return e.curve.nvls_share = r.value, true;
  if (r.parameter == "nvls_ranks") return e.curve.nvls_ranks = static_cast<int>(r.value), true;
  if (r.parameter == "pair_share") return e.curve.pair_share = r.value, true;
  if (r.parameter == "launch") return e.curve.launch = microseconds(r.value), true;
  if (r.parameter == "ramp") return e.curve.ramp = r.value, true;
  if (r.parameter == "fill") return e.curve.fill = microseconds(r.value), true;
  return false;
}

bool set_network(CollectiveParameters& p, const Row& r) {
  auto& e = entry(p.networks, &CollectiveParameters::Network::kind, r.name);
  e.fitted = e.fitted || r.fitted;
  if (r.parameter == "share") return e.curve.share = r.value, true;
  if (r.parameter == "pair_share") return e.curve.pair_share = r.value, true;
  if (r.parameter == "latency") return e.curve.latency = microseconds(r.value), true;
  if (r.parameter == "ramp") return e.curve.ramp = r.value, true;
  if (r.parameter == "fill") return e.curve.fill = microseconds(r.value), true;
  return false;
}

// Parses "multi below 64 MiB": whether NICs take part, and up to which size the widths apply.
bool set_interval(CollectiveParameters& p, const Row& r) {
  const bool network = r.name.starts_with("multi");
  Bytes below(std::numeric_limits<double>::infinity());
  if (r.name.ends_with("256 KiB")) below = kib(256);
  if (r.name.ends_with("64 MiB")) below = mib(64);
  if (r.name.ends_with("1 GiB")) below = gib(1);
  for (auto& i : p.intervals) {
    if (i.network != network || i.below != below) continue;
    return (r.parameter == "low" ? i.low : i.high) = r.value, true;
  }
  p.intervals.push_back({.network = network, .below = below});
  return (r.parameter == "low" ? p.intervals.back().low : p.intervals.back().high) = r.value, true;
}

bool set(CollectiveParameters& p, const Row& r) {
  if (r.group == "scaleup") return set_scaleup(p, r);
  if (r.group == "network") return set_network(p, r);
  if (r.group == "interval") return set_interval(p, r);
  if (r.group == "protocol" && r.parameter == "extra") return p.protocol.extra = r.value, true;
  if (r.group == "protocol" && r.parameter == "at") return p.protocol.at = kib(r.value), true;
  if (r.group == "harness") return p.torch_launch = microseconds(r.value), true;
  if (r.group == "library") {
    if (r.name == "rccl") p.rccl_tree = r.value > 0;
    return true;
  }
  return false;
}

}  // namespace

catalog::NetworkKind network_kind_from(std::string_view text, std::string_view scaleup_link) {
  const std::string t = lowered(text);
  const auto has = [&](const char* word) { return t.find(word) != std::string::npos; };
  if (has("efa") || has("srd")) {
    return scaleup_link.starts_with("NVLink3") || scaleup_link.starts_with("NVLink2")
               ? catalog::NetworkKind::efa_first
               : catalog::NetworkKind::efa;
  }
  if (has("tcpxo") || has("fastrak")) return catalog::NetworkKind::tcpxo;
  if (has("tcpx")) return catalog::NetworkKind::tcpx;
  if (has("roce") || has("spectrum") || has("falcon") || has("rdma"))
    return catalog::NetworkKind::roce;
  if (has("ib") || has("ndr") || has("xdr") || has("hdr") || has("infiniband")) {
    return catalog::NetworkKind::infiniband;
  }
  if (has("tcp") || has("ethernet") || has("socket")) return catalog::NetworkKind::ethernet;
  return catalog::NetworkKind::none;
}

const CollectiveParameters::ScaleUp& CollectiveParameters::scaleup(std::string_view link) const {
  const ScaleUp* best = &scaleups.back();
  for (const ScaleUp& s : scaleups) {
    if (s.link == "other") best = &s;
  }
  for (const ScaleUp& s : scaleups) {
    if (link.starts_with(s.link)) best = &s;
  }
  return *best;
}

const CollectiveParameters::Network& CollectiveParameters::network(
    catalog::NetworkKind kind) const {
  for (const Network& n : networks) {
    if (n.kind == to_text(kind)) return n;
  }
  return networks.front();
}

CollectiveParameters::Interval CollectiveParameters::interval(bool network, Bytes bytes) const {
  Interval best{.network = network, .low = 0.3, .high = 0.3};
  bool found = false;
  for (const Interval& i : intervals) {
    if (i.network != network || bytes >= i.below) continue;
    if (!found || i.below < best.below) best = i;
    found = true;
  }
  return best;
}

bool set_collective_parameter(CollectiveParameters& parameters, const CollectiveRowName& name,
                              double value) {
  return set(parameters, {name.group, name.name, name.parameter, value, false});
}

Result<CollectiveParameters> read_collective_parameters(const CsvTable& table) {
  CollectiveParameters p;
  Diagnostics faults;
  for (const CsvRow& row : table.rows()) {
    const auto value = table.number(row, "value");
    const Row r{.group = table.text(row, "group"),
                .name = table.text(row, "name"),
                .parameter = table.text(row, "parameter"),
                .value = value.value_or(0),
                .fitted = table.text(row, "basis") == "fitted"};
    if (value && *value >= 0 && set(p, r)) continue;
    faults.push_back({.severity = Severity::error,
                      .code = "calibration.row",
                      .place = {.file = table.file(), .line = row.line, .column = 1},
                      .what = "not a parameter of the collective model: " + std::string(r.group) +
                              " " + std::string(r.parameter),
                      .why = {},
                      .fix = {}});
  }
  if (p.scaleups.empty() || p.networks.empty()) {
    faults.push_back({.severity = Severity::error,
                      .code = "calibration.empty",
                      .place = {.file = table.file()},
                      .what = "the parameters lack a scale-up link or a network",
                      .why = {},
                      .fix = {}});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return p;
}

}  // namespace orrery::fabric
