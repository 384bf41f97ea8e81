#include "layers/fabric/collective_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/math.h"

namespace orrery::fabric {
namespace {

constexpr std::array<std::pair<CollectiveAlgorithm, const char*>, 6> kAlgorithms = {{
    {CollectiveAlgorithm::automatic, "auto"},
    {CollectiveAlgorithm::ring, "ring"},
    {CollectiveAlgorithm::tree, "tree"},
    {CollectiveAlgorithm::nvls, "nvls"},
    {CollectiveAlgorithm::sharp, "sharp"},
    {CollectiveAlgorithm::direct, "direct"},
}};

struct Shape {
  double n = 1;      // ranks
  double g = 1;      // ranks per domain
  double k = 1;      // domains
  double apart = 1;  // domains from one member's to the next
  double bytes = 0;
  double log2_k = 0;
  double past_step = 0;  // S / (S + S_e)
};

// The traffic that one algorithm puts on the two levels.
struct Work {
  double in = 0;   // bytes through one scale-up port
  double out = 0;  // bytes through one rank's NICs
  double in_share = 1;
  double out_share = 1;
  double crossings = 0;      // consecutive network latencies
  double fill = 1;           // share of an all_reduce's pipeline fill
  double hops = 0;           // consecutive links beyond those in a host of eight
  double serial = 0;         // share of the faster level's time that the slower one does not hide
  bool simple_only = false;  // no low-latency protocol at any size
  CrossingPattern pattern = CrossingPattern::ring;
};

// Across domains a library chains the ranks of each domain before (tree) or between (ring) the
// crossings. The chain of eight in a host is part of the launch; racks have more links: GB200 over
// two racks is 150 us slower at 64 and 128 MiB than a host's chain would be, which is 1.4 us per
// link and phase (NCCL's tuner has 0.6 to 4, depending on the protocol).
constexpr double kChainHop = 1.4e-6;
constexpr double kHostChain = 8;

// Tree between racks: on Blackwell an NCCL channel carries 42.8 GB/s between two nodes and 24
// between four or more (tuning.cc, perChMaxTreeBws), where a node is a rack. Two racks are fitted.
constexpr double kManyRacks = 24.0 / 42.8;
double rack_tree_share(const Shape& s) {
  if (s.g <= kHostChain || s.k <= 2) return 1;
  return s.k >= 4 ? kManyRacks : (1 + kManyRacks) / 2;
}

// After the first crossing, a ring's crossings overlap with the posting of the next: NCCL's
// low-latency hop is 2.7 us, while a level of a tree takes 5 with its flush. Assumption: a third.
constexpr double kRingCrossing = 1.0 / 3;
// A tree joins in-switch sums of several domains only if the domain is one host; rack-size domains
// (NVL72) fall back to ring and tree (GB200 over RoCE, 128 ranks, runs at the ring's rate).
constexpr int kLargestNvlsTreeDomain = 16;

double phases(workload::Collective kind) {
  return kind == workload::Collective::all_reduce ? 2 : 1;
}

Work ring_work(const LinkHierarchy& l, workload::Collective kind, const Shape& s) {
  const bool one_way =
      kind == workload::Collective::broadcast || kind == workload::Collective::send_recv;
  const double each = one_way ? 1 : phases(kind) * (s.n - 1) / s.n;
  // RCCL builds one ring per NIC over a mesh of links, so one in g of a rank's sends goes through
  // its NIC instead.
  const double by_link = s.k > 1 && !l.network.has_tree ? (s.g - 1) / s.g : 1;
  return {.in = s.g > 1 ? each * by_link * s.bytes : 0,
          .out = s.k > 1 ? each * s.bytes / s.g : 0,
          .in_share = l.scaleup.ring_share,
          .out_share = l.network.share,
          .crossings = s.k > 1 ? phases(kind) * (1 + (s.k - 2) * kRingCrossing) : 0,
          .fill = phases(kind) / 2 * std::sqrt(s.n / 8),
          .hops = s.k > 1 ? phases(kind) * s.k * std::max(0.0, s.g - kHostChain) : 0};
}

Work tree_work(const LinkHierarchy& l, const Shape& s) {
  return {.in = s.g > 1 ? 2 * (s.g - 1) / s.g * s.bytes : 0,
          .out = s.k > 1 ? 2 * (s.k - 1) / s.k * s.bytes / s.g : 0,
          .in_share = l.scaleup.ring_share * rack_tree_share(s),
          .out_share = l.network.share,
          .crossings = 2 * s.log2_k,
          .fill = s.g > 8 ? std::sqrt(s.g / 8) : 1,
          .hops = s.k > 1 ? 2 * std::max(0.0, s.g - kHostChain) : 0,
          .pattern = CrossingPattern::tree};
}

bool has_nvls(const LinkHierarchy& l, const Shape& s) {
  return l.scaleup.nvls_share > 0 && s.g >= l.scaleup.nvls_ranks &&
         (s.k <= 1 || l.domain <= kLargestNvlsTreeDomain);
}

Work nvls_work(const LinkHierarchy& l, const Shape& s) {
  Work w = tree_work(l, s);
  w.in = s.bytes;
  w.in_share = l.scaleup.nvls_share;
  return w;
}

// In-network sums have no low-latency protocol (NCCL runs CollNet and NVLS in Simple only). A chunk
// passes the scale-up level, the network and the scale-up level again through a few buffers, so the
// levels overlap little. Assumption: half. No published row measures SHARP.
constexpr double kSharpSerial = 0.5;
Work sharp_work(const LinkHierarchy& l, const Shape& s) {
  Work w = has_nvls(l, s) ? nvls_work(l, s) : tree_work(l, s);
  w.out = s.bytes / s.g;
  w.crossings = 2;
  w.serial = kSharpSerial;
  w.simple_only = true;
  w.pattern = CrossingPattern::ring;  // a leaf sends one sum up, however many hosts it has
  return w;
}

Work direct_work(const LinkHierarchy& l, workload::Collective kind, const Shape& s) {
  Work w{.in_share = l.scaleup.pair_share, .out_share = l.network.pair_share, .fill = 0.5};
  w.crossings = s.k > 1 ? 1 : 0;
  w.pattern = CrossingPattern::shift;
  if (kind == workload::Collective::all_to_all) {
    w.pattern = CrossingPattern::all_pairs;
    w.in = (s.g - 1) / s.n * s.bytes;
    w.out = (s.n - s.g) / s.n * s.bytes;
    return w;
  }
  // A single pair: inside the domain if both ranks share one.
  (s.k > 1 ? w.out : w.in) = s.bytes;
  w.out_share = l.network.share;
  return w;
}

struct Rates {
  double in = 0;
  double out = 0;
  bool fabric_binds = false;  // the oversubscribed core is the limit, not the NIC
};

// Below this share of the NIC's rate the uplinks are the limit, not the NIC.
constexpr double kUplinksBind = 0.97;

// Returns the share of the NICs' rate that routing, losses and placement leave.
double routed_share(const LinkHierarchy& l, const Work& w, const Shape& s) {
  const RoutedLinks& r = l.routed;
  if (!r.tree || s.k <= 1) return 1;
  return r.tree->left(w.pattern,
                      {.members = s.k,
                       .hosts_apart = s.apart * r.hosts_per_domain,
                       .job_hosts = r.job_hosts,
                       .scatter = r.scatter},
                      r.bound);
}

Rates rates_of(const LinkHierarchy& l) {
  Rates r;
  r.in = l.scaleup_rate.base();
  const double nics = l.nic_rate.base() * l.nics_per_rank;
  const double thinner = l.routed.tree ? 1 : std::max(1.0, l.oversubscription);
  r.fabric_binds = thinner > 1;
  r.out = nics / thinner * l.network_free;
  return r;
}

struct Timed {
  double seconds = HUGE_VAL;
  double in = 0;   // bytes through a scale-up port
  double out = 0;  // bytes through a rank's NICs
  LimitingLink limit = LimitingLink::launch;
};

// Returns (a^6 + b^6)^(1/6) to within 0.02 %. With x = (low/high)^6, the sixth root of 1 + x is
// approximated by the cubic with its slope at 0 and its values at 1/2 and 1. Layout search calls
// this a million times per second, and roots are too slow for that.
double soft_max(double a, double b) {
  constexpr double k1 = 1.0 / 6, k2 = -0.063179, k3 = 0.018974;
  const double high = std::max(a, b), low = std::min(a, b);
  if (low <= 0) return high;
  const double ratio = low / high, cube = ratio * ratio * ratio, x = cube * cube;
  return high * (1 + x * (k1 + x * (k2 + x * k3)));
}

double fixed_time(const LinkHierarchy& l, const Work& w, const Shape& s) {
  double fixed =
      l.scaleup.launch.base() + l.host_launch.base() + w.crossings * l.network.latency.base();
  if (l.in_graph) fixed -= std::min(l.graph_saving.base(), 0.5 * fixed);
  const double past_step = w.simple_only ? 1 : s.past_step;
  return fixed * (1 + l.protocol.extra * past_step) + w.hops * kChainHop;
}

Timed time_of(const LinkHierarchy& l, const Rates& r, const Work& w, const Shape& s) {
  if ((w.in > 0 && r.in <= 0) || (w.out > 0 && r.out <= 0)) return {};
  const bool leaves = w.crossings > 0;
  const double in = w.in > 0 ? w.in / (r.in * w.in_share) : 0;
  const double routed = w.out > 0 ? routed_share(l, w, s) : 1;
  if (routed <= 0) return {};
  const double out = w.out > 0 ? w.out / (r.out * w.out_share * routed) : 0;
  const double wire = soft_max(in, out) + w.serial * std::min(in, out);
  const double slow = wire * (leaves ? l.network.ramp : l.scaleup.ramp);
  const double fill = w.fill * (l.scaleup.fill.base() + (leaves ? l.network.fill.base() : 0.0));
  const double filling = slow > 0 && fill > 0 ? slow * fill / (slow + fill) : 0;
  Timed t;
  t.seconds = fixed_time(l, w, s) + wire + filling;
  t.in = w.in;
  t.out = w.out;
  if (wire < 0.5 * t.seconds) {
    t.limit = LimitingLink::launch;
  } else if (in >= out) {
    t.limit = LimitingLink::scale_up;
  } else {
    const bool uplinks = r.fabric_binds || routed < kUplinksBind;
    t.limit = uplinks ? LimitingLink::fabric : LimitingLink::nic;
  }
  return t;
}

Shape shape_of(const LinkHierarchy& l, const workload::CollectiveCall& call) {
  Shape s;
  s.n = std::max(1, call.group.ranks);
  const int domain = l.scaleup_rate.base() > 0 ? std::max(1, l.domain) : 1;
  s.g = std::clamp(call.group.per_domain, 1,
                   std::min(domain, call.group.ranks > 0 ? call.group.ranks : 1));
  s.k = std::ceil(s.n / s.g);
  s.g = s.n / s.k;  // may be a fraction; the NICs carry the mean
  s.apart = std::max(1, call.group.apart);
  s.bytes = std::max(0.0, call.bytes.base());
  s.log2_k = s.k > 1 ? math::log2(s.k) : 0;
  s.past_step = s.bytes > 0 ? s.bytes / (s.bytes + l.protocol.at.base()) : 0;
  return s;
}

Work work_of(const LinkHierarchy& l, workload::Collective kind, const Shape& s,
             CollectiveAlgorithm a) {
  switch (a) {
    case CollectiveAlgorithm::tree:
      return tree_work(l, s);
    case CollectiveAlgorithm::nvls:
      if (has_nvls(l, s)) return nvls_work(l, s);
      return s.k > 1 ? tree_work(l, s) : ring_work(l, kind, s);
    case CollectiveAlgorithm::sharp:
      return sharp_work(l, s);
    case CollectiveAlgorithm::direct:
      return direct_work(l, kind, s);
    default:
      return ring_work(l, kind, s);
  }
}

CollectiveTime finish(const LinkHierarchy& l, workload::Collective kind, const Shape& s,
                      const Timed& t, CollectiveAlgorithm a) {
  CollectiveTime out;
  out.time = Seconds(t.seconds);
  out.bus_bandwidth = BytesPerSecond(s.bytes / t.seconds * bus_factor(kind, static_cast<int>(s.n)));
  out.nic_rate = BytesPerSecond(l.nics_per_rank > 0 ? t.out / t.seconds / l.nics_per_rank : 0);
  out.scaleup_rate = BytesPerSecond(t.in / t.seconds);
  out.algorithm = a;
  out.limit = t.limit;
  return out;
}

}  // namespace

const char* to_text(CollectiveAlgorithm a) {
  for (const auto& [algorithm, text] : kAlgorithms) {
    if (algorithm == a) return text;
  }
  return "auto";
}

std::optional<CollectiveAlgorithm> collective_algorithm_from(std::string_view text) {
  if (text == "nvls_tree") return CollectiveAlgorithm::nvls;
  for (const auto& [algorithm, name] : kAlgorithms) {
    if (text == name) return algorithm;
  }
  return std::nullopt;
}

const char* to_text(LimitingLink l) {
  switch (l) {
    case LimitingLink::launch:
      return "launch and hop latency";
    case LimitingLink::scale_up:
      return "scale-up link";
    case LimitingLink::nic:
      return "NIC";
    case LimitingLink::fabric:
      return "fabric's uplinks";
  }
  return "launch and hop latency";
}

double bus_factor(workload::Collective kind, int ranks) {
  if (ranks < 2) return 1;
  const double n = ranks;
  switch (kind) {
    case workload::Collective::all_reduce:
      return 2 * (n - 1) / n;
    case workload::Collective::all_gather:
    case workload::Collective::reduce_scatter:
    case workload::Collective::all_to_all:
      return (n - 1) / n;
    default:
      return 1;
  }
}

CollectiveTime collective_time(const LinkHierarchy& links, const workload::CollectiveCall& call,
                               CollectiveAlgorithm algorithm) {
  const Shape s = shape_of(links, call);
  if (s.n <= 1) return {};  // a group of one exchanges nothing
  const Rates r = rates_of(links);
  // Only a sum has trees and in-switch forms; if a caller asks for one with another collective, it
  // runs as a ring.
  if (call.kind != workload::Collective::all_reduce) algorithm = CollectiveAlgorithm::ring;
  const bool pairs =
      call.kind == workload::Collective::all_to_all || call.kind == workload::Collective::send_recv;
  const auto timed = [&](CollectiveAlgorithm a) {
    return time_of(links, r, work_of(links, call.kind, s, a), s);
  };
  if (pairs) algorithm = CollectiveAlgorithm::direct;
  if (algorithm != CollectiveAlgorithm::automatic) {
    return finish(links, call.kind, s, timed(algorithm), algorithm);
  }
  CollectiveAlgorithm best = CollectiveAlgorithm::ring;
  Timed least = timed(best);
  const auto consider = [&](CollectiveAlgorithm a) {
    const Timed t = timed(a);
    if (t.seconds < least.seconds) {
      least = t;
      best = a;
    }
  };
  if (call.kind == workload::Collective::all_reduce) {
    if (s.k > 1 && links.network.has_tree) consider(CollectiveAlgorithm::tree);
    if (has_nvls(links, s)) consider(CollectiveAlgorithm::nvls);
    if (links.sharp && s.k > 1) consider(CollectiveAlgorithm::sharp);
  }
  return finish(links, call.kind, s, least, best);
}

double free_share(const SharedWire& wire) {
  if (wire.capacity.base() <= 0) return 1;
  const double asked = std::clamp(wire.storage / wire.capacity, 0.0, 1.0);
  const double fair = 1 / (1 + std::max(0.0, wire.contenders));
  return 1 - std::min(asked, 1 - fair);
}

double share_after(Loss loss, const LossShape& shape) {
  const double uplinks = std::max(1, shape.leaf_uplinks);
  switch (loss) {
    case Loss::nic:
      // The rank's traffic moves to a neighbour's NIC, which then carries two ranks' traffic. The
      // library can spread it over all remaining NICs only if it re-plans its channels.
      return shape.nics_per_node > 1 ? (shape.adaptive ? 1 - 1.0 / shape.nics_per_node : 0.5) : 0;
    case Loss::leaf_uplink:
      return shape.adaptive ? 1 - 1 / uplinks : (uplinks > 1 ? 0.5 : 0);
    case Loss::plane:
      return shape.planes > 1 ? 1 - 1.0 / shape.planes : 0;
    case Loss::leaf:
      return shape.planes > 1 ? 1 - 1.0 / shape.planes : 0;
    case Loss::spine:
      return shape.spines > 1 ? (shape.adaptive ? 1 - 1.0 / shape.spines : 0.5) : 0;
  }
  return 1;
}

}  // namespace orrery::fabric
