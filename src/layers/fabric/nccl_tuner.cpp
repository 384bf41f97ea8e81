#include "layers/fabric/nccl_tuner.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/math.h"

namespace orrery::fabric {
namespace {

// Microseconds, by protocol LL, LL128, Simple. First the tables' rows for NVLink, then those for
// the network.
using ByProtocol = std::array<double, 3>;
constexpr ByProtocol kTreeBase = {6.8, 14, 8.4}, kRingBase = {6.6, 14, 8.4};
constexpr ByProtocol kTreeHop = {0.6, 1.25, 4}, kRingHop = {0.6, 1.9, 3.4};
constexpr ByProtocol kTreeNet = {5, 8.5, 14}, kRingNet = {2.7, 4, 14};
constexpr double kNvlsHop = 25, kNvlsNet = 18, kNvlsTreeNet = 20.9;
constexpr double kPostOverhead = 1;  // Intel hosts; three times that for Simple

// GB/s by generation; the columns of three are for 1, 2 and 4 or more nodes.
struct Tables {
  int channels;
  double ring_bus;
  int nvls_channels;
  double nvls_channel;
  double nvls_efficiency;
  ByProtocol ll_most;
  double ll128_ring_channel;
  ByProtocol tree_channel;
  ByProtocol ll128_tree_channel;
};
constexpr std::array<Tables, 3> kTables = {{
    {12, 240, 0, 0, 0, {87.7, 22.5, 19.0}, 20, {24, 23.6, 17.8}, {20, 20, 20}},
    {12, 360, 8, 45, 0.85, {141, 45, 35}, 36.7, {38.7, 41.4, 36.0}, {36.7, 36.7, 29.0}},
    {18, 720, 8, 90, 0.74, {282, 90, 70}, 40, {70, 42.8, 24.0}, {55.6, 31.67, 20}},
}};

struct Case {
  double n, g, k, bytes;
  double steps;      // steps of the ring
  double net_steps;  // those steps that cross the network
  std::size_t nodes_column;
  double nic_bus;  // GB/s of all NICs of a node together
};

Case case_of(const NcclMachine& m, const workload::CollectiveCall& call) {
  Case c{};
  c.n = std::max(1, call.group.ranks);
  c.g = std::clamp(call.group.per_domain, 1, std::max(1, call.group.ranks));
  c.k = std::ceil(c.n / c.g);
  c.bytes = call.bytes.base();
  const bool twice = call.kind == workload::Collective::all_reduce;
  const bool through = call.kind == workload::Collective::broadcast;
  c.steps = twice ? 2 * (c.n - 1) : through ? c.n : c.n - 1;
  c.net_steps = twice ? 2 * (c.k - 1) : c.k - 1;
  c.nodes_column = c.k <= 1 ? 0 : c.k <= 2 ? 1 : 2;
  c.nic_bus = m.nic_per_rank.base() * c.g / 1e9;
  return c;
}

double net_latency(const NcclMachine& m, double table, std::size_t p) {
  const double nic = m.nic_latency.base() * 1e6;
  return table + nic * (p == 2 ? 2 : 1);
}

double ring_us(const NcclMachine& m, const Tables& t, const Case& c, std::size_t p) {
  double bus = c.k > 1 ? std::min(t.ring_bus, c.nic_bus) : t.ring_bus;
  if (p == 0) bus = std::min(t.ll_most[c.nodes_column], bus / 2);
  if (p == 1) bus = std::min(0.92 * bus, t.channels * t.ll128_ring_channel);
  const double overhead = c.k > 1 ? kPostOverhead * (p == 2 ? 3 : 1) : 0;
  double latency = kRingBase[p] + (c.steps - c.net_steps) * std::max(kRingHop[p], overhead) +
                   c.net_steps * net_latency(m, kRingNet[p], p);
  const bool deep = p == 2 && c.k > 1 && c.steps > c.n && c.bytes / t.channels / c.n >= 64;
  if (deep) latency *= 1.4;
  return latency + c.bytes / (1e3 * bus * c.n / c.steps);
}

double tree_us(const NcclMachine& m, const Tables& t, const Case& c, std::size_t p) {
  double bus = c.k > 2 ? std::min(t.ring_bus, c.nic_bus) : t.ring_bus;
  bus = std::min(0.92 * bus, t.channels * t.tree_channel[c.nodes_column]);
  if (p == 0) bus = std::min(bus / 3.8, t.ll_most[c.nodes_column]);
  if (p == 1) {
    bus = std::min(bus * (c.k <= 1 ? 7.0 / 9 : 120.0 / 128),
                   t.channels * t.ll128_tree_channel[c.nodes_column]);
  }
  const double latency =
      kTreeBase[p] + 2 * ((c.g - 1) * kTreeHop[p] +
                          (c.k > 1 ? math::log2(c.k) * net_latency(m, kTreeNet[p], p) : 0));
  return latency + c.bytes / (1e3 * bus / 2);
}

double nvls_us(const NcclMachine& m, const Tables& t, const Case& c) {
  const double channels = t.nvls_channels;
  double bus = 2 * channels * t.nvls_channel * t.nvls_efficiency * (channels - 1) / channels;
  double latency = kNvlsHop;
  if (c.k > 1) {
    bus = std::min(bus, c.nic_bus * (c.k <= 2 ? 2 : 1));
    latency += c.k > 2 ? 2 * math::log2(c.k) * net_latency(m, kNvlsTreeNet, 2)
                       : net_latency(m, kNvlsNet, 2);
  }
  return latency + c.bytes / (1e3 * bus * c.n / c.steps);
}

}  // namespace

const char* to_text(NcclProtocol p) {
  switch (p) {
    case NcclProtocol::ll:
      return "LL";
    case NcclProtocol::ll128:
      return "LL128";
    case NcclProtocol::simple:
      return "Simple";
  }
  return "Simple";
}

NcclChoice nccl_choice(const NcclMachine& machine, const workload::CollectiveCall& call,
                       CollectiveAlgorithm algorithm) {
  const Tables& t = kTables[static_cast<std::size_t>(machine.generation)];
  const Case c = case_of(machine, call);
  NcclChoice best{.time = Seconds(HUGE_VAL)};
  const auto offer = [&](double us, CollectiveAlgorithm a, std::size_t p) {
    const bool asked = algorithm == CollectiveAlgorithm::automatic || algorithm == a;
    if (!asked || !(microseconds(us) < best.time)) return;
    best = {microseconds(us), a, static_cast<NcclProtocol>(p)};
  };
  const bool sum = call.kind == workload::Collective::all_reduce;
  const bool nvls = sum && machine.nvls && t.nvls_channels > 0 && c.g >= 5;
  if (!sum || (algorithm == CollectiveAlgorithm::nvls && !nvls)) {
    algorithm = CollectiveAlgorithm::ring;
  }
  for (std::size_t p = 0; p < 3; ++p) {
    offer(ring_us(machine, t, c, p), CollectiveAlgorithm::ring, p);
    if (sum) offer(tree_us(machine, t, c, p), CollectiveAlgorithm::tree, p);
  }
  if (nvls) offer(nvls_us(machine, t, c), CollectiveAlgorithm::nvls, 2);
  return best;
}

}  // namespace orrery::fabric
