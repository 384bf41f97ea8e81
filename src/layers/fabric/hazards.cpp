#include "layers/fabric/hazards.h"

#include <algorithm>
#include <array>

#include "core/base/math.h"
#include "layers/fabric/ecmp.h"

namespace orrery::fabric {
namespace {

constexpr double kSignalSpeed = 2e8;  // metres per second in glass and copper

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

std::vector<RoceFinding> check_roce(const RoceSettings& s) {
  struct Item {
    Answer RoceSettings::* field;
    const char* rule;
    const char* missing;
    const char* why;
    const char* fix;
  };
  static constexpr std::array<Item, 7> kItems = {{
      {&RoceSettings::pfc_on_every_hop, "roce.pfc-every-hop", "PFC is not enabled on every hop",
       "a hop without PFC drops RDMA packets, and go-back-N resends whole windows",
       "enable PFC for the RDMA class on NICs and all switch ports"},
      {&RoceSettings::pfc_on_one_class_only, "roce.pfc-one-class",
       "PFC is enabled for more than the RDMA class",
       "pauses caused by other traffic then stop RDMA too, and each class needs its own headroom",
       "enable PFC for one priority only"},
      {&RoceSettings::ecn_below_pfc, "roce.ecn", "ECN does not mark below the PFC threshold",
       "without marks senders do not slow down, and PFC becomes the congestion control",
       "set Kmin and Kmax below Xoff on every switch"},
      {&RoceSettings::own_queue, "roce.own-queue", "RDMA has no queue of its own",
       "TCP fills the shared queue, and RDMA is paused because of it",
       "map the RDMA class to its own queue and CNPs to a strict one"},
      {&RoceSettings::hash_spread, "roce.hash-spread", "large flows are hashed onto single links",
       "a few large flows collide: a permutation gets about half the wire rate",
       "use 4 or more queue pairs per connection, packet spraying or adaptive routing"},
      {&RoceSettings::watchdog, "roce.watchdog", "no PFC watchdog",
       "a NIC that keeps sending pauses stops every switch on the paths to it",
       "enable the PFC watchdog on switch ports"},
      {&RoceSettings::headroom, "roce.headroom", "buffer headroom is not checked",
       "if headroom is too small for rate and cable length, packets are dropped despite PFC",
       "size it: 2 B (cable / v) + B response + 2 MTU per port and class"},
  }};
  std::vector<RoceFinding> out;
  for (const Item& item : kItems) {
    const Answer answer = s.*item.field;
    if (answer == Answer::yes) continue;
    out.push_back(
        {item.rule, answer == Answer::no,
         answer == Answer::no ? item.missing : std::string("not declared: perhaps ") + item.missing,
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
  study.routing = catalog::RoutingKind::fixed;
  c.static_rate = ecmp_spread(study).mean_rate;
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
