// A checkpoint: how large it is, who writes which part, how long it takes and which wall binds.
//
//   size       S = P (b_weight + b_master + b_moments)        Adam mixed 2 + 4 + 8 = 14 B/parameter
//   write      t = max(S/B_server, node/B_nic, rank/B_serialise) + uneven + files/creates + barrier
//   uneven     nodes share the servers evenly: those with less end first, and the servers are not
//              full afterwards if those with more are held by their own rate
//   sync       the job stalls for t
//   async      it stalls for snapshot = rank/B_copy, for max(0, t - interval) while the last drain
//   is
//              unfinished, and for the share that the drain takes from the steps it runs beside
//   two clocks stall-end: the job computes again; safe: the copy survives the loss of a node
// Sizes of the three MLPerf Storage shapes (14 B) come out within 0.02 %. Write times hold for big
// sequential shards; a parallel file system's placement and scale-out are in scale_out.h.
#pragma once

#include <limits>

#include "core/base/quantity.h"

namespace orrery::storage {

inline constexpr BytesPerSecond kUnlimitedRate{std::numeric_limits<double>::infinity()};
inline constexpr PerSecond kUnlimitedCreates{std::numeric_limits<double>::infinity()};

// What is persisted for each parameter. rederived: the 16-bit weight is left out, since the fp32
// master gives it back.
enum class SavedState { adam_mixed, adam_rederived, adam_8bit, sgd_momentum, weights_only };

const char* to_text(SavedState s);

struct StateBytes {
  double weight = 0;   // 16-bit, B/parameter
  double master = 0;   // fp32 copy
  double moments = 0;  // all optimizer moments
  double total() const { return weight + master + moments; }
  double optimizer() const { return master + moments; }
};
StateBytes state_bytes(SavedState s);

Bytes checkpoint_size(double parameters, const StateBytes& per_parameter);
Bytes checkpoint_size(double parameters, SavedState s);

// Which ranks hold a part that no other holds.
//   replicated  every data-parallel replica holds all: one of them writes
//   zero1       weights as replicated, optimizer state split over the replicas
//   zero3       everything split over all ranks
//   balanced    replicas share out the writing of what they all hold (a "fully parallel" save)
enum class SaveSharding { replicated, zero1, zero3, balanced };

struct SaveLayout {
  int ranks = 1;
  int model_shards = 1;  // tensor x pipeline (x expert) parallel: distinct shards of the weights
  int ranks_per_node = 8;
  SaveSharding sharding = SaveSharding::zero1;
};

struct SaveLoad {
  Bytes total;
  Bytes busiest_rank;
  Bytes busiest_node;
  double writers = 0;  // ranks that write; one file each unless the framework says otherwise
  int nodes = 1;
  int heavy_nodes = 1;  // with as much as the busiest
  Bytes other_node;     // of one of the others
};
SaveLoad save_load(double parameters, const StateBytes& per_parameter, const SaveLayout& layout);

// Rates that cannot bind stay unlimited.
struct WritePath {
  BytesPerSecond server = kUnlimitedRate;     // of the tier as a whole, as it serves this job
  BytesPerSecond node = kUnlimitedRate;       // storage network of one node, or its local drives
  BytesPerSecond serialise = kUnlimitedRate;  // of one rank: pickling, checksums, copies
  PerSecond creates = kUnlimitedCreates;      // file creations, of all metadata servers together
  Seconds commit;                             // barrier, manifest, rename, "latest" pointer
};

enum class Wall { server_bandwidth, node_network, serialisation, metadata, commit };
const char* to_text(Wall w);

struct WriteTime {
  Seconds server;
  Seconds network;
  Seconds serialise;
  Seconds uneven;  // that the heavy nodes write beyond the longest of the three
  Seconds metadata;
  Seconds commit;
  Seconds total;
  Wall wall = Wall::server_bandwidth;  // the term with the most time
};
WriteTime write_time(const SaveLoad& load, double files, const WritePath& path);

struct AsyncPath {
  BytesPerSecond copy_rate = kUnlimitedRate;  // device to host, of one rank
  Seconds interval;                           // between the starts of two saves
  Bytes rank_bytes;                           // what one rank snapshots
  Seconds drain;                              // until the copy is safe, as write_time gives it
  double interference = 0;  // share of the step's speed that the drain takes while it runs
};

struct SaveStall {
  Seconds snapshot;
  Seconds wait;          // for an unfinished drain
  Seconds interference;  // spread over the steps beside the drain
  Seconds total;
  Seconds stall_end;  // from the save's start until the job computes again
  Seconds safe;       // from the save's start until the copy is safe
  bool drain_outlasts_interval = false;
};
SaveStall sync_stall(Seconds write);
SaveStall async_stall(const AsyncPath& path);

// Host memory of one node for `buffers` whole snapshots (2 where the next may begin before the last
// has drained).
Bytes snapshot_memory(Bytes busiest_node, int buffers);

// Loading: all bytes leave the server once, and the weights again for each replica that reads for
// itself instead of hearing them from a neighbour.
struct RestoreLoad {
  Bytes total;
  Bytes node;
};
struct RestoreLayout {
  SaveLayout save;
  bool broadcast = true;  // one replica reads, the others get it over the compute network
};
RestoreLoad restore_load(double parameters, const StateBytes& per_parameter,
                         const RestoreLayout& layout);

struct ReadPath {
  BytesPerSecond server = kUnlimitedRate;
  BytesPerSecond node = kUnlimitedRate;
  Seconds start;  // open, metadata, deserialise, and what the job needs before its first step
};
struct RestoreTime {
  Seconds server;
  Seconds network;
  Seconds total;
  Wall wall = Wall::server_bandwidth;
};
RestoreTime restore_time(const RestoreLoad& load, const ReadPath& path);

}  // namespace orrery::storage
