// NCCL's own cost equations (2.30, src/graph/tuning.cc): what the library computes to choose an
// algorithm and a protocol. They select well but predict badly: on 8 x H100 the times are 18 % off.
// Used to name NCCL's choice, and as the yardstick that `orrery score collectives` prints beside
// our error.
//
//   time = lat + S / algbw, least over (ring, tree, nvls, nvls_tree) x (LL, LL128, Simple)
//   ring:  lat = base + (steps - I) max(intra, o) + I inter, I = 2(k-1) or k-1; algbw = bus n/steps
//   tree:  lat = base + 2((g-1) intra + log2(k) inter);                         algbw = bus/2
//   nvls:  lat = intra (+ inter); bus = 2 ch bw eff (ch-1)/ch, capped by the NICs between nodes
// The graph search that determines channels and their rate is not run: channels and rates per
// generation are those that it finds on full NVSwitch nodes (ring 12 x 30 GB/s and NVLS 8 x 45 on
// Hopper). The table that corrects trees by size is left out.
#pragma once

#include "layers/fabric/collective_model.h"

namespace orrery::fabric {

enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
const char* to_text(NcclProtocol p);

enum class GpuGeneration : std::uint8_t { ampere, hopper, blackwell };

struct NcclMachine {
  GpuGeneration generation = GpuGeneration::hopper;
  BytesPerSecond nic_per_rank;            // per direction
  Seconds nic_latency = microseconds(0);  // as NCCL reads it from the NIC; mostly 0
  bool nvls = true;
};

struct NcclChoice {
  Seconds time;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
};

// Handles all_reduce, all_gather, reduce_scatter and broadcast. Returns the fastest choice, with
// `algorithm` fixed if it is given.
NcclChoice nccl_choice(const NcclMachine& machine, const workload::CollectiveCall& call,
                       CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic);

}  // namespace orrery::fabric
