// The words of the design file for the enums that only it uses, one table per enum (base/words.h):
// reader, writer, schema and reports all use them. The words that it shares with the layers are in
// catalog/vocabulary.h.
#pragma once

#include "core/base/words.h"
#include "model/design/economics.h"
#include "model/design/fleet.h"
#include "model/design/networks.h"
#include "model/design/pipeline.h"
#include "model/design/scheduling.h"
#include "model/design/tiers.h"
#include "model/design/workloads.h"

namespace orrery::design {

inline constexpr Word<Partition> kPartitionWords[] = {{Partition::slurm, "slurm"},
                                                      {Partition::kubernetes, "kubernetes"}};
constexpr WordTable<Partition> words_of(Partition) { return kPartitionWords; }

inline constexpr Word<NamedTopology> kNamedTopologyWords[] = {
    {NamedTopology::none, "none"},
    {NamedTopology::rail_fat_tree, word_of(catalog::TopologyKind::rail_fat_tree)},
    {NamedTopology::fat_tree, word_of(catalog::TopologyKind::fat_tree)},
    {NamedTopology::three_tier, "three-tier"},
    {NamedTopology::twin_plane, "twin-plane"},
    {NamedTopology::dragonfly, word_of(catalog::TopologyKind::dragonfly)},
    {NamedTopology::torus, word_of(catalog::TopologyKind::torus)},
    {NamedTopology::rail_only, word_of(catalog::TopologyKind::rail_only)},
    {NamedTopology::nvl72, "nvl72"}};
constexpr WordTable<NamedTopology> words_of(NamedTopology) { return kNamedTopologyWords; }

inline constexpr Word<Protocol> kProtocolWords[] = {
    {Protocol::infiniband, word_of(catalog::NetworkKind::infiniband)},
    {Protocol::roce, word_of(catalog::NetworkKind::roce)},
    {Protocol::ethernet, word_of(catalog::NetworkKind::ethernet)},
    {Protocol::ultra_ethernet, "ultra-ethernet"}};
constexpr WordTable<Protocol> words_of(Protocol) { return kProtocolWords; }

inline constexpr Word<Tier> kTierWords[] = {{Tier::gpu_direct, "gpu-direct"},
                                            {Tier::node_nvme, "node-nvme"},
                                            {Tier::hot, "hot"},
                                            {Tier::warm, "warm"},
                                            {Tier::cold, "cold"}};
constexpr WordTable<Tier> words_of(Tier) { return kTierWords; }

inline constexpr Word<TierKind> kTierKindWords[] = {{TierKind::parallel_fs, "parallel-fs"},
                                                    {TierKind::object, "object"},
                                                    {TierKind::nfs, "nfs"},
                                                    {TierKind::local_nvme, "local-nvme"},
                                                    {TierKind::block, "block"}};
constexpr WordTable<TierKind> words_of(TierKind) { return kTierKindWords; }

inline constexpr Word<SchedulerKind> kSchedulerWords[] = {{SchedulerKind::slurm, "slurm"},
                                                          {SchedulerKind::kubernetes, "kubernetes"},
                                                          {SchedulerKind::both, "both"}};
constexpr WordTable<SchedulerKind> words_of(SchedulerKind) { return kSchedulerWords; }

inline constexpr Word<Backfill> kBackfillWords[] = {{Backfill::none, "none"},
                                                    {Backfill::easy, "easy"},
                                                    {Backfill::conservative, "conservative"},
                                                    {Backfill::slurm, "slurm"}};
constexpr WordTable<Backfill> words_of(Backfill) { return kBackfillWords; }

inline constexpr Word<PlacementTopology> kPlacementWords[] = {{PlacementTopology::none, "none"},
                                                              {PlacementTopology::tree, "tree"},
                                                              {PlacementTopology::block, "block"},
                                                              {PlacementTopology::rail, "rail"}};
constexpr WordTable<PlacementTopology> words_of(PlacementTopology) { return kPlacementWords; }

inline constexpr Word<Preemption> kPreemptionWords[] = {
    {Preemption::none, "none"}, {Preemption::requeue, "requeue"}, {Preemption::suspend, "suspend"}};
constexpr WordTable<Preemption> words_of(Preemption) { return kPreemptionWords; }

inline constexpr Word<ReservationPeriod> kReservationPeriodWords[] = {
    {ReservationPeriod::once, "once"},
    {ReservationPeriod::hourly, "hourly"},
    {ReservationPeriod::daily, "daily"},
    {ReservationPeriod::weekly, "weekly"}};
constexpr WordTable<ReservationPeriod> words_of(ReservationPeriod) {
  return kReservationPeriodWords;
}

inline constexpr Word<CheckpointMode> kCheckpointWords[] = {{CheckpointMode::sync, "sync"},
                                                            {CheckpointMode::async, "async"}};
constexpr WordTable<CheckpointMode> words_of(CheckpointMode) { return kCheckpointWords; }

inline constexpr Word<DataKind> kDataKindWords[] = {{DataKind::text, "text"},
                                                    {DataKind::image, "image"},
                                                    {DataKind::video, "video"},
                                                    {DataKind::tabular, "tabular"},
                                                    {DataKind::volume, "volume"}};
constexpr WordTable<DataKind> words_of(DataKind) { return kDataKindWords; }

inline constexpr Word<DataFormat> kDataFormatWords[] = {{DataFormat::shards, "shards"},
                                                        {DataFormat::files, "files"}};
constexpr WordTable<DataFormat> words_of(DataFormat) { return kDataFormatWords; }

inline constexpr Word<EmbeddingPlacement> kEmbeddingWords[] = {
    {EmbeddingPlacement::device, "device"},
    {EmbeddingPlacement::host, "host"},
    {EmbeddingPlacement::ssd, "ssd"}};
constexpr WordTable<EmbeddingPlacement> words_of(EmbeddingPlacement) { return kEmbeddingWords; }

inline constexpr Word<DataStage> kStageWords[] = {
    {DataStage::ingest, "ingest"},  {DataStage::prepare, "prepare"},
    {DataStage::train, "train"},    {DataStage::validate, "validate"},
    {DataStage::enrol, "register"}, {DataStage::deploy, "deploy"},
    {DataStage::serve, "serve"},    {DataStage::archive, "archive"}};
constexpr WordTable<DataStage> words_of(DataStage) { return kStageWords; }

inline constexpr Word<Comparison> kComparisonWords[] = {{Comparison::less, "<"},
                                                        {Comparison::at_most, "<="},
                                                        {Comparison::at_least, ">="},
                                                        {Comparison::greater, ">"}};
constexpr WordTable<Comparison> words_of(Comparison) { return kComparisonWords; }

}  // namespace orrery::design
