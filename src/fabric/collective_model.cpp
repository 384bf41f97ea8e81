#include "fabric/collective_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace orrery {
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
  double n = 1;  // ranks
  double g = 1;  // of a domain
  double k = 1;  // domains
  double bytes = 0;
};

// What one algorithm asks of the two levels.
struct Work {
  double in = 0;        // bytes of one scale-up port
  double out = 0;       // bytes of one rank's NICs
  double in_share = 1;  // of the link's rate
  double out_share = 1;
  double in_steps = 0;
  double out_steps = 0;   // ring steps over NICs
  double out_levels = 0;  // tree levels over NICs
};

double phases(Collective kind) { return kind == Collective::all_reduce ? 2 : 1; }

double log2_of(double x) { return x > 1 ? std::log2(x) : 0; }

Work ring_work(const LinkHierarchy& l, Collective kind, const Shape& s) {
  const double each = kind == Collective::broadcast || kind == Collective::send_recv
                          ? 1
                          : phases(kind) * (s.n - 1) / s.n;
  const double out_steps = s.k > 1 ? phases(kind) * (s.k - 1) : 0;
  return {.in = s.g > 1 ? each * s.bytes : 0,
          .out = s.k > 1 ? each * s.bytes / s.g : 0,
          .in_share = l.scaleup.ring_share,
          .out_share = l.network.ring_share,
          .in_steps = phases(kind) * (s.n - 1) - out_steps,
          .out_steps = out_steps,
          .out_levels = 0};
}

Work tree_work(const LinkHierarchy& l, const Shape& s) {
  return {.in = s.g > 1 ? 2 * (s.g - 1) / s.g * s.bytes : 0,
          .out = s.k > 1 ? 2 * (s.k - 1) / s.k * s.bytes / s.g : 0,
          .in_share = l.scaleup.ring_share,
          .out_share = l.network.tree_share,
          .in_steps = 2 * (s.g - 1),
          .out_steps = 0,
          .out_levels = 2 * log2_of(s.k)};
}

Work nvls_work(const LinkHierarchy& l, const Shape& s) {
  Work w = tree_work(l, s);
  w.in = s.bytes;
  w.in_share = l.scaleup.nvls_share;
  w.in_steps = 2;
  return w;
}

Work sharp_work(const LinkHierarchy& l, const Shape& s) {
  Work w =
      l.scaleup.nvls_share > 0 && s.g >= l.scaleup.nvls_ranks ? nvls_work(l, s) : tree_work(l, s);
  w.out = s.bytes / s.g;
  w.out_levels = 2;
  return w;
}

Work direct_work(const LinkHierarchy& l, Collective kind, const Shape& s) {
  if (kind == Collective::send_recv) {
    // One pair: inside the domain where both ranks share one.
    const bool inside = s.k <= 1;
    return {.in = inside ? s.bytes : 0,
            .out = inside ? 0 : s.bytes,
            .in_share = l.scaleup.pair_share,
            .out_share = l.network.ring_share,
            .in_steps = inside ? 1.0 : 0.0,
            .out_steps = inside ? 0.0 : 1.0,
            .out_levels = 0};
  }
  return {.in = (s.g - 1) / s.n * s.bytes,
          .out = (s.n - s.g) / s.n * s.bytes,
          .in_share = l.scaleup.pair_share,
          .out_share = l.network.pair_share,
          .in_steps = std::min(s.g - 1, 8.0),
          .out_steps = s.k > 1 ? std::min(s.k - 1, 32.0) : 0,
          .out_levels = 0};
}

struct Rates {
  double in = 0;
  double out = 0;
  bool fabric_binds = false;  // the oversubscribed core, not the NIC
};

Rates rates_of(const LinkHierarchy& l) {
  Rates r;
  r.in = l.scaleup_rate.base();
  const double nics = l.nic_rate.base() * l.nics_per_rank;
  r.fabric_binds = l.oversubscription > 1;
  r.out = nics / std::max(1.0, l.oversubscription) * l.network_free;
  return r;
}

struct Timed {
  double seconds = HUGE_VAL;
  double in_rate = 0;
  double out_rate = 0;
  LimitingLink limit = LimitingLink::launch;
};

// Low-latency and full-bandwidth protocol, whichever ends first.
Timed time_of(const LinkHierarchy& l, const Rates& r, const Work& w, double bytes) {
  if ((w.in > 0 && r.in <= 0) || (w.out > 0 && r.out <= 0)) return {};
  const bool leaves = w.out_steps + w.out_levels > 0;
  double fixed = l.scaleup.launch.base() + w.in_steps * l.scaleup.step.base();
  if (!l.eager) fixed -= std::min(l.graph_saving.base(), 0.5 * l.scaleup.launch.base());
  double extra = l.scaleup.simple_extra.base();
  if (leaves) {
    fixed += l.network.launch.base() + w.out_steps * l.network.step.base() +
             w.out_levels * l.network.level.base();
    extra += l.network.simple_extra.base();
  }
  const double in = w.in > 0 ? w.in / (r.in * w.in_share) : 0;
  const double out = w.out > 0 ? w.out / (r.out * w.out_share) : 0;
  const double wire = std::max(in, out);
  const double low = in / l.scaleup.low_latency_share + out / l.network.low_latency_share;
  const double ramp = leaves ? 1 + l.network.ramp / (1 + bytes / l.network.ramp_bytes.base())
                             : 1 + l.scaleup.ramp / (1 + bytes / l.scaleup.ramp_bytes.base());
  const double simple = extra + wire * ramp;
  Timed t;
  t.seconds = fixed + std::min(low, simple);
  t.in_rate = w.in / t.seconds;
  t.out_rate = w.out / t.seconds;
  if (wire < 0.5 * t.seconds) {
    t.limit = LimitingLink::launch;
  } else if (in >= out) {
    t.limit = LimitingLink::scale_up;
  } else {
    t.limit = r.fabric_binds ? LimitingLink::fabric : LimitingLink::nic;
  }
  return t;
}

Shape shape_of(const LinkHierarchy& l, const CollectiveCall& call) {
  Shape s;
  s.n = std::max(1, call.group.ranks);
  const int domain = l.scaleup_rate.base() > 0 ? std::max(1, l.domain) : 1;
  s.g = std::clamp(call.group.per_domain, 1,
                   std::min(domain, call.group.ranks > 0 ? call.group.ranks : 1));
  s.k = std::ceil(s.n / s.g);
  s.g = s.n / s.k;  // ranks need not divide evenly; the mean is what the NICs see
  s.bytes = std::max(0.0, call.bytes.base());
  return s;
}

bool has_nvls(const LinkHierarchy& l, const Shape& s) {
  return l.scaleup.nvls_share > 0 && s.g >= l.scaleup.nvls_ranks;
}

Work work_of(const LinkHierarchy& l, Collective kind, const Shape& s, CollectiveAlgorithm a) {
  switch (a) {
    case CollectiveAlgorithm::tree:
      return tree_work(l, s);
    case CollectiveAlgorithm::nvls:
      return l.scaleup.nvls_share > 0 ? nvls_work(l, s) : tree_work(l, s);
    case CollectiveAlgorithm::sharp:
      return sharp_work(l, s);
    case CollectiveAlgorithm::direct:
      return direct_work(l, kind, s);
    default:
      return ring_work(l, kind, s);
  }
}

CollectiveTime finish(const LinkHierarchy& l, Collective kind, const Shape& s, const Timed& t,
                      CollectiveAlgorithm a) {
  CollectiveTime out;
  out.time = Seconds(t.seconds);
  out.bus_bandwidth = BytesPerSecond(s.bytes / t.seconds * bus_factor(kind, static_cast<int>(s.n)));
  out.nic_rate = BytesPerSecond(l.nics_per_rank > 0 ? t.out_rate / l.nics_per_rank : 0);
  out.scaleup_rate = BytesPerSecond(t.in_rate);
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
      return "oversubscribed fabric";
  }
  return "launch and hop latency";
}

double bus_factor(Collective kind, int ranks) {
  if (ranks < 2) return 1;
  const double n = ranks;
  switch (kind) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1) / n;
    default:
      return 1;
  }
}

CollectiveTime collective_time(const LinkHierarchy& links, const CollectiveCall& call,
                               CollectiveAlgorithm algorithm) {
  const Shape s = shape_of(links, call);
  if (s.n <= 1) return {};  // a group of one exchanges nothing
  const Rates r = rates_of(links);
  const bool pairs = call.kind == Collective::all_to_all || call.kind == Collective::send_recv;
  const auto timed = [&](CollectiveAlgorithm a) {
    return time_of(links, r, work_of(links, call.kind, s, a), s.bytes);
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
  if (call.kind == Collective::all_reduce) {
    if (s.k > 1) consider(CollectiveAlgorithm::tree);
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
      // Its rank's traffic moves to a neighbour's NIC, which then carries two; the library can
      // spread it over all that are left only where it re-plans its channels.
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

}  // namespace orrery
