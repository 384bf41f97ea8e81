// What a step asks of the network, independent of any network: collectives among groups of ranks.
//
// Sizes follow nccl-tests. For all_reduce, broadcast and send_recv it is the buffer of one rank;
// for all_gather the gathered result; for reduce_scatter the buffer before it is scattered; for
// all_to_all everything that one rank sends, including the share it keeps.
#pragma once

#include "core/base/quantity.h"
#include "core/base/words.h"

namespace orrery::workload {

enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };

inline constexpr Word<Collective> kCollectiveWords[] = {
    {Collective::all_reduce, "all_reduce", "allreduce"},
    {Collective::all_gather, "all_gather", "allgather"},
    {Collective::reduce_scatter, "reduce_scatter", "reducescatter"},
    {Collective::all_to_all, "all_to_all", "alltoall"},
    {Collective::broadcast, "broadcast"},
    {Collective::send_recv, "send_recv", "sendrecv"},
};
constexpr WordTable<Collective> words_of(Collective) { return kCollectiveWords; }
constexpr std::string_view to_text(Collective c) { return word_of(c); }

// How a group of ranks is placed on the machine: how many there are, how many of them share a
// scale-up domain (NVLink), and how many domains further its next domain is. ranks = 16, per_domain
// = 8 is two full 8-GPU nodes; per_domain = 1 is one rank per node.
struct GroupShape {
  int ranks = 1;
  int per_domain = 1;
  int apart = 1;
};

struct CollectiveCall {
  Collective kind = Collective::all_reduce;
  Bytes bytes;
  GroupShape group;
};

}  // namespace orrery::workload
