#include "fabric/hazards.h"

#include <algorithm>
#include <array>

#include "base/math.h"
#include "fabric/ecmp.h"

namespace orrery::fabric {
namespace {

constexpr double kSignalSpeed = 2e8;  // metres per second in glass and copper

// Paths of all messages, one after another, and the load they offer.
struct Offered {
  std::vector<std::vector<LinkId>> paths;
  std::vector<double> load;  // rate offered over capacity
};

Offered offer(const FabricGraph& graph, Router& router, const std::vector<Message>& messages) {
  Offered o{.paths = {}, .load = std::vector<double>(graph.links.size(), 0)};
  for (const Message& m : messages) {
    std::vector<LinkId>& path = o.paths.emplace_back();
    if (!router.route(m.source, m.destination, 0, path) || path.empty()) continue;
    const double rate = graph.links[static_cast<std::size_t>(path.front())].capacity;
    for (const LinkId l : path) {
      o.load[static_cast<std::size_t>(l)] +=
          rate / graph.links[static_cast<std::size_t>(l)].capacity;
    }
  }
  return o;
}

// Links that feed a paused one: those just before it on some path.
std::vector<std::uint8_t> upstream_of(const Offered& o, const std::vector<std::uint8_t>& paused) {
  std::vector<std::uint8_t> up(paused.size(), 0);
  for (const auto& path : o.paths) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (paused[static_cast<std::size_t>(path[i])]) up[static_cast<std::size_t>(path[i - 1])] = 1;
    }
  }
  return up;
}

// A link depends on the next of every path over it; pausing can lock where paused links form a
// ring.
bool has_cycle(const Offered& o, const std::vector<std::uint8_t>& paused) {
  const std::size_t n = paused.size();
  std::vector<std::vector<std::size_t>> next(n);
  std::vector<int> incoming(n, 0);
  for (const auto& path : o.paths) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      const auto a = static_cast<std::size_t>(path[i - 1]), b = static_cast<std::size_t>(path[i]);
      if (!paused[a] || !paused[b]) continue;
      if (std::find(next[a].begin(), next[a].end(), b) != next[a].end()) continue;
      next[a].push_back(b);
      ++incoming[b];
    }
  }
  std::vector<std::size_t> ready;
  std::size_t seen = 0, total = 0;
  for (std::size_t l = 0; l < n; ++l) {
    total += paused[l];
    if (paused[l] && incoming[l] == 0) ready.push_back(l);
  }
  while (!ready.empty()) {
    const std::size_t l = ready.back();
    ready.pop_back();
    ++seen;
    for (const std::size_t b : next[l]) {
      if (--incoming[b] == 0) ready.push_back(b);
    }
  }
  return seen < total;
}

}  // namespace

IncastBound incast_bound(const IncastSpec& s) {
  IncastBound b;
  const BytesPerSecond inflow = s.sender_rate * s.senders;
  const BytesPerSecond excess = max(inflow - s.port_rate, BytesPerSecond(0));
  b.queued = excess * s.round_trip;
  b.cuts = inflow > s.port_rate ? math::log2(inflow / s.port_rate) : 0;
  const bool grows = excess > BytesPerSecond(0);
  b.fill_time = grows ? s.pause_threshold / excess : Seconds(HUGE_VAL);
  b.pauses = grows && b.fill_time < s.round_trip;
  b.overflows = b.queued > s.buffer;
  b.drain_time = b.queued / s.port_rate;
  return b;
}

HeadroomCheck check_headroom(const HeadroomSpec& s) {
  HeadroomCheck c;
  const Seconds flight = Seconds(s.cable_m / kSignalSpeed);
  c.per_port = 2 * (s.rate * flight) + s.rate * s.response + 2 * s.mtu;
  const double queues = std::max(1, s.ports) * std::max(1, s.lossless_classes);
  c.total = c.per_port * queues;
  c.fits = c.total <= s.buffer;
  const Bytes fixed = s.rate * s.response + 2 * s.mtu;
  const Bytes left = s.buffer / queues - fixed;
  c.longest_cable_m = std::max(0.0, left / (2 * s.rate) / Seconds(1) * kSignalSpeed);
  return c;
}

PauseSpread pause_spread(const FabricGraph& graph, Router& router,
                         const std::vector<Message>& messages, int levels) {
  const Offered o = offer(graph, router, messages);
  std::vector<std::uint8_t> full(o.load.size(), 0);
  std::vector<double> pause_share(o.load.size(), 1);
  for (std::size_t l = 0; l < o.load.size(); ++l) full[l] = o.load[l] > 1 + 1e-9;
  PauseSpread out;
  std::vector<std::uint8_t> front = full, all = full;
  std::vector<double> share(o.load.size(), 1);
  for (std::size_t l = 0; l < full.size(); ++l) share[l] = full[l] ? 1 / o.load[l] : 1;
  for (int level = 0; level < levels; ++level) {
    const std::vector<std::uint8_t> up = upstream_of(o, front);
    front.assign(front.size(), 0);
    for (const auto& path : o.paths) {
      for (std::size_t i = 1; i < path.size(); ++i) {
        const auto a = static_cast<std::size_t>(path[i - 1]), b = static_cast<std::size_t>(path[i]);
        if (up[a] && all[b]) pause_share[a] = std::min(pause_share[a], share[b]);
      }
    }
    for (std::size_t l = 0; l < up.size(); ++l) {
      if (!up[l] || all[l]) continue;
      front[l] = all[l] = 1;
      share[l] = pause_share[l];
      out.paused.push_back(static_cast<LinkId>(l));
    }
  }
  for (std::size_t i = 0; i < o.paths.size(); ++i) {
    bool own = false;
    double left = 1;
    for (const LinkId l : o.paths[i]) {
      own = own || full[static_cast<std::size_t>(l)];
      left = std::min(left, share[static_cast<std::size_t>(l)]);
    }
    if (!own && left < 1) out.victims.push_back({i, left});
  }
  out.can_deadlock = has_cycle(o, all);
  return out;
}

std::vector<Elephant> pinned_elephants(const FabricGraph& graph, Router& router,
                                       const std::vector<Message>& messages, double limit) {
  const Offered o = offer(graph, router, messages);
  std::vector<Elephant> out;
  std::vector<std::int32_t> place(o.load.size(), -1);
  for (std::size_t i = 0; i < o.paths.size(); ++i) {
    for (const LinkId l : o.paths[i]) {
      const auto at = static_cast<std::size_t>(l);
      // The end links carry what the message itself asks; only choices of the fabric count.
      const bool end = l == o.paths[i].front() || l == o.paths[i].back();
      if (end || o.load[at] <= limit) continue;
      if (place[at] < 0) {
        place[at] = static_cast<std::int32_t>(out.size());
        out.push_back({l, o.load[at], {}});
      }
      out[static_cast<std::size_t>(place[at])].messages.push_back(i);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Elephant& a, const Elephant& b) { return a.load > b.load; });
  return out;
}

std::vector<RoceFinding> check_roce(const RoceSettings& s) {
  struct Item {
    Answer RoceSettings::* field;
    const char* rule;
    const char* missing;
    const char* why;
    const char* fix;
  };
  static constexpr std::array<Item, 7> kItems = {{
      {&RoceSettings::pfc_on_every_hop, "roce.pfc-every-hop", "PFC is not on for every hop",
       "one hop without it drops RDMA packets, and go-back-N resends whole windows",
       "turn on PFC for the RDMA class on NICs and all switch ports"},
      {&RoceSettings::pfc_on_one_class_only, "roce.pfc-one-class",
       "PFC is on for more than the RDMA class",
       "pauses of other traffic then stop RDMA, and headroom is needed twice",
       "turn on PFC for one priority only"},
      {&RoceSettings::ecn_below_pfc, "roce.ecn", "ECN does not mark below the PFC threshold",
       "without marks senders never slow down, and PFC becomes the congestion control",
       "set Kmin and Kmax below Xoff on every switch"},
      {&RoceSettings::own_queue, "roce.own-queue", "RDMA has no queue of its own",
       "TCP fills the shared queue and RDMA is paused for it",
       "map the RDMA class to its own queue and CNPs to a strict one"},
      {&RoceSettings::hash_spread, "roce.hash-spread", "large flows are hashed onto single links",
       "few large flows collide: a permutation gets about half the wire",
       "use 4 or more queue pairs a connection, packet spraying or adaptive routing"},
      {&RoceSettings::watchdog, "roce.watchdog", "no PFC watchdog",
       "a NIC that pauses without end stops its whole tree",
       "turn on the PFC watchdog on switch ports"},
      {&RoceSettings::headroom, "roce.headroom", "buffer headroom is not checked",
       "headroom too small for rate and cable drops packets despite PFC",
       "size it: 2 B (cable / v) + B response + 2 MTU a port and class"},
  }};
  std::vector<RoceFinding> out;
  for (const Item& item : kItems) {
    const Answer answer = s.*item.field;
    if (answer == Answer::yes) continue;
    out.push_back(
        {item.rule, answer == Answer::no,
         answer == Answer::no ? item.missing : std::string("undeclared: perhaps ") + item.missing,
         item.why, item.fix});
  }
  return out;
}

FabricComparison compare_fabrics(int leaves, int hosts_per_leaf, int spines, int queue_pairs,
                                 int switches_on_path) {
  EcmpStudy study{.leaves = leaves, .hosts_per_leaf = hosts_per_leaf, .spines = spines};
  FabricComparison c;
  study.routing = catalog::RoutingKind::adaptive;
  c.infiniband_rate = ecmp_spread(study).mean_rate;
  study.routing = catalog::RoutingKind::ecmp;
  c.roce_hashed_rate = ecmp_spread(study).mean_rate;
  study.queue_pairs = queue_pairs;
  c.roce_spread_rate = ecmp_spread(study).mean_rate;
  // Port to port: QM9700 150 ns, SN5600 600 ns (data/catalog/switches.csv).
  c.infiniband_latency = nanoseconds(150) * switches_on_path;
  c.roce_latency = nanoseconds(600) * switches_on_path;
  return c;
}

}  // namespace orrery::fabric
