// What can go wrong on a lossless Ethernet, as bounds and checks instead of packets.
//
// Incast: f senders of rate B send to one port of rate C. Until the first congestion signal returns
//   (one round trip) the queue grows by (f B - C) RTT; DCQCN then needs about log2(f B / C)
//   halvings.
// PFC: a queue reaches Xoff after t = (Xoff - q) / (inflow - C). If that is sooner than the control
//   loop, the upstream port is paused: it gets C / inflow of its former rate, and so does every
//   flow through it, even one to another port (a victim).
// Headroom: per port and lossless class, the bytes that still arrive after a pause is sent:
//   2 B (cable / v) + B response + 2 MTU, v = 2e8 m/s; the sum must fit the switch's buffer.
// Deadlock: a cycle in "a queue here can pause a queue there".
// Sources: DCQCN (Zhu, SIGCOMM 2015), RDMA over commodity Ethernet at scale (Guo, SIGCOMM 2016),
// IEEE 802.1Qbb. These are limits, not predictions of queue lengths.
#pragma once

#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "layers/fabric/flow_solver.h"
#include "layers/fabric/graph.h"
#include "layers/fabric/traffic.h"

namespace orrery::fabric {

struct IncastSpec {
  double senders = 8;
  BytesPerSecond sender_rate = gbits_per_s(400);
  BytesPerSecond port_rate = gbits_per_s(400);
  Seconds round_trip = microseconds(8);
  Bytes buffer;           // per port, including its part of the shared buffer
  Bytes pause_threshold;  // the class's Xoff
};

struct IncastBound {
  Bytes queued;            // before the first control signal acts
  double cuts = 0;         // halvings until the senders' sum fits
  Seconds fill_time;       // time until the queue reaches Xoff
  bool pauses = false;     // Xoff is reached before control acts
  bool overflows = false;  // the queue exceeds the buffer: drops if there is no PFC
  Seconds drain_time;      // time to empty the queue once nothing flows in
};
IncastBound incast_bound(const IncastSpec& spec);

struct HeadroomSpec {
  BytesPerSecond rate = gbits_per_s(400);
  double cable_m = 30;
  Seconds response = nanoseconds(600);  // the peer's PFC logic: assumption
  Bytes mtu = bytes(4200);              // RoCE with 4096-byte payload
  int ports = 64;
  int lossless_classes = 1;
  Bytes buffer = mib(160);  // per switch; Spectrum-4 class: assumption
};
struct HeadroomCheck {
  Bytes per_port;  // per port and class
  Bytes total;
  bool fits = false;
  double longest_cable_m = 0;  // longest cable that would still fit
};
HeadroomCheck check_headroom(const HeadroomSpec& spec);

// Answers in the RoCE checklist. "Unknown" is a finding of its own: the question was never decided.
enum class Answer : std::uint8_t { unknown, no, yes };
struct RoceSettings {
  Answer pfc_on_every_hop = Answer::unknown;
  Answer pfc_on_one_class_only = Answer::unknown;
  Answer ecn_below_pfc = Answer::unknown;  // Kmin and Kmax below Xoff
  Answer own_queue = Answer::unknown;      // RDMA separate from TCP, CNPs in strict priority
  Answer hash_spread = Answer::unknown;    // several queue pairs, spraying or adaptive routing
  Answer watchdog = Answer::unknown;
  Answer headroom = Answer::unknown;
};
struct RoceFinding {
  std::string rule;  // "roce.pfc-every-hop"
  bool declared = false;
  std::string what;
  std::string why;
  std::string fix;
};
std::vector<RoceFinding> check_roce(const RoceSettings& settings);

// InfiniBand compared with RoCE on one topology: what differs in the model, each with its reason.
struct FabricComparison {
  double infiniband_rate = 0;  // rate of a permutation, as a share of the wire
  double static_rate = 0;      // static routes
  double roce_hashed_rate = 0;
  double roce_spread_rate = 0;  // rate with several queue pairs or packet spraying
  Seconds infiniband_latency;   // one crossing of the fabric, switches only
  Seconds roce_latency;
};
FabricComparison compare_fabrics(int leaves, int hosts_per_leaf, int spines, int queue_pairs,
                                 int switches_on_path);

}  // namespace orrery::fabric
