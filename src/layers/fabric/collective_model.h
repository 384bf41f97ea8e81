// Closed-form time of a collective on a two-level machine: scale-up links inside a domain (NVLink),
// NICs between domains. Used by the review and the layout search: pure arithmetic, no allocation.
//
// n ranks in k domains of g = n/k, S bytes as nccl-tests counts them. For each algorithm
//   T = L (1 + c S/(S + S_e)) + w + r w F / (r w + F)
//   L = launch + crossings * network latency;  c, S_e: low-latency protocols up to about S_e
//   domains of more than eight ranks (racks): plus 1.4 us per additional rank that is chained
//   w = (t_in^6 + t_out^6)^(1/6) to 0.1 %: the slower level, slowed a little by the other
//   t_in = W_in / (share * scale-up rate), t_out = W_out / (share * NIC rate)
//   last term: a pipeline that fills: small messages run 1 + r slower, large ones pay F once
//   ring all_reduce       W_in = 2(n-1)/n S   W_out = 2(n-1)/n S/g   crossings 2(1 + (k-2)/3)
//   tree                  W_in = 2(g-1)/g S   W_out = 2(k-1)/k S/g   crossings 2 log2 k
//                         (k = 2: W_out = S/g, so the bus rate exceeds the wire's: the known
//                         two-node effect)
//   nvls (in-switch sum)  W_in = S at its own share; W_out as tree.  sharp: W_out = S/g
//   all_gather, reduce_scatter: half of the ring's. all_to_all: W_in = (g-1)/n S, W_out = (n-g)/n S
// The automatic choice is the fastest algorithm that the library has. Sources: shapes and steps
// from NCCL 2.30 src/graph/tuning.cc; parameters fitted on data/validation/collectives.csv
// (docs/models/collectives.md). On a network as built, routing, losses and placement take their
// share of t_out's rate (routed_tree.h). Wrong if other jobs load the same spine (give
// `network_free`), or if a library switches algorithms at a different size.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/quantity.h"
#include "core/workload/message.h"
#include "layers/fabric/routed_tree.h"

namespace orrery::fabric {

enum class CollectiveAlgorithm : std::uint8_t {
  automatic,
  ring,
  tree,
  nvls,    // one domain: sums in the switch; several: nvls inside, tree between (nvls_tree)
  sharp,   // the network's switches sum
  direct,  // all_to_all, send_recv: pairwise
};

const char* to_text(CollectiveAlgorithm a);
std::optional<CollectiveAlgorithm> collective_algorithm_from(std::string_view text);

// The performance a library gets from a scale-up link. Shares are of the link's rate per direction.
struct ScaleUpCurve {
  double ring_share = 0.812;  // bus bandwidth of a large ring
  // Algorithm bandwidth of a large in-switch sum; 0: not available.
  double nvls_share = 0.602;
  double pair_share = 0.75;           // all_to_all
  int nvls_ranks = 5;                 // minimum ranks for the library to use it
  Seconds launch = microseconds(15);  // time of the whole call at 8 bytes, eager
  double ramp = 1.2;                  // r: slowdown of small messages
  Seconds fill = microseconds(70);    // F of an all_reduce
};

// The performance a library gets from the NICs.
struct NetworkCurve {
  double share = 0.95;                 // share of a NIC's rate
  double pair_share = 0.75;            // all_to_all
  Seconds latency = microseconds(12);  // one crossing, posted by the host and flushed
  double ramp = 1.8;
  Seconds fill = microseconds(60);  // added to the scale-up link's
  bool has_tree = true;             // false for RCCL, whose large all_reduce is a ring
};

// Size up to which low-latency protocols are used, and the extra time of the other protocols, as a
// share of L.
struct ProtocolStep {
  double extra = 0.55;
  Bytes at = kib(64);
};

// A network as built. Without a tree the network is the one that the parameters were fitted on.
struct RoutedLinks {
  std::shared_ptr<const RoutedTree> tree;
  double hosts_per_domain = 1;
  double job_hosts = 0;  // hosts of the job that these groups belong to; 0: unknown
  double scatter = 0;    // where they are (GroupPlace)
  ShareBound bound = ShareBound::mean;
};

struct LinkHierarchy {
  int domain = 8;               // accelerators connected by the scale-up link
  BytesPerSecond scaleup_rate;  // per accelerator and direction; 0: none, all traffic uses NICs
  ScaleUpCurve scaleup;
  BytesPerSecond nic_rate;   // per NIC and direction; 0: no network
  double nics_per_rank = 1;  // 0.5: two accelerators share a NIC
  NetworkCurve network;
  ProtocolStep protocol;
  double oversubscription = 1;  // between leaves; unused if there is a tree, which has it
  RoutedLinks routed;
  double network_free = 1;  // share of NICs and uplinks not used by other traffic
  bool sharp = false;       // switches can sum
  Seconds host_launch;      // added by the calling framework: about 18 us for eager PyTorch
  bool in_graph = false;    // launched from a captured graph
  Seconds graph_saving = microseconds(6);  // launch time saved when captured: assumption
};

enum class LimitingLink : std::uint8_t { launch, scale_up, nic, fabric };

const char* to_text(LimitingLink l);  // "scale-up link", "NIC", "fabric's uplinks", "launch"

struct CollectiveTime {
  Seconds time;
  BytesPerSecond bus_bandwidth;  // as nccl-tests prints it
  BytesPerSecond nic_rate;       // payload rate of one NIC, one direction, averaged over the time
  BytesPerSecond scaleup_rate;   // payload rate of one scale-up port
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  LimitingLink limit = LimitingLink::launch;
};

CollectiveTime collective_time(const LinkHierarchy& links, const workload::CollectiveCall& call,
                               CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic);

// Returns bus bandwidth divided by algorithm bandwidth: 2(n-1)/n, (n-1)/n or 1.
double bus_factor(workload::Collective kind, int ranks);

// Other traffic on the same wires. A converged storage network takes `storage` of every NIC, or of
// the uplinks; collectives get the rest.
//   free = 1 - min(storage / capacity, 1 - fair), because max-min sharing leaves the collective at
//   least its fair share, `fair` = 1 / (1 + contenders).
struct SharedWire {
  BytesPerSecond capacity;
  BytesPerSecond storage;  // demand of the other traffic, one direction
  double contenders = 1;   // flows of the other traffic per flow of the collective
};
double free_share(const SharedWire& wire);

// The share of a collective's network rate that remains after a loss. A collective runs at the pace
// of its slowest member. If `adaptive`, routing spreads over the remaining links; static or hashed
// routing moves a lost link's flows to one neighbour.
enum class Loss : std::uint8_t { nic, leaf_uplink, plane, leaf, spine };
struct LossShape {
  int nics_per_node = 8;
  int leaf_uplinks = 32;
  int spines = 16;
  int planes = 1;
  bool adaptive = true;
};
double share_after(Loss loss, const LossShape& shape);  // 0: some ranks are cut off

}  // namespace orrery::fabric
