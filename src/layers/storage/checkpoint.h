// A checkpoint: its size, which ranks write which part, how long that takes, and which limit binds.
//
//   size       S = P (b_weight + b_master + b_moments)        Adam mixed 2 + 4 + 8 = 14 B/parameter
//   write      t = max(S/B_server, node/B_nic, rank/B_serialise) + uneven + files/creates + barrier
//   uneven     nodes share the servers evenly: nodes with less data end first, and afterwards the
//              servers are not fully used if the remaining nodes are limited by their own rate
//   sync       the job stalls for t
//   async      the job stalls for snapshot = rank/B_copy, for max(0, t - interval) while the last
//              drain is unfinished, and by the share that the drain takes from concurrent steps
//   two clocks stall-end: the job computes again; safe: the copy survives the loss of a node
// The sizes of the three MLPerf Storage shapes (14 B) are reproduced within 0.02 %. Write times
// apply to big sequential shards; scale_out.h covers a parallel file system's placement and
// scale-out.
#pragma once

#include <limits>

#include "core/base/quantity.h"

namespace orrery::storage {

inline constexpr BytesPerSecond kUnlimitedRate{std::numeric_limits<double>::infinity()};
inline constexpr PerSecond kUnlimitedCreates{std::numeric_limits<double>::infinity()};

// What is saved per parameter. rederived: the 16-bit weight is left out, because the fp32 master
// reproduces it.
enum class SavedState { adam_mixed, adam_rederived, adam_8bit, sgd_momentum, weights_only };

const char* to_text(SavedState s);

struct StateBytes {
  double weight = 0;   // 16-bit, B/parameter
  double master = 0;   // fp32 copy
  double moments = 0;  // all optimizer moments together
  double total() const { return weight + master + moments; }
  double optimizer() const { return master + moments; }
};
StateBytes state_bytes(SavedState s);

Bytes checkpoint_size(double parameters, const StateBytes& per_parameter);
Bytes checkpoint_size(double parameters, SavedState s);

// Which ranks write which part.
//   replicated  every data-parallel replica holds everything: one of them writes
//   zero1       weights like replicated, optimizer state split over the replicas
//   zero3       everything split over all ranks
//   balanced    replicas divide the writing of what they all hold (a "fully parallel" save)
enum class SaveSharding { replicated, zero1, zero3, balanced };

struct SaveLayout {
  int ranks = 1;
  // Tensor x pipeline (x expert) parallel: number of distinct shards of the weights.
  int model_shards = 1;
  int ranks_per_node = 8;
  SaveSharding sharding = SaveSharding::zero1;
};

struct SaveLoad {
  Bytes total;
  Bytes busiest_rank;
  Bytes busiest_node;
  double writers = 0;  // ranks that write; one file each unless the framework differs
  int nodes = 1;
  int heavy_nodes = 1;  // number of nodes with as much as the busiest
  Bytes other_node;     // bytes of each other node
};
SaveLoad save_load(double parameters, const StateBytes& per_parameter, const SaveLayout& layout);

// Rates that are left unlimited never bind.
struct WritePath {
  BytesPerSecond server = kUnlimitedRate;  // rate of the whole tier, as available to this job
  // Rate of a node's storage network, or of its local drives.
  BytesPerSecond node = kUnlimitedRate;
  BytesPerSecond serialise = kUnlimitedRate;  // rate of one rank: pickling, checksums, copies
  PerSecond creates = kUnlimitedCreates;      // file creations, over all metadata servers
  Seconds commit;                             // barrier, manifest, rename, "latest" pointer
};

enum class Wall { server_bandwidth, node_network, serialisation, metadata, commit };
const char* to_text(Wall w);

struct WriteTime {
  Seconds server;
  Seconds network;
  Seconds serialise;
  Seconds uneven;  // extra time in which only the heavy nodes write
  Seconds metadata;
  Seconds commit;
  Seconds total;
  Wall wall = Wall::server_bandwidth;  // the longest term
};
WriteTime write_time(const SaveLoad& load, double files, const WritePath& path);

struct AsyncPath {
  BytesPerSecond copy_rate = kUnlimitedRate;  // device to host, per rank
  Seconds interval;                           // from the start of one save to the start of the next
  Bytes rank_bytes;                           // what one rank snapshots
  Seconds drain;                              // time until the copy is safe, from write_time
  double interference = 0;  // share of the step's speed that the drain takes while it runs
};

struct SaveStall {
  Seconds snapshot;
  Seconds wait;          // stall for an unfinished drain
  Seconds interference;  // summed over the steps during the drain
  Seconds total;
  Seconds stall_end;  // from the save's start until the job computes again
  Seconds safe;       // from the save's start until the copy is safe
  bool drain_outlasts_interval = false;
};
SaveStall sync_stall(Seconds write);
SaveStall async_stall(const AsyncPath& path);

// Returns the host memory per node for `buffers` whole snapshots (2 if the next may begin before
// the last has drained).
Bytes snapshot_memory(Bytes busiest_node, int buffers);

// Loading: all bytes leave the servers once, and the weights once more for each replica that reads
// them itself instead of receiving them from another.
struct RestoreLoad {
  Bytes total;
  Bytes node;
};
struct RestoreLayout {
  SaveLayout save;
  bool broadcast = true;  // one replica reads; the others receive over the compute network
};
RestoreLoad restore_load(double parameters, const StateBytes& per_parameter,
                         const RestoreLayout& layout);

struct ReadPath {
  BytesPerSecond server = kUnlimitedRate;
  BytesPerSecond node = kUnlimitedRate;
  Seconds start;  // open, metadata, deserialise, and other preparation before the first step
};
struct RestoreTime {
  Seconds server;
  Seconds network;
  Seconds total;
  Wall wall = Wall::server_bandwidth;
};
RestoreTime restore_time(const RestoreLoad& load, const ReadPath& path);

}  // namespace orrery::storage
