// NCCL's own cost equations (2.30, src/graph/tuning.cc): what the library believes when it chooses
// an algorithm and a protocol. A selector, not a predictor: on 8 x H100 its times are 18 % off.
// Here to name NCCL's choice, and as the yardstick that `orrery score collectives` prints beside
// our error.
//
//   time = lat + S / algbw, least over (ring, tree, nvls, nvls_tree) x (LL, LL128, Simple)
//   ring:  lat = base + (steps - I) max(intra, o) + I inter, I = 2(k-1) or k-1; algbw = bus n/steps
//   tree:  lat = base + 2((g-1) intra + log2(k) inter);                         algbw = bus/2
//   nvls:  lat = intra (+ inter); bus = 2 ch bw eff (ch-1)/ch, capped by the NICs between nodes
// The graph search that gives channels and their rate is not run: channels and rates per generation
// are the ones it finds on full NVSwitch nodes (ring 12 x 30 GB/s and NVLS 8 x 45 on Hopper). The
// table that corrects trees by size is left out.
#pragma once

#include "layers/fabric/collective_model.h"

namespace orrery::fabric {

enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
const char* to_text(NcclProtocol p);

enum class GpuGeneration : std::uint8_t { ampere, hopper, blackwell };

struct NcclMachine {
  GpuGeneration generation = GpuGeneration::hopper;
  BytesPerSecond nic_per_rank;            // per direction
  Seconds nic_latency = microseconds(0);  // NCCL asks the NIC; 0 for most
  bool nvls = true;
};

struct NcclChoice {
  Seconds time;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
};

// all_reduce, all_gather, reduce_scatter and broadcast; the least over `algorithm` where it is
// given.
NcclChoice nccl_choice(const NcclMachine& machine, const workload::CollectiveCall& call,
                       CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic);

}  // namespace orrery::fabric
