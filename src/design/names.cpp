#include "design/names.h"

namespace orrery::design {
namespace {

using Word = std::string_view;

constexpr Word kContract[] = {"on-demand", "reserved", "spot"};
constexpr Word kPartition[] = {"slurm", "kubernetes"};
constexpr Word kTopologyKind[] = {"none",       "rail-fat-tree", "fat-tree",
                                  "three-tier", "twin-plane",    "dragonfly",
                                  "torus",      "rail-only",     "nvl72"};
constexpr Word kRouting[] = {"static", "ecmp", "adaptive"};
constexpr Word kProtocol[] = {"infiniband", "roce", "ethernet"};
constexpr Word kTier[] = {"gpu-direct", "node-nvme", "hot", "warm", "cold"};
constexpr Word kTierKind[] = {"parallel-fs", "object", "nfs", "local-nvme", "block"};
constexpr Word kCachePolicy[] = {"lru", "random", "pin", "belady"};
constexpr Word kSchedulerKind[] = {"slurm", "kubernetes", "both"};
constexpr Word kBackfill[] = {"none", "easy", "conservative", "slurm"};
constexpr Word kPlacementTopology[] = {"none", "tree", "block", "rail"};
constexpr Word kPreemption[] = {"none", "requeue", "suspend"};
constexpr Word kPrecision[] = {"fp32",      "tf32",  "bf16",  "fp16", "fp8", "fp8-row",
                               "fp8-block", "mxfp8", "nvfp4", "int8", "int4"};
constexpr Word kSharding[] = {"none", "zero1", "zero2", "zero3"};
constexpr Word kRecompute[] = {"none", "selective", "full"};
constexpr Word kCheckpointMode[] = {"sync", "async"};
constexpr Word kDataKind[] = {"text", "image", "video", "tabular", "volume"};
constexpr Word kDataFormat[] = {"shards", "files"};
constexpr Word kEmbeddingPlacement[] = {"device", "host", "ssd"};
constexpr Word kComparison[] = {"<", "<=", ">=", ">"};

}  // namespace

std::span<const Word> words(Contract) { return kContract; }
std::span<const Word> words(Partition) { return kPartition; }
std::span<const Word> words(TopologyKind) { return kTopologyKind; }
std::span<const Word> words(Routing) { return kRouting; }
std::span<const Word> words(Protocol) { return kProtocol; }
std::span<const Word> words(Tier) { return kTier; }
std::span<const Word> words(TierKind) { return kTierKind; }
std::span<const Word> words(CachePolicy) { return kCachePolicy; }
std::span<const Word> words(SchedulerKind) { return kSchedulerKind; }
std::span<const Word> words(Backfill) { return kBackfill; }
std::span<const Word> words(PlacementTopology) { return kPlacementTopology; }
std::span<const Word> words(Preemption) { return kPreemption; }
std::span<const Word> words(Precision) { return kPrecision; }
std::span<const Word> words(Sharding) { return kSharding; }
std::span<const Word> words(Recompute) { return kRecompute; }
std::span<const Word> words(CheckpointMode) { return kCheckpointMode; }
std::span<const Word> words(DataKind) { return kDataKind; }
std::span<const Word> words(DataFormat) { return kDataFormat; }
std::span<const Word> words(EmbeddingPlacement) { return kEmbeddingPlacement; }
std::span<const Word> words(Comparison) { return kComparison; }

}  // namespace orrery::design
