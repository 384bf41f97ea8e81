// Closed-form time of a collective on a two-level machine: scale-up links inside a domain (NVLink),
// NICs between domains. For plan and for layout search: pure arithmetic, no allocation.
//
// n ranks in k domains of g = n/k, S bytes as nccl-tests counts them. For each algorithm
//   T = launch + hops_in * lat_in + hops_out * lat_out + max(W_in / B_in, W_out / B_out) * ramp(S)
//   W_in, W_out   bytes that one rank's scale-up port and its NICs carry in one direction
//   ramp(S) = 1 + r / (1 + S/S_r): a pipeline that is not yet full
//   ring all_reduce         W_in = 2(n-1)/n S        W_out = 2(n-1)/n S / g   (one ring a NIC)
//   tree, hierarchical      W_in = 2(g-1)/g S        W_out = 2(k-1)/k S / g   (k = 2: S/g, so the
//   bus
//                           rate can pass the wire's: the known two-node effect)
//   nvls (in-switch sum)    W_in = S at B_in = nvls_share * rate; across domains W_out as tree
//   sharp (in the fabric)   W_out = S / g, each NIC sends its part once
//   all_gather, reduce_scatter: half of the ring's; all_to_all: W_in = (g-1)/n S, W_out = (n-g)/n S
// The automatic choice is the least time over what the library has, as NCCL's tuner does it.
// Sources: NCCL 2.30 src/graph/tuning.cc for shapes and steps, nccl-tests for the bus bandwidth;
// parameters fitted on data/validation/collectives.csv (docs/models/collectives.md). Wrong where
// ranks of a node share a NIC unevenly, or where a job's neighbours load the same spine: give
// `network_free` for the latter.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/quantity.h"
#include "workload/message.h"

namespace orrery {

enum class CollectiveAlgorithm : std::uint8_t {
  automatic,
  ring,
  tree,
  nvls,    // one domain: the switch adds; several: nvls inside, tree between (nvls_tree)
  sharp,   // the network's switches add
  direct,  // all_to_all, send_recv: pairs
};

const char* to_text(CollectiveAlgorithm a);
std::optional<CollectiveAlgorithm> collective_algorithm_from(std::string_view text);

// What a library gets out of a scale-up link. Shares are of the link's rate per direction.
struct ScaleUpCurve {
  double ring_share = 0.81;  // bus bandwidth of a large ring
  double nvls_share = 0.61;  // algorithm bandwidth of a large in-switch all_reduce; 0: none
  double pair_share = 0.80;  // all_to_all
  int nvls_ranks = 5;        // fewest ranks for which the library takes it
  Seconds launch = microseconds(12);        // the whole call at 8 bytes and 2 ranks, eager
  Seconds step = microseconds(0.6);         // a ring step or tree level, low-latency protocol
  double low_latency_share = 0.20;          // bandwidth of the low-latency protocol
  Seconds simple_extra = microseconds(16);  // start of the full-bandwidth protocol above launch
  double ramp = 0.9;                        // r of ramp(S)
  Bytes ramp_bytes = mib(64);               // S_r
};

// What it gets out of the NICs.
struct NetworkCurve {
  double ring_share = 0.92;
  double tree_share = 0.92;
  double pair_share = 0.80;
  Seconds launch = microseconds(16);  // added once when a collective leaves the domain
  Seconds step = microseconds(4);     // of a ring
  Seconds level = microseconds(10);   // of a tree
  double low_latency_share = 0.15;
  Seconds simple_extra = microseconds(30);
  double ramp = 1.5;
  Bytes ramp_bytes = mib(64);
};

struct LinkHierarchy {
  int domain = 8;               // accelerators that the scale-up link joins
  BytesPerSecond scaleup_rate;  // per accelerator and direction; 0: none, all goes by NIC
  ScaleUpCurve scaleup;
  BytesPerSecond nic_rate;   // per NIC and direction; 0: no network
  double nics_per_rank = 1;  // 0.5: two accelerators share a NIC
  NetworkCurve network;
  double oversubscription = 1;             // of the fabric between leaves; slows what crosses it
  double network_free = 1;                 // share of the NICs and uplinks left by other traffic
  bool sharp = false;                      // switches reduce
  bool eager = true;                       // false: launched inside a captured graph
  Seconds graph_saving = microseconds(6);  // of launch, when captured: assumption
};

enum class LimitingLink : std::uint8_t { launch, scale_up, nic, fabric };

const char* to_text(LimitingLink l);  // "scale-up link", "NIC", "oversubscribed fabric", "launch"

struct CollectiveTime {
  Seconds time;
  BytesPerSecond bus_bandwidth;  // as nccl-tests prints it
  BytesPerSecond nic_rate;       // payload that one NIC carries, one direction, over the time
  BytesPerSecond scaleup_rate;   // payload of one scale-up port
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  LimitingLink limit = LimitingLink::launch;
};

CollectiveTime collective_time(const LinkHierarchy& links, const CollectiveCall& call,
                               CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic);

// Bus bandwidth over algorithm bandwidth: 2(n-1)/n, (n-1)/n or 1.
double bus_factor(Collective kind, int ranks);

// Other traffic on the same wires. A converged storage network takes `storage` of every NIC, or of
// the uplinks; what is left is the share for collectives.
//   free = 1 - min(storage / capacity, 1 - fair): max-min sharing leaves the collective no less
//   than its fair share, `fair` = 1 / (1 + contenders).
struct SharedWire {
  BytesPerSecond capacity;
  BytesPerSecond storage;  // wanted by the other traffic, one direction
  double contenders = 1;   // flows of the other traffic for one of the collective's
};
double free_share(const SharedWire& wire);

// What a loss leaves of a collective's network rate. A collective goes at the pace of its slowest
// member. routing spreads over what is left where `adaptive`; a static or hashed one piles a lost
// link's flows on one neighbour.
enum class Loss : std::uint8_t { nic, leaf_uplink, plane, leaf, spine };
struct LossShape {
  int nics_per_node = 8;
  int leaf_uplinks = 32;
  int spines = 16;
  int planes = 1;
  bool adaptive = true;
};
double share_after(Loss loss, const LossShape& shape);  // 0: some ranks are cut off

}  // namespace orrery
