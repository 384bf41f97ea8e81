// A lossless Ethernet over time as a fluid: queues, marks, senders' rate cuts and pauses.
//
// x[f,h] bytes of flow f wait in the switch before the h-th link of its path. A time step dt is one
// hop.
//   link m takes      C dt of all that waits for it, from each flow in proportion; 0 while paused
//   marks             p(m) = 0 up to Kmin, Pmax (q - Kmin)/(Kmax - Kmin), 1 above Kmax
//   pauses            if bytes that came over link l and wait exceed Xoff, l is paused; below Xon
//                     it is released
//   drops             what came over l beyond Xoff + headroom; without pauses, what waits beyond it
//   senders (DCQCN)   n = R / packet,  hit(t) = 1 - (1 - p)^(n t),  p of all links, a way back ago
//     da/dt = g/t_a (hit(t_a) - a)
//     dR/dt = -R a hit(t_c)/(2 t_c) + (Rt - R)/2 n (p/((1-p)^-B - 1) + p/((1-p)^-nT - 1))
//     dRt/dt = -(Rt - R) hit(t_c)/t_c + Rai n ((1-p)^FB p/((1-p)^-B - 1) + the same of nT)
//   watchdog          a link paused without a break for the watchdog's time, while bytes wait for
//                     it, drops what it has and what arrives
// A NIC that pauses for ever (`stick`) stops the link to it; the bytes that wait there stop the
// links over which they came, and so on up the tree: a storm.
// Sources: Zhu et al., SIGCOMM 2015 (DCQCN and its fluid), CoNEXT 2016 (the fixed point); Guo et
// al., SIGCOMM 2016 (storms, watchdogs); IEEE 802.1Qbb.
// Wrong: bytes are not packets, so bursts shorter than a step are not seen; thresholds are fixed,
// while chips share the free buffer; dropped bytes are counted and not sent again; hyper increase
// is left out, as in the published fluid.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/quantity.h"
#include "layers/fabric/graph.h"

namespace orrery::fabric {

// Marking of a switch's egress queue. The absolute thresholds of 150 and 1500 kB are what NVIDIA's
// switches set for RoCE (Onyx 3.10, Cumulus 5 manuals).
struct EcnMarking {
  Bytes kmin = bytes(150e3);
  Bytes kmax = bytes(1500e3);
  double pmax = 1;

  double probability(double queue) const;
};

// DCQCN's parameters as published (Zhu 2015, table 14). The caller scales the additive increase,
// published for 40 Gb/s, to the link.
struct RateControl {
  Seconds cut_gap = microseconds(50);    // t_c: time between two cuts
  Seconds alpha_gap = microseconds(55);  // t_a
  Seconds timer = microseconds(55);      // T
  Bytes counter = megabytes(10);         // B
  double fast_stages = 5;                // F
  double gain = 1.0 / 256;               // g
  double increase = 0.001;               // Rai relative to the link's rate: 40 Mb/s of 40 Gb/s
  Bytes packet = bytes(1000);
};

// Two polls of 100 ms: the default of Junos' watchdog; SONiC's is similar.
inline constexpr Seconds kWatchdogTime = milliseconds(200);

struct PauseOptions {
  Seconds step = microseconds(1);
  bool pauses = true;
  Bytes xoff = bytes(1e6);  // per ingress port: assumed
  double xon = 0.8;         // share of Xoff: assumed
  Bytes headroom = megabytes(1);
  std::optional<EcnMarking> marking = EcnMarking{};
  RateControl control;
  int way_back = 4;                 // steps from a mark until its sender reacts
  std::optional<Seconds> watchdog;  // nullopt: nothing breaks a pause
};

class PauseFluid {
 public:
  // `capacities` are in bytes per second, by link.
  PauseFluid(std::vector<double> capacities, const PauseOptions& options);

  // Adds a flow that sends as fast as its first link allows. The path has at least two links.
  std::size_t add_flow(std::span<const LinkId> path);
  // Makes the far end of the link pause it permanently.
  void stick(LinkId link);
  void run(Seconds span);

  double now_s() const { return static_cast<double>(steps_) * dt_; }
  double delivered(std::size_t flow) const { return flows_[flow].delivered; }
  double rate(std::size_t flow) const {
    return flows_[flow].rate;
  }                                 // at which its sender may send
  double queue(LinkId link) const;  // bytes beyond what one step takes
  bool is_paused(LinkId link) const { return at(link).paused; }
  bool is_shut(LinkId link) const { return at(link).shut; }  // shut by the watchdog
  std::uint64_t pauses() const { return pauses_; }           // number of pauses begun
  double highest_queue() const { return highest_queue_; }
  double sent() const { return sent_; }
  double dropped() const { return dropped_; }
  double inside() const;

 private:
  struct Flow {
    std::size_t first = 0;  // index of its first cell
    std::size_t cells = 0;
    LinkId nic = 0;
    double line = 0;
    double rate = 0;
    double target = 0;
    double alpha = 1;
    double delivered = 0;
    bool arrives = false;  // bytes arrived in the last step: marks travel with them
  };
  struct Cell {
    LinkId in = 0;
    LinkId out = 0;
    double held = 0;
    double coming = 0;
  };
  struct Link {
    double take = 0;     // bytes per step
    double waiting = 0;  // bytes waiting for it
    double brought = 0;  // bytes that came over it and wait behind it
    double wanted = 0;   // demand of senders in this step
    double share = 0;    // share of the waiting bytes that moves
    double stopped_s = 0;
    bool is_ingress = false;
    bool pausing = false;  // its far end requests a pause
    bool paused = false;   // the pause, effective a step later
    bool stuck = false;
    bool shut = false;
  };

  const Link& at(LinkId link) const { return links_[static_cast<std::size_t>(link)]; }
  Link& at(LinkId link) { return links_[static_cast<std::size_t>(link)]; }
  void step();
  void add_up();
  void drop_beyond_headroom();
  void mark();
  void settle_pauses();
  void send();
  void move(Flow& flow, double entering);
  void control();
  void steer(Flow& flow, double p) const;

  PauseOptions options_;
  double dt_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Cell> cells_;
  std::vector<std::vector<double>> marks_;  // indexed by step of the way back, then by link
  std::vector<bool> any_mark_;
  std::uint64_t steps_ = 0;
  std::uint64_t pauses_ = 0;
  double sent_ = 0;
  double dropped_ = 0;
  double highest_queue_ = 0;
};

// The fixed point of DCQCN's fluid with `flows` on one link (Zhu 2016, equation 14):
//   p = cbrt(Rai N^2 / (t_a C^2) (1/B + N/(T C))^2)   in packets;   q = Kmin + p/Pmax (Kmax - Kmin)
struct MarkedQueue {
  double probability = 0;
  Bytes queue;
  bool is_marked_enough = true;  // p is at most Pmax; otherwise the queue stays above Kmax
};
MarkedQueue marked_queue(const EcnMarking& marking, const RateControl& control, int flows,
                         BytesPerSecond link);

}  // namespace orrery::fabric
