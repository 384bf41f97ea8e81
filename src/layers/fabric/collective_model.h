// Closed-form time of a collective on a two-level machine: scale-up links inside a domain (NVLink),
// NICs between domains. For plan and for layout search: pure arithmetic, no allocation.
//
// n ranks in k domains of g = n/k, S bytes as nccl-tests counts them. For each algorithm
//   T = L (1 + c S/(S + S_e)) + w + r w F / (r w + F)
//   L = launch + crossings * network latency;  c, S_e: the low-latency protocols end near S_e
//   across domains of more than eight ranks (racks) also 1.4 us for each rank more that is chained
//   w = (t_in^6 + t_out^6)^(1/6) to 0.1 %, the slower level with interference from the other
//   t_in = W_in / (share * scale-up rate), t_out = W_out / (share * NIC rate)
//   last term: a pipeline that fills: small messages run 1 + r slower, large ones pay F once
//   ring all_reduce       W_in = 2(n-1)/n S   W_out = 2(n-1)/n S/g   crossings 2(1 + (k-2)/3)
//   tree                  W_in = 2(g-1)/g S   W_out = 2(k-1)/k S/g   crossings 2 log2 k (k = 2:
//   S/g, so
//                         that the bus rate passes the wire's: the known two-node effect)
//   nvls (in-switch sum)  W_in = S at its own share; W_out as tree.  sharp: W_out = S/g
//   all_gather, reduce_scatter: half of the ring's. all_to_all: W_in = (g-1)/n S, W_out = (n-g)/n S
// The automatic choice is the least time over what the library has. Sources: shapes and steps from
// NCCL 2.30 src/graph/tuning.cc; parameters fitted on data/validation/collectives.csv
// (docs/models/collectives.md). Wrong where a job's neighbours load the same spine: give
// `network_free`; and where a library changes its choice at a size of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/quantity.h"
#include "core/workload/message.h"

namespace orrery::fabric {

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
  double ring_share = 0.812;          // bus bandwidth of a large ring
  double nvls_share = 0.602;          // algorithm bandwidth of a large in-switch sum; 0: none
  double pair_share = 0.75;           // all_to_all
  int nvls_ranks = 5;                 // fewest ranks for which the library takes it
  Seconds launch = microseconds(15);  // the whole call at 8 bytes, eager
  double ramp = 1.2;                  // r
  Seconds fill = microseconds(70);    // F of an all_reduce
};

// What it gets out of the NICs.
struct NetworkCurve {
  double share = 0.95;                 // of a NIC's rate
  double pair_share = 0.75;            // all_to_all
  Seconds latency = microseconds(12);  // one crossing, posted by the host and flushed
  double ramp = 1.8;
  Seconds fill = microseconds(60);  // added to the scale-up link's
  bool has_tree = true;             // RCCL's large all_reduce is a ring
};

// Size at which the low-latency protocols end and what the others cost more, as a share of L.
struct ProtocolStep {
  double extra = 0.55;
  Bytes at = kib(64);
};

struct LinkHierarchy {
  int domain = 8;               // accelerators that the scale-up link joins
  BytesPerSecond scaleup_rate;  // per accelerator and direction; 0: none, all goes by NIC
  ScaleUpCurve scaleup;
  BytesPerSecond nic_rate;   // per NIC and direction; 0: no network
  double nics_per_rank = 1;  // 0.5: two accelerators share a NIC
  NetworkCurve network;
  ProtocolStep protocol;
  double oversubscription = 1;  // of the fabric between leaves; slows what crosses it
  double network_free = 1;      // share of the NICs and uplinks left by other traffic
  bool sharp = false;           // switches reduce
  Seconds host_launch;          // added by what makes the call: about 18 us for eager PyTorch
  bool in_graph = false;        // launched from a captured graph
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

CollectiveTime collective_time(const LinkHierarchy& links, const workload::CollectiveCall& call,
                               CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic);

// Bus bandwidth over algorithm bandwidth: 2(n-1)/n, (n-1)/n or 1.
double bus_factor(workload::Collective kind, int ranks);

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

}  // namespace orrery::fabric
